//! The arguments of `:Flemma`.

use super::super::{
    chat::{Chat, Setup},
    support::Nvim,
};

fn complete(nvim: &mut Nvim, line: &str) -> Vec<String> {
    serde_json::from_value(nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", &[line.into()])).unwrap()
}

/// A call of a tool with its result.
fn call(id: &str, tool: &str) -> String {
    format!(
        "@Assistant:\n**Tool Use:** `{tool}` (`{id}`)\n\n```json\n{{}}\n```\n\n@You:\n**Tool Result:** `{id}`\n\n```\nok\n```\n\n"
    )
}

#[test]
fn every_command_completes_its_arguments() {
    let text = format!(
        "@You:\nHello\n\n{}{}{}@You:\n",
        call("toolu_1", "write"),
        call("toolu_2", "read"),
        call("toolu_3", "edit")
    );
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, []);
    chat.wait_until_idle();
    let nvim = &mut chat.nvim;
    assert_eq!(complete(nvim, "Flemma undo "), ["toolu_3", "toolu_1"]);
    assert_eq!(complete(nvim, "Flemma undo toolu_1"), ["toolu_1"]);
    assert_eq!(complete(nvim, "Flemma undo toolu_1 "), [""; 0]);
    assert_eq!(complete(nvim, "Flemma tool:approve "), ["always"]);
    assert_eq!(complete(nvim, "Flemma tool:rej"), ["tool:reject"]);
    assert_eq!(complete(nvim, "Flemma send "), [""; 0]);
    assert_eq!(
        complete(nvim, "Flemma switch openai reasoning=m"),
        ["reasoning=minimal", "reasoning=medium", "reasoning=max"]
    );
    assert_eq!(
        complete(nvim, "Flemma switch cache_retention="),
        ["cache_retention=none", "cache_retention=short", "cache_retention=long"]
    );
    assert_eq!(complete(nvim, "Flemma switch tool_protocol="), ["tool_protocol=native", "tool_protocol=xml"]);
    // The commands of other buffers need no conversation.
    nvim.command("enew");
    assert_eq!(complete(nvim, "Flemma undo "), [""; 0]);
    assert_eq!(nvim.messages(), "");
}
