//! Handlers of one conversation run one after another, and overwrite nothing that they have not read.

use serde_json::{Value, json};

use super::{OPTIONS, VAULT, with_options};
use crate::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply},
    codecompanion::{answered, results, with_calls},
};

/// Appends a line to a page, as the help shows it, and tools that go wrong.
const TOOLS: &str = "
    local function define(name, handler)
      ai.tools[name] = {
        description = 'x',
        parameters = { type = 'object', properties = { page = { type = 'string' }, line = { type = 'string' } } },
        handler = handler,
      }
    end
    define('append', function(args)
      local content = space.readPage(args.page)
      ai.writePage(args.page, content .. args.line .. '\\n')
      return 'Appended'
    end)
    define('late', function(args)
      local content = space.readPage(args.page)
      vim.fn.writefile({ 'newer' }, 'vault/' .. args.page .. '.md')
      ai.writePage(args.page, content .. 'late\\n')
      return 'Appended'
    end)
    define('appends_to_shown', function(args)
      editor.navigate(args.page)
      local content = editor.getText()
      if args.line == 'late' then
        vim.fn.writefile({ 'newer' }, 'vault/' .. args.page .. '.md')
      end
      ai.writePage(args.page, content .. args.line .. '\\n')
      return 'Appended'
    end)
    define('twice', function(args)
      local content = space.readPage(args.page)
      ai.writePage(args.page, content .. 'one\\n')
      ai.writePage(args.page, content .. 'one\\ntwo\\n')
      return 'Written'
    end)
    define('asks', function() return editor.prompt('?') end)
    define('answers', function() vim.schedule(function() answer('yes') end) return 'here' end)
    define('yields', function() coroutine.yield() return 'x' end)
    define('no_content', function() ai.writePage('Index', nil) end)
    define('no_name', function() ai.writePage('', 'x') end)
    define('in_gsub', function() return (('x'):gsub('x', function() return space.readPage('Index') end)) end)
    define('throws_nothing', function() error() end)
    define('circle', function() local t = { name = 'x' } t.t = t return t end)
    define('no_number', function() return { n = 0 / 0 } end)
    define('deep', function() local t = { x = 'x' } for _ = 1, 200 do t = { t = t } end return t end)
    define('shows', function(args) editor.navigate(args.page) return 'shown' end)";

/// A conversation whose calls write without a question.
fn unasked(calls: &[(&str, Value)]) -> Chat {
    let mut files = VAULT.to_vec();
    files.push(("tools.lua", TOOLS));
    with_calls(
        calls,
        "tools = { notes = { enabled = true, root = 'vault' }, require_approval = false }",
        "require('flemma.compat.silverbullet').load('tools.lua')",
        &files,
    )
}

fn line(page: &str, line: &str) -> Value {
    json!({ "page": page, "line": line })
}

#[test]
fn handlers_of_one_conversation_run_one_after_another() {
    let lines = ["1", "2", "3", "4", "5", "6"].map(|text| ("append", line("Index", text)));
    let mut chat = unasked(&lines);
    let found = results(&mut chat);
    assert_eq!(found, vec![("Appended".to_owned(), false); 6]);
    assert_eq!(chat.nvim.file("vault/Index.md"), format!("{}1\n2\n3\n4\n5\n6\n", VAULT[0].1));
}

#[test]
fn a_page_that_changed_since_it_was_read_is_not_overwritten() {
    let found_in = |mut chat: Chat| {
        let found = results(&mut chat);
        assert!(found[0].1 && found[0].0.contains("`Index` has changed since this call read it"), "{found:?}");
        assert_eq!(chat.nvim.file("vault/Index.md"), "newer\n");
        found
    };
    let found = found_in(unasked(&[("late", line("Index", "")), ("twice", line("Projects/Plan", ""))]));
    assert_eq!(found[1], ("Written".to_owned(), false), "what the call wrote itself is no change");
    found_in(with_options("", &[("late", line("Index", ""))], TOOLS));
}

#[test]
fn what_a_call_has_read_in_the_editor_counts_as_read() {
    let mut chat = unasked(&[("appends_to_shown", line("Index", "late"))]);
    let found = results(&mut chat);
    assert!(found[0].1 && found[0].0.contains("`Index` has changed since this call read it"), "{found:?}");
    assert_eq!(chat.nvim.file("vault/Index.md"), "newer\n");
    let mut chat = unasked(&[("appends_to_shown", line("Index", "one"))]);
    assert_eq!(results(&mut chat), [("Appended".to_owned(), false)]);
    assert_eq!(chat.nvim.file("vault/Index.md"), format!("{}one\n", VAULT[0].1));
}

/// Both handlers read the page before anything was written. The model is told, and calls again.
#[test]
fn two_calls_that_append_to_a_page_lose_no_line() {
    for page in ["Index", "Alias"] {
        let call = |stream: Stream, id: &str, page: &str, text: &str| {
            stream.tool_use(id, "append", &[&line(page, text).to_string()])
        };
        let both = call(call(Stream::new(), "toolu_1", "Index", "one"), "toolu_2", page, "two").end("tool_use");
        let again = call(Stream::new(), "toolu_3", page, "two").end("tool_use");
        let mut files = VAULT.to_vec();
        files.push(("tools.lua", TOOLS));
        let lua = "vim.uv.fs_symlink('Index.md', 'vault/Alias.md')
            require('flemma.compat.silverbullet').load('tools.lua')";
        let setup = Setup { lua, options: OPTIONS, files: &files, ..Setup::default() };
        let mut chat = Chat::start(&setup, [reply(&both), reply(&again), prose(&["fine"])]);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the refusal", |nvim| {
            let text = nvim.text();
            text.matches("question=\"Write Index?\"").count() == 1 && text.contains("also changes")
        });
        chat.wait_until_idle();
        chat.nvim.command("silent! %Flemma tool:approve");
        chat.nvim.wait_for("the second call", |nvim| nvim.text().contains(&format!("question=\"Write {page}?\"")));
        chat.wait_until_idle();
        let told = chat.messages(1)[2]["content"].to_string();
        assert!(
            told.contains(&format!("(toolu_1) also changes `{page}`")) && told.contains("Call the tool again."),
            "{told}"
        );
        chat.nvim.command("silent! %Flemma tool:approve");
        chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(chat.nvim.file("vault/Index.md"), format!("{}one\ntwo\n", VAULT[0].1));
    }
}

/// The page changes while the user looks at the change: the handler hears that it has to read the page again.
#[test]
fn a_page_that_changes_while_its_change_waits_is_not_written() {
    let mut chat = with_options("", &[("append", line("Index", "one"))], TOOLS);
    chat.send_until("question=\"Write Index?\"");
    std::fs::write(chat.nvim.work().join("vault/Index.md"), "mine\n").unwrap();
    chat.nvim.command("silent! %Flemma tool:approve");
    let found = answered(&mut chat);
    assert!(found[0].1 && found[0].0.contains("`Index` has changed since this call read it"), "{found:?}");
    assert_eq!(chat.nvim.file("vault/Index.md"), "mine\n");
}

#[test]
fn a_handler_that_waits_for_a_person_lets_others_run() {
    let mut chat = with_options("", &[("asks", json!({})), ("answers", json!({}))], TOOLS);
    chat.nvim.lua(
        "vim.ui.input = function(_, done) require('flemma.compat.silverbullet.environment').globals.answer = done end",
        &[],
    );
    let found = results(&mut chat);
    assert_eq!(found, [("yes".to_owned(), false), ("here".to_owned(), false)]);
    // The same where a change waits for a decision.
    let calls = [("append", line("Index", "1")), ("append", line("Projects/Plan", "2"))];
    let mut chat = with_options("", &calls, TOOLS);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("both", |nvim| nvim.text().matches("question=\"Write ").count() == 2);
    chat.wait_until_idle();
    chat.nvim.command("silent! %Flemma tool:approve");
    assert_eq!(answered(&mut chat), vec![("Appended".to_owned(), false); 2]);
}

#[test]
fn what_goes_wrong_in_a_handler_is_said_without_positions() {
    let cases = [
        ("yields", "called coroutine.yield, and nothing would let it go on"),
        ("no_content", "ai.writePage: the content of the page must be a string, not a nil"),
        ("no_name", "ai.writePage: the name of the page is empty"),
        ("in_gsub", "space.readPage cannot be called inside a function that Lua itself calls"),
        ("throws_nothing", "the tool `throws_nothing` threw an error without a message"),
    ];
    let calls: Vec<(&str, Value)> = cases.iter().map(|(name, _)| (*name, json!({}))).collect();
    let found = results(&mut with_options("", &calls, TOOLS));
    for ((name, words), (text, is_error)) in cases.iter().zip(&found) {
        assert!(*is_error && text.contains(words) && !text.contains(".lua:"), "{name}: {text}");
    }
}

#[test]
fn tables_that_have_no_json_are_written_as_far_as_they_have() {
    let calls = [("circle", json!({})), ("no_number", json!({})), ("deep", json!({}))];
    let found = results(&mut with_options("", &calls, TOOLS));
    assert_eq!(found[0], (r#"{"name":"x","t":"<itself>"}"#.to_owned(), false));
    assert_eq!(found[1], (r#"{"n":null}"#.to_owned(), false));
    assert!(found[2].0.starts_with(r#"{"t":{"t":"#) && found[2].0.contains('…'), "{found:?}");
}

#[test]
fn a_page_that_may_not_be_shown_is_named_as_the_model_did() {
    let agent = "agents = { planner = { allowedReadPaths = { 'Projects' } } }, agent = 'planner',";
    let mut chat = with_options(agent, &[("shows", line("Index", "")), ("shows", line("Projects/Plan", ""))], TOOLS);
    let found = results(&mut chat);
    assert!(found[0].1 && found[0].0.contains("The agent `planner` does not allow `Index`"), "{found:?}");
    assert!(!found[0].0.contains("vault"), "{found:?}");
    assert_eq!(found[1], ("shown".to_owned(), false));
}
