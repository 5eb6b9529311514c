//! What is rendered reads back the same, and how a reply was cut into chunks never shows.

use std::sync::Arc;

use flemma_chat::{Document, Ending, ReplyWriter, Transcript, read, render, unescape};
use flemma_model::{
    Attachment, CallId, Event, Hosted, HostedBlock, Message, Part, Role, Signature, ToolInput, WebSource,
};
use flemma_text::Fence;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{incremental::line, notation::Page};

/// Text of lines rich in structure.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![3 => line(), 1 => "\\\\{1,3}@You:", 1 => "[ -~é\r]{0,10}"];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

/// Carriage returns at the end of a line are left out, by design.
fn normal(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    lines.join("\n")
}

/// Prose as it reads back: without blank lines at its ends, its code fence closed.
fn prose(text: &str) -> String {
    let normal = normal(text);
    let mut lines: Vec<&str> = normal.split('\n').collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
    lines.drain(..blank);
    let mut open: Option<Fence> = None;
    for line in &lines {
        open = match open {
            Some(fence) if fence.closes(line) => None,
            // A fence that is reserved for Flemma is escaped, and then opens nothing.
            None if unescape(&format!("\\{line}")) != *line => Fence::open(line).map(|(fence, _)| fence),
            other => other,
        };
    }
    let marks = open.map(Fence::marks);
    lines.extend(marks.as_deref());
    lines.join("\n")
}

fn id() -> impl Strategy<Value = CallId> {
    "[a-z() _é]{1,8}".prop_map(CallId)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z`\n]{0,6}", inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec(("[a-z]{0,6}", value()), 0..4).prop_map(|pairs| pairs.into_iter().collect())
}

fn files() -> impl Strategy<Value = Vec<Attachment>> {
    let file = ("[ -~é\n\u{7f}]{1,12}", "[a-z]{1,5}/[a-z+. ]{1,6}");
    prop::collection::vec(file.prop_map(|(path, media_type)| Attachment::unread(path, media_type)), 0..3)
}

fn signature() -> impl Strategy<Value = Signature> {
    ("[a-z]{1,8}", "[ -~`\n]{0,12}").prop_map(|(provider, value)| Signature { provider, value })
}

fn event() -> impl Strategy<Value = Vec<Event>> {
    // What parses as JSON is not malformed.
    let broken = text().prop_map(|text| ToolInput::Malformed(format!("{{\"a\": {text}")));
    let input = prop_oneof![3 => object().prop_map(ToolInput::Json), 1 => broken];
    prop_oneof![
        3 => text().prop_map(|text| vec![Event::Text(text)]),
        1 => (text(), prop::option::of(signature())).prop_map(|(text, signature)| {
            vec![Event::ThinkingStarted, Event::Thinking(text), Event::ThinkingFinished { signature }]
        }),
        1 => signature().prop_map(|signature| vec![Event::RedactedThinking(signature)]),
        2 => (id(), "[a-z`]{1,6}", input).prop_map(|(id, name, input)| vec![Event::ToolUse { id, name, input }]),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 0..6).prop_map(|events| events.concat())
}

/// What a reply of these events says.
fn said(events: &[Event]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut thinking = String::new();
    let end = |text: &mut String, parts: &mut Vec<Part>| {
        let said = prose(&std::mem::take(text));
        if !said.is_empty() {
            parts.push(Part::Text(said));
        }
    };
    for event in events {
        if let Event::Text(more) = event {
            text.push_str(more);
            continue;
        }
        end(&mut text, &mut parts);
        match event {
            Event::Thinking(more) => thinking.push_str(more),
            Event::ThinkingFinished { signature } => parts
                .push(Part::Thinking { text: normal(&std::mem::take(&mut thinking)), signature: signature.clone() }),
            Event::RedactedThinking(signature) => parts.push(Part::RedactedThinking(signature.clone())),
            Event::ToolUse { id, name, input } => parts.push(Part::ToolUse {
                id: id.clone(),
                name: name.clone(),
                input: match input {
                    ToolInput::Json(value) => value.clone(),
                    ToolInput::Malformed(text) => json!({ "malformed_json": normal(text) }),
                },
            }),
            _ => {}
        }
    }
    end(&mut text, &mut parts);
    parts
}

/// Cuts the texts of events into pieces of `size` characters.
fn chunked(events: &[Event], size: usize) -> Vec<Event> {
    let cut = |text: &str| -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(size).map(|chunk| chunk.iter().collect()).collect()
    };
    events
        .iter()
        .flat_map(|event| match event {
            Event::Text(text) => cut(text).into_iter().map(Event::Text).collect(),
            Event::Thinking(text) => cut(text).into_iter().map(Event::Thinking).collect(),
            other => vec![other.clone()],
        })
        .collect()
}

/// Streams events into a page, taking after every one.
fn stream(page: &mut Page, events: &[Event], ending: Ending) {
    let mut reply = ReplyWriter::open(&page.text);
    for event in events {
        reply.push(event);
        let edits = reply.take();
        page.apply(edits);
    }
    page.apply(reply.close(ending));
}

/// The parts of the last message, which is the reply's, calls answered or not.
fn parts(page: &Page) -> Vec<Part> {
    // Every call gets a result, so that the conversation can be built.
    let mut page = Page::of(page.text.clone());
    for call in page.document.calls().open(&page.text.clone()) {
        let edits = flemma_chat::write_result(page.document.calls(), &page.text, &call.id, "", false, "");
        page.apply(edits);
    }
    let Ok(conversation) = page.document.transcript(&page.text) else { panic!("{:#?}", page.text) };
    let reply = conversation.messages.iter().find(|message| message.role == Role::Assistant);
    reply.map(|message| message.parts.clone()).unwrap_or_default()
}

/// Ids that differ, as a vendor's do.
fn with_own_ids(mut events: Vec<Event>) -> Vec<Event> {
    for (index, event) in events.iter_mut().enumerate() {
        if let Event::ToolUse { id, .. } = event {
            id.0.insert_str(0, &index.to_string());
        }
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn chunks_never_show_and_a_reply_reads_back(events in events(), size in 1_usize..5) {
        let events = with_own_ids(events);
        let mut whole = Page::new("@You:\nHello!\n");
        stream(&mut whole, &events, Ending::Complete);
        let mut pieces = Page::new("@You:\nHello!\n");
        stream(&mut pieces, &chunked(&events, size), Ending::Complete);
        prop_assert_eq!(&whole.text, &pieces.text);
        prop_assert_eq!(parts(&whole), said(&events));
        prop_assert_eq!(whole.document.messages().len(), 2, "text became a message");
    }

    #[test]
    fn an_aborted_reply_is_sound_wherever_it_is_cut(events in events(), size in 1_usize..5, cut: prop::sample::Index) {
        let mut events = chunked(&with_own_ids(events), size);
        events.truncate(cut.index(events.len() + 1));
        let mut page = Page::new("@You:\nHello!\n");
        stream(&mut page, &events, Ending::Aborted);
        prop_assert!(page.document.messages()[1].is_aborted());
        prop_assert_eq!(flemma_chat::diagnostics(&page.document, &page.text), []);
        prop_assert_eq!(page.text.last().map(String::as_str), Some("<!-- flemma:aborted -->"));
    }

    #[test]
    fn a_conversation_reads_back(turns in prop::collection::vec((text(), events(), text(), any::<bool>(), files()), 0..4)) {
        let mut conversation = Transcript { system: Some("Be brief.\n@You: not you".into()), messages: Vec::new() };
        let mut push = |role, parts: Vec<Part>| {
            if !parts.is_empty() {
                conversation.messages.push(Arc::new(Message { role, parts }));
            }
        };
        for (question, events, output, is_error, files) in turns {
            let question = prose(&question);
            push(Role::User, if question.is_empty() { Vec::new() } else { vec![Part::Text(question)] });
            let reply = said(&with_own_ids(events));
            let output = normal(&output);
            let results = reply.iter().filter_map(|part| match part {
                Part::ToolUse { id, .. } => {
                    let attachments = files.clone();
                    Some(Part::ToolResult { id: id.clone(), output: output.as_str().into(), is_error, attachments })
                }
                _ => None,
            });
            let results = results.collect();
            push(Role::Assistant, reply);
            push(Role::User, results);
        }
        let lines = render(&conversation);
        prop_assert_eq!(read(&lines.join("\n")), Ok(conversation));
        prop_assert_eq!(flemma_chat::diagnostics(&Document::parse(&lines), &lines), []);
    }

    #[test]
    fn what_the_provider_ran_goes_back_as_it_came(
        id in id(),
        call in value(),
        raw in value(),
        is_error in any::<bool>(),
        sources in prop::collection::vec(("[ -~é\n]{1,12}", text()), 0..3),
        passages in prop::option::of(prop::collection::vec(value(), 0..3)),
        provider in "[a-z_ `\"]{1,8}",
    ) {
        let sources = sources.iter().map(|(url, title)| WebSource::new(url, title));
        let sources = sources.filter(|source| !source.url.is_empty()).collect();
        let parts = vec![
            HostedBlock::Call { id: id.clone(), name: "web_search".into(), raw: call },
            HostedBlock::Result { id, raw, is_error },
            HostedBlock::Citations { sources, raw: passages.map(Value::from) },
        ];
        let parts = parts.into_iter().map(|block| Part::Hosted(Hosted::of(&provider, block))).collect();
        let messages = vec![Arc::new(Message { role: Role::Assistant, parts })];
        let conversation = Transcript { system: None, messages };
        prop_assert_eq!(read(&render(&conversation).join("\n")), Ok(conversation));
    }
}
