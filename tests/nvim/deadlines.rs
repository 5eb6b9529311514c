//! Deadlines that pass in a real editor while the user is in the middle of something.

use serde_json::json;

use super::chat::{Chat, Setup, call, said};

#[test]
fn a_deadline_leaves_insert_mode_and_what_is_typed_alone() {
    let question = json!({ "question": "Which port?", "options": null, "default": null });
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "ask_user", &question)]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("? ask_user Which port?");
    chat.wait_until_idle();
    // In a few seconds the time is up.
    chat.nvim.lua(
        "vim.env.TZ = 'XYZ-5:30'
         _G.due = os.time() + 3
         vim.cmd('silent %s/expires=[^ ]*/expires=' .. os.date('!%Y-%m-%dT%H:%M:%SZ', due))
         vim.fn.search('kind=elicitation')",
        &[],
    );
    chat.nvim.input("o80");
    chat.nvim.wait_for("the deadline", |nvim| nvim.lua("return os.time() > due + 1", &[]) == json!(true));
    chat.nvim.input("80");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("\n8080\n"));
    assert_eq!(chat.nvim.mode(), "i");
    assert!(chat.nvim.text().contains("status=pending"));
    chat.nvim.input("<Esc>");
    chat.nvim.wait_for("the message", |nvim| said(nvim).contains("ask_user (toolu_1): its deadline passed at"));
    // As the user reads it: half past five hours east of the file's time.
    let local = chat.nvim.lua("return os.date('!%Y-%m-%d %H:%M', due + 19800)", &[]);
    let words = format!("its deadline passed at {}. Your text", local.as_str().unwrap());
    assert!(said(&mut chat.nvim).contains(&words), "{words}: {}", said(&mut chat.nvim));
    assert!(chat.nvim.text().contains("\n8080\n```"), "{}", chat.nvim.text());
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the error", |nvim| nvim.text().contains("did not respond in time.\n```\n\n8080"));
}
