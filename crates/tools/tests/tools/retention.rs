//! Retention: which results a request leaves out, and that it leaves everything else alone.

use std::{collections::BTreeSet, sync::Arc};

use flemma_config::Config;
use flemma_model::{Attachment, CallId, Hosted, HostedBlock, Message, Part, Role};
use flemma_tools::{Definition, Executor, LuaRef, RetentionRules, Runner};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use Role::{Assistant, User};

fn message(role: Role, parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message { role, parts })
}

fn said(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn call(id: &str, tool: &str) -> Part {
    Part::ToolUse { id: id.into(), name: tool.to_owned(), input: json!({}) }
}

fn result(id: &str, output: &str) -> Part {
    Part::ToolResult { id: id.into(), output: output.into(), is_error: false, attachments: Vec::new() }
}

/// An output that is longer than a stub.
fn long(words: &str) -> String {
    format!("{words}: {}", "x".repeat(200))
}

/// Rules without definitions.
fn rules(tools: Value) -> RetentionRules {
    rules_with(tools, &[])
}

fn rules_with(tools: Value, definitions: &[Definition]) -> RetentionRules {
    let config = Config::from_layers(&[json!({ "tools": tools })]).unwrap_or_else(|error| panic!("{error}"));
    RetentionRules::new(&config.tools, definitions)
}

fn applied(rules: &RetentionRules, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut messages = messages.to_vec();
    rules.apply(&mut messages);
    messages
}

fn last_results(value: u32) -> Value {
    json!({ "retention": { "mode": "count", "value": value } })
}

/// Exchanges with one call of `read` each, and these results; then the user's next words.
fn exchanges(results: Vec<Part>) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for result in results {
        let Part::ToolResult { id, .. } = &result else { panic!("{result:?}") };
        let calls = vec![call(&id.0, "read")];
        messages.extend([message(User, vec![said("go")]), message(Assistant, calls), message(User, vec![result])]);
        messages.push(message(Assistant, vec![said("done")]));
    }
    messages.push(message(User, vec![said("next")]));
    messages
}

/// The outputs of the results in a conversation.
fn outputs(messages: &[Arc<Message>]) -> Vec<String> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let output = |part: &Part| match part {
        Part::ToolResult { output, .. } => Some(output.to_string()),
        _ => None,
    };
    parts.filter_map(output).collect()
}

#[test]
fn a_stub_says_what_was_there() {
    let attachment = || Attachment::unread("picture.png", "image/png");
    let make = |output: String, is_error, attachments| Part::ToolResult {
        id: "a".into(),
        output: output.into(),
        is_error,
        attachments,
    };
    let stub = |what: &str| format!("[The {what} was left out to save space. Call the tool again if you need it.]");
    let table = [
        (make("x".repeat(12_345), false, vec![]), Some(stub("result of this call (12,345 bytes)"))),
        (make("x".repeat(1_001), true, vec![]), Some(stub("error of this call (1,001 bytes)"))),
        (make("xx".into(), false, vec![attachment()]), Some(stub("result of this call (2 bytes and 1 file)"))),
        (make(String::new(), false, vec![attachment(), attachment()]), Some(stub("result of this call (2 files)"))),
        // A short result costs less than its stub, and a short error may be the user's own words.
        (make(String::new(), false, vec![]), None),
        (make("x".repeat(97), false, vec![]), None),
        (make("x".repeat(1_000), true, vec![]), None),
    ];
    for (old, expected) in table {
        let messages = exchanges(vec![old.clone(), result("b", "last")]);
        let sent = applied(&rules(last_results(1)), &messages);
        let is_error = matches!(old, Part::ToolResult { is_error: true, .. });
        let expected = expected.map_or(old, |text| make(text, is_error, vec![]));
        assert_eq!(sent[2].parts, [expected]);
        assert_eq!(sent[6], messages[6], "the last one stays");
    }
}

#[test]
fn a_stub_is_never_longer_than_what_it_replaces() {
    for length in 0..300 {
        let messages = exchanges(vec![result("a", &"x".repeat(length)), result("b", "last")]);
        let sent = outputs(&applied(&rules(last_results(1)), &messages)).remove(0);
        assert!(sent.len() < length || sent == "x".repeat(length), "{length}: {sent}");
    }
}

#[test]
fn results_of_hosted_tools_are_left_alone() {
    let hosted = |id: &str| {
        let id = CallId::from(id);
        let raw = json!({ "text": long("hosted") });
        let name = "web_search".to_owned();
        message(
            Assistant,
            [
                HostedBlock::Call { id: id.clone(), name, raw: json!({}) },
                HostedBlock::Result { id, raw: raw.clone(), is_error: false },
                HostedBlock::Citations { sources: Vec::new(), raw: Some(raw) },
            ]
            .map(|block| Part::Hosted(Hosted::of("anthropic", block)))
            .to_vec(),
        )
    };
    let ask = || message(User, vec![said("go")]);
    let messages = [ask(), hosted("a"), ask(), hosted("b"), ask(), hosted("c"), ask()];
    for mode in ["age", "count"] {
        let retention = json!({ "retention": { "mode": mode, "value": 1 } });
        assert_eq!(applied(&rules(retention), &messages), messages);
    }
}

#[test]
fn an_id_that_is_used_again_belongs_to_the_latest_call() {
    let mut messages = exchanges(vec![result("a", &long("0")), result("a", &long("1")), result("a", &long("2"))]);
    messages[5] = message(Assistant, vec![call("a", "keep")]);
    let tools =
        json!({ "retention": { "mode": "count", "value": 1 }, "keep": { "retention": { "never_evict": true } } });
    let sent = outputs(&applied(&rules(tools), &messages));
    assert!(sent[0].starts_with("[The result"), "{sent:?}");
    assert_eq!(sent[1..], [long("1"), long("2")]);
}

#[test]
fn an_answer_of_the_user_stays_unless_its_tool_says_otherwise() {
    let messages = exchanges((0..3).map(|n| result(&n.to_string(), &long("answer"))).collect());
    let schema = json!({ "type": "object" });
    let human = Definition::new("read", "Asks.", schema.clone(), Executor::Human);
    let is_changed = |tools: Value, tool: &Definition| {
        applied(&rules_with(tools, std::slice::from_ref(tool)), &messages) != messages
    };
    assert!(!is_changed(last_results(1), &human));
    assert!(is_changed(json!({ "read": last_results(1) }), &human));
    let server = Definition::new("read", "Reads.", schema, Executor::Server(Runner::Lua(LuaRef(1))));
    assert!(is_changed(last_results(1), &server));
}

/// What happens next in a conversation.
#[derive(Clone, Debug)]
enum Step {
    /// The user says something, in a message of its own or in the one at the end.
    Words { is_separate: bool },
    /// A reply that calls these tools, and their results; then another request.
    Calls(Vec<&'static str>),
    /// A reply that ends the exchange.
    End,
}

const TOOLS: [&str; 3] = ["a", "b", "c"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => any::<bool>().prop_map(|is_separate| Step::Words { is_separate }),
        4 => vec(select(&TOOLS[..]), 1..4).prop_map(Step::Calls),
        1 => Just(Step::End),
    ];
    vec(step, 1..60)
}

/// A growing conversation.
#[derive(Default)]
struct Growing {
    messages: Vec<Arc<Message>>,
    /// The tool of each result, and its turn, from 1.
    results: Vec<(&'static str, usize)>,
    turns: usize,
    /// How many results and turns came before the user's last own words.
    past: (usize, usize),
}

impl Growing {
    fn grow(&mut self, step: &Step) {
        match step {
            Step::Words { is_separate } => {
                // Results that the model has not seen are no past.
                let is_answered = self.messages.last().is_none_or(|last| last.role == Assistant);
                let fresh = self.results.iter().filter(|(_, turn)| *turn == self.turns && !is_answered).count();
                self.past = (self.results.len() - fresh, self.turns);
                match self.messages.last_mut() {
                    Some(last) if last.role == User && !is_separate => Arc::make_mut(last).parts.push(said("words")),
                    _ => self.messages.push(message(User, vec![said("words")])),
                }
            }
            Step::Calls(tools) => {
                self.turns += usize::from(self.messages.last().is_none_or(|last| last.role == User));
                let from = self.results.len();
                self.results.extend(tools.iter().map(|tool| (*tool, self.turns)));
                let calls = tools.iter().zip(from..).map(|(tool, n)| call(&n.to_string(), tool)).collect();
                let results = (from..self.results.len()).map(|n| result(&n.to_string(), &long("result"))).collect();
                self.messages.extend([message(Assistant, calls), message(User, results)]);
            }
            Step::End => {
                self.turns += usize::from(self.messages.last().is_none_or(|last| last.role == User));
                self.messages.push(message(Assistant, vec![said("end")]));
            }
        }
    }

    fn left_out(&self, sent: &[Arc<Message>]) -> BTreeSet<usize> {
        let is_stub = |(n, output): (usize, String)| output.starts_with("[The result").then_some(n);
        outputs(sent).into_iter().enumerate().filter_map(is_stub).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    #[ignore = "slow"]
    fn batches_disturb_a_growing_conversation_rarely(
        steps in steps(),
        mode in select(&["age", "count"][..]),
        value in 1_u32..6,
        own in 1_u32..6,
    ) {
        let tools = json!({
            "retention": { "mode": mode, "value": value },
            "b": last_results(own),
            "c": { "retention": { "never_evict": true } },
        });
        let rules = rules(tools);
        let mut chat = Growing::default();
        let mut before: (Vec<Arc<Message>>, BTreeSet<usize>, (usize, usize)) = Default::default();
        for step in &steps {
            chat.grow(step);
            let sent = applied(&rules, &chat.messages);
            let left_out = chat.left_out(&sent);

            // Nothing but results is different, and a second time nothing is.
            for (sent, whole) in sent.iter().zip(&chat.messages) {
                prop_assert_eq!(sent.role, whole.role);
                prop_assert_eq!(sent.parts.len(), whole.parts.len());
                let is_left_out = sent.parts != whole.parts;
                prop_assert_eq!(Arc::ptr_eq(sent, whole), !is_left_out, "what is unchanged is shared");
                for (sent, whole) in sent.parts.iter().zip(&whole.parts) {
                    let ids = match (sent, whole) {
                        (Part::ToolResult { id: sent, .. }, Part::ToolResult { id: whole, .. }) => sent == whole,
                        (sent, whole) => sent == whole,
                    };
                    prop_assert!(ids, "{sent:?}");
                }
            }
            prop_assert_eq!(&applied(&rules, &sent), &sent);

            // What came after the user's last words is whole, and so is what the rules keep.
            let (past_results, past_turns) = chat.past;
            prop_assert!(left_out.iter().all(|n| *n < past_results), "{left_out:?} of {past_results}");
            let of = |tool: &str, among: usize| {
                (0..among).filter(|n| chat.results[*n].0 == tool).collect::<Vec<_>>()
            };
            for (tool, kept) in [("a", value), ("b", own)] {
                let kept = kept as usize;
                let past = of(tool, past_results);
                let whole: Vec<_> = past.iter().filter(|n| !left_out.contains(n)).collect();
                if tool == "a" && mode == "age" {
                    let turn = |n: &usize| chat.results[*n].1;
                    let last = past.iter().filter(|n| left_out.contains(n)).map(turn).max().unwrap_or(0);
                    prop_assert!(last + kept <= past_turns || last == 0);
                    prop_assert!(past.iter().all(|n| left_out.contains(n) == (turn(n) <= last)));
                    // What is older than two batches is left out.
                    prop_assert!(whole.iter().all(|n| turn(n) + 2 * kept > past_turns));
                } else {
                    prop_assert!(whole.len() >= kept.min(past.len()));
                    prop_assert!(whole.len() < 2 * kept);
                    prop_assert_eq!((past.len() - whole.len()) % kept, 0);
                    prop_assert!(past.iter().take(past.len() - whole.len()).all(|n| left_out.contains(n)));
                }
            }
            prop_assert!(of("c", past_results).iter().all(|n| !left_out.contains(n)));

            // The beginning is the same as in the last request, but where a batch was left out; that is never undone, and
            // never happens while the model works on the user's words.
            let (sent_before, left_out_before, past_before) = &before;
            prop_assert!(left_out_before.is_subset(&left_out));
            if *left_out_before == left_out {
                let joined = matches!(step, Step::Words { is_separate: false });
                let same = sent_before.len().saturating_sub(usize::from(joined));
                prop_assert_eq!(&sent[..same], &sent_before[..same]);
            } else {
                prop_assert!(matches!(step, Step::Words { .. }), "{step:?}");
                prop_assert_ne!(*past_before, chat.past);
            }
            before = (sent, left_out, chat.past);
        }
    }
}
