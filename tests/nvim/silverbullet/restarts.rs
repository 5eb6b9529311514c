//! A handler waits in `ai.writePage` while its editor is killed, or while somebody decides from the command line.

use serde_json::{Value, json};

use super::{OPTIONS, VAULT, with_tools};
use crate::{
    chat::{Chat, prose},
    codecompanion::answered,
    command_line::{flemma, run},
};

/// A handler that writes twice. It runs without a question, and notes how far it gets.
const TOOL: &str = "ai.tools.writer = {
  description = 'x',
  writePathParam = 'page',
  parameters = { type = 'object', properties = { page = { type = 'string' } } },
  handler = function(args)
    local function note(word)
      local file = assert(io.open('steps', 'a'))
      file:write(word .. ' ')
      file:close()
    end
    note('first')
    ai.writePage(args.page, 'one\\n')
    note('second')
    ai.writePage(args.page, 'two\\n')
    note('end')
    return 'both are written'
  end,
}";

/// A conversation in which the first change waits.
fn waiting() -> Chat {
    let mut chat = with_tools(&[("writer", json!({ "page": "Index" }))], TOOL);
    chat.nvim.input("<C-]>");
    wait_for_question(&mut chat);
    chat
}

#[track_caller]
fn wait_for_question(chat: &mut Chat) {
    chat.nvim.wait_for("the change", |nvim| nvim.file("notes.chat").contains("question=\"Write Index?\""));
    chat.wait_until_idle();
}

/// Kills the editor, and opens the conversation in another one of the same user.
fn killed(mut chat: Chat) -> (Chat, Chat) {
    chat.nvim.kill();
    let work = chat.nvim.work();
    let lua = format!(
        "vim.api.nvim_set_current_dir('{}') require('flemma.compat.silverbullet').load('tools.lua')",
        work.display()
    );
    let mut other = Chat::another(&chat, &work.join("notes.chat"), (OPTIONS, &lua), [prose(&["fine"])]);
    let settled = "return require('flemma.native').call('state', vim.api.nvim_get_current_buf(), 'settled')";
    other.nvim.wait_for("the conversation", |nvim| nvim.lua(settled, &[]) == true);
    other.wait_until_idle();
    (chat, other)
}

#[track_caller]
fn approve(chat: &mut Chat) {
    chat.go_to("status=pending");
    chat.nvim.command("Flemma tool:approve");
}

/// The result, as the provider sees it in the request of this number.
fn result(chat: &mut Chat, request: usize) -> String {
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    match &chat.messages(request)[2]["content"][0]["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

#[test]
fn two_writes_of_one_handler_wait_one_after_the_other() {
    let mut chat = waiting();
    approve(&mut chat);
    chat.nvim.wait_for("the second change", |nvim| nvim.file("steps") == "first second ");
    wait_for_question(&mut chat);
    assert_eq!(chat.nvim.file("vault/Index.md"), "one\n");
    approve(&mut chat);
    assert_eq!(answered(&mut chat), [("both are written".to_owned(), false)]);
    assert_eq!(
        (chat.nvim.file("vault/Index.md"), chat.nvim.file("steps")),
        ("two\n".into(), "first second end ".into())
    );
}

/// What the handler wants next was not asked for in the review of its first change.
#[test]
fn a_review_ends_with_its_change() {
    let mut chat = waiting();
    let tabs = "return #vim.api.nvim_list_tabpages()";
    chat.nvim.input("gK");
    chat.nvim.wait_for("the review", |nvim| nvim.lua("return vim.bo.buftype", &[]) == "acwrite");
    chat.nvim.input("gA");
    chat.nvim.wait_for("the second change", |nvim| nvim.file("steps") == "first second ");
    chat.nvim.wait_for("the end of the review", |nvim| nvim.lua(tabs, &[]) == 1);
    wait_for_question(&mut chat);
    chat.nvim.wait_for("the proposal", |nvim| nvim.row_with("+two").is_some());
    assert_eq!(chat.nvim.lua(tabs, &[]), 1);
    assert_eq!(chat.nvim.file("vault/Index.md"), "one\n");
    approve(&mut chat);
    assert_eq!(answered(&mut chat), [("both are written".to_owned(), false)]);
}

#[test]
fn an_editor_that_was_killed_writes_what_was_stored() {
    let (first, mut chat) = killed(waiting());
    assert_eq!(first.nvim.file("vault/Index.md"), VAULT[0].1);
    chat.nvim.wait_for("the call", |nvim| nvim.text().contains("question=\"Write Index?\""));
    approve(&mut chat);
    let result = result(&mut chat, 0);
    assert!(
        result.starts_with("Wrote `Index`.") && result.contains("The tool did not continue afterwards"),
        "{result}"
    );
    // The handler was not run again.
    assert_eq!((first.nvim.file("vault/Index.md"), first.nvim.file("steps")), ("one\n".into(), "first ".into()));
}

#[test]
fn an_editor_killed_at_the_second_write_keeps_the_first() {
    let mut chat = waiting();
    approve(&mut chat);
    chat.nvim.wait_for("the second change", |nvim| nvim.file("steps") == "first second ");
    wait_for_question(&mut chat);
    let (first, mut chat) = killed(chat);
    assert_eq!(first.nvim.file("vault/Index.md"), "one\n");
    chat.go_to("status=pending");
    chat.nvim.command("Flemma tool:reject");
    let result = result(&mut chat, 0);
    assert!(result.contains("The user rejected the change, and nothing of it was written."), "{result}");
    assert!(
        result
            .ends_with("Before that, this call changed 1 file (`vault/Index.md`). Those changes were not taken back."),
        "{result}"
    );
    assert_eq!((first.nvim.file("vault/Index.md"), first.nvim.file("steps")), ("one\n".into(), "first second ".into()));
}

#[test]
fn the_command_line_decides_with_the_editor_and_without() {
    let mut chat = waiting();
    let file = chat.nvim.work().join("notes.chat");
    let said = std::thread::scope(|scope| {
        let command = flemma(&chat, &file, "toolu_1", &["--approve"]);
        let resolving = scope.spawn(move || run(command));
        chat.nvim.wait_for("the second change", |nvim| nvim.file("steps") == "first second ");
        resolving.join().unwrap()
    });
    assert_eq!(said.0, 0, "{}", said.1);
    wait_for_question(&mut chat);
    chat.nvim.kill();
    let said = run(flemma(&chat, &file, "toolu_1", &["--approve"]));
    assert_eq!(said.0, 0, "{}", said.1);
    assert_eq!(chat.nvim.file("vault/Index.md"), "one\n", "nothing runs there");
    let (first, mut chat) = killed(chat);
    let result = result(&mut chat, 0);
    assert!(result.contains("The tool did not continue afterwards"), "{result}");
    assert_eq!((first.nvim.file("vault/Index.md"), first.nvim.file("steps")), ("two\n".into(), "first second ".into()));
}

#[test]
fn an_approved_page_is_written_and_its_buffer_keeps_its_text() {
    let mut chat = waiting();
    chat.nvim.command("split vault/Index.md | call setline(1, 'mine') | wincmd p");
    approve(&mut chat);
    chat.nvim.wait_for("the second change", |nvim| nvim.file("steps") == "first second ");
    assert_eq!(chat.nvim.file("vault/Index.md"), "one\n");
    let buffer = "local buf = vim.fn.bufnr('Index.md')
        return { vim.fn.getbufline(buf, 1)[1], vim.bo[buf].modified }";
    assert_eq!(chat.nvim.lua(buffer, &[]), json!(["mine", true]));
    chat.nvim.wait_for_screen("save Index to go on");
}
