//! Sums, figures and estimates.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use flemma_model::{Attachment, Message, Part, Role, Signature, Usage};
use flemma_provider::usage::{Estimate, Ledger, Record, Totals, figures};
use flemma_provider::{Request, RequestParameters, ToolSpec, catalogue::Price};
use serde_json::json;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_305_600)
}

fn record(buffer: i32, model: &str, cost: Option<f64>) -> Record {
    let usage = Usage { input: 12, output: 34, reasoning: 5, cache_read: 4, cache_write: 3 };
    Record { buffer, provider: "anthropic", model: model.to_owned(), usage, cost, complete: true, at: now() }
}

#[test]
fn a_ledger_adds_up_by_conversation_by_model_and_in_all() {
    let mut ledger = Ledger::default();
    for (buffer, model, cost) in [(1, "a", Some(0.5)), (2, "a", Some(0.25)), (1, "b", None)] {
        ledger.add(record(buffer, model, cost));
    }
    let all = ledger.totals();
    assert_eq!((all.requests, all.cost, all.unpriced), (3, 0.75, 1));
    assert_eq!(all.usage, Usage { input: 36, output: 102, reasoning: 15, cache_read: 12, cache_write: 9 });
    let first = ledger.totals_of(1);
    assert_eq!((first.requests, first.cost, first.unpriced, first.usage.input), (2, 0.5, 1, 24));
    assert_eq!(ledger.totals_of(3), Totals::default());
    let models: Vec<_> = ledger.by_model().map(|(_, model, totals)| (model, totals.requests)).collect();
    assert_eq!(models, [("a", 2), ("b", 1)]);
    assert_eq!(ledger.records().iter().map(|record| record.buffer).collect::<Vec<_>>(), [1, 2, 1]);
    ledger.reset();
    assert_eq!(
        (ledger.totals(), ledger.totals_of(1), ledger.records().len()),
        (Totals::default(), Totals::default(), 0)
    );
}

#[test]
fn numbers_are_short_where_there_is_little_room() {
    for (count, short, long) in [
        (0, "0", "0"),
        (999, "999", "999"),
        (1000, "1k", "1,000"),
        (1250, "1.3k", "1,250"),
        (99_949, "99.9k", "99,949"),
        (99_950, "100k", "99,950"),
        (123_456, "123k", "123,456"),
        (999_499, "999k", "999,499"),
        (999_500, "1M", "999,500"),
        (1_050_000, "1.05M", "1,050,000"),
    ] {
        assert_eq!((figures::tokens(count).as_str(), figures::grouped(count).as_str()), (short, long));
    }
    for (amount, text) in
        [(0.0, "$0"), (0.00001, "under $0.0001"), (0.0123, "$0.0123"), (0.99999, "$1.0000"), (12.345, "$12.35")]
    {
        assert_eq!(figures::dollars(amount), text);
    }
}

#[test]
fn the_table_has_a_row_per_model_and_marks_missing_prices() {
    assert_eq!(figures::table(&Ledger::default(), None, None), ["no requests yet"]);
    let mut ledger = Ledger::default();
    ledger.add(record(1, "a", Some(0.5)));
    ledger.add(record(2, "b", None));
    let lines = figures::table(&ledger, Some(1), None);
    // Where the table does not fit there is a list, which has the same figures and fits.
    let width = lines[0].chars().count();
    for room in [0, 12, 30, 45, width - 1] {
        let list = figures::table(&ledger, Some(1), Some(room));
        assert!(list.iter().filter(|line| line.starts_with("  ")).all(|line| line.chars().count() <= 28), "{list:#?}");
        for figure in lines[1..5].iter().flat_map(|line| line.split("  ")).map(str::trim) {
            assert!(figure == "0" || list.iter().any(|line| line.ends_with(figure)), "{figure}: {list:#?}");
        }
    }
    let rows: Vec<Vec<&str>> = lines[..5]
        .iter()
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect())
        .collect();
    assert_eq!(rows[0], ["requests", "in", "from cache", "to cache", "out", "thinking", "cost"]);
    assert_eq!(rows[1], ["anthropic a", "1", "19", "4", "3", "34", "5", "$0.5000"]);
    assert_eq!(rows[2], ["anthropic b", "1", "19", "4", "3", "34", "5", "price unknown"]);
    assert_eq!(rows[3], ["all", "2", "38", "8", "6", "68", "10", "over $0.5000"]);
    assert_eq!(rows[4], ["this conversation", "1", "19", "4", "3", "34", "5", "$0.5000"]);
    assert!(lines[..5].iter().all(|line| line.chars().count() == lines[0].chars().count()), "{lines:#?}");
    assert!(lines.last().unwrap().contains("`pricing`"));
}

fn request(model: &str, parts: Vec<Part>) -> Request {
    let message = Message { role: Role::User, parts };
    let parameters = RequestParameters { max_tokens: Some(8192), ..RequestParameters::default() };
    Request { model: model.to_owned(), messages: vec![Arc::new(message)], parameters, ..Request::default() }
}

fn estimate(request: &Request) -> Estimate {
    Estimate::of(request, "anthropic", None, now())
}

fn text(bytes: usize) -> Part {
    Part::Text("x".repeat(bytes))
}

#[test]
fn an_estimate_measures_exactly_what_is_sent() {
    let model = "claude-sonnet-4-5";
    let base = estimate(&request(model, vec![text(3500)])).input;
    assert!((1000..1020).contains(&base), "{base}");
    let more = |parts: Vec<Part>| estimate(&request(model, [vec![text(3500)], parts].concat())).input - base;
    let thinking = |provider: &str| {
        let signature = Signature { provider: provider.to_owned(), value: "s".repeat(9000) };
        Part::Thinking { text: "x".repeat(3500), signature: Some(signature) }
    };
    assert_eq!(more(vec![thinking("anthropic")]), 1000);
    assert_eq!(more(vec![thinking("openai")]), 0, "another provider's thinking is not sent");
    let result = |output: String, attachments| Part::ToolResult {
        id: "a".into(),
        output: output.into(),
        is_error: false,
        attachments,
    };
    assert!((1000..1010).contains(&more(vec![result("x".repeat(3500), Vec::new())])));

    let mut with_more = request(model, vec![text(3500)]);
    with_more.system = Some("x".repeat(3500));
    with_more.tools = [ToolSpec {
        name: "read".to_owned(),
        description: "x".repeat(3500),
        input_schema: Arc::new(json!({"type": "object"})),
        strict: false,
        prompt: None,
    }]
    .into();
    assert!((base + 2000..base + 2030).contains(&estimate(&with_more).input));

    let pictures = vec![Attachment::unread("a.png", "image/png"), Attachment::unread("b.pdf", "application/pdf")];
    let shown = estimate(&request(model, vec![result(String::new(), pictures)]));
    assert!(shown.lines().iter().any(|line| line.starts_with("2 files are not counted")), "{:#?}", shown.lines());
}

#[test]
fn an_estimate_tells_its_cost_and_how_full_the_context_is() {
    let lines = estimate(&request("claude-sonnet-4-5", vec![text(350_000 - 16)])).lines();
    assert_eq!(
        lines,
        [
            "anthropic claude-sonnet-4-5: an estimate, not a count",
            "about 100,000 input tokens: about $0.3000, or less if some of it is still cached",
            "at most 8,192 tokens in the reply, not counting thinking: at most about $0.1229",
            "about 50 % of the model's context of 200,000 tokens",
            "the model supports thinking, images, PDFs, tools",
        ]
    );
}

#[test]
fn an_estimate_warns_of_what_would_not_fit() {
    let full = estimate(&request("claude-sonnet-4-5", vec![text(3500 * 192 - 16)]));
    assert_eq!(full.overflow(), Some(192));
    let warning = full.warning().unwrap();
    assert!(warning.contains("about 192 tokens too long") && warning.contains("max_tokens"), "{warning}");
    assert_eq!(full.lines().last(), Some(&warning));
    assert_eq!(estimate(&request("claude-sonnet-4-5", vec![text(3500 * 191 - 16)])).warning(), None);
    let over = estimate(&request("claude-sonnet-4-5", vec![text(3500 * 210)]));
    assert!(over.warning().unwrap().contains("old results"));
    // A reply is never longer than the model can make it.
    let mut long = request("claude-sonnet-4-5", vec![text(100)]);
    long.parameters.max_tokens = Some(500_000);
    assert_eq!((estimate(&long).reply, estimate(&long).warning()), (Some(64_000), None));
}

#[test]
fn an_unknown_model_is_estimated_without_a_price() {
    let request = request("qwen3", vec![text(35)]);
    let lines = Estimate::of(&request, "openai_compatible", None, now()).lines().join("\n");
    assert!(lines.contains("about 15 input tokens\n") && lines.contains("`pricing`"), "{lines}");
    assert!(lines.contains("the size of the model's context is unknown") && !lines.contains('$'), "{lines}");
    let price = Price { input: 1e5, output: 2.0, ..Price::default() };
    let lines = Estimate::of(&request, "openai_compatible", Some(price), now()).lines().join("\n");
    assert!(lines.contains("about 15 input tokens: about $1.50"), "{lines}");
}
