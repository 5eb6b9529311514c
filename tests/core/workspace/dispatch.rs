//! Keys and commands, tools that are scripts, and what the background leaves.

use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use flemma_tools::{LuaError, SourceEnd};
use flemma_workspace::{Command, LuaOutcome, LuaValue, MAX_TEXT, MAX_VALUES, ToolAnswer, Workspace};
use serde_json::json;

use super::{
    harness::{Harness, Setup, bash, calls, commands, prose},
    scripts::text,
};

/// A conversation whose model calls the tool `mine`, and goes on when that has answered.
fn with_tool(answers: impl Fn(ToolAnswer) + 'static) -> Harness {
    let options = json!({ "tools": { "auto_approve": ["mine"] } });
    let replies = [calls([("mine", json!({}))]), prose("fine")];
    let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
    chat.register("mine", move |_, answer| {
        answers(answer);
        None
    });
    chat
}

/// The text of the result that an answer of a tool becomes.
fn rendered(outcome: LuaOutcome) -> (Harness, String) {
    let outcome = Cell::new(Some(outcome));
    let chat = with_tool(move |answer| assert!(answer.finish(outcome.take().unwrap()).is_none()));
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let result = chat.results(1).remove(0);
    (chat, result)
}

fn lua_text(bytes: impl Into<Vec<u8>>) -> LuaOutcome {
    LuaOutcome::new(LuaValue::Text(bytes.into()), false)
}

#[test]
fn a_long_answer_is_cut_and_its_whole_is_saved() {
    let long = "a line of words\n".repeat(10_000);
    let (chat, result) = rendered(lua_text(long.clone()));
    assert!(result.starts_with("a line of words\n") && result.len() < long.len(), "{}", result.len());
    let (_, path) = result.split_once("is in ").unwrap();
    let path = std::path::Path::new(path.trim_end_matches(']'));
    assert!(path.starts_with(chat.state("outputs")), "{}", path.display());
    assert_eq!(std::fs::read_to_string(path).unwrap(), long);

    // One line that is too long by itself is cut between its characters.
    let (_, result) = rendered(lua_text("é".repeat(100_000)));
    assert!(result.contains("Showing the first ") && result.contains(" of line 1 of 1. "), "no note at the end");
    assert!(result.starts_with("éé") && !result.contains('\u{fffd}'));

    let (_, result) = rendered(LuaOutcome::new(LuaValue::Table(json!([1, 2])), true));
    let note =
        format!("a table of more than {MAX_VALUES} values or {}", flemma_text::truncate::format_size(MAX_TEXT as u64));
    assert!(result.starts_with("[1,2]\n\n[The tool returned ") && result.contains(&note), "{result}");
}

#[test]
fn the_first_answer_counts_wherever_it_comes_from() {
    let chat = with_tool(|answer| {
        let other = answer.clone();
        std::thread::spawn(move || other.finish(text("first"))).join().unwrap();
        answer.finish(text("second"));
    });
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["first"]);
    assert!(!chat.text().contains("second"));
}

#[test]
fn an_answer_after_ctrl_c_is_dropped() {
    let late: Rc<RefCell<Option<ToolAnswer>>> = Rc::default();
    let keep = Rc::clone(&late);
    let chat = with_tool(move |answer| *keep.borrow_mut() = Some(answer));
    chat.go();
    chat.drain_until("the tool", |_| late.borrow().is_some());
    chat.stop();
    let stopped = chat.text();
    assert!(!chat.conversation().is_busy() && stopped.contains("(error)"), "{stopped}");
    late.borrow_mut().take().unwrap().finish(text("too late"));
    while chat.drain_once() {}
    assert_eq!(chat.text(), stopped);
    assert_eq!(chat.sent(), 1);
}

#[test]
fn a_script_that_does_not_answer_in_time_is_stopped() {
    let options = json!({ "tools": { "auto_approve": ["mine"], "mine": { "timeout": 0.05 } } });
    let replies = [calls([("mine", json!({}))]), prose("fine")];
    let chat = Harness::start(Setup { options, ..Setup::default() }, replies);
    let stopped = Rc::new(Cell::new(0));
    let count = Rc::clone(&stopped);
    chat.register("mine", move |_, answer| {
        // The right to answer stays with the script.
        std::mem::forget(answer);
        let count = Rc::clone(&count);
        Some(Box::new(move || {
            count.set(count.get() + 1);
            Err(LuaError::new("a handler that throws"))
        }))
    });
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(
        chat.results(1),
        [
            "Error: The tool did not answer within 0.05 seconds and was stopped. What it had done by then, such as a file that it had \
          written, stays done."
        ]
    );
    assert_eq!(stopped.get(), 1);
    let told = chat.told();
    let words = "a tool threw an error when its call call_0 was stopped: a handler that throws";
    assert!(told.iter().any(|told| told.contains(words)), "{told:?}");
}

#[test]
fn calls_of_a_reply_with_too_many_are_told_why() {
    let all = (0..130).map(|_| ("bash", bash("true")));
    let chat = Harness::start(Setup::default(), [calls(all), prose("fine")]);
    chat.go();
    chat.wait_for_words("None of them was run, and those after the first 128 are left out");
    chat.drain_until("rest", |chat| chat.workspace.is_at_rest(chat.current()));
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert_eq!(results.len(), 128);
    for result in results {
        assert!(result.contains("more than 128 tool calls: none of them was run"), "{result}");
        assert!(result.contains("Make fewer calls at a time."), "{result}");
    }
}

#[test]
fn a_definition_that_leaves_is_released() {
    let chat = Harness::new("@You:\nHello", []);
    let count = chat.workspace.shared.toolbox.all().len();
    chat.register("mine", |_, _| None);
    chat.register("mine", |_, _| None);
    assert_eq!(*chat.scripts.released.borrow(), ["mine"], "the first of them is replaced");
    assert_eq!(chat.workspace.shared.toolbox.all().len(), count + 1);
    assert!(chat.workspace.tools.unregister_tool("mine") && !chat.workspace.tools.unregister_tool("mine"));
    assert_eq!(chat.scripts.released.borrow().len(), 2);
    assert!(chat.workspace.shared.toolbox.get("mine").is_none());
}

#[test]
fn a_send_waits_for_sources_even_from_another_buffer() {
    let chat = Harness::new("@You:\nHello", [prose("ok")]);
    let source = chat.workspace.shared.toolbox.begin_source("late".to_owned());
    chat.go();
    let waits =
        |chat: &Harness| chat.conversation().live(80).text.as_deref() == Some("Waiting for tool definitions to load…");
    chat.drain_until("it to wait", waits);
    assert!(!chat.workspace.shared.toolbox.is_ready() && chat.buffer().is_locked.get());
    assert_eq!(chat.sent(), 0);
    // Ctrl-C takes it back, another key sends again.
    chat.stop();
    assert!(!chat.buffer().is_locked.get());
    chat.go();
    chat.drain_until("it to wait", waits);
    let notes = chat.current();
    chat.unnamed("@You:\nelsewhere");
    chat.register("late", |_, _| None);
    chat.workspace.tools.end_source(source, &SourceEnd::Complete);
    chat.go_to(notes);
    chat.wait_for("@Assistant:\nok");
    assert!(chat.offered(0).contains(&"late".to_owned()));
    assert_eq!(chat.sent(), 1);
}

#[test]
fn keys_that_do_not_apply_explain_why() {
    let chat = Harness::new("@You:\nHello", [commands(&["echo one"])]);
    let says = |press: &dyn Fn(), words: &str| {
        chat.told();
        press();
        let told = chat.told();
        assert!(told.iter().any(|told| told.contains(words)), "{words}: {told:?}");
    };
    says(&|| chat.execute("Hello"), "no tool call under the cursor");
    says(&|| chat.approve("Hello"), "no call is pending here");
    says(&|| chat.always("Hello"), "no call is pending here");
    says(&|| chat.press(Command::CancelTool { line: 0 }), "no tool is running here");
    chat.go();
    chat.wait_for_pending(1);
    says(&|| chat.approve("Hello"), "no call is pending here");
    // A buffer that is no conversation is nobody's trouble.
    chat.workspace.dispatch(99, Command::Advance);
    assert!(chat.told().is_empty());
}

#[test]
fn of_several_running_tools_the_one_at_the_cursor_stops() {
    let waits = "while [ ! -e go ]; do sleep 0.02; done; echo over";
    let options = json!({ "tools": { "auto_approve": ["bash"] } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [commands(&[waits, waits]), prose("fine")]);
    chat.go();
    chat.drain_until("both to run", |chat| chat.conversation().live(80).running.len() == 2);
    chat.told();
    chat.press(Command::CancelTool { line: 0 });
    assert_eq!(chat.told(), ["info: 2 tools are running; put the cursor on the one to stop"]);
    chat.press(Command::CancelTool { line: chat.line_with("Tool Result:** `call_0`") });
    assert_eq!(chat.conversation().live(80).running.len(), 1);
    chat.put("go", "");
    chat.wait_for("@Assistant:\nfine");
    let results = chat.results(1);
    assert!(results[0].starts_with("Error: ") && results[1] == "over", "{results:?}");
}

#[test]
fn previews_are_shown_for_what_waits_and_for_what_is_left() {
    let preview = json!({ "preview": "my own words" });
    let chat = Harness::new("@You:\nHello", [calls([("bash", bash("echo one")), ("mine", preview)])]);
    let fields = [
        ("description", flemma_tools::declare::Field::Value(json!("A tool."))),
        ("input_schema", flemma_tools::declare::Field::Value(json!({ "type": "object" }))),
        ("execute", flemma_tools::declare::Field::Function(chat.scripts.keep(|_, _| None))),
        ("format_preview", flemma_tools::declare::Field::Function(chat.scripts.keep(|_, _| None))),
    ];
    let fields = fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect();
    chat.workspace.tools.register_tool(Some("mine"), fields).unwrap();
    chat.go();
    chat.wait_for_pending(2);
    let previews = chat.workspace.views.previews(&chat.conversation(), 60, 0).0;
    let lines: Vec<_> = previews.iter().map(|preview| chat.buffer().lines()[preview.line].clone()).collect();
    assert!(lines.iter().all(|line| line.starts_with("**Tool Result:**")), "{lines:?}");
    let texts: Vec<_> = previews.into_iter().map(|preview| preview.text).collect();
    assert_eq!(texts, ["", "mine: my own words"], "the card has the command");
    // A status that the file says is running, although nothing is.
    let line = chat.line_with("status=pending");
    chat.replace_line(line, "```flemma:tool status=running");
    let previews = chat.workspace.views.previews(&chat.conversation(), 80, 0).0;
    let words = "this call is no longer running; Ctrl-] asks what to do with it";
    assert!(previews.iter().any(|preview| preview.line + 2 == line && preview.text.contains(words)), "{previews:?}");
}

#[test]
fn a_panic_in_one_job_costs_no_other_its_turn() {
    let chat = Harness::new("@You:\nHello", []);
    let done = Arc::new(AtomicUsize::new(0));
    for n in 0..5 {
        let done = Arc::clone(&done);
        chat.workspace.post(Box::new(move |_: &Workspace| {
            assert_ne!(n, 2, "the third one panics");
            done.fetch_add(1, Ordering::SeqCst);
        }));
    }
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        chat.drain_until("the jobs", |_| done.load(Ordering::SeqCst) == 4);
    }));
    assert!(panicked.is_err(), "it is not swallowed");
    chat.drain_until("the other jobs", |_| done.load(Ordering::SeqCst) == 4);
}

#[test]
fn a_foreign_change_of_a_locked_buffer_stops_everything() {
    let chat = Harness::new("@You:\nHello", [super::harness::held("Hi", &crate::http::Gate::new(), "")]);
    chat.go();
    chat.drain_until("the first word", |chat| chat.text().contains("Hi"));
    chat.host.edit(chat.current(), [(0..1, vec!["@You: changed".to_owned()])]);
    chat.settle();
    assert!(!chat.conversation().is_busy());
    let told = chat.told();
    assert!(
        told.iter().any(|told| told.contains("the buffer was changed by something else while a reply")),
        "{told:?}"
    );
    chat.wait_for("<!-- flemma:aborted -->");
    assert!(chat.text().ends_with("@You:\n"), "there is room to go on: {}", chat.text());
}
