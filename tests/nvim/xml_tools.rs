//! A model that knows no tools, behind Chat Completions.

use super::{
    chat::said,
    completions::Stream,
    http::{Reply, Server},
    support::{Nvim, Options},
};

fn reply(pieces: &[&str]) -> Reply {
    Reply::stream().chunk(Stream::new().text(pieces).end("stop").bytes())
}

#[test]
fn a_text_model_reads_and_edits_through_xml() {
    let server = Server::start([
        reply(&[
            "I look.\n\n``",
            "`xml\n<tools>\n  <tool name=\"read\">\n    <pa",
            "th>greet.txt</path>\n  </tool>\n</tools>\n```\n",
        ]),
        // It forgets to close an element, and is told so.
        reply(&["```xml\n<tool name=\"edit\"><path>greet.txt</tool>\n```"]),
        reply(&[
            "```xml\n<tool name=\"edit\">\n  <path>greet.txt</path>\n  ",
            "<old_text><![CDATA[a < b && c]]></old_text>\n<new_text>a &gt; b</new_text>\n</tool>\n```\n",
        ]),
        reply(&["It greets."]),
    ]);
    let options = format!(
        "provider = 'openai_compatible', model = 'gemma3:12b',
         parameters = {{ openai_compatible = {{ base_url = '{}/v1', tool_protocol = {{ 'gemma*' }} }} }}",
        server.base_url()
    );
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", "@You:\nLook at greet.txt.\n"), ("greet.txt", "if a < b && c\n")],
        arguments: &["notes.chat"],
        init: &format!("require('flemma').setup({{ {options} }})"),
        ..Options::default()
    });
    nvim.input("<C-]>");
    nvim.wait_for("the last reply", |nvim| nvim.text().contains("It greets."));
    assert_eq!(nvim.file("greet.txt"), "if a > b\n", "{}", said(&mut nvim));
    let text = nvim.text();
    assert!(text.contains("@Assistant:\nI look.\n\n**Tool Use:** `read` (`xml_"), "{text}");
    assert!(text.contains("{\"path\":\"greet.txt\"}") && !text.contains("<tools>"), "{text}");
    assert!(text.contains("not valid XML: line 1: `<path>` is closed by `</tool>`"), "{text}");
    let requests = server.requests();
    let first = requests[0].json();
    assert!(first.get("tools").is_none());
    let system = first["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("# Tools") && system.contains("<tool name=\"read\">"), "{system}");
    let second = requests[1].json()["messages"].to_string();
    assert!(second.contains("The tool `read` gave this result") && second.contains("if a < b && c"), "{second}");
}

#[test]
fn a_file_chooses_the_protocol_for_itself() {
    let server = Server::start([reply(&["```xml\n<tool name=\"ls\"/>\n```"]), reply(&["fine"])]);
    let options = format!(
        "provider = 'openai_compatible', model = 'm', tools = {{ auto_approve = {{ 'ls' }} }},
         parameters = {{ openai_compatible = {{ base_url = '{}/v1' }} }}",
        server.base_url()
    );
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", "```json\n{ \"tool_protocol\": \"xml\" }\n```\n\n@You:\nLook.\n")],
        arguments: &["notes.chat"],
        init: &format!("require('flemma').setup({{ {options} }})"),
        ..Options::default()
    });
    // The file was not written in this session, so that the user is asked.
    nvim.input("<C-]>");
    nvim.wait_for_screen("2: Trust this block in this file");
    assert_eq!(server.requests().len(), 0);
    nvim.input("2<CR>");
    nvim.wait_for("the last reply", |nvim| nvim.text().contains("fine"));
    assert!(nvim.text().contains("**Tool Use:** `ls`"), "{}", nvim.text());
    assert!(server.requests()[0].json().get("tools").is_none());
}
