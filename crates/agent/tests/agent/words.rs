//! What the user types below the results of calls while some of them wait. Only a key that sends takes it along.

use flemma_agent::{CallResult, Choice, Input, ResolvedBy, UndoStep};
use flemma_model::{Part, Role};
use proptest::{prelude::*, sample::Index};

use super::harness::Harness;

const HELD: &str = "info: The text below the results was not sent. Ctrl-] sends it.";

impl Harness {
    #[track_caller]
    fn type_below(&self, words: &str) {
        let text = self.text();
        self.replace(&text, &format!("{}\n\n{words}", text.trim_end()));
    }

    #[track_caller]
    fn decide_on(&self, call: &str, choice: Choice) {
        self.feed([Input::Decide(vec![call.into()], choice, UndoStep::Own)]);
    }

    #[track_caller]
    fn resolved(&self, call: &str, by: ResolvedBy) {
        self.feed([Input::Resolve { call: call.into(), answer: CallResult::text("an answer"), by }]);
    }

    /// Whether the user has said this in the last request.
    fn has_said(&self, words: &str) -> bool {
        let sent = self.sent.borrow();
        let messages = sent.last().map(|(_, transcript)| transcript.messages.clone()).unwrap_or_default();
        let own = messages.iter().filter(|message| message.role == Role::User).flat_map(|message| &message.parts);
        own.into_iter().any(|part| matches!(part, Part::Text(text) if text.contains(words)))
    }
}

/// A call waits, and the user has typed something below it.
fn typed() -> Harness {
    let chat = Harness::new("@You:\nFix it");
    chat.go();
    chat.calls([("a", "bash")]);
    chat.type_below("half a sen");
    chat.log(&[]);
    chat
}

#[test]
fn a_key_that_cannot_send_words_says_why() {
    let chat = typed();
    chat.go();
    assert_eq!((chat.requests(), chat.statuses()), (1, vec!["a pending".to_owned()]));
    assert_eq!(chat.told(), ["info: Not sent: a call above waits. gA approves it, gX rejects it."]);
    // A question is answered.
    chat.replace("status=pending", "status=pending kind=elicitation");
    chat.go();
    let why = "info: Not sent: a question above waits. Alt-Enter answers it.";
    assert_eq!(chat.told(), [why]);
    chat.replace(" kind=elicitation", "");
    chat.replace("half a sen", "");
    chat.go();
    assert_eq!(chat.told(), ["info: `bash` waits. gA approves it, gX rejects it."]);
}

#[test]
fn a_key_that_changes_nothing_says_what_waits() {
    let chat = Harness::new("@You:\nFix it");
    chat.go();
    chat.calls([("a", "bash"), ("b", "bash")]);
    assert_eq!(chat.told(), [""; 0], "the calls have just begun to wait");
    chat.go();
    assert_eq!(chat.told(), ["info: 2 calls wait. ]w goes there, gA approves, gX rejects."]);
}

#[test]
fn words_below_a_call_wait_for_the_key() {
    let ends: [fn(&Harness); 5] = [
        |chat| {
            chat.decide_on("a", Choice::Approve);
            chat.tool("a", "done");
        },
        |chat| chat.decide_on("a", Choice::Reject(None)),
        |chat| {
            chat.execute("a");
            chat.tool("a", "done");
        },
        |chat| chat.resolved("a", ResolvedBy::Person),
        |chat| chat.resolved("a", ResolvedBy::Clock),
    ];
    for (number, end) in ends.iter().enumerate() {
        let chat = typed();
        end(&chat);
        assert_eq!((chat.requests(), chat.locked.get()), (1, false), "{number}: {}", chat.text());
        assert!(chat.told().iter().any(|line| line == HELD), "{number}");
        chat.replace("half a sen", "half a sentence");
        chat.go();
        assert_eq!(chat.requests(), 2, "{number}");
        assert!(chat.has_said("half a sentence"), "{number}");
    }
}

#[test]
fn the_key_that_carries_out_a_decision_sends_the_words() {
    let chat = typed();
    chat.replace("status=pending", "status=approved");
    chat.go();
    chat.tool("a", "done");
    assert_eq!(chat.requests(), 2);
    assert!(chat.has_said("half a sen"));
}

#[test]
fn a_key_does_not_count_for_what_is_typed_later() {
    let chat = Harness::new("@You:\nFix it");
    chat.go();
    chat.calls([("a", "bash"), ("b", "bash")]);
    chat.type_below("half a sen");
    chat.go();
    chat.replace("half a sen", "half a sentence");
    chat.decide_on("a", Choice::Reject(None));
    chat.decide_on("b", Choice::Reject(None));
    assert_eq!(chat.requests(), 1);
}

#[test]
fn what_was_decided_elsewhere_sends_no_words() {
    let chat = typed();
    chat.replace("status=pending", "status=approved");
    chat.feed([Input::CarryOn]);
    chat.tool("a", "done");
    assert_eq!(chat.requests(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Go,
    CarryOn,
    Type,
    Say,
    Call(usize),
    Approve(Index),
    Reject(Index),
    Execute(Index),
    Resolve(Index, bool),
    Finish(Index),
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        2 => Just(Step::Go),
        1 => Just(Step::CarryOn),
        4 => Just(Step::Type),
        1 => Just(Step::Say),
        4 => (1..4usize).prop_map(Step::Call),
        2 => index().prop_map(Step::Approve),
        1 => index().prop_map(Step::Reject),
        1 => index().prop_map(Step::Execute),
        1 => (index(), any::<bool>()).prop_map(|(call, clock)| Step::Resolve(call, clock)),
        4 => index().prop_map(Step::Finish),
        1 => Just(Step::Stop),
    ]
}

proptest! {
    /// Nothing that was typed is in a request before the key was pressed after it, and nothing is lost.
    #[test]
    fn no_typed_word_goes_out_without_the_key(steps in proptest::collection::vec(step(), 1..60)) {
        let chat = Harness::new("@You:\nFix it");
        chat.go();
        let (mut unsent, mut all, mut calls) = (Vec::new(), Vec::new(), 0_usize);
        for step in steps {
            let open: Vec<String> = chat.open_calls().iter().map(|call| call.id.to_string()).collect();
            let pick = |index: Index| (!open.is_empty()).then(|| index.get(&open).clone());
            match step {
                Step::Go => {
                    chat.go();
                    unsent.clear();
                }
                Step::CarryOn if !open.is_empty() => chat.feed([Input::CarryOn]),
                Step::Type if !chat.locked.get() => {
                    let words = format!("word-{}-", all.len());
                    chat.type_below(&words);
                    unsent.push(words.clone());
                    all.push(words);
                }
                Step::Say => chat.says("Well."),
                Step::Call(count) => {
                    let ids: Vec<String> = (0..count).map(|number| format!("c{}", calls + number)).collect();
                    calls += count;
                    chat.calls(ids.iter().map(|id| (id.as_str(), if id.ends_with('0') { "read" } else { "bash" })));
                }
                Step::Approve(index) => pick(index).iter().for_each(|call| chat.decide_on(call, Choice::Approve)),
                Step::Reject(index) => {
                    pick(index).iter().for_each(|call| chat.decide_on(call, Choice::Reject(None)));
                }
                Step::Execute(index) => pick(index).iter().for_each(|call| chat.execute(call)),
                Step::Resolve(index, clock) => {
                    let by = if clock { ResolvedBy::Clock } else { ResolvedBy::Person };
                    let waits = |id: &String| chat.statuses().contains(&format!("{id} pending"));
                    pick(index).iter().filter(|id| waits(id)).for_each(|call| chat.resolved(call, by));
                }
                Step::Finish(index) => {
                    let running = chat.running();
                    if !running.is_empty() {
                        let id: &String = index.get(&running);
                        chat.tool(id, "done");
                    }
                }
                Step::Stop => chat.stop(),
                Step::CarryOn | Step::Type => {}
            }
            for words in &unsent {
                prop_assert!(!chat.has_said(words), "{words} was sent\n{}", chat.text());
            }
            for words in &all {
                prop_assert!(chat.text().contains(words), "{words} is lost\n{}", chat.text());
            }
        }
    }
}
