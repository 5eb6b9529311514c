//! What an agent permits in a conversation: who chooses it, what is checked, and when.

use std::{fs, os::unix::fs::symlink};

use flemma_config::AgentOptions;
use flemma_tools::{approval::Decision, declare::Field};
use flemma_workspace::Workspace;
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, bash, calls, prose},
    scripts::text,
};

const FILES: [(&str, &str); 4] = [
    ("Journal/today.md", "allowed\n"),
    ("Private/diary.md", "SECRET\n"),
    ("Other/a.md", "SECRET\n"),
    ("Journals/a.md", "SECRET\n"),
];

fn agents() -> Value {
    json!({
        "diary": { "allowed_read_paths": ["Journal"] },
        "wide": { "allowedReadPaths": ["Journal", "Private", "Other"], "unchecked_tools": ["bash", "mine"] },
        "free": {},
    })
}

fn choosing(agent: &str) -> String {
    format!("```json\n{{ \"agent\": \"{agent}\" }}\n```\n\n@You:\nHello")
}

/// A conversation that calls these tools, with more options.
fn calling(text: &str, options: Value, made: &[(&str, Value)]) -> Harness {
    let mut all = json!({ "agents": agents(), "tools": { "auto_approve": ["$default", "bash"] } });
    for (key, value) in options.as_object().cloned().unwrap_or_default() {
        all[key] = value;
    }
    let replies = [calls(made.iter().cloned()), prose("fine")];
    // What the user types needs no trust.
    let (frontmatter, text) = text.split_at(text.find("@You:").unwrap_or_default());
    let chat = Harness::start(Setup { text, files: &FILES, options: all, ..Setup::default() }, replies);
    if !frontmatter.is_empty() {
        chat.type_at(0, frontmatter);
    }
    chat
}

fn read(path: &str) -> (&'static str, Value) {
    ("read", json!({ "label": null, "path": path, "offset": null, "limit": null }))
}

#[test]
fn a_call_outside_is_an_error_and_nobody_is_asked() {
    let made = [
        read("Journal/today.md"),
        read("Private/diary.md"),
        ("write", json!({ "label": null, "path": "Private/new.md", "content": "x" })),
        ("ls", json!({ "label": null, "path": null, "limit": null })),
        ("bash", bash("cat Private/diary.md")),
    ];
    let chat = calling(&choosing("diary"), Value::Null, &made);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert_eq!(results[0], "allowed");
    assert_eq!(
        results[1],
        "Error: The agent `diary` does not allow `Private/diary.md` to be read. Only these paths may: `Journal`."
    );
    assert!(results[2].contains("The agent `diary` does not allow `Private/new.md`"), "{}", results[2]);
    let folder = "Error: The agent `diary` does not allow the conversation's folder to be read. Only these paths may: `Journal`.";
    assert_eq!(results[3], folder);
    assert!(results[4].contains("`bash` does not declare which files it uses"), "{}", results[4]);
    assert_eq!(chat.questions(), 0);
    assert!(!chat.work("Private/new.md").exists());
    let (decision, by) = chat.decision("bash", bash("true"));
    assert_eq!((decision, by.as_deref()), (Decision::Deny, Some("urn:flemma:agent")));
}

#[test]
#[ignore = "slow"]
fn a_file_only_takes_away_from_what_the_user_permits() {
    // The user's agent, the file's, and which of the folders may be read then.
    let folders = ["Journal/today.md", "Private/diary.md", "Other/a.md"];
    let permitted = |agent: Option<&str>| match agent {
        Some("diary") => vec![true, false, false],
        Some("wide" | "free") | None => vec![true, true, true],
        Some(other) => panic!("{other}"),
    };
    for own in [None, Some("diary"), Some("wide"), Some("free")] {
        for of_file in [None, Some("diary"), Some("wide"), Some("free")] {
            let made: Vec<_> = folders.iter().map(|path| read(path)).collect();
            let text = of_file.map_or_else(|| "@You:\nHello".to_owned(), choosing);
            let options = own.map_or(Value::Null, |agent| json!({ "agent": agent }));
            let chat = calling(&text, options, &made);
            chat.go();
            chat.wait_for("@Assistant:\nfine");
            let found: Vec<bool> = chat.results(1).iter().map(|result| !result.contains("does not allow")).collect();
            let expected: Vec<bool> =
                permitted(own).iter().zip(permitted(of_file)).map(|(own, of_file)| *own && of_file).collect();
            assert_eq!(found, expected, "{own:?} {of_file:?}");
        }
    }
}

#[test]
fn an_unchecked_tool_needs_every_agent() {
    for (own, of_file, runs) in [
        ("wide", None, true),
        ("wide", Some("diary"), false),
        ("diary", Some("wide"), false),
        ("free", Some("wide"), true),
    ] {
        let text = of_file.map_or_else(|| "@You:\nHello".to_owned(), choosing);
        let chat = calling(&text, json!({ "agent": own }), &[("bash", bash("echo ran"))]);
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.results(1)[0] == "ran", runs, "{own} {of_file:?}: {:?}", chat.results(1));
    }
}

#[test]
fn a_file_does_not_move_the_paths_of_an_agent() {
    let text = "```json\n{ \"agent\": \"diary\", \"tools\": { \"notes\": { \"enabled\": true, \"root\": \"Private\" } } }\n```\n\n@You:\nHello";
    let page = |page: &str| {
        (
            "read_note",
            json!({ "label": null, "page": page, "section": null, "occurrence": null, "list_sections": null }),
        )
    };
    let chat =
        calling(text, json!({ "agent": "diary" }), &[page("Journal/plan"), page("diary"), read("Journal/today.md")]);
    chat.put("Private/Journal/plan.md", "SECRET\n");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert!(results[0].contains("does not allow") && results[1].contains("does not allow"), "{results:?}");
    assert_eq!(results[2], "allowed");
    // The user's own folder of notes is where they start.
    let notes = json!({ "enabled": true, "root": "Private" });
    let options = json!({ "agent": "diary", "tools": { "notes": notes, "auto_approve": ["read"] } });
    let chat = calling("@You:\nHello", options, &[page("Journal/plan"), page("diary"), read("Journal/today.md")]);
    chat.put("Private/Journal/plan.md", "the plan\n");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert!(results[0].contains("the plan"), "{results:?}");
    assert!(results[1].contains("does not allow") && results[2].contains("does not allow"), "{results:?}");
}

/// A tool of the user's with paths in `from` and `to`, whose calls return `done`.
fn define(chat: &Harness, more: Value) {
    let execute = chat.scripts.keep(|_, answer| {
        answer.finish(text("done"));
        None
    });
    let schema = json!({ "type": "object", "properties": { "from": {}, "to": {} } });
    let mut fields = vec![
        ("description".to_owned(), Field::Value(json!("A tool."))),
        ("input_schema".to_owned(), Field::Value(schema)),
        ("approval".to_owned(), Field::Value(json!("auto"))),
        ("execute".to_owned(), Field::Function(execute)),
    ];
    fields.extend(more.as_object().unwrap().iter().map(|(name, value)| (name.clone(), Field::Value(value.clone()))));
    chat.workspace.tools.register_tool(Some("mine"), fields).unwrap();
}

#[test]
#[ignore = "slow"]
fn each_value_of_a_declared_parameter_is_judged() {
    let both = json!({ "read_path_param": ["from", "to"] });
    let ok = "Journal/today.md";
    let nul = "Private/diary.md\0/../../Journal/today.md";
    for (declared, given, runs) in [
        (&both, json!({ "from": ok, "to": "Journal" }), true),
        (&both, json!({ "from": [ok, "Journal/deep/new.md"], "to": ok }), true),
        (&both, json!({ "from": ok, "to": "Private" }), false),
        (&both, json!({ "from": [ok, "Private/diary.md"], "to": ok }), false),
        (&both, json!({ "from": [ok, null], "to": ok }), false),
        (&both, json!({ "from": [ok, 7], "to": ok }), false),
        (&both, json!({ "from": [[ok]], "to": ok }), false),
        (&both, json!({ "from": [], "to": ok }), false),
        (&both, json!({ "from": {}, "to": ok }), false),
        (&both, json!({ "from": { "path": ok }, "to": ok }), false),
        (&both, json!({ "from": true, "to": ok }), false),
        (&both, json!({ "from": ok }), false),
        (&both, json!({ "from": ok, "to": null }), false),
        (&both, json!({ "from": ok, "to": "" }), false),
        (&both, json!({ "from": nul, "to": ok }), false),
        (&both, json!({ "from": "Journal/../Private/diary.md", "to": ok }), false),
        (&both, json!({}), false),
        (&json!({ "read_path_param": [] }), json!({ "from": "Private" }), true),
        (&json!({ "write_path_param": "to" }), json!({ "from": "Private", "to": ok }), true),
        (&json!({ "write_path_param": "to" }), json!({ "from": ok, "to": "Journals/a.md" }), false),
        (&json!({}), json!({ "from": ok, "to": ok }), false),
        (&json!({ "read_path_param": "from", "path_kind": "page" }), json!({ "from": "Journal/today" }), true),
        (&json!({ "read_path_param": "from", "path_kind": "page" }), json!({ "from": "Journal" }), true),
        (&json!({ "read_path_param": "from", "path_kind": "page" }), json!({ "from": "Journal/../Private/x" }), false),
        (&json!({ "read_path_param": "from", "path_kind": "page" }), json!({ "from": "/etc/passwd" }), false),
        (&json!({ "read_path_param": "from", "path_kind": "page_folder" }), json!({ "from": "Journal/" }), true),
        (&json!({ "read_path_param": "from", "path_kind": "page_folder" }), json!({ "from": null }), false),
    ] {
        let chat = calling(&choosing("diary"), Value::Null, &[("mine", given.clone())]);
        define(&chat, declared.clone());
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        let result = &chat.results(1)[0];
        assert_eq!(result == "done", runs, "{declared} {given}: {result}");
        assert_eq!(chat.questions(), 0);
    }
}

#[test]
fn rules_have_to_cover_each_of_several_paths() {
    let chat = Harness::start(
        Setup {
            options: json!({ "tools": { "auto_approve": ["mine(src/**)", "mine(docs/a)", "!mine(src/x/**)", "!read(src/secret)"] } }),
            ..Setup::default()
        },
        [],
    );
    define(&chat, json!({ "read_path_param": ["from", "to"], "approval": "requires_approval" }));
    for (from, to, expected) in [
        (json!("src/a"), json!("docs/a"), Decision::Approve),
        (json!(["src/a", "src/b"]), json!("docs/a"), Decision::Approve),
        (json!("src/a"), json!("docs/b"), Decision::RequireApproval),
        (json!(["src/a", "other"]), json!("docs/a"), Decision::RequireApproval),
        (json!(["src/a", "src/x/y"]), json!("docs/a"), Decision::Deny),
        (json!(["src/a", "src/secret"]), json!("docs/a"), Decision::Deny),
        (json!(["src/a", 7]), json!("docs/a"), Decision::RequireApproval),
    ] {
        let (decision, _) = chat.decision("mine", json!({ "from": from, "to": to }));
        assert_eq!(decision, expected, "{from} {to}");
    }
}

#[test]
fn a_call_that_waited_is_judged_again_when_it_starts() {
    let write = ("write", json!({ "label": null, "path": "Journal/diary.md", "content": "changed" }));
    let options = json!({ "tools": { "auto_approve": [] } });
    // The folder has become a link since the call was made.
    let chat = calling(&choosing("diary"), options.clone(), std::slice::from_ref(&write));
    chat.go();
    chat.wait_for_pending(1);
    fs::rename(chat.work("Journal"), chat.work("Old")).unwrap();
    symlink("Private", chat.work("Journal")).unwrap();
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert!(chat.results(1)[0].contains("does not allow"), "{:?}", chat.results(1));
    assert_eq!(fs::read_to_string(chat.work("Private/diary.md")).unwrap(), "SECRET\n");

    let chat = calling(&choosing("diary"), options.clone(), std::slice::from_ref(&write));
    chat.go();
    chat.wait_for_pending(1);
    symlink("../Private/diary.md", chat.work("Journal/diary.md")).unwrap();
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert!(chat.results(1)[0].contains("does not allow"), "{:?}", chat.results(1));
    assert_eq!(fs::read_to_string(chat.work("Private/diary.md")).unwrap(), "SECRET\n");

    // The user has restricted the conversation since.
    let other = ("write", json!({ "label": null, "path": "Other/a.md", "content": "changed" }));
    let chat = calling("@You:\nHello", options, &[other]);
    chat.go();
    chat.wait_for_pending(1);
    chat.set_up(json!({ "agent": "diary", "agents": agents() }), None).unwrap();
    chat.approve("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert!(chat.results(1)[0].contains("The agent `diary` does not allow `Other/a.md`"), "{:?}", chat.results(1));
    assert_eq!(fs::read_to_string(chat.work("Other/a.md")).unwrap(), "SECRET\n");
}

#[test]
fn a_tool_that_an_agent_refuses_is_not_offered() {
    let offers = |chat: &Harness, tool: &str| chat.offered(0).iter().any(|name| name == tool);
    // A call of it is answered as before.
    let chat = calling(&choosing("diary"), Value::Null, &[("bash", bash("ls"))]);
    let status = chat.status().join("\n");
    assert!(status.contains("bash (not offered: the agent diary refuses it)"), "{status}");
    let listed = chat.workspace.views.tool_list(&chat.conversation());
    assert!(listed.contains(&"not offered here  bash: the agent diary refuses it".to_owned()), "{listed:?}");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert!(!offers(&chat, "bash") && offers(&chat, "read"), "{:?}", chat.offered(0));
    assert!(chat.results(1)[0].contains("`bash` does not declare which files it uses"), "{:?}", chat.results(1));
    // The agent names it; or another one restricts the conversation as well.
    for (options, expected) in [(Value::Null, true), (json!({ "agent": "diary" }), false)] {
        let chat = calling(&choosing("wide"), options, &[read("Journal/today.md")]);
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(offers(&chat, "bash"), expected, "{:?}", chat.offered(0));
    }
    // Nobody restricts anything.
    let chat = calling(&choosing("free"), Value::Null, &[read("Journal/today.md")]);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert!(offers(&chat, "bash"));
}

#[test]
fn an_agent_that_does_not_exist_permits_nothing() {
    let chat = calling("@You:\nHello", json!({ "agent": "free" }), &[read("Journal/today.md")]);
    let problems = chat.set_up(json!({ "agent": "dairy", "agents": agents() }), None).unwrap_err();
    assert_eq!(problems, ["`agent`: there is no agent `dairy`; did you mean `diary`?"]);
    for (options, words) in [
        (json!({ "agents": { "a": { "allowed_read_paths": ["src/**"] } } }), "without wildcards"),
        (json!({ "agents": { "a": { "allowed_read_paths": [""] } } }), "a list of paths"),
        (json!({ "agents": { "a": { "allowed_paths": ["src"] } } }), "unknown option `agents.a.allowed_paths`"),
        (json!({ "agents": { "a": { "allowedReadPaths": 7 } } }), "`agents.a.allowedReadPaths` must be"),
        (
            json!({ "agents": { "a": { "allowed_read_paths": ["a"], "allowedReadPaths": ["b"] } } }),
            "it is another name of `allowed_read_paths`",
        ),
    ] {
        let problems = chat.set_up(options, None).unwrap_err();
        assert!(problems[0].contains(words), "{problems:?}");
    }
    // In a file, it is a mistake: nothing is sent.
    let chat = calling(&choosing("dairy"), Value::Null, &[read("Journal/today.md")]);
    chat.go();
    chat.settle();
    assert_eq!(chat.sent(), 0);
    let lines = chat.status().join("\n");
    assert!(lines.contains("there is no agent `dairy`; did you mean `diary`?"), "{lines}");
    // A file cannot define one.
    let text = "```json\n{ \"agents\": { \"mine\": {} } }\n```\n\n@You:\nHello";
    let chat = calling(text, Value::Null, &[]);
    chat.go();
    chat.settle();
    assert_eq!(chat.sent(), 0);
    assert!(chat.status().join("\n").contains("unknown option `agents`"), "{:?}", chat.status());
}

#[test]
fn the_status_shows_no_secret() {
    let own = json!({ "base_url": "https://h/v1?api_key=hush&v=1", "headers": { "x-api-key": "hush" }, "api_key_command": "hush" });
    let chat = calling("", json!({ "parameters": { "openai_compatible": own } }), &[]);
    chat.status_has("openai_compatible.base_url https://h/v1?api_key=…&v=1 setup");
    chat.status_has("openai_compatible.headers.x-api-key … setup");
    let lines = chat.status().join("\n");
    assert!(!lines.contains("hush"), "{lines}");
}

#[test]
fn nothing_is_sent_while_the_options_are_wrong() {
    let chat = Harness::new("@You:\nHello", [prose("From the model.")]);
    let wrong = json!({ "parameters": { "openai_compatible": { "headers": { "bad name": "x" } } } });
    // Those that were right remain in effect.
    chat.set_up(wrong.clone(), None).unwrap_err();
    chat.go();
    chat.wait_for("From the model.");
    // Without any, the script must not answer in the place of the model.
    let chat = Harness::new("@You:\nHello", []);
    chat.workspace.configure(&json!({}), None, &chat.work("")).unwrap();
    chat.set_up(wrong, None).unwrap_err();
    for _ in 0..2 {
        chat.go();
        chat.wait_for_words(
            "nothing is sent until the options of `setup` are right: `parameters.openai_compatible.headers`",
        );
        chat.host.told.borrow_mut().clear();
        assert!(!chat.text().contains("@Assistant"), "{}", chat.text());
    }
    assert_eq!(chat.server.requests().len(), 0);
    chat.server.push(prose("At last."));
    chat.set_up(json!({}), None).unwrap();
    chat.go();
    chat.wait_for("At last.");
}

#[test]
fn unreadable_options_that_name_an_agent_permit_nothing() {
    let chat = Harness::new("@You:\nHello", []);
    let folder = tempfile::tempdir().unwrap();
    for (options, is_restricted) in [
        (json!({ "agent": "x", "agents": { "x": {} }, "tools": { "auto_aprove": [] } }), true),
        (json!({ "agent": "x" }), true),
        (json!({ "tools": { "auto_aprove": [] } }), false),
    ] {
        let fresh = Workspace::new(chat.host.clone(), chat.scripts.clone(), folder.path(), || {});
        fresh.configure(&options, None, folder.path()).unwrap_err();
        let config = fresh.shared.config();
        let agent = config.agent.as_ref().map(|name| config.agents[name].clone());
        let nothing = |agent: AgentOptions| agent.allowed_read_paths == Some(vec![]);
        assert_eq!(agent.is_some_and(nothing), is_restricted, "{options}");
    }
}

#[test]
fn the_status_shows_the_agents_and_where_their_paths_lead() {
    let chat = calling(&choosing("wide"), json!({ "agent": "diary" }), &[]);
    let work = chat.work("").display().to_string();
    let work = work.trim_end_matches('/');
    chat.status_has(&format!("agent diary: reads {work}/Journal; writes the same setup"));
    let lines = chat.status().join("\n");
    assert!(lines.contains("agent wide: reads") && lines.contains("unchecked: bash, mine frontmatter"), "{lines}");
}
