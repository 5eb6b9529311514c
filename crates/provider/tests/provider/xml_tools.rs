//! Tools that a model calls in XML.

use std::sync::Arc;

use flemma_model::{CallId, Event, Message, Part, Role, StopReason, ToolInput};
use flemma_provider::{
    Exchange, Request, ToolSpec,
    auth::Environment,
    xml_tools::{self, as_text, read_calls},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{
    conversation::{hello, provider_of},
    plain::Plain,
};

fn tool(name: &str, properties: Value) -> ToolSpec {
    let schema = json!({ "type": "object", "properties": properties });
    let description = format!("Does {name}.");
    ToolSpec { name: name.into(), description, input_schema: Arc::new(schema), strict: false, prompt: None }
}

fn tools() -> Vec<ToolSpec> {
    vec![
        tool(
            "edit",
            json!({ "path": { "type": "string" }, "edits": { "type": "array", "items": { "type": "object",
            "properties": { "old": { "type": "string" }, "new": { "type": "string" } } } } }),
        ),
        tool(
            "read",
            json!({ "path": { "type": "string" }, "limit": { "type": ["integer", "null"] },
            "deep": { "type": "boolean" }, "names": { "type": "array", "items": { "type": "string" } } }),
        ),
        tool(
            "calculator",
            json!({ "action": { "type": "object", "properties": {
            "_attr": { "type": "object" }, "num1": { "type": "string" } } } }),
        ),
    ]
}

/// What becomes of a reply that comes in these pieces: its text, its calls, and why it ended.
fn read(pieces: &[&str]) -> (String, Vec<(String, ToolInput)>, StopReason) {
    let mut decoder = read_calls(Box::new(Plain), tools().into());
    let mut events = Vec::new();
    pieces.iter().for_each(|piece| decoder.feed(piece.as_bytes(), &mut events).unwrap());
    decoder.finish(&mut events).unwrap();
    let (mut text, mut calls, mut ids, mut end) = (String::new(), Vec::new(), Vec::<CallId>::new(), None);
    for event in events {
        match event {
            Event::Text(piece) => text += &piece,
            Event::ToolUse { id, name, input } => {
                assert!(!ids.contains(&id));
                ids.push(id);
                calls.push((name, input));
            }
            Event::ToolUseProgress { .. } | Event::Warning(_) => {}
            Event::Finished(reason) => end = Some(reason),
            other => panic!("{other:?}"),
        }
    }
    (text, calls, end.unwrap())
}

fn calls(reply: &str) -> Vec<(String, Value)> {
    let (_, calls, end) = read(&[reply]);
    assert_eq!(end, if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse });
    let json = |input| match input {
        ToolInput::Json(value) => value,
        ToolInput::Malformed(text) => panic!("{text}"),
    };
    calls.into_iter().map(|(name, input)| (name, json(input))).collect()
}

fn call(name: &str, input: Value) -> (String, Value) {
    (name.to_owned(), input)
}

#[test]
fn a_block_of_xml_becomes_calls_and_the_text_around_it_stays() {
    let reply = "I look.\n\n```xml\n<tools>\n  <tool name=\"read\">\n    <path>a b.rs</path>\n    <limit>5</limit>\n    \
                 <deep>true</deep>\n  </tool>\n  <tool name=\"read\"><path>b</path></tool>\n</tools>\n```\nDone.\n";
    let (text, found, end) = read(&[reply]);
    assert_eq!((text.as_str(), end), ("I look.\n\nDone.\n", StopReason::ToolUse));
    assert_eq!(found.len(), 2);
    assert_eq!(calls(reply)[0], call("read", json!({ "path": "a b.rs", "limit": 5, "deep": true })));
    assert_eq!(calls(reply)[1], call("read", json!({ "path": "b" })));
}

#[test]
fn calls_are_found_in_every_form_that_models_write() {
    let read_a = vec![call("read", json!({ "path": "a" }))];
    for block in [
        "```xml\n<tool name=\"read\"><path>a</path></tool>\n```",
        "~~~~XML\n\n<?xml version=\"1.0\"?>\n<!-- now -->\n<tool name='read'>\n<path>\n  a\n</path></tool>\n~~~~\n",
        "```xml\n<tools><tool name=\"read\"><action><path>a</path></action></tool></tools>\n```",
        "```xml\n<tool name=\"read\" path=\"a\"/>\n```",
        "```xml\n<tool name=\"read\"><param name=\"path\">a</param></tool>\n```",
        // The reply ends without the end of the block.
        "```xml\n<tool name=\"read\"><path>a</path></tool>",
        "  ```xml\n<tool name=\"read\"><path><![CDATA[a]]></path></tool>\n  ```",
    ] {
        assert_eq!(calls(block), read_a, "{block}");
    }
    let several =
        "```xml\n<tool name=\"read\"><action><path>a</path></action><action><path>b</path></action></tool>\n```";
    assert_eq!(calls(several), [call("read", json!({ "path": "a" })), call("read", json!({ "path": "b" }))]);
    let own = "```xml\n<tool name=\"calculator\"><action type=\"x\"><num1>1</num1></action></tool>\n```";
    assert_eq!(calls(own), [call("calculator", json!({ "action": { "_attr": { "type": "x" }, "num1": "1" } }))]);
}

#[test]
fn other_code_is_text() {
    for reply in [
        "```xml\n<html>\n  <tool name=\"read\"/>\n</html>\n```\nmore",
        "```xml\n```\n",
        "```xml\n<toolbox/>\n```",
        "````markdown\n```xml\n<tool name=\"read\"><path>a</path></tool>\n```\n````\n",
        "Write `<tool name=\"read\">`, or ```xml inline.",
        "``` not xml\n<tool name=\"read\"/>\n```\n",
        "<tool name=\"read\"><path>a</path></tool>",
        "```xml",
        "~~",
        "- ```xml\n  <tool name=\"read\"/>\n  ```\nmore",
        "1. ```markdown\n   ```xml\n   <tool name=\"read\"/>\n   ```\n",
    ] {
        let (text, found, end) = read(&[reply]);
        assert_eq!((text.as_str(), found.len(), end), (reply, 0, StopReason::EndTurn));
    }
    let block = "```xml\n<tool name=\"read\"/>\n```\n";
    for (before, behind) in [
        ("<!--\n", "-->\n"),
        ("No call: <!-- not\n", "  --> \n"),
        ("<think>\nHm.\n", "</think>\n"),
        ("So.\n<Thinking> <!--\n", "--> </THINKING> <!-- -->\n"),
        ("`<!--` <!-- a --> <thinking>\n", "`</thinking>`\n"),
    ] {
        let aside = format!("{before}{block}{behind}");
        let (text, found, end) = read(&[&aside, block]);
        assert_eq!((text.as_str(), found.len(), end), (aside.as_str(), 1, StopReason::ToolUse));
    }
    for before in ["Write `<!--` for a comment.\n", "`<think>` ``<!-- ` ``\n", "A <!-- b --> `\n", "a < b\n"] {
        assert_eq!(read(&[before, block]).1.len(), 1, "{before}");
    }
}

#[test]
fn lists_are_items_or_repeated_elements() {
    let edits = json!({ "edits": [{ "old": "a", "new": "b" }, { "old": "c", "new": "" }] });
    for inner in [
        "<edits><item><old>a</old><new>b</new></item><item><old>c</old><new></new></item></edits>",
        "<edits><old>a</old><new>b</new></edits><edits><old>c</old><new/></edits>",
        "<edits><edit><old>a</old><new>b</new></edit><edit><old>c</old><new/></edit></edits>",
    ] {
        assert_eq!(calls(&format!("```xml\n<tool name=\"edit\">{inner}</tool>\n```")), [call("edit", edits.clone())]);
    }
    for (inner, names) in [
        ("<names><item>a</item><item>b</item></names>", json!(["a", "b"])),
        ("<names>a</names><names>b</names>", json!(["a", "b"])),
        ("<names>a</names>", json!(["a"])),
        ("<names/>", json!([])),
    ] {
        let reply = format!("```xml\n<tool name=\"read\">{inner}</tool>\n```");
        assert_eq!(calls(&reply), [call("read", json!({ "names": names }))]);
    }
}

#[test]
fn text_is_taken_as_it_was_meant() {
    let path = |inner: &str| {
        calls(&format!("```xml\n<tool name=\"read\"><path>{inner}</path></tool>\n```"))[0].1["path"].clone()
    };
    assert_eq!(path("a &amp; b &lt;c&gt; &#65; &quot;"), "a & b <c> A \"");
    assert_eq!(path("a && b &nbsp; AT&T"), "a && b &nbsp; AT&T");
    assert_eq!(path("<![CDATA[ <b>&amp;</b>\n```\nx ]]>"), " <b>&amp;</b>\n```\nx ");
    assert_eq!(path("one <b>two</b>"), "one <b>two</b>");
    assert_eq!(path("\n  fn main() {\n  }\n"), "  fn main() {\n  }\n");
    assert_eq!(path(" a "), "a");
}

#[test]
fn xml_that_is_not_valid_is_given_back_to_the_model() {
    for body in
        ["<tool name=\"read\"><path>a</tool>\n", "<tools><tool name=\"read\"><path>if a < b</path></tool></tools>\n"]
    {
        let (text, found, end) = read(&[&format!("```xml\n{body}```\nafter")]);
        assert_eq!((text.as_str(), end), ("after", StopReason::ToolUse));
        assert_eq!(found, [("read".to_owned(), ToolInput::Malformed(body.to_owned()))]);
    }
    let (_, found, _) = read(&["```xml\n<tools><tool name=\"read\"><path>cut o"]);
    assert!(matches!(&found[..], [(name, ToolInput::Malformed(_))] if name == "read"), "{found:?}");
}

#[test]
fn the_tools_are_described_and_earlier_calls_are_text() {
    let use_of = Part::ToolUse { id: "1".into(), name: "read".into(), input: json!({ "path": "<a>", "limit": null }) };
    let output: Arc<str> = "one\n```\n".into();
    let result = Part::ToolResult { id: "1".into(), output, is_error: false, attachments: Vec::new() };
    let messages = vec![
        Arc::new(Message { role: Role::Assistant, parts: vec![Part::Text("I look.".into()), use_of] }),
        Arc::new(Message { role: Role::User, parts: vec![result, Part::Text("Go on.".into())] }),
    ];
    let mut own = tool("own", json!({}));
    own.prompt = Some("## own\n\nIts own words.".into());
    let mut tools = tools();
    tools.push(own);
    let request = Request { system: Some("Be brief.".into()), messages, tools: tools.into(), ..Request::default() };
    let sent = as_text(&request);
    assert!(sent.tools.is_empty());
    let system = sent.system.unwrap();
    assert!(system.starts_with("Be brief.\n\n# Tools"), "{system}");
    for part in ["Does read.", "<tool name=\"read\">", "- `limit` (whole number, optional)", "## own\n\nIts own words."]
    {
        assert!(system.contains(part), "{part} in {system}");
    }
    assert!(!system.contains("Does own."));
    let text = |n: usize, part: usize| match &sent.messages[n].parts[part] {
        Part::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(0, 1), "```xml\n<tool name=\"read\">\n  <path><![CDATA[<a>]]></path>\n</tool>\n```");
    assert_eq!(text(1, 0), "The tool `read` gave this result:\n\n````\none\n```\n````");
    let bare = Request { system: None, ..Request::default() };
    assert_eq!(as_text(&bare), bare);
}

#[test]
fn the_description_shows_what_is_in_objects_and_lists() {
    let action = json!({
        "type": "object",
        "properties": {
            "_attr": { "type": "object", "properties": { "kind": { "enum": ["create", "delete"] } } },
            "path": { "type": "string", "description": "Example: a.txt" },
            "lines": { "type": ["array", "null"], "items": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } },
        },
        "required": ["path"],
    });
    let either = json!({ "anyOf": [action, { "type": "array", "items": action }] });
    let files = tool("files", json!({ "action": either }));
    let request = Request { tools: vec![files].into(), ..Request::default() };
    let system = as_text(&request).system.unwrap();
    let (_, shown) = system.split_once("Does files.\n\n").unwrap();
    let wanted = "```xml
<tool name=\"files\">
  <action kind=\"create\">
    <path>text</path>
    <lines>
      <item>whole number</item>
    </lines>
  </action>
</tool>
```

- `action` (object, optional)
  - `attributes` (of the element, optional)
    - `kind` (text, optional). One of `create`, `delete`
  - `path` (text, required): Example: a.txt
  - `lines` (list, optional)";
    assert_eq!(shown, wanted);
}

/// Text that is hard on parsers.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "]]>",
        "<![CDATA[",
        "&",
        "&amp;",
        "<",
        ">",
        "\"",
        "'",
        "\n",
        "\r\n",
        "```",
        "```\n",
        "\n```\n",
        "</tool>",
        "</path>",
        " ",
        "\t",
        "a",
        "é",
        "<item>",
        "--",
        "<!--",
        "&#0;",
        "\u{1f600}",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_was_called_once_reads_the_same_again(path in hostile(), names in prop::collection::vec(hostile(), 0..4), limit in any::<i32>(), deep in any::<bool>()) {
        let mut input = Map::new();
        input.insert("path".into(), path.into());
        input.insert("limit".into(), limit.into());
        input.insert("deep".into(), deep.into());
        input.insert("names".into(), names.into());
        let input = Value::Object(input);
        let part = Part::ToolUse { id: "1".into(), name: "read".into(), input: input.clone() };
        let messages = vec![Arc::new(Message { role: Role::Assistant, parts: vec![part] })];
        let sent = as_text(&Request { messages, ..Request::default() });
        let Part::Text(text) = &sent.messages[0].parts[0] else { panic!() };
        prop_assert_eq!(calls(text), [call("read", input)], "{}", text);
    }

    #[test]
    fn where_a_reply_is_cut_makes_no_difference(
        parts in prop::collection::vec(prop::sample::select(vec![
            "text\n", "te", "\n", "```xml\n", "```\n", "```lua\n", "~~~xml\n", "<tool name=\"read\">", "<path>a</path>", "</tool>\n",
            "<tools>\n", "</tools>\n", "<html>\n", "<!--", "-->", "<think>", "</think>\n", "- ", "`", "``", "<![CDATA[", "]]>", "  ", "é",
        ]), 0..14),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let reply = parts.concat();
        let mut places: Vec<usize> = cuts.iter().map(|cut| reply.floor_char_boundary(cut.index(reply.len() + 1))).collect();
        places.extend([0, reply.len()]);
        places.sort_unstable();
        let pieces: Vec<&str> = places.windows(2).map(|pair| &reply[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(&pieces), read(&[&reply]));
    }
}

#[test]
fn tools_in_xml_need_no_system_message() {
    let options = json!({ "base_url": "http://localhost:8080/v1", "dialect": { "system_role": "user" } });
    let server = provider_of("openai_compatible", options, Environment::new(|_| None));
    let request = Request { tools: tools().into(), ..hello() };
    let Exchange::Http { request, .. } = xml_tools::prepare(&server, &request).unwrap() else { panic!("no server") };
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let said = body["messages"][0]["content"].as_str().unwrap();
    assert_eq!((body["messages"][0]["role"].as_str(), body["messages"].as_array().unwrap().len()), (Some("user"), 1));
    assert!(said.contains("calculator") && said.ends_with("\n\nHi"), "{said}");
}
