//! Definitions of the first era, the calculator of the guide first of all.

use serde_json::{Value, json};

use super::{answered, results, seen, with_calls};
use crate::{
    chat::previews,
    completions,
    http::{Reply, Server},
    support::{Nvim, Options},
};

const CALCULATOR: &str = include_str!("calculator.lua");
const TOOLS: &str = include_str!("first_era.lua");

/// The system prompt that the guide shows for its calculator, from its schema on.
const SHOWN: &str = "```xml
<tool name=\"calculator\">
  <action>
    <num1>100</num1>
    <num2>50</num2>
    <operation>multiply</operation>
  </action>
</tool>
```";

/// Registers the calculator, after a change of it.
fn calculator(change: &str) -> String {
    format!(
        "_G.notes = {{}}
        -- Neovim's own waits for a key after two messages.
        vim.notify = function(message) notes[#notes + 1] = message end
        {CALCULATOR}
        local entry = calculator.strategies.chat.tools.calculator
        local tool = entry.callback
        {change}
        assert(require('flemma.compat.codecompanion').setup(calculator))"
    )
}

fn sum(operation: &str, num1: &str, num2: &str) -> (&'static str, Value) {
    ("calculator", json!({ "action": { "num1": num1, "num2": num2, "operation": operation } }))
}

const FREE: &str = "tools = { require_approval = false }";
const PRODUCT: &str = "The output from the calculator was 5000";

#[test]
fn the_calculator_of_the_guide_works_as_it_was_pasted() {
    let calls = [sum("multiply", "100", "50"), sum("divide", "1", "0"), sum("add", "one", "2")];
    let mut chat = with_calls(&calls, FREE, &calculator(""), &[]);
    let found = results(&mut chat);
    assert_eq!(found[0], (PRODUCT.to_owned(), false));
    assert_eq!(found[1], ("Error calling `calculator`: Cannot divide by zero".to_owned(), true));
    assert_eq!(found[2], ("Error calling `calculator`: First number is missing or invalid".to_owned(), true));
    let (setup, exit, error) = ("setup function called", "on_exit function called", "An error occurred");
    let notes = chat.nvim.lua("return notes", &[]);
    assert_eq!(notes, json!([setup, setup, setup, exit, error, exit, error, exit]));
    let tools = chat.server.requests()[0].json()["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "calculator").unwrap().clone();
    assert_eq!(tool["description"], "Perform calculations");
    let action = &tool["input_schema"]["properties"]["action"]["anyOf"][0];
    assert_eq!(action["properties"]["num1"]["type"], "string", "{action}");
    assert!(action["properties"]["operation"]["description"].as_str().unwrap().contains("multiply"), "{action}");
    assert!(!chat.server.requests()[0].json()["system"].to_string().contains("XML"));
    // The module that it loads is a stand-in, and is not kept.
    assert_eq!(chat.nvim.lua("return package.loaded['codecompanion.config'] == nil", &[]), true);
}

#[test]
fn the_calculator_that_answers_later_works() {
    let change = "
        local calculate = tool.cmds[1]
        tool.cmds = { function(agent, actions, input, output_handler)
          vim.defer_fn(function()
            output_handler(calculate(agent, actions, input))
            output_handler({ status = 'success', data = 1 })
          end, 5)
        end }";
    let calls = [sum("multiply", "100", "50"), sum("divide", "1", "0")];
    let mut chat = with_calls(&calls, FREE, &calculator(change), &[]);
    let found = results(&mut chat);
    assert_eq!(found[0], (PRODUCT.to_owned(), false));
    assert_eq!(found[1].0, "Error calling `calculator`: Cannot divide by zero");
}

#[test]
fn the_calculator_that_requires_approval_asks_its_own_question() {
    let change = "
        entry.opts = { requires_approval = true }
        tool.output.prompt = function(agent, self)
          return string.upper(self.request.action.operation) .. ' ' .. self.request.action.num1 .. ' and '
            .. self.request.action.num2 .. '?'
        end
        tool.output.rejected = function(agent)
          local config = require('codecompanion.config')
          return agent.chat:add_buf_message({
            role = config.constants.USER_ROLE,
            content = 'The user rejected your request to run the calculator tool',
          })
        end";
    let calls = [sum("multiply", "100", "50"), sum("add", "1", "2")];
    let mut chat = with_calls(&calls, "", &calculator(change), &[]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the questions", |nvim| previews(nvim).len() == 2);
    let shown: Vec<String> = previews(&mut chat.nvim).into_iter().map(|(_, text)| text).collect();
    assert_eq!(shown, ["calculator: MULTIPLY 100 and 50?", "calculator: ADD 1 and 2?"]);
    chat.wait_until_idle();
    chat.go_to("**Tool Result:** `toolu_2`");
    chat.nvim.command("Flemma tool:reject");
    chat.go_to("**Tool Result:** `toolu_1`");
    chat.nvim.input("<M-CR>");
    let found = answered(&mut chat);
    assert_eq!(found[0], (PRODUCT.to_owned(), false));
    assert_eq!(found[1], ("The user rejected your request to run the calculator tool".to_owned(), true));
}

#[test]
fn the_calculator_is_called_in_xml_by_a_text_model() {
    let say = |pieces: &[&str]| Reply::stream().chunk(completions::Stream::new().text(pieces).end("stop").bytes());
    let server = Server::start([
        say(&[
            "I multiply.\n\n```xml\n<tool name=\"calculator\">\n  <action>\n    <num1>100</nu",
            "m1>\n    <num2>50</num2>\n    <operation>multiply</operation>\n  </action>\n</tool>\n```\n",
        ]),
        say(&["It is 5000."]),
    ]);
    let setup = format!(
        "require('flemma').setup({{ provider = 'openai_compatible', model = 'm', {FREE},
           parameters = {{ openai_compatible = {{ base_url = '{}/v1', tool_protocol = 'xml' }} }} }})\n",
        server.base_url()
    );
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", "@You:\nWhat is 100*50?\n")],
        arguments: &["notes.chat"],
        init: &(setup + &calculator("")),
        ..Options::default()
    });
    nvim.input("<C-]>");
    nvim.wait_for("the last reply", |nvim| nvim.text().contains("It is 5000."));
    let requests = server.requests();
    let system = requests[0].json()["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(
        system.contains("## Calculator Tool (`calculator`) - Enhanced Guidelines") && system.contains(SHOWN),
        "{system}"
    );
    let second = requests[1].json()["messages"].to_string();
    assert!(second.contains(PRODUCT), "{second}");
    let text = nvim.text();
    assert!(text.contains("**Tool Use:** `calculator`") && !text.contains("<tool name"), "{text}");
}

#[test]
fn the_parts_of_a_tool_are_called_in_the_order_of_the_guide() {
    let lua = format!("{TOOLS}\nassert(require('flemma.compat.codecompanion').setup(tools))");
    let calls = [
        ("succeeds", json!({ "action": { "word": "x" } })),
        ("fails", json!({ "action": { "word": "y" } })),
        ("several", json!({ "action": [{ "word": "p" }, { "word": "q" }] })),
        ("typed", json!({ "action": { "_attr": { "type": "create" }, "path": "a.txt" } })),
        ("runs", json!({ "action": { "lang": "it's $HOME" } })),
    ];
    let mut chat = with_calls(&calls, FREE, &lua, &[]);
    let found = results(&mut chat);
    let good = |text: &str| (text.to_owned(), false);
    assert_eq!(found[0], good("one x\n\ntwo one x"));
    assert_eq!(found[1], ("one y\n\nno y after one y".to_owned(), true));
    assert_eq!(found[2], good("second p\n\nsecond q"));
    assert_eq!(found[3], good("create a.txt in typed"));
    assert_eq!(found[4], good("<it's $HOME>\n\nplain words"));
    assert_eq!(
        seen(&mut chat),
        [
            // All calls of a reply are prepared before they are decided about.
            "env x succeeds",
            "setup succeeds",
            "setup fails",
            "setup several",
            "one succeeds",
            "success 1",
            "two success",
            "success 2",
            "exit success",
            "one fails",
            "success 1",
            "two success",
            "error 1 1",
            "exit error",
            "first p",
            "first q",
            "second p first q",
            "second q second p",
        ]
    );
}
