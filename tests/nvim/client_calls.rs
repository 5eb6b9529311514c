//! Calls of the tools that the editor answers, from the model's reply to the result.

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, prose, reply, said},
    client_tools::{FILES, chat, failure, run, windows},
    http::Reply,
    support::{Nvim, Options},
};

#[test]
fn a_call_of_the_model_shows_a_location_and_goes_on() {
    let options = "tools = { open_location = { enabled = true } }";
    let setup = Setup { files: FILES, options, ..Setup::default() };
    let input = json!({ "path": "src/main.rs", "line": 3, "column": null, "pattern": null });
    let mut chat = Chat::start(&setup, [call("toolu_1", "open_location", &input), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| {
        nvim.lua("return vim.fn.getbufline('notes.chat', 1, '$')", &[]).to_string().contains("fine")
    });
    assert_eq!(windows(&mut chat)[0], "src/main.rs:3");
    let result = chat.messages(1)[2]["content"][0].clone();
    assert!(result.to_string().contains("src/main.rs"), "{result}");
    assert_ne!(result["is_error"], true, "{result}");
}

/// A tool of the editor that needs approval and asks with Neovim's own prompt, which waits.
const SIGN: &str = "_G.runs = 0
    require('flemma.tools').register('sign', {
      description = 'Have the user sign.', executor = 'client', approval = 'requires_approval',
      input_schema = { type = 'object', properties = vim.empty_dict() },
      execute = function()
        _G.runs = runs + 1
        local choice = vim.fn.confirm('Sign it?', '&Yes\\n&No')
        return { zebra = choice, apple = true, mango = { 3, { y = 1, x = 2, w = 3, v = 4 } } }
      end,
    })";

fn asks_to_sign() -> Reply {
    let stream = Stream::new().text(&["Here is why ", "I ask.\n"]);
    reply(&stream.tool_use("toolu_1", "sign", &["{}"]).end("tool_use"))
}

#[test]
fn a_gated_call_is_approved_once_and_asks_below_its_reply() {
    let mut chat = Chat::start(&Setup { lua: SIGN, ..Setup::default() }, [asks_to_sign(), prose(&["fine"])]);
    chat.send_until("kind=approval executor=client");
    assert_eq!(chat.nvim.lua("return runs", &[]), 0);
    // Another window with the conversation, in which the user reads something else.
    chat.nvim.command("split | normal! gg");
    chat.nvim.command("wincmd p");
    chat.go_to("status=pending");
    chat.nvim.input("<M-CR><M-CR><M-CR>");
    chat.nvim.wait_for_screen("[Y]es, (N)o");
    chat.nvim.wait_for_screen("status=pending kind=client_exec");
    assert!(chat.nvim.row_with("Here is why I ask.").is_some(), "the reply is on the screen");
    chat.nvim.input("n");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua("return runs", &[]), 1);
    assert_eq!(chat.server.wait_for_requests(2).len(), 2);
    let written = r#"{"apple":true,"mango":[3,{"v":4,"w":3,"x":2,"y":1}],"zebra":2}"#;
    assert!(chat.nvim.text().contains(written), "{}", chat.nvim.text());
    chat.nvim.command("wincmd p");
    assert_eq!(chat.nvim.cursor().0, 1, "the other window stays where it was");
}

#[test]
fn a_prompt_of_a_call_that_runs_at_once_comes_after_its_reply() {
    let lua = SIGN.replace("'requires_approval'", "'auto'");
    let mut chat = Chat::start(&Setup { lua: &lua, ..Setup::default() }, [asks_to_sign(), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("[Y]es, (N)o");
    assert!(chat.nvim.row_with("Here is why I ask.").is_some(), "{:?}", chat.nvim.screen());
    assert!(chat.nvim.row_with("? sign").is_some(), "{:?}", chat.nvim.screen());
    chat.nvim.input("y");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
}

#[test]
fn a_selection_is_told_when_it_is_approved() {
    let options = "tools = { get_selection = { enabled = true } }";
    let setup = Setup { files: FILES, options, ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "get_selection", &json!({})), prose(&["fine"])]);
    chat.nvim.command("split src/lib.rs");
    chat.nvim.input("V<Esc>");
    chat.nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
    chat.nvim.command("wincmd p");
    chat.send_until("kind=approval executor=client");
    assert!(!chat.nvim.text().contains("pub fn run"), "nothing is told before");
    chat.go_to("status=pending");
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let result = chat.messages(1)[2]["content"][0]["content"].clone();
    let text = result.as_str().map_or_else(|| result[0]["text"].clone(), Value::from);
    let keys: Vec<_> = text.as_str().unwrap().split('"').skip(1).step_by(2).collect();
    assert_eq!(
        keys,
        ["path", "src/lib.rs", "kind", "lines", "first_line", "last_line", "text", "pub fn run() {}", "modified"],
        "in the order of the help"
    );
}

#[test]
fn a_file_that_is_picked_too_late_is_refused() {
    let options = "tools = { pick_file = { enabled = true } }";
    let lua = "vim.ui.select = function(items, _, choose) _G.pick = function() choose(items[1], 1) end end";
    let setup = Setup { options, lua, ..Setup::default() };
    let mut chat = Chat::start(&setup, [call("toolu_1", "pick_file", &json!({ "root": null })), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the list", |nvim| nvim.lua("return pick ~= nil", &[]) == true);
    chat.nvim.lua("require('flemma.tools').resolve('notes.chat', 'toolu_1', { error = 'no' })", &[]);
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.nvim.lua("pick()", &[]);
    let words = "pick_file (toolu_1): not answered: a plugin or another program has answered the call. Your text is in register -";
    chat.nvim.wait_for("a message", |nvim| said(nvim).contains(words));
    assert_eq!(chat.nvim.lua("return vim.fn.getreg('-')", &[]), "notes.chat");
}

#[test]
fn what_a_tool_of_the_user_passes_on_too_late_is_kept() {
    // How the tool answers, how its call ends while the prompt is open, and why.
    let by_callback = "async = true, timeout = 3, execute = function(_, _, callback)
        vim.ui.input({ prompt = 'Your name? ' }, function(text) callback(text); callback('again') end)
      end";
    let by_return = "execute = function() return vim.fn.input('Your name? ') end";
    let as_table = "async = true, execute = function(_, _, callback)
        vim.ui.input({ prompt = 'Your name? ' }, function(text) callback({ name = text }) end)
      end";
    let ways = [
        (by_callback, "", "its deadline has passed", "half a name"),
        (by_return, "{ error = 'no' }", "a plugin or another program has answered the call", "half a name"),
        (as_table, "'else'", "a plugin or another program has answered the call", r#"{"name":"half a name"}"#),
    ];
    for (execute, resolution, why, kept) in ways {
        let lua = format!(
            "require('flemma.tools').register('sign', {{
               description = 'Have the user sign.', executor = 'client', approval = 'auto',
               input_schema = {{ type = 'object', properties = vim.empty_dict() }}, {execute},
             }})"
        );
        let replies = [call("toolu_1", "sign", &json!({})), prose(&["fine"])];
        let mut chat = Chat::start(&Setup { lua: &lua, ..Setup::default() }, replies);
        chat.nvim.input("<C-]>");
        chat.nvim.wait_for("the prompt", |nvim| nvim.mode() == "c");
        chat.nvim.type_text("half a");
        if !resolution.is_empty() {
            chat.nvim.lua(&format!("require('flemma.tools').resolve('notes.chat', 'toolu_1', {resolution})"), &[]);
        }
        chat.nvim.wait_for("the end of the call", |nvim| nvim.text().contains("@Assistant:\nfine"));
        chat.nvim.type_text(" name\n");
        let words = format!("sign (toolu_1): not answered: {why}. Your text is in register -: \"-p puts it");
        chat.nvim.wait_for("a message", |nvim| said(nvim).contains(&words));
        assert_eq!(chat.nvim.lua("return vim.fn.getreg('-')", &[]), kept);
        assert_eq!(said(&mut chat.nvim).matches("not answered").count(), 1, "{}", said(&mut chat.nvim));
    }
    // A tool that says that nothing came has nothing to keep.
    let lua = "require('flemma.tools').register('sign', {
        description = 'Have the user sign.', executor = 'client', approval = 'auto', async = true,
        input_schema = { type = 'object', properties = vim.empty_dict() },
        execute = function(_, _, callback)
          _G.answer = callback
          return function() callback(nil) end
        end,
      })";
    let replies = [call("toolu_1", "sign", &json!({})), prose(&["fine"])];
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, replies);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the tool", |nvim| nvim.lua("return answer ~= nil", &[]) == true);
    chat.nvim.lua("require('flemma.tools').resolve('notes.chat', 'toolu_1', { error = 'no' })", &[]);
    chat.nvim.wait_for("the end of the call", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.nvim.lua("answer({ success = false, error = 'closed' }); answer('  ')", &[]);
    chat.wait_until_idle();
    assert!(!said(&mut chat.nvim).contains("not answered"), "{}", said(&mut chat.nvim));
}

#[test]
fn a_location_with_a_swap_file_is_left_to_the_user() {
    let mut chat = chat();
    let (file, state) = (chat.nvim.work().join("src/lib.rs"), chat.nvim.folder("state"));
    let mut other = Nvim::start(&Options {
        arguments: &[file.to_str().unwrap()],
        environment: &[("XDG_STATE_HOME", state.to_str().unwrap())],
        ..Options::default()
    });
    other.input("Gochanged there<Esc>:preserve<CR>");
    other.wait_for("the swap file", |nvim| said(nvim).contains("File preserved"));
    let process = other.lua("return vim.fn.getpid()", &[]);
    let swap_files = |chat: &Chat| -> Vec<_> {
        let files = std::fs::read_dir(chat.nvim.folder("state").join("nvim/swap")).unwrap();
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("lib.rs"))
            .collect()
    };
    let before = swap_files(&chat);
    assert_eq!(before.len(), 1);

    // The other Neovim is alive: the file can be looked at.
    let result = run(&mut chat, "open_location", json!({ "path": "src/lib.rs", "column": 5 }));
    let note = format!("it is open read-only, because another Neovim (process {process}) is editing it");
    assert_eq!(result, json!({ "path": "src/lib.rs", "line": 1, "column": 5, "note": note }));
    assert_eq!(windows(&mut chat), json!(["src/lib.rs:1", "notes.chat:1"]));
    let state = chat.nvim.lua(
        "local b = vim.fn.bufnr('src/lib.rs') return { vim.bo[b].readonly, vim.bo[b].buflisted, vim.bo[b].filetype }",
        &[],
    );
    assert_eq!(state, json!([true, true, "rust"]));
    chat.nvim.command("only! | bwipeout! src/lib.rs");

    // It was killed: what becomes of the swap file is the user's decision.
    other.kill();
    let error = failure(&mut chat, "open_location", json!({ "path": "src/lib.rs" }));
    let words = "src/lib.rs was not opened: a Neovim that is no longer running has left a swap file of it, ";
    assert!(error.starts_with(words), "{error}");
    assert!(error.ends_with("The user has to open the file and decide whether to recover it."), "{error}");
    assert_eq!(chat.nvim.lua("return vim.fn.bufexists('src/lib.rs')", &[]), 0);
    assert_eq!(windows(&mut chat), json!(["notes.chat:1"]));
    assert_eq!(swap_files(&chat), before);
    // An autocommand of the user's neither recovers nor deletes for a model.
    for choice in ["r", "d", "e", "a"] {
        chat.nvim.lua(
            "vim.api.nvim_create_augroup('own', { clear = true })
             vim.api.nvim_create_autocmd('SwapExists', { group = 'own', command = 'let v:swapchoice = \"' .. ... .. '\"' })",
            &[choice.into()],
        );
        assert_eq!(failure(&mut chat, "open_location", json!({ "path": "src/lib.rs" })), error, "{choice}");
        assert_eq!(swap_files(&chat), before, "{choice}");
    }
    let screen = chat.nvim.screen().join("\n") + &said(&mut chat.nvim);
    assert!(!screen.contains("E325") && !screen.contains("^@") && !screen.contains("ATTENTION"), "{screen}");
    // A buffer that the user has is kept.
    chat.nvim.command("badd src/lib.rs");
    assert_eq!(failure(&mut chat, "open_location", json!({ "path": "src/lib.rs" })), error);
    assert_eq!(chat.nvim.lua("return vim.fn.bufexists('src/lib.rs')", &[]), 1);
    assert_eq!(chat.nvim.lua("return vim.fn.exists('#flemma.swap')", &[]), 0);
}
