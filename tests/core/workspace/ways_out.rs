//! Every state of a call that has no result can be left by a key, by a program, by the command line, and by the clock if it has a
//! deadline; what does not leave it says why. The conversation is open without a user interface, or not at all. `flemma run` comes to
//! an end in all of them.

use std::{
    cell::Cell,
    fs,
    os::unix::fs::symlink,
    process::Command,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use flemma_journal::{Actor, Asked, Before, CallKey, Decision, Event, Proposed, ProposedContent, Record, Role};
use flemma_model::{Digest, ToolInput};
use flemma_runtime::Journal;
use flemma_workspace::{DriveOptions, Resolution};
use jiff::Timestamp;
use serde_json::json;

use super::{
    harness::{Harness, Setup},
    scripts::text,
};

/// Where a call is.
struct State {
    name: &'static str,
    executor: &'static str,
    /// What its block says.
    block: &'static str,
    /// What the journal says after `Opened`, each by whom.
    events: Vec<(Role, Event)>,
}

impl State {
    /// The tool of the call.
    fn tool(&self) -> &'static str {
        if self.executor == "provider" { "web_search" } else { "tool" }
    }
}

const QUESTION: &str = "It was interrupted while it was running, and may have had an effect. Run it again?";

fn states() -> Vec<State> {
    let asked = |kind: &str| (Role::Policy, Event::Asked(Asked { kind: kind.into(), schema: None }));
    let approved = |role| (role, Event::Decided(Decision::Approved));
    let started = || (Role::User, Event::Started);
    let state = |name, executor, block, events| State { name, executor, block, events };
    let proposed = || {
        let content = Digest::of(b"new").as_str().to_owned();
        let file = ProposedContent {
            name: "a.txt".into(),
            is_page: false,
            content,
            before: Before::Absent,
            seen: Before::Unknown,
        };
        vec![
            approved(Role::User),
            started(),
            (Role::Tool, Event::Proposed { proposed: Proposed { files: vec![file] } }),
        ]
    };
    let waits = "status=pending expires=2999-01-01T00:00:00Z";
    let client = "status=pending kind=client_exec executor=client expires=2999-01-01T00:00:00Z";
    vec![
        state("waits for approval", "server", "status=pending expires=2999-01-01T00:00:00Z", vec![]),
        state("approved by a key", "server", "status=approved", vec![approved(Role::User)]),
        state("approved by the command line", "server", "status=approved", vec![approved(Role::CommandLine)]),
        state(
            "interrupted",
            "server",
            "status=pending expires=2999-01-01T00:00:00Z QUESTION",
            vec![approved(Role::User), started()],
        ),
        state("rejected in the file", "server", "status=rejected", vec![]),
        state("runs elsewhere, or did", "server", "status=running", vec![approved(Role::User), started()]),
        state("runs, as only the file says", "server", "status=running", vec![]),
        state("waits with what it wants to write", "server", waits, proposed()),
        state("is to write that, by a key", "server", "status=approved", {
            proposed().into_iter().chain([approved(Role::User)]).collect()
        }),
        state("is writing that, or did", "server", "status=running", {
            proposed().into_iter().chain([approved(Role::CommandLine), started()]).collect()
        }),
        state("waits in a file that is not trusted", "server", waits, vec![]),
        state("a provider's own tool", "provider", waits, vec![]),
        state(
            "asks",
            "human",
            "status=pending kind=elicitation executor=human expires=2999-01-01T00:00:00Z",
            vec![asked("elicitation")],
        ),
        state("gated", "client", "status=pending executor=client expires=2999-01-01T00:00:00Z", vec![]),
        state("handed on by a policy", "client", client, vec![asked("client_exec")]),
        state("handed on by a key", "client", client, vec![approved(Role::User), asked("client_exec")]),
        state(
            "handed on by the command line",
            "client",
            client,
            vec![approved(Role::CommandLine), asked("client_exec")],
        ),
        state(
            "interrupted in the editor",
            "client",
            client,
            vec![approved(Role::CommandLine), asked("client_exec"), started()],
        ),
    ]
}

/// A conversation with the call, which nobody has open.
fn begin(state: &State) -> (Harness, Rc<Cell<usize>>) {
    let options = json!({ "tools": { "autopilot": { "enabled": false } } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, []);
    chat.host.has_ui.set(false);
    let runs = Rc::new(Cell::new(0));
    let count = Rc::clone(&runs);
    if state.executor == "human" {
        chat.define("tool", json!({ "executor": "human" }));
    } else if state.executor != "provider" {
        let fields = json!({ "executor": state.executor, "approval": "requires_approval" });
        chat.register_with("tool", fields, move |_, answer| {
            count.set(count.get() + 1);
            answer.finish(text("it ran"));
            None
        });
    }
    let block = state.block.replace("QUESTION", &format!("question=\"{QUESTION}\""));
    let is_strange = state.name.ends_with("not trusted");
    let front = if is_strange { "```lua\nflemma.opt.tools.auto_approve = [\"tool\"]\n```\n\n" } else { "" };
    chat.put(
        "other.chat",
        format!(
            "{front}@You:\nHi\n\n@Assistant:\n**Tool Use:** `{}` (`a`)\n\n```json\n{{}}\n```\n\n@You:\n**Tool Result:** \
             `a`\n\n```flemma:tool {block}\n```\n",
            state.tool()
        ),
    );
    let path = chat.work("other.chat");
    let key = CallKey::of(&"a".into(), state.tool(), &ToolInput::Json(json!({})));
    let record = |(role, event): &(Role, Event)| Record {
        at: Timestamp::UNIX_EPOCH,
        conversation: path.to_string_lossy().into_owned(),
        key: key.clone(),
        event: event.clone(),
        by: Actor { role: *role, process: 1, host: "another".to_owned() },
    };
    let records = [(Role::Policy, Event::Opened)].iter().chain(&state.events).map(record).collect();
    let journal = Journal::new(chat.state("journal"));
    journal.append(&path, records, |written| written.unwrap());
    assert!(journal.settle(Duration::from_secs(60)));
    chat.host.clock.set(Some("2026-01-01T00:00:00Z".parse().unwrap()));
    (chat, runs)
}

/// What has become of the call.
fn outcome(before: &str, now: &str, runs: usize, told: &[String]) -> String {
    if runs > 0 {
        assert_eq!(runs, 1);
        "runs".to_owned()
    } else if !now.contains("flemma:tool") {
        "ends".to_owned()
    } else if now != before && !told.iter().any(|words| words.contains("stale")) {
        "goes on".to_owned()
    } else {
        if told.is_empty() { "says nothing" } else { "says why" }.to_owned()
    }
}

fn in_editor(state: &State, way: &str) -> String {
    let (chat, runs) = begin(state);
    let before = fs::read_to_string(chat.work("other.chat")).unwrap().trim_end().to_owned();
    // A run waits for an editor until the deadline of a call that is for one.
    if way == "clock" || (way == "flemma run" && state.executor == "client") {
        chat.host.clock.set(Some("2999-01-02T00:00:00Z".parse().unwrap()));
    }
    let buffer = chat.edit("other.chat");
    chat.go_to(buffer);
    chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
    chat.told();
    let mut told = Vec::new();
    let mut resolve = |resolution| told.extend(chat.resolve("a", resolution).err());
    match way {
        "Ctrl-]" => chat.go(),
        "Alt-Enter" => chat.execute("flemma:tool"),
        "reject" => chat.reject("flemma:tool", None),
        "resolve: approved" => resolve(Resolution::Approve),
        "resolve: rejected" => resolve(Resolution::Reject(None)),
        "resolve: answer" => resolve(Resolution::Answer(json!("answered"))),
        "flemma run" => {
            chat.workspace.drives.drive(buffer, DriveOptions::default());
            chat.drain_until(state.name, |chat| chat.workspace.drives.drive_result(buffer).is_some() || runs.get() > 0);
            return if runs.get() > 0 { "runs" } else { "comes back" }.to_owned();
        }
        _ => {}
    }
    let has_form = || !chat.host.forms.borrow().is_empty() || chat.questions() > 0;
    let deadline = Instant::now() + Duration::from_millis(if way == "clock" { 300 } else { 5000 });
    while Instant::now() < deadline && told.is_empty() && chat.text() == before && runs.get() == 0 && !has_form() {
        chat.drain_once();
        told.extend(chat.told());
        thread::yield_now();
    }
    // What waits for a user interface is never at rest.
    let end = Instant::now() + Duration::from_secs(2);
    while !chat.workspace.is_at_rest(buffer) && Instant::now() < end {
        chat.drain_once();
        thread::yield_now();
    }
    told.extend(chat.told());
    if has_form() {
        return "asks".to_owned();
    } else if way == "clock" && told.is_empty() && chat.text() == before {
        return "stays".to_owned();
    }
    outcome(&before, &chat.text(), runs.get(), &told)
}

fn on_command_line(state: &State, way: &str) -> String {
    let (chat, _) = begin(state);
    if way == "sweep" {
        let text = fs::read_to_string(chat.work("other.chat")).unwrap();
        chat.put("other.chat", text.replace("expires=2999", "expires=2020"));
    }
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("nvim")).unwrap();
    symlink(chat.root().join("state"), home.path().join("nvim/flemma")).unwrap();
    let before = fs::read_to_string(chat.work("other.chat")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
    command
        .env_clear()
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path())
        .current_dir(chat.root().join("work"));
    match way {
        "sweep" => command.args(["sweep", "other.chat"]),
        way => command.args(["resolve", "other.chat", "a"]).args(way.split(' ')),
    };
    let said = command.output().unwrap();
    let now = fs::read_to_string(chat.work("other.chat")).unwrap();
    let words = String::from_utf8([said.stderr, said.stdout].concat()).unwrap();
    if way == "sweep" && words.is_empty() && now == before {
        return "stays".to_owned();
    }
    outcome(&before, &now, 0, &[words].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>())
}

const KEYS: [&str; 3] = ["Ctrl-]", "Alt-Enter", "reject"];
const PROGRAMS: [&str; 3] = ["resolve: approved", "resolve: rejected", "resolve: answer"];
const COMMANDS: [&str; 5] = ["--approve", "--reject no", "--result 1", "--error no", "sweep"];

/// What each way does to a call in a state.
fn row(state: &State) -> Vec<(&'static str, String)> {
    let editor = KEYS.iter().chain(&PROGRAMS).chain(&["clock", "flemma run"]).map(|way| (*way, in_editor(state, way)));
    editor.chain(COMMANDS.iter().map(|way| (*way, on_command_line(state, way)))).collect()
}

#[test]
#[ignore = "slow"]
fn every_state_of_a_call_has_ways_out() {
    let states = states();
    // Most of it is waiting for the disk and for processes.
    let rows = thread::scope(|scope| {
        let rows: Vec<_> = states.iter().map(|state| scope.spawn(|| row(state))).collect();
        rows.into_iter().map(|row| row.join().unwrap()).collect::<Vec<_>>()
    });
    let mut table = String::new();
    for (state, row) in states.iter().zip(rows) {
        let is_silent = row.iter().any(|(_, what)| what == "says nothing");
        let leaves = |ways: &[&str]| {
            row.iter().any(|(way, what)| ways.contains(way) && ["runs", "ends", "goes on", "asks"].contains(&&**what))
        };
        table += &format!("{}:", state.name);
        for (way, what) in &row {
            table += &format!(" {way} {what};");
        }
        table += "\n";
        assert!(!is_silent, "nothing happens, and nothing is said\n{table}");
        assert!(leaves(&KEYS), "no key leaves it\n{table}");
        if state.block.contains("status=pending") {
            assert!(leaves(&PROGRAMS) && leaves(&COMMANDS[..4]), "no program or command leaves it\n{table}");
        }
        if state.block.contains("expires") {
            assert!(leaves(&["clock"]), "the clock does not end it\n{table}");
        }
    }
}
