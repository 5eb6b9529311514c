//! What requests have used, and at what price.

use flemma_workspace::Command;
use serde_json::json;

use super::harness::{Act, Harness, NOTES, Setup, commands, held, prose};
use crate::{
    completions::Stream,
    http::{Gate, Reply},
};

/// The scripted reply reads 40 tokens anew and 60 from the cache, and writes 50.
fn priced(models: &[&str]) -> Setup<'static> {
    let price = json!({ "input": 100, "output": 100, "cache_read": 50 });
    let pricing: serde_json::Map<_, _> = models.iter().map(|model| ((*model).to_owned(), price.clone())).collect();
    Setup { options: json!({ "pricing": pricing }), ..Setup::default() }
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-12)
}

/// 40 and 50 tokens at $100, and 60 at $50, for a million.
const DOLLARS: f64 = 0.012;

#[test]
fn a_reply_is_followed_by_what_it_used() {
    let chat = Harness::start(priced(&["qwen3"]), [prose("Hi"), prose("Ho")]);
    chat.go();
    chat.wait_for("@Assistant:\nHi");
    let record = chat.workspace.usage.records().remove(0);
    assert_eq!((record.buffer, record.provider, record.model.as_str()), (NOTES, "openai_compatible", "qwen3"));
    assert!(record.complete && close(record.cost, DOLLARS), "{record:?}");
    chat.type_below("More");
    chat.go();
    chat.wait_for("@Assistant:\nHo");
    let totals = chat.workspace.usage.totals(Some(NOTES));
    assert_eq!((totals.requests, totals.usage.output, totals.unpriced), (2, 100, 0));
    assert!(close(Some(totals.cost), 2.0 * DOLLARS), "{totals:?}");
    assert_eq!((chat.workspace.usage.totals(None), chat.workspace.usage.totals(Some(7)).requests), (totals, 0));
    assert!(chat.workspace.views.status_line(NOTES).unwrap().ends_with("qwen3 · 300 tokens · $0.0240"));
    let table = chat.workspace.usage.usage_lines(NOTES, 100).join("\n");
    assert!(table.contains("openai_compatible qwen3") && table.contains("this conversation"), "{table}");
    chat.workspace.usage.reset_usage();
    assert_eq!((chat.workspace.usage.totals(None).requests, chat.workspace.usage.records().len()), (0, 0));
    assert_eq!(chat.workspace.usage.usage_lines(NOTES, 100), ["no requests yet"]);
}

#[test]
fn a_model_without_a_price_costs_nobody_knows_what() {
    let chat = Harness::new("@You:\nHello", [prose("Hi")]);
    chat.go();
    chat.wait_for("@Assistant:\nHi");
    assert_eq!(chat.workspace.usage.records()[0].cost, None);
    assert_eq!(chat.workspace.views.status_line(NOTES).unwrap(), "qwen3 · 150 tokens");

    // What is read from the cache may cost nothing.
    let pricing = json!({ "qwen3": { "input": 10000, "output": 20000, "cache_read": 0 } });
    let options = json!({ "pricing": pricing });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [prose("Hi")]);
    chat.go();
    chat.wait_for("@Assistant:\nHi");
    assert!(chat.workspace.views.status_line(NOTES).unwrap().ends_with(" · $1.40"));
}

#[test]
fn options_that_change_during_a_reply_do_not_change_its_price() {
    for change in ["switch", "setup", "frontmatter"] {
        let gate = Gate::new();
        let chat = Harness::start(priced(&["qwen3"]), [held("Hi", &gate, " there")]);
        if change == "frontmatter" {
            chat.type_at(0, "```json\n{\"model\": \"qwen3\"}\n```");
        }
        chat.go();
        chat.drain_until("the first word", |chat| chat.text().contains("Hi"));
        match change {
            "switch" => drop(chat.switch("rehearsal welcome")),
            _ => drop(
                chat.set_up(json!({ "model": "llama", "pricing": { "qwen3": { "input": 1, "output": 1 } } }), None),
            ),
        }
        gate.open();
        chat.wait_for("Hi there");
        let record = chat.workspace.usage.records().remove(0);
        assert_eq!((record.provider, record.model.as_str()), ("openai_compatible", "qwen3"), "{change}");
        assert!(close(record.cost, DOLLARS), "{change}: {record:?}");
    }
}

#[test]
fn each_request_of_a_turn_has_the_price_of_its_own_time() {
    let chat = Harness::start(priced(&["qwen3", "llama"]), [commands(&["true"]), prose("fine")]);
    chat.go();
    chat.wait_for_pending(1);
    chat.switch("openai_compatible llama");
    chat.approve("Tool Result");
    chat.wait_for("@Assistant:\nfine");
    let models: Vec<_> = chat.workspace.usage.records().into_iter().map(|record| record.model).collect();
    assert_eq!(models, ["qwen3", "llama"]);
}

#[test]
fn a_stopped_reply_counts_as_far_as_it_arrived() {
    let stops: [(&str, Act); 3] = [
        ("Ctrl-C", |chat| chat.press(Command::Cancel)),
        (":edit!", |chat| chat.reload("@You:\nHello")),
        (":bwipeout!", |chat| chat.wipe(chat.current())),
    ];
    for (name, stop) in stops {
        // A server that counts while it speaks.
        let begin = Stream::new().text(&["Well"]).usage().bytes();
        let chat = Harness::new("@You:\nHello", [Reply::stream().chunk(begin).hang()]);
        chat.go();
        chat.drain_until("the first word", |chat| {
            chat.text().contains("Well")
                && chat.conversation().live(200).text.is_some_and(|text| text.contains("50 tokens"))
        });
        stop(&chat);
        let records = chat.workspace.usage.records();
        assert_eq!(records.len(), 1, "{name}");
        assert_eq!((records[0].complete, records[0].usage.output), (false, 50), "{name}");
        if name != ":bwipeout!" {
            assert!(!chat.conversation().is_busy(), "{name}");
        }
    }
}

/// Reads on until the estimate is on its way.
fn estimate(chat: &Harness) {
    while chat.workspace.usage.estimate(chat.current()) {}
}

#[test]
fn an_estimate_is_marked_as_one_and_sends_nothing() {
    let text = format!("@You:\n{}", "x".repeat(350_000));
    let options = json!({ "provider": "anthropic", "model": "claude-sonnet-4-5" });
    let chat = Harness::start(Setup { text: &text, options, ..Setup::default() }, []);
    estimate(&chat);
    chat.drain_until("the estimate", |chat| !chat.host.told.borrow().is_empty());
    let told = chat.host.told.borrow().clone();
    assert!(told[0].starts_with("info: anthropic claude-sonnet-4-5: an estimate, not a count; about "), "{told:?}");
    assert!(told[0].contains("of the model's context of 200,000 tokens"), "{told:?}");
    assert_eq!((told.len(), chat.sent()), (1, 0));
}

#[test]
fn a_long_estimate_comes_in_slices_and_warns_of_overflow() {
    let text = format!("@You:\n{}", "a line of a few words\n\n@You:\n".repeat(30_000));
    let options = json!({ "provider": "anthropic", "model": "claude-sonnet-4-5" });
    let chat = Harness::start(Setup { text: &text, options, ..Setup::default() }, []);
    assert!(chat.workspace.usage.estimate(chat.current()), "one slice is not all of it");
    estimate(&chat);
    chat.drain_until("the estimate", |chat| chat.host.told.borrow().len() == 2);
    let warning = chat.host.told.borrow()[1].clone();
    assert!(warning.starts_with("warn: The conversation would not fit"), "{warning}");
}

#[test]
fn an_estimate_says_why_there_is_none() {
    let open = "@Assistant:\n**Tool Use:** `read` (`a`)\n\n```json\n{}\n```";
    let broken = "```json\n[1]\n```\n\n@You:\nHello";
    for (text, why) in [
        (open, "no estimate: line 2: The call `a` has no result yet"),
        (broken, "no estimate: line 1: the frontmatter must be a table of options, not [1]"),
    ] {
        let chat = Harness::new(text, []);
        estimate(&chat);
        let told = chat.told();
        assert!(told.iter().any(|told| told.contains(why)), "{told:?}");
    }
    let gate = Gate::new();
    let chat = Harness::new("@You:\nHello", [Reply::stream().hold(&gate)]);
    chat.go();
    chat.drain_until("the request", |chat| chat.conversation().is_busy());
    estimate(&chat);
    assert!(chat.told().iter().any(|told| told.contains("no estimate while a reply or a tool is running")));
    chat.stop();
}
