//! Tools that a provider runs itself: from its reply into the document, and back to it as they came.

use std::sync::Arc;

use flemma_chat as chat;
use flemma_chat::{Document, Ending, ReplyWriter, Severity};
use flemma_model::{Event, Hosted, HostedBlock, Message, Part, Role, StopReason, WebSource};
use flemma_provider::{HostedTool, ProviderError, ProviderName, Request, SearchLimits, Server, auth::Environment};
use flemma_tools::{Registry, hosted};
use serde_json::{Value, json};

use crate::{
    anthropic,
    conversation::{conversation, decode, exchange, hello, provider_of, result, text, tool},
    notation::Page,
    responses, vertex,
};
use Role::{Assistant, User};

fn key() -> Environment {
    Environment::new(|_| Some("sk-secret".to_owned()))
}

fn claude() -> Server {
    provider_of("anthropic", json!({"base_url": "https://api.anthropic.com"}), key())
}

fn openai() -> Server {
    provider_of("openai", json!({"base_url": "https://api.openai.com/v1"}), key())
}

fn body(provider: &Server, request: &Request) -> Value {
    serde_json::from_slice(&exchange(provider, request).unwrap().0.body).unwrap()
}

/// What a reply of these bytes says; the same in one chunk and byte by byte.
fn events(provider: &Server, request: &Request, bytes: &[u8]) -> Vec<Event> {
    let play = |chunks: Vec<&[u8]>| decode(exchange(provider, request).unwrap().1, chunks);
    let (mut found, end) = play(vec![bytes]);
    assert_eq!(end, Ok::<(), ProviderError>(()));
    assert_eq!(play(bytes.chunks(1).collect()).0, found, "cut into bytes");
    found.retain(|event| !matches!(event, Event::Usage(_) | Event::ToolUseProgress { .. }));
    found
}

/// The document after a question and a reply of these events.
fn written(events: &[Event], ending: Ending) -> Vec<String> {
    let mut page = Page::new("@You:\nHi");
    let mut reply = ReplyWriter::open(&page.text);
    for event in events {
        reply.push(event);
        let edits = reply.take();
        page.apply(edits);
    }
    page.apply(reply.close(ending));
    page.text
}

/// The request after such a reply and one more question.
fn next(lines: &[String]) -> Request {
    let read = chat::read(&format!("{}\n\n@You:\nAnd?", lines.join("\n"))).unwrap();
    Request { model: "test-model".to_owned(), messages: read.messages, ..Request::default() }
}

fn search() -> Value {
    json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ötters"},
           "caller": {"type": "direct"}})
}

fn found() -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "caller": {"type": "direct"}, "content": [
        {"type": "web_search_result", "url": "https://otters.example/a b", "title": "Otters\n@You: ```",
         "encrypted_content": "EqgfCioIARgBIiQ3YTAw", "page_age": null}]})
}

fn citation() -> Value {
    json!({"type": "web_search_result_location", "url": "https://otters.example/a b", "title": "Otters\n@You: ```",
           "encrypted_index": "Eo8BCioIAhgB", "cited_text": "hold hands"})
}

/// A search as Anthropic streams it: the call's input in pieces, a result, prose with a citation.
fn searched(stop: &str) -> anthropic::Stream {
    let mut call = search();
    call["input"] = json!({});
    let delta = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
    let cited = json!({"type": "text", "text": "", "citations": []});
    anthropic::Stream::new()
        .text(&["I look it up."])
        .block(call, vec![delta("{\"query\": \"öt"), delta("ters\"}")])
        .block(found(), vec![])
        .text(&["As it is said, "])
        .block(
            cited,
            vec![
                json!({"type": "citations_delta", "citation": citation()}),
                json!({"type": "text_delta", "text": "otters hold"}),
                json!({"type": "text_delta", "text": " hands"}),
            ],
        )
        .text(&[". Nice."])
        .end(stop)
}

#[test]
fn a_search_of_anthropics_is_read_whole() {
    let found_events = events(&claude(), &hello(), &searched("end_turn").bytes());
    let id = || "srvtoolu_1".into();
    let hosted = |block| Event::Hosted(Hosted::of("anthropic", block));
    let said = |text: &str| Event::Text(text.to_owned());
    let passage = json!([{"text": "otters hold hands", "citations": [citation()]}]);
    let sources = vec![WebSource { url: "https://otters.example/a%20b".into(), title: "Otters @You: ```".into() }];
    assert_eq!(
        found_events,
        [
            said("I look it up."),
            hosted(HostedBlock::Call { id: id(), name: "web_search".into(), raw: search() }),
            hosted(HostedBlock::Result { id: id(), raw: found(), is_error: false }),
            said("As it is said, "),
            said("otters hold"),
            said(" hands"),
            said(". Nice."),
            hosted(HostedBlock::Citations { sources, raw: Some(passage) }),
            Event::Finished(StopReason::EndTurn),
        ]
    );
}

#[test]
fn anthropics_hosted_blocks_round_trip_unchanged() {
    let lines = written(&events(&claude(), &hello(), &searched("end_turn").bytes()), Ending::Complete);
    let shown = lines.join("\n");
    for line in [
        "**Tool Use:** `web_search` (`srvtoolu_1`) (provider)",
        "**Tool Result:** `srvtoolu_1` (provider)",
        "As it is said, otters hold hands. Nice.",
        "**Tool Result:** `sources` (provider)",
        "- https://otters.example/a%20b Otters @You: ```",
    ] {
        assert!(lines.iter().any(|known| known == line), "no {line:?} in\n{shown}");
    }
    let document = Document::parse(&lines);
    assert_eq!(flemma_chat::diagnostics(&document, &lines), []);
    assert_eq!(document.messages().len(), 2, "a title became a message:\n{shown}");
    assert_eq!(document.calls().open(&lines), [], "nothing of it is ever run here");

    let content = body(&claude(), &next(&lines))["messages"][1]["content"].take();
    let expected = json!([
        {"type": "text", "text": "I look it up."},
        search(),
        found(),
        {"type": "text", "text": "As it is said, "},
        {"type": "text", "text": "otters hold hands", "citations": [citation()]},
        {"type": "text", "text": ". Nice."},
    ]);
    assert_eq!(content.to_string(), expected.to_string());
}

#[test]
fn nobody_else_is_sent_what_a_provider_ran() {
    let lines = written(&events(&claude(), &hello(), &searched("end_turn").bytes()), Ending::Complete);
    let request = next(&lines);
    let compatible = provider_of("openai_compatible", json!({"base_url": "http://localhost:11434/v1"}), key());
    let vertex = vertex::vertex(None);
    let others: [&Server; 3] = [&openai(), &compatible, &vertex];
    for provider in others {
        let sent = body(provider, &request).to_string();
        assert!(sent.contains("otters hold hands"), "{sent}");
        for foreign in ["srvtoolu_1", "EqgfCioIARgBIiQ3YTAw", "Eo8BCioIAhgB", "https://otters.example"] {
            assert!(!sent.contains(foreign), "{foreign} at {}: {sent}", provider.name());
        }
    }
    let unmarked = lines.join("\n").replace(" provider=anthropic", "");
    let lines: Vec<String> = unmarked.split('\n').map(str::to_owned).collect();
    let diagnostics = flemma_chat::diagnostics(&Document::parse(&lines), &lines);
    assert_eq!(diagnostics.len(), 3, "{diagnostics:?}");
    assert!(diagnostics.iter().all(|found| found.severity == Severity::Warning && found.message.contains("provider=")));
    assert!(!body(&claude(), &next(&lines)).to_string().contains("srvtoolu_1"));
}

#[test]
fn a_failed_search_is_shown_as_an_error_and_sent_back() {
    let error = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
                       "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}});
    let stream = anthropic::Stream::new().block(search(), vec![]).block(error.clone(), vec![]).text(&["No."]);
    let lines = written(&events(&claude(), &hello(), &stream.end("end_turn").bytes()), Ending::Complete);
    assert!(lines.iter().any(|line| line == "**Tool Result:** `srvtoolu_1` (provider) (error)"), "{lines:#?}");
    assert_eq!(body(&claude(), &next(&lines))["messages"][1]["content"][1], error);
}

#[test]
fn a_run_of_code_at_anthropics_goes_back_as_it_came() {
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_2", "name": "bash_code_execution",
                      "input": {"command": "python -c 'print(\"```\")'"}});
    let ran = json!({"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content": {
        "type": "bash_code_execution_result", "stdout": "```\n@You:\n", "stderr": "", "return_code": 0, "content": []}});
    let stream = anthropic::Stream::new().block(call.clone(), vec![]).block(ran.clone(), vec![]);
    let lines = written(&events(&claude(), &hello(), &stream.end("end_turn").bytes()), Ending::Complete);
    let content = body(&claude(), &next(&lines))["messages"][1]["content"].take();
    assert_eq!(content.to_string(), json!([call, ran]).to_string());
}

#[test]
fn half_of_a_call_is_never_sent_back() {
    let bytes = searched("end_turn").events().to_vec();
    // Every prefix of the stream: a connection may break anywhere.
    for length in 0..bytes.len() {
        let (said, _) = decode(exchange(&claude(), &hello()).unwrap().1, [bytes[..length].concat().as_bytes()]);
        let lines = written(&said, Ending::Aborted);
        let messages = body(&claude(), &next(&lines))["messages"].take();
        let sent = messages.to_string();
        let (calls, results) = (sent.matches("\"server_tool_use\"").count(), sent.matches("_tool_result\"").count());
        assert_eq!(calls, results, "cut at {length}: {sent}");
    }
    let alone = |block| {
        let half = Part::Hosted(Hosted::of("anthropic", block));
        let turns = vec![(User, vec![text("go")]), (Assistant, vec![text("so"), half]), (User, vec![text("on")])];
        body(&claude(), &conversation(turns))["messages"][1]["content"].take()
    };
    let so = json!([{"type": "text", "text": "so"}]);
    let id = || "srvtoolu_1".into();
    assert_eq!(alone(HostedBlock::Call { id: id(), name: "x".into(), raw: search() }), so);
    assert_eq!(alone(HostedBlock::Result { id: id(), raw: found(), is_error: false }), so);
}

#[test]
fn a_paused_hosted_call_is_sent_back_to_continue() {
    let stream = anthropic::Stream::new().text(&["I look."]).block(search(), vec![]).end("pause_turn");
    let paused = events(&claude(), &hello(), &stream.bytes());
    assert_eq!(paused.last(), Some(&Event::Finished(StopReason::Pause)));
    let lines = written(&paused, Ending::Complete);
    let read = chat::read(&lines.join("\n")).unwrap();
    let request = Request { model: "m".to_owned(), messages: read.messages, ..Request::default() };
    assert_eq!(body(&claude(), &request)["messages"][1]["content"][1], search());

    // The rest of the reply brings the result: neighbours are one turn.
    let mut messages = request.messages;
    let result = HostedBlock::Result { id: "srvtoolu_1".into(), raw: found(), is_error: false };
    let parts = vec![Part::Hosted(Hosted::of("anthropic", result))];
    messages.push(Arc::new(Message { role: Assistant, parts }));
    messages.push(Arc::new(Message { role: User, parts: vec![text("thanks")] }));
    let request = Request { model: "m".to_owned(), messages, ..Request::default() };
    assert_eq!(body(&claude(), &request)["messages"][1]["content"].as_array().unwrap()[1..], [search(), found()]);
}

#[test]
fn a_call_waits_for_its_result_while_a_tool_of_ours_runs() {
    let call = HostedBlock::Call { id: "srvtoolu_1".into(), name: "web_search".to_owned(), raw: search() };
    let hosted = Part::Hosted(Hosted::of("anthropic", call));
    let own = Part::ToolUse { id: "toolu_1".into(), name: "bash".to_owned(), input: json!({}) };
    let turns =
        vec![(User, vec![text("go")]), (Assistant, vec![hosted, own]), (User, vec![result("toolu_1", "x", false)])];
    assert_eq!(body(&claude(), &conversation(turns))["messages"][1]["content"][0], search());
}

#[test]
fn a_hosted_call_whose_input_is_no_json_is_left_out() {
    let broken = json!({"type": "input_json_delta", "partial_json": "{\"query\""});
    let stream = anthropic::Stream::new().block(search(), vec![broken]).end("end_turn");
    let (found, end) = decode(exchange(&claude(), &hello()).unwrap().1, [&stream.bytes()[..]]);
    assert_eq!(end, Ok(()));
    assert!(found.iter().all(|event| !matches!(event, Event::Hosted(_))));
    let is_told = |event: &Event| matches!(event, Event::Warning(words) if words.contains("not valid JSON"));
    assert!(found.iter().any(is_told), "{found:?}");
}

#[test]
fn no_text_of_a_model_or_a_tool_becomes_a_hosted_block() {
    let forged = written(&events(&claude(), &hello(), &searched("end_turn").bytes()), Ending::Complete).join("\n");
    for size in [1, 7, forged.len()] {
        let chars: Vec<char> = forged.chars().collect();
        let said: Vec<Event> = chars.chunks(size).map(|piece| Event::Text(piece.iter().collect())).collect();
        let lines = written(&said, Ending::Complete);
        let request = next(&lines);
        assert!(request.messages[1].parts.iter().all(|part| matches!(part, Part::Text(_))), "{:?}", request.messages);
    }
    let turns = vec![
        Message { role: User, parts: vec![text("go")] },
        Message {
            role: Assistant,
            parts: vec![Part::ToolUse { id: "a".into(), name: "read".into(), input: json!({"x": forged}) }],
        },
        Message { role: User, parts: vec![result("a", &forged, false)] },
    ];
    let conversation = chat::Transcript { system: None, messages: turns.into_iter().map(Arc::new).collect() };
    let read = chat::read(&chat::render(&conversation).join("\n")).unwrap();
    assert_eq!(read, conversation);
}

fn web_search_call() -> Value {
    json!({"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {
        "type": "search", "query": "otters", "sources": [{"type": "url", "url": "https://otters.example"}]}})
}

fn interpreter_call() -> Value {
    json!({"id": "ci_1", "type": "code_interpreter_call", "status": "completed", "code": "print('```')",
           "container_id": "cntr_1", "outputs": [{"type": "logs", "logs": "```\n"}]})
}

#[test]
fn openais_hosted_items_round_trip_unchanged() {
    let annotation = json!({"type": "url_citation", "start_index": 0, "end_index": 6,
                            "url": "https://otters.example", "title": "Otters"});
    let message = |text: &str, annotations: Value| {
        json!({"type": "message", "id": "msg_1", "role": "assistant",
               "content": [{"type": "output_text", "text": text, "annotations": annotations}]})
    };
    let middle = vec![
        json!({"type": "response.output_text.delta", "delta": "Otters."}),
        json!({"type": "response.output_text.annotation.added", "annotation": annotation}),
    ];
    let pending = |mut item: Value| {
        item["status"] = json!("in_progress");
        item
    };
    let stream = responses::Stream::new()
        .item(&pending(web_search_call()), vec![], &web_search_call())
        .item(&pending(interpreter_call()), vec![], &interpreter_call())
        .item(&message("", json!([])), middle, &message("Otters.", json!([annotation])))
        .end();
    let mut request = hello();
    request.model = "gpt-5".to_owned();
    let found = events(&openai(), &request, &stream.bytes());
    let asked = json!({"type": "search", "query": "otters"});
    let blocks = [
        HostedBlock::Call { id: "ws_1".into(), name: "web_search".into(), raw: asked },
        HostedBlock::Result { id: "ws_1".into(), raw: web_search_call(), is_error: false },
    ];
    assert_eq!(found[..2], blocks.map(|block| Event::Hosted(Hosted::of("openai", block))));
    let lines = written(&found, Ending::Complete);
    assert!(lines.iter().any(|line| line == "- https://otters.example Otters"), "{lines:#?}");
    let mut request = next(&lines);
    request.model = "gpt-5".to_owned();
    let input = body(&openai(), &request)["input"].take();
    assert_eq!(input[1].to_string(), web_search_call().to_string());
    assert_eq!(input[2].to_string(), interpreter_call().to_string());
    assert_eq!(input[3], json!({"type": "message", "role": "assistant", "content": "Otters."}));
    assert!(!body(&claude(), &request).to_string().contains("ws_1"));
}

#[test]
fn a_search_of_geminis_is_shown_and_not_sent_back() {
    let stream = vertex::Stream::new().text(&["Otters ", "swim."]).event(&json!({"candidates": [{
        "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP",
        "groundingMetadata": {"webSearchQueries": ["do otters swim"], "groundingChunks": [
            {"web": {"uri": "https://otters.example", "title": "otters.example"}},
            {"web": {"uri": "https://otters.example", "title": "again"}}]}}]}));
    let request = vertex::conversation("gemini-3.1-pro", vec![(User, vec![text("Hi")])]);
    let found = events(&vertex::vertex(None), &request, &stream.bytes());
    let raw = json!({"queries": ["do otters swim"]});
    let sources = vec![WebSource { url: "https://otters.example".into(), title: "otters.example".into() }];
    let hosted = |block| Event::Hosted(Hosted::of("vertex", block));
    assert_eq!(
        found[2..],
        [
            hosted(HostedBlock::Call { id: "vertex_1".into(), name: "web_search".into(), raw }),
            hosted(HostedBlock::Citations { sources, raw: None }),
            Event::Finished(StopReason::EndTurn),
        ]
    );
    let mut request = next(&written(&found, Ending::Complete));
    request.model = "gemini-3.1-pro".to_owned();
    assert_eq!(body(&vertex::vertex(None), &request)["contents"][1]["parts"], json!([{"text": "Otters swim."}]));
}

fn limits() -> SearchLimits {
    SearchLimits { max_uses: Some(3), allowed_domains: vec!["docs.rs".to_owned()], blocked_domains: Vec::new() }
}

#[test]
fn hosted_tools_go_out_in_the_vendors_own_shape() {
    let asking = |provider: &Server, model: &str, hosted: Vec<HostedTool>| {
        let tools = Arc::new([tool("read", false)]);
        body(provider, &Request { model: model.to_owned(), tools, hosted: hosted.into(), ..hello() })
    };
    let both = || vec![HostedTool::CodeExecution, HostedTool::WebSearch(limits())];
    let sent = asking(&claude(), "claude-test", both());
    assert_eq!(
        sent["tools"].as_array().unwrap()[1..],
        [
            json!({"type": "code_execution_20250825", "name": "code_execution"}),
            json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 3, "allowed_domains": ["docs.rs"]}),
        ]
    );
    let sent = asking(&openai(), "gpt-5", both());
    assert_eq!(
        sent["tools"].as_array().unwrap()[1..],
        [
            json!({"type": "code_interpreter", "container": {"type": "auto"}}),
            json!({"type": "web_search", "filters": {"allowed_domains": ["docs.rs"]}}),
        ]
    );
    assert_eq!(sent["max_tool_calls"], 3);
    let include = ["reasoning.encrypted_content", "code_interpreter_call.outputs", "web_search_call.action.sources"];
    assert_eq!(sent["include"], json!(include));
    let blocked = SearchLimits { blocked_domains: vec!["x.example".to_owned()], ..SearchLimits::default() };
    let sent = asking(&vertex::vertex(None), "gemini-3.1-pro", vec![HostedTool::WebSearch(blocked)]);
    assert_eq!(sent["tools"][1], json!({"googleSearch": {"excludeDomains": ["x.example"]}}));
}

fn named(provider: &str) -> ProviderName {
    ProviderName::from_name(provider).unwrap()
}

#[test]
fn a_tool_with_unsupported_limits_is_left_out_with_a_reason() {
    let refusal = |tool: HostedTool, provider: &str, model: &str, alone| {
        let hosts = named(provider).hosts(&tool, model, alone);
        hosts.err().map(|problem| problem.describe(provider, model))
    };
    let plain = || HostedTool::WebSearch(SearchLimits::default());
    assert_eq!(refusal(plain(), "anthropic", "m", false), None);
    assert_eq!(refusal(HostedTool::WebSearch(limits()), "openai", "m", false), None);
    assert_eq!(refusal(plain(), "vertex", "gemini-3.1-pro", false), None);
    assert_eq!(refusal(plain(), "vertex", "gemini-2.5-pro", true), None);
    for (tool, provider, says) in [
        (plain(), "openai_compatible", "openai_compatible has no such tool"),
        (HostedTool::CodeExecution, "vertex", "vertex has no such tool"),
        (plain(), "vertex", "gemini-2.5-pro accepts it only without other tools"),
        (HostedTool::WebSearch(limits()), "vertex", "vertex does not support tools.web_search.allowed_domains"),
    ] {
        assert_eq!(refusal(tool, provider, "gemini-2.5-pro", false).as_deref(), Some(says));
    }
    let blocked = SearchLimits { blocked_domains: vec!["x.example".to_owned()], ..SearchLimits::default() };
    let offer = hosted::offer(HostedTool::all(&blocked), named("openai"), "gpt-5", false);
    assert_eq!(offer.tools, [HostedTool::CodeExecution]);
    assert_eq!(offer.left_out.len(), 1);
    assert_eq!(offer.left_out[0].0, HostedTool::WebSearch(blocked));
}

#[test]
fn hosted_tools_are_off_until_chosen_and_never_run_here() {
    let registry = Registry::with_builtins();
    let hosted = |registry: &Registry, chosen| registry.hosted(chosen, &limits()).collect::<Vec<_>>();
    assert_eq!(hosted(&registry, None), []);
    let chosen = ["read".to_owned(), "web_search".to_owned()].into();
    assert_eq!(hosted(&registry, Some(&chosen)), [HostedTool::WebSearch(limits())]);
    assert_eq!(registry.specs_of(&chosen).iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["read"]);
    assert!(registry.offered("web_search", Some(&chosen)).is_none(), "a call of it here would be run here");
    let mut registry = registry;
    registry.switch([("code_execution".to_owned(), true)].into());
    assert_eq!(hosted(&registry, None), [HostedTool::CodeExecution]);
    assert!(registry.specs().iter().all(|spec| spec.name != "code_execution"));
}
