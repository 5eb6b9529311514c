//! What the user reads stays in its place while tools run above it.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply},
    support::Nvim,
};

/// Three commands that run at the same time, each of them until its file is gone.
fn three() -> super::http::Reply {
    let input = |n: usize| {
        let command = format!("touch run{n}; seq {n}1 {n}5; until ! test -e run{n}; do sleep 0.02; done");
        json!({"label": null, "command": command, "timeout": null}).to_string()
    };
    let inputs = [input(1), input(2), input(3)];
    let stream = inputs.iter().enumerate().fold(Stream::new().text(&["Let me look."]), |stream, (n, input)| {
        stream.tool_use(&format!("toolu_{}", n + 1), "bash", &[input])
    });
    reply(&stream.end("tool_use"))
}

#[test]
fn the_output_that_is_being_read_stays_when_other_calls_end() {
    let options = "tools = { auto_approve = { 'bash' } }";
    let text = format!("@System:\n{}\n@You:\nHello\n", "rule\n".repeat(20));
    let setup = Setup { options, text: Some(&text), ..Setup::default() };
    let mut chat = Chat::start(&setup, [three(), prose(&["fine"])]);
    chat.nvim.request("nvim_ui_try_resize", &[json!(80), json!(24)]);
    chat.nvim.input("G<C-]>");
    let rows = |nvim: &mut Nvim| {
        nvim.command("redraw");
        let rows = nvim.screen();
        ["31", "35"].map(|line| rows.iter().position(|row| row == line))
    };
    chat.nvim.wait_for("all of them", |nvim| {
        nvim.text().matches("status=running").count() == 3 && rows(nvim).iter().all(Option::is_some)
    });
    chat.nvim.input("Gkk");
    let is_there = "return vim.fn.line('.') == vim.fn.line('$') - 2";
    chat.nvim.wait_for("the cursor", |nvim| nvim.lua(is_there, &[]) == true && rows(nvim).iter().all(Option::is_some));
    let before = rows(&mut chat.nvim);
    for n in 1..=2 {
        chat.nvim.wait_for("the command", |nvim| nvim.work().join(format!("run{n}")).exists());
        std::fs::remove_file(chat.nvim.work().join(format!("run{n}"))).unwrap();
        let result = format!("**Tool Result:** `toolu_{n}`\n\n```\n{n}1\n");
        chat.nvim.wait_for("the result", |nvim| nvim.text().contains(&result));
        // Frames of the third command have been drawn since.
        let seconds = "return vim.uv.hrtime()";
        let since = chat.nvim.lua(seconds, &[]).as_u64().unwrap();
        chat.nvim.wait_for("frames", |nvim| nvim.lua(seconds, &[]).as_u64().unwrap() - since > 400_000_000);
        assert_eq!(rows(&mut chat.nvim), before, "after {n}: {:#?}", chat.nvim.screen());
    }
    std::fs::remove_file(chat.nvim.work().join("run3")).unwrap();
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("fine"));
    chat.wait_until_idle();
}
