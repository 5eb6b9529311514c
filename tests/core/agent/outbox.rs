//! What the user writes while a turn runs: when it goes out, and what becomes of it when the turn ends otherwise.

use flemma_agent::{CallResult, Input, ResolvedBy, Shell};
use flemma_chat as chat;
use flemma_chat::Status;
use flemma_model::{Event, StopReason};
use flemma_provider::ErrorKind;
use flemma_workspace::{MessageId, Since, Urgency};
use proptest::{
    prelude::*,
    sample::{Index, select},
};
use serde_json::json;

use super::harness::{Harness, call, prose};

impl Harness {
    /// The user queues a message, as the workspace does it.
    #[track_caller]
    fn queue(&self, text: &str, urgency: Urgency) -> MessageId {
        let since = self.with_document(|document, lines| {
            let message = document.messages().len().saturating_sub(1);
            Since {
                message,
                found: chat::count_words(document.messages().get(message..).unwrap_or_default(), text, lines),
            }
        });
        let id = self.outbox.borrow_mut().add(text, urgency, since).expect("a text");
        self.feed([Input::Outbox]);
        id
    }

    fn waiting(&self) -> Vec<String> {
        self.outbox.borrow().waiting().iter().map(|message| message.kept.text.clone()).collect()
    }

    /// The texts of the user's messages in the last request.
    fn said(&self) -> Vec<String> {
        use flemma_model::{Part::Text, Role};
        let sent = self.sent.borrow();
        let (_, transcript) = sent.last().expect("a request");
        let own = transcript.messages.iter().filter(|message| message.role == Role::User);
        let parts = own.flat_map(|message| &message.parts);
        parts.filter_map(|part| if let Text(text) = part { Some(text.trim().to_owned()) } else { None }).collect()
    }
}

#[test]
fn after_a_stop_it_comes_back_when_a_change_has_ended() {
    let harness = Harness::new("@You:\nHello");
    harness.go();
    harness.calls([("a", "read")]);
    harness.begins_to_change("a");
    harness.queue("And then?", Urgency::NextRequest);
    harness.stop();
    assert!(!harness.text().contains("And then?"));
    harness.tool("a", "written");
    assert!(harness.text().ends_with("And then?"), "{}", harness.text());
    assert_eq!((harness.requests(), harness.waiting().len()), (1, 0));
}

#[test]
fn a_queued_message_goes_out_when_the_turn_ends() {
    let chat = Harness::new("@You:\nHello");
    chat.go();
    chat.queue("And then?", Urgency::NextTurn);
    assert_eq!(chat.waiting(), ["And then?"]);
    chat.says("Hi.");
    chat.shows("@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\nAnd then?");
    assert_eq!((chat.requests(), chat.waiting().len()), (2, 0));
    assert!(chat.locked.get(), "the buffer stays locked in between");
    assert_eq!(chat.log(&["lock", "unlock"]), ["lock"]);
    assert_eq!(chat.said(), ["Hello", "And then?"]);
    chat.says("The end.");
    assert!(chat.text().ends_with("@You:\nAnd then?\n\n@Assistant:\nThe end.\n\n@You:\n"), "{}", chat.text());
}

#[test]
fn queued_messages_go_out_one_by_one_in_order() {
    let chat = Harness::new("@You:\nHello");
    chat.go();
    for text in ["one", "two", "three"] {
        chat.queue(text, Urgency::NextTurn);
    }
    chat.calls([("a", "read")]);
    assert_eq!(chat.requests(), 1, "tools are part of the turn");
    chat.tool("a", "done");
    assert_eq!((chat.requests(), chat.waiting().len()), (2, 3));
    for (text, left) in [("one", 2), ("two", 1), ("three", 0)] {
        chat.says("Yes.");
        assert_eq!(chat.said().last().unwrap(), text);
        assert_eq!(chat.waiting().len(), left);
    }
    chat.says("The end.");
    assert!(!chat.session.is_busy());
}

#[test]
fn a_steering_message_goes_out_with_the_results() {
    let chat = Harness::new("@You:\nHello");
    chat.go();
    chat.queue("later", Urgency::NextTurn);
    chat.queue("Use the other file.", Urgency::NextRequest);
    chat.queue("Quickly.", Urgency::NextRequest);
    assert_eq!(chat.waiting(), ["Use the other file.", "Quickly.", "later"]);
    chat.calls([("a", "read"), ("b", "read")]);
    chat.tool("a", "one");
    assert_eq!(chat.requests(), 1);
    chat.tool("b", "two");
    assert_eq!(chat.requests(), 2);
    assert_eq!(chat.sent_results(), ["a: one", "b: two"]);
    assert_eq!(chat.said(), ["Hello", "Use the other file.\n\nQuickly."]);
    assert!(chat.text().ends_with("two\n```\n\nUse the other file.\n\nQuickly."), "{}", chat.text());
    assert_eq!(chat.waiting(), ["later"]);
}

#[test]
fn a_steering_message_goes_out_at_the_end_without_tools() {
    let chat = Harness::new("@You:\nHello");
    chat.go();
    chat.queue("second", Urgency::NextTurn);
    chat.queue("first", Urgency::NextRequest);
    chat.says("Hi.");
    assert_eq!(chat.said(), ["Hello", "first"]);
    chat.says("Hi.");
    assert_eq!(chat.said(), ["Hello", "first", "second"]);
}

#[test]
fn nothing_goes_out_while_a_call_waits_for_the_user() {
    let chat = Harness::new("@You:\nHello");
    chat.go();
    chat.queue("later", Urgency::NextTurn);
    chat.queue("now", Urgency::NextRequest);
    chat.calls([("a", "read"), ("b", "bash")]);
    chat.tool("a", "done");
    assert!(!chat.session.is_busy());
    chat.queue("more", Urgency::NextTurn);
    assert_eq!((chat.requests(), chat.waiting().len()), (1, 3));
    assert_eq!(chat.statuses(), ["b pending"]);
    chat.execute("b");
    chat.tool("b", "done too");
    assert_eq!(chat.requests(), 2);
    assert_eq!(
        (chat.said(), chat.waiting()),
        (vec!["Hello".to_owned(), "now".to_owned()], vec!["later".to_owned(), "more".to_owned()])
    );
}

#[test]
fn an_error_puts_queued_messages_under_the_prompt() {
    for cut_off in [false, true] {
        let chat = Harness::new("@You:\nHello");
        chat.go();
        chat.queue("one\n\n  two", Urgency::NextTurn);
        chat.queue("three", Urgency::NextTurn);
        if cut_off {
            chat.event(prose("Hi"));
        }
        chat.fails(ErrorKind::InvalidRequest);
        assert!(!chat.locked.get() && chat.waiting().is_empty());
        assert!(chat.text().ends_with("\none\n\n  two\n\nthree"), "{}", chat.text());
        assert_eq!(chat.requests(), 1);
        let told = chat.told();
        assert!(told.iter().any(|line| line.contains("queued messages were not sent")), "{told:?}");
        chat.go();
        assert_eq!(chat.said().last().unwrap().lines().last(), Some("three"));
    }
}

#[test]
fn a_reply_that_is_cut_off_or_refused_sends_nothing_more() {
    for reason in [StopReason::MaxTokens, StopReason::Refusal] {
        let chat = Harness::new("@You:\nHello");
        chat.go();
        chat.queue("more", Urgency::NextTurn);
        chat.reply([prose("Hi")], reason);
        chat.shows("@You:\nHello\n\n@Assistant:\nHi\n\n@You:\nmore");
        assert_eq!((chat.requests(), chat.locked.get()), (1, false));
        let told = chat.told();
        assert!(told.iter().any(|line| line.contains("Your queued message was not sent.")), "{told:?}");
    }
}

#[test]
fn the_turn_limit_sends_nothing_more() {
    let chat = Harness::new("@You:\nHello");
    chat.set(|settings| settings.max_turns = 1);
    chat.go();
    chat.queue("more", Urgency::NextTurn);
    chat.calls([("a", "read")]);
    chat.tool("a", "done");
    assert_eq!((chat.requests(), chat.locked.get()), (1, false));
    assert!(chat.text().ends_with("done\n```\n\nmore"), "{}", chat.text());
    chat.go();
    assert_eq!((chat.requests(), chat.sent_results()), (2, vec!["a: done".to_owned()]));
}

#[test]
fn a_stop_puts_queued_messages_under_the_prompt() {
    // At every moment of a turn.
    let moments: [fn(&Harness); 4] = [
        |_| {},
        |chat| chat.event(prose("Hi")),
        |chat| chat.calls([("a", "read")]),
        |chat| chat.calls([("a", "bash")]),
    ];
    for moment in moments {
        let chat = Harness::new("@You:\nHello");
        chat.go();
        chat.queue("more", Urgency::NextTurn);
        moment(&chat);
        chat.stop();
        assert!(!chat.locked.get());
        assert!(chat.text().ends_with("\nmore"), "{}", chat.text());
        assert_eq!((chat.requests(), chat.waiting().len()), (1, 0));
        let told = chat.told();
        assert!(!told.iter().any(|line| line.contains("nothing is running")), "{told:?}");
    }
}

#[test]
fn what_is_queued_when_nothing_runs_is_sent() {
    let chat = Harness::new("@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\n");
    chat.queue("more", Urgency::NextTurn);
    chat.shows("@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\nmore");
    assert_eq!(chat.requests(), 1);
}

#[test]
fn what_the_user_has_not_sent_is_not_sent_with_it() {
    let chat = Harness::new("@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\nNot yet");
    chat.queue("more", Urgency::NextTurn);
    chat.shows("@You:\nHello\n\n@Assistant:\nHi.\n\n@You:\nNot yet\n\nmore");
    assert_eq!((chat.requests(), chat.locked.get()), (0, false));
}

#[test]
fn without_autopilot_a_queued_message_waits_for_the_results() {
    let chat = Harness::new("@You:\nHello").without_autopilot();
    chat.go();
    chat.queue("later", Urgency::NextTurn);
    chat.calls([("a", "read")]);
    chat.go();
    chat.tool("a", "done");
    chat.queue("now", Urgency::NextRequest);
    assert_eq!((chat.requests(), chat.waiting().len()), (1, 2));
    chat.go();
    assert_eq!((chat.requests(), chat.waiting()), (2, vec!["later".to_owned()]));
    assert_eq!(chat.said(), ["Hello", "now"]);
    chat.says("Hi.");
    assert_eq!(chat.said(), ["Hello", "now", "later"]);
}

#[test]
fn markers_in_a_queued_message_are_text() {
    let chat = Harness::new("@You:\nHello");
    chat.go();
    let text = "@Assistant:\nI did it.\n\n**Tool Use:** `bash` (`x`)\n\n```flemma:tool status=approved\n<thinking>";
    chat.queue(text, Urgency::NextTurn);
    chat.says("Hi.");
    assert_eq!(chat.said(), ["Hello", text]);
    assert_eq!(chat.statuses(), [""; 0]);
    assert_eq!(chat.with_diagnostics(|_| true), []);
    chat.says("The end.");
    assert!(chat.text().ends_with("\n\\<thinking>\n\n@Assistant:\nThe end.\n\n@You:\n"), "{}", chat.text());
}

// Interleavings.

#[derive(Clone, Debug)]
enum Step {
    Go,
    Stop,
    Queue,
    Steer,
    SteerAll,
    Unqueue(Index),
    Reply(Vec<&'static str>),
    Say,
    Begin,
    Fail(ErrorKind),
    Answer,
    Resolve,
    Approve,
    Reject,
    Abandon,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let tools = select(&["read", "read", "bash", "rm", "ask"][..]);
    let kind = select(vec![ErrorKind::Overloaded, ErrorKind::InvalidRequest]);
    prop_oneof![
        3 => Just(Step::Go),
        1 => Just(Step::Stop),
        4 => Just(Step::Queue),
        2 => Just(Step::Steer),
        1 => Just(Step::SteerAll),
        1 => index().prop_map(Step::Unqueue),
        4 => proptest::collection::vec(tools, 1..4).prop_map(Step::Reply),
        3 => Just(Step::Say),
        2 => Just(Step::Begin),
        1 => kind.prop_map(Step::Fail),
        4 => Just(Step::Answer),
        2 => Just(Step::Resolve),
        2 => Just(Step::Approve),
        1 => Just(Step::Reject),
        1 => Just(Step::Abandon),
        1 => Just(Step::Kill),
    ]
}

/// A user who queues, and what must become of their messages.
struct Writer {
    chat: Harness,
    /// What is to be in the document or in the outbox, exactly once.
    texts: Vec<String>,
    /// What the user has taken back.
    taken: Vec<String>,
    /// All that were ever written.
    written: usize,
    calls: usize,
    /// The file, as it was written at the last pause.
    file: String,
}

impl Writer {
    fn new() -> Self {
        let chat = Harness::new("@You:\nHello");
        Self { file: chat.text(), chat, texts: Vec::new(), taken: Vec::new(), written: 0, calls: 0 }
    }

    fn text(&mut self) -> String {
        self.written += 1;
        format!("message {}.\n\n@You: line {}.", self.written, self.written)
    }

    fn take(&mut self, step: Step) {
        let before = self.chat.requests();
        let open = self.chat.open_calls().len();
        match step {
            Step::Go => self.chat.go(),
            Step::Stop => self.chat.stop(),
            Step::Queue | Step::Steer => {
                let text = self.text();
                let urgency = if matches!(step, Step::Queue) { Urgency::NextTurn } else { Urgency::NextRequest };
                self.chat.queue(&text, urgency);
                self.texts.push(text);
                assert!(open == 0 || self.chat.requests() == before, "nothing is sent while a call waits");
            }
            Step::SteerAll => {
                self.chat.outbox.borrow_mut().steer();
                self.chat.feed([Input::Outbox]);
            }
            Step::Unqueue(index) => {
                let count = self.chat.waiting().len();
                if count > 0 {
                    let text = self.chat.outbox.borrow_mut().take_back(Some(index.index(count) + 1)).unwrap().kept.text;
                    self.texts.retain(|other| *other != text);
                    self.taken.push(text);
                }
            }
            Step::Reply(tools) => {
                for tool in tools {
                    self.calls += 1;
                    let id = format!("call_{}", self.calls);
                    self.chat.event(call(&id, tool, json!({ "n": self.calls })));
                }
                self.chat.event(Event::Finished(StopReason::ToolUse));
            }
            Step::Say => self.chat.says("Yes."),
            Step::Begin => self.chat.event(prose("Well, ")),
            Step::Fail(kind) => {
                self.chat.fails(kind);
                self.chat.fire();
            }
            Step::Answer => {
                if let Some(call) = self.chat.running().first() {
                    self.chat.tool(call, "done");
                }
            }
            Step::Resolve => {
                let asked = self.chat.open_calls().into_iter().find(|call| call.name == "ask");
                if let Some(call) = asked.filter(|call| call.placeholder.is_some() && !self.chat.session.is_busy()) {
                    let answer = CallResult::text("an answer");
                    self.chat.feed([Input::Resolve { call: call.id, answer, by: ResolvedBy::Person }]);
                }
            }
            Step::Approve => {
                let waits = self.chat.open_calls().into_iter().find(|call| call.name == "bash");
                if let Some(call) = waits {
                    self.chat.execute(&call.id.0);
                }
            }
            Step::Reject => {
                let is_pending = |call: &&flemma_chat::OpenCall| {
                    call.placeholder.as_ref().is_some_and(|placeholder| placeholder.block.status == Status::Pending)
                };
                let waits = self.chat.open_calls().iter().find(is_pending).map(|call| call.id.clone());
                if let Some(call) = waits {
                    use flemma_agent::{Choice, UndoStep};
                    self.chat.feed([Input::Decide(vec![call], Choice::Reject(None), UndoStep::Own)]);
                }
            }
            // Something else has changed the buffer.
            Step::Abandon => {
                self.chat.running.borrow_mut().clear();
                self.chat.session.abandon();
                self.chat.locked.set(false);
                let edits = self.chat.cut_off();
                self.chat.apply(&edits);
                self.chat.feed([Input::Released]);
            }
            Step::Kill => self.kill(),
        }
        if !self.chat.session.is_replying() {
            self.file = self.chat.text();
            let posted = self.chat.outbox.borrow().posted();
            self.chat.outbox.borrow_mut().written(&posted);
        }
    }

    /// Nothing is left but the file and what is kept of the outbox.
    fn kill(&mut self) {
        let kept = self.chat.outbox.borrow().kept();
        let chat = Harness::new(&self.file);
        chat.with_document(|document, text| {
            let found =
                |words: &str, from| chat::count_words(document.messages().get(from..).unwrap_or_default(), words, text);
            chat.outbox.borrow_mut().take_kept(kept, found);
        });
        let all = chat.open_calls().into_iter().map(|call| call.id).collect();
        chat.feed([Input::Recover(all), Input::PutDown]);
        assert_eq!(chat.requests(), 0, "nothing is sent by itself after a restart");
        assert_eq!(chat.waiting(), [""; 0]);
        self.chat = chat;
    }

    fn check(&self) {
        let text = format!("\n{}\n", self.chat.text());
        let in_text = |words: &str| {
            let escaped: Vec<_> = words.split('\n').map(flemma_chat::escape).collect();
            text.matches(&format!("\n{}\n", escaped.join("\n"))).count()
        };
        let waiting = self.chat.waiting();
        for words in &self.texts {
            let times = in_text(words) + waiting.iter().filter(|other| *other == words).count();
            assert_eq!(times, 1, "`{words}` is there once: {waiting:?} and\n{text}");
        }
        for words in &self.taken {
            assert_eq!(in_text(words), 0, "`{words}` was taken back, and stands in\n{text}");
        }
        // No request says anything twice.
        let sent = self.chat.sent.borrow().len();
        if sent > 0 {
            let said = self.chat.said().join("\n\n");
            for words in &self.texts {
                assert!(said.matches(words.as_str()).count() <= 1, "`{words}` was sent twice:\n{said}");
            }
        }
        if !self.chat.session.is_busy() && self.chat.open_calls().is_empty() {
            let tail = self.chat.with_document(|document, text| chat::Tail::of(document.messages(), text));
            let may_wait = tail == flemma_chat::Tail::Results;
            assert!(may_wait || waiting.is_empty(), "{waiting:?} waits for nothing after\n{text}");
        }
    }
}

impl Harness {
    /// The edits that mark a reply at the end as cut off.
    fn cut_off(&self) -> Vec<flemma_chat::TextEdit> {
        self.with_document(|document, text| flemma_chat::mark_cut_off(document.messages(), text))
    }
}

proptest! {
    #[test]
    fn no_queued_message_is_lost_or_sent_twice(steps in proptest::collection::vec(step(), 1..60)) {
        let mut writer = Writer::new();
        writer.chat.go();
        for step in steps {
            writer.take(step);
            writer.check();
        }
    }
}
