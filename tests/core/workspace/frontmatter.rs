//! Frontmatter: the options of one conversation.

use serde_json::json;

use super::harness::{Harness, Setup, bash, calls, prose};

/// A conversation under frontmatter that the user has typed.
fn typed(block: &str, setup: Setup<'_>, replies: impl IntoIterator<Item = crate::http::Reply>) -> Harness {
    let chat = Harness::start(setup, replies);
    chat.type_at(0, block);
    chat
}

fn lua(code: &str) -> String {
    format!("```lua\n{code}\n```")
}

/// A conversation whose frontmatter has this effect on its first request.
fn sent(block: &str) -> Harness {
    let chat = typed(block, Setup::default(), [prose("ok")]);
    chat.go();
    chat.wait_for("@Assistant:\nok");
    chat
}

/// The message when a block prevents the conversation from being sent.
fn refusal(block: &str) -> String {
    let chat = typed(block, Setup::default(), []);
    chat.go();
    chat.wait_for_words("Not sent");
    assert_eq!(chat.sent(), 0);
    chat.told().concat()
}

#[test]
fn json_reaches_the_same_options_as_lua() {
    let tools = ["ask_user", "calculator", "calculator_async", "edit", "find", "grep", "ls", "read", "write"];
    let json = r#"{ "max_tokens": 77, "tools": { "remove": ["bash"], "append": ["calculator_async"] } }"#;
    let code =
        "flemma.opt.max_tokens = 77\nflemma.opt.tools:remove(\"bash\")\nflemma.opt.tools:append(\"calculator_async\")";
    for block in [format!("```json\n{json}\n```"), lua(code)] {
        let chat = sent(&block);
        assert_eq!(
            (chat.body(0)["max_tokens"].as_u64(), chat.offered(0)),
            (Some(77), tools.map(str::to_owned).to_vec())
        );
    }
}

#[test]
fn mistakes_name_their_line_and_nothing_is_sent() {
    for (block, message) in [
        ("```json\n{\n  \"model\": \n}\n```".to_owned(), "line 4: the JSON frontmatter: expected value"),
        ("```json\n{ \"modle\": 1 }\n```".to_owned(), "the frontmatter: unknown option `modle`; did you mean `model`?"),
        ("```json\n[1]\n```".to_owned(), "the frontmatter must be a table of options, not [1]"),
        ("```yaml\na: 1\n```".to_owned(), "there is no parser for frontmatter in `yaml`"),
        ("```jsno\n{}\n```".to_owned(), "did you mean `json`?"),
        (
            lua("flemma.opt.openai_compatible.base_url = \"https://evil.example\""),
            "a file cannot set where a key is sent",
        ),
        (lua("flemma.opt.tools.auto_approve = [\"$defualt\"]"), "unknown preset `$defualt`; did you mean `$default`?"),
        (
            lua("flemma.opt.tools.auto_approve = [\"my.module\"]"),
            "a module belongs in the configuration, not in a file",
        ),
        (lua("flemma.opt.tools = [\"$default\"]"), "`$default` is about approval; `tools` lists the names of tools"),
    ] {
        let told = refusal(&block);
        assert!(told.contains(message), "{block}\n{told}");
    }
}

#[test]
fn a_tool_that_the_file_does_not_offer_does_not_run() {
    let options = json!({ "tools": { "require_approval": false } });
    let replies = [calls([("bash", bash("touch ran"))]), prose("fine")];
    let block = lua("flemma.opt.tools = [\"read\", \"calculator\"]");
    let chat = typed(&block, Setup { options, ..Setup::default() }, replies);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["Error: There is no tool `bash`. The tools are: calculator, read."]);
    assert!(!chat.work("ran").exists());
}

#[test]
fn frontmatter_can_turn_autopilot_off() {
    let read = json!({ "path": "x", "offset": null, "limit": null, "label": null });
    let chat = typed(&lua("flemma.opt.tools.autopilot = false"), Setup::default(), [calls([("read", read)])]);
    chat.go();
    chat.wait_for("**Tool Use:** `read`");
    assert!(!chat.text().contains("**Tool Result:**"), "nothing goes on by itself");
}

#[test]
fn frontmatter_runs_again_only_when_something_changed() {
    let chat = typed(&lua("flemma.opt.max_tokens = 5"), Setup::default(), []);
    let runs = || {
        let _ = (chat.status(), chat.decision("bash", bash("ls")));
        chat.scripts.ran.borrow().len()
    };
    assert_eq!((runs(), runs()), (1, 1));
    chat.type_below("More");
    assert_eq!(runs(), 1, "the message is no part of it");
    chat.replace("max_tokens = 5", "max_tokens = 6");
    assert_eq!(runs(), 2);
    chat.register("mine", |_, _| None);
    assert_eq!(runs(), 3, "it may name the new tool");
    chat.set_up(json!({ "parameters": { "max_tokens": 7 } }), None).unwrap();
    assert_eq!(runs(), 4, "its defaults are others");
}

#[test]
fn status_shows_every_value_and_its_source() {
    let options = json!({
        "provider": "anthropic",
        "model": "claude-test",
        "tools": { "auto_approve": ["$readonly"], "max_concurrent": 2 },
    });
    let chat = Harness::start(Setup { options, ..Setup::default() }, []);
    for line in [
        "provider anthropic setup",
        "model claude-test setup",
        "max_tokens 8192 default",
        "thinking false default",
        "cache_retention short default",
        "tools.max_concurrent 2 setup",
        "tools.autopilot.enabled true default",
        "tools.auto_approve $readonly setup",
        "tools ask_user, bash, calculator, edit, find, grep, ls, read, write default",
        "idle",
    ] {
        chat.status_has(line);
    }
    chat.type_at(
        0,
        &lua("flemma.opt.thinking = \"high\"\nflemma.opt.tools:remove(\"bash\")\n\
              flemma.opt.tools.auto_approve = [\"$default\"]\nflemma.opt.tools.auto_approve:remove(\"write\")\n\
              flemma.opt.anthropic.max_tokens = 9000"),
    );
    for line in [
        "thinking high frontmatter",
        "anthropic.max_tokens 9000 frontmatter",
        "tools.auto_approve $default, without write frontmatter",
        "tools ask_user, calculator, edit, find, grep, ls, read, write frontmatter",
    ] {
        chat.status_has(line);
    }
    chat.replace("\"high\"", "\"higher\"");
    let lines = chat.status();
    assert!(lines[1].starts_with("the frontmatter has no effect: line 2: `flemma.opt.thinking` must be"), "{lines:?}");
}
