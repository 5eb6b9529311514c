//! The tools that the editor answers: what they show and tell, and what they leave out.

use serde_json::{Value, json};

use super::chat::{Chat, Setup, prose, said};

/// A function that runs a tool of the editor for the conversation, as a call does.
const RUN: &str = "_G.run = function(tool, input)
      local chat = vim.fn.bufnr('notes.chat')
      local result
      local returned = require('flemma.tools.client.' .. tool)(input,
        require('flemma.tools.context').new(chat, tool, 10, nil, { call_id = 'toolu_1' }), function(value) result = value end)
      if type(returned) == 'function' then
        _G.stop = returned
        vim.wait(30000, function() return result ~= nil end, 2)
      end
      return result or returned
    end";

pub const FILES: &[(&str, &str)] = &[
    ("src/main.rs", "fn main() {\n    // größer: 漢字 here\n    run();\n}\n"),
    ("src/lib.rs", "pub fn run() {}\n"),
    ("secrets/key", "the key\n"),
    (".gitignore", "*.log\n"),
    ("noise.log", "noise\n"),
    ("src/.hidden", "hidden\n"),
    ("link.lua", "vim.uv.fs_symlink('secrets', 'way')\nvim.uv.fs_symlink('src', 'alias')"),
];

/// A conversation beside some files, in which reading `secrets` is denied.
pub fn chat() -> Chat {
    chat_with("'!read(secrets/**)'")
}

fn chat_with(rules: &str) -> Chat {
    let options = format!("tools = {{ auto_approve = {{ '$default', {rules} }} }}");
    let setup = Setup { files: FILES, options: &options, lua: RUN, ..Setup::default() };
    let mut chat = Chat::start(&setup, [prose(&["fine"])]);
    chat.nvim.command("luafile link.lua");
    chat
}

pub fn run(chat: &mut Chat, tool: &str, input: Value) -> Value {
    chat.nvim.lua("return run(...)", &[tool.into(), input])
}

/// The error of a call that fails.
pub fn failure(chat: &mut Chat, tool: &str, input: Value) -> String {
    let result = run(chat, tool, input.clone());
    assert_eq!(result["success"], false, "{tool} {input}: {result}");
    result["error"].as_str().unwrap().to_owned()
}

/// The names of the files in the windows, with the line of the cursor.
pub fn windows(chat: &mut Chat) -> Value {
    chat.nvim.lua(
        "return vim.tbl_map(function(win)
           local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), ':.')
           return name .. ':' .. vim.api.nvim_win_get_cursor(win)[1]
         end, vim.api.nvim_tabpage_list_wins(0))",
        &[],
    )
}

#[test]
fn they_are_known_disabled_and_not_loaded() {
    let mut chat = chat();
    let tools = chat.nvim.lua(
        "local found = {}
         for _, tool in ipairs(require('flemma.tools').get_all({ include_disabled = true })) do
           if tool.executor == 'client' then found[tool.name] = { tool.enabled, tool.approval, type(tool.execute) } end
         end
         return found",
        &[],
    );
    assert_eq!(
        tools,
        json!({
            "open_location": [false, "auto", "function"],
            "navigate": [false, "auto", "function"],
            "pick_file": [false, "auto", "function"],
            "get_selection": [false, "requires_approval", "function"],
            "get_diagnostics": [false, "requires_approval", "function"],
            "open_buffers": [false, "requires_approval", "function"],
        })
    );
    let loaded = chat.nvim.lua(
        "return vim.tbl_filter(function(name) return name:find('client') or name:find('tools%.paths') or name:find('form$') end,
           vim.tbl_keys(package.loaded))",
        &[],
    );
    assert_eq!(loaded, json!([]), "no file of theirs is loaded before it is needed");
    // Both ways to offer them.
    let frontmatter = "```lua\nflemma.opt.tools:append(\"pick_file\")\n```\n\n@You:\nHello\n";
    let options = "tools = { open_buffers = { enabled = true } }";
    for (options, text, tool) in [(options, "@You:\nHello\n", "open_buffers"), ("", frontmatter, "pick_file")] {
        let lua = "vim.ui.select = function(items, opts, choose) choose(items[2]) end";
        let setup = Setup { options, text: Some(text), lua, ..Setup::default() };
        let mut chat = Chat::start(&setup, [prose(&["fine"])]);
        chat.nvim.input("<C-]>");
        let request = chat.server.wait_for_requests(1)[0].json();
        let offered: Vec<_> = request["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert!(offered.contains(&json!(tool)), "{offered:?}");
        assert!(offered.contains(&json!("ask_user")) && offered.len() == 10, "{offered:?}");
    }
}

#[test]
fn a_location_is_shown_although_an_autocommand_fails() {
    let mut chat = chat();
    chat.nvim.command("autocmd FileType rust throw 'no parser'");
    let result = run(&mut chat, "open_location", json!({ "path": "src/main.rs", "line": 2 }));
    assert_eq!((&result["path"], &result["line"]), (&json!("src/main.rs"), &json!(2)), "{result}");
    let note = result["note"].as_str().unwrap_or_default();
    assert!(note.contains("an autocommand failed") && note.contains("no parser"), "{result}");
    assert_eq!(windows(&mut chat), json!(["src/main.rs:2", "notes.chat:1"]));
}

#[test]
fn a_location_opens_beside_the_conversation() {
    let mut chat = chat();
    let focus = chat.nvim.lua("return vim.api.nvim_get_current_win()", &[]);
    let result = run(&mut chat, "open_location", json!({ "path": "src/main.rs", "line": 2, "column": 8 }));
    assert_eq!(result, json!({ "path": "src/main.rs", "line": 2, "column": 8 }));
    assert_eq!(
        windows(&mut chat),
        json!(["src/main.rs:2", "notes.chat:1"]),
        "a split, since there was no other window"
    );
    assert_eq!(chat.nvim.lua("return vim.api.nvim_get_current_win()", &[]), focus, "the user stays where they are");
    // The window is used again. A text is found behind the line, and columns are characters.
    let result = run(&mut chat, "open_location", json!({ "path": "./src/main.rs", "pattern": "字 here\n    run" }));
    assert_eq!(result, json!({ "path": "src/main.rs", "line": 2, "column": 17 }));
    assert_eq!(windows(&mut chat), json!(["src/main.rs:2", "notes.chat:1"]));
    // Places that are not there.
    let result = run(&mut chat, "open_location", json!({ "path": "src/lib.rs", "line": 9, "column": 99 }));
    assert_eq!(result, json!({ "path": "src/lib.rs", "line": 1, "column": 16, "note": "the file has only 1 lines" }));
    let result = run(&mut chat, "open_location", json!({ "path": "src/main.rs", "line": 4, "pattern": "run" }));
    assert_eq!(result["note"], "the pattern was not found from line 4 on");
    assert_eq!(result["line"], 4);
    for (input, words) in [
        (json!({ "path": "src" }), "src is a directory, and not a file."),
        (json!({ "path": "src/gone.rs" }), "src/gone.rs does not exist."),
        (json!({ "path": "src/mian.rs" }), "src/mian.rs does not exist. Its folder contains `main.rs`, `lib.rs`."),
        (json!({ "path": "srcs/main.rs" }), "srcs/main.rs does not exist, nor does its folder"),
        (json!({ "path": "secret" }), "secret does not exist."),
        (json!({ "path": "secrets/kay" }), "The user's policy denies reading secrets/kay."),
        (json!({ "path": "way/kay" }), "The user's policy denies reading way/kay."),
        (json!({ "path": "" }), "The path is empty"),
        (json!({ "path": "https://example.com/" }), "is a URL, and not a path of a file."),
        (json!({ "path": "oil:///tmp" }), "is a URL, and not a path of a file."),
        (json!({ "path": "/dev/null" }), "is a char, and not a file."),
        (json!({ "path": "src/main.rs", "line": 0 }), "`line` must be at least 1, not 0."),
        (json!({ "path": "src/main.rs/x" }), "cannot be opened: ENOTDIR"),
    ] {
        let error = failure(&mut chat, "open_location", input.clone());
        assert!(error.contains(words), "{input}: {error}");
    }
    assert_eq!(chat.nvim.lua("return #vim.api.nvim_list_wins()", &[]), 2);
    assert!(!said(&mut chat.nvim).contains("E"), "{}", said(&mut chat.nvim));
}

#[test]
fn no_spelling_opens_a_file_that_the_user_denies_reading() {
    let mut chat = chat();
    let absolute = chat.nvim.lua("return vim.fn.getcwd()", &[]).as_str().unwrap().to_owned();
    for path in [
        "secrets/key".to_owned(),
        "./secrets/key".to_owned(),
        "src/../secrets/key".to_owned(),
        "way/key".to_owned(),
        "alias/../secrets/key".to_owned(),
        "way/../secrets/key".to_owned(),
        format!("{absolute}/way/key"),
        format!("{absolute}//secrets//key"),
    ] {
        let error = failure(&mut chat, "open_location", json!({ "path": path }));
        assert_eq!(error, format!("The user's policy denies reading {path}."));
    }
    assert_eq!(chat.nvim.lua("return vim.fn.bufexists('secrets/key')", &[]), 0);
    let result = run(&mut chat, "open_location", json!({ "path": "alias/lib.rs" }));
    assert_eq!(result["path"], "alias/lib.rs", "a link that leads elsewhere is no reason to deny it");
}

#[test]
fn opening_a_location_loses_and_disturbs_nothing() {
    let mut chat = chat();
    // Without 'hidden', a modified buffer stays in its window.
    chat.nvim.command("set nohidden | leftabove vsplit src/lib.rs | call setline(1, 'changed') | wincmd p");
    run(&mut chat, "open_location", json!({ "path": "src/main.rs" }));
    let found = windows(&mut chat);
    let found: Vec<_> = found.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.contains(&"src/lib.rs:1") && found.contains(&"src/main.rs:1"), "{found:?}");
    assert_eq!(chat.nvim.lua("return vim.fn.getbufline('src/lib.rs', 1)", &[]), json!(["changed"]));
    // Nor are windows that belong to something else, or in which the user is typing.
    for prepare in
        ["vim.wo.winfixbuf = true", "vim.bo.buftype = 'nofile'", "vim.wo.previewwindow = true", "vim.cmd.startinsert()"]
    {
        chat.nvim.lua("vim.cmd('silent! bwipeout! src/main.rs src/lib.rs | only! | edit! notes.chat | vnew')", &[]);
        chat.nvim.lua(prepare, &[]);
        if prepare.contains("startinsert") {
            chat.nvim.wait_for("insert mode", |nvim| nvim.mode() == "i");
        }
        run(&mut chat, "open_location", json!({ "path": "src/main.rs" }));
        assert_eq!(chat.nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)", &[]), 3, "{prepare}");
        chat.nvim.lua("vim.cmd.stopinsert()", &[]);
    }
    // A file that is open under its real name is shown in its own buffer.
    chat.nvim
        .lua("vim.cmd('only! | edit! notes.chat | split src/main.rs | call setline(1, \"unsaved\") | wincmd p')", &[]);
    let result = run(&mut chat, "open_location", json!({ "path": "alias/main.rs", "pattern": "unsaved" }));
    assert_eq!((&result["line"], &result["note"]), (&json!(1), &Value::Null));
}

/// Selects with keys in the file, and goes back to the conversation.
fn select(chat: &mut Chat, file: &str, keys: &str) {
    chat.nvim.lua("vim.cmd('only! | edit! notes.chat')", &[]);
    chat.nvim.command(&format!("split {file}"));
    chat.nvim.input(keys);
    chat.nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
    chat.nvim.command("wincmd p");
}

#[test]
fn the_selection_has_its_place_and_its_text() {
    let mut chat = chat();
    assert!(failure(&mut chat, "get_selection", json!({})).contains("no window open except conversations"));
    chat.nvim.command("split src/lib.rs | wincmd p");
    assert_eq!(failure(&mut chat, "get_selection", json!({})), "The user has selected nothing in src/lib.rs.");
    for (keys, kind, columns, text) in [
        ("2G3|vf漢<Esc>", "characters", json!([3, 16]), "  // größer: 漢"),
        ("2GVj<Esc>", "lines", json!([null, null]), "    // größer: 漢字 here\n    run();"),
        ("2G5|<C-v>jl<Esc>", "block", json!([5, 6]), "//\nru"),
        ("1G$vb<Esc>", "characters", json!([8, 11]), "() {"),
    ] {
        select(&mut chat, "src/main.rs", keys);
        let result = run(&mut chat, "get_selection", json!({}));
        assert_eq!((&result["path"], &result["kind"]), (&json!("src/main.rs"), &json!(kind)), "{keys}");
        assert_eq!(json!([result["first_column"], result["last_column"]]), columns, "{keys}: {result}");
        assert_eq!(result["text"], text, "{keys}");
        assert_eq!(result["modified"], false);
    }
    // A selection that is being made counts.
    chat.nvim.command("wincmd p");
    chat.nvim.input("3GV");
    chat.nvim.wait_for("visual mode", |nvim| nvim.mode() == "V");
    assert_eq!(run(&mut chat, "get_selection", json!({}))["text"], "    run();");
    chat.nvim.input("<Esc>");
    // A long one is cut.
    chat.nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.fn['repeat']({ ('\"x\\\\'):rep(30) }, 5000))", &[]);
    chat.nvim.input("ggVG<Esc>");
    chat.nvim.command("wincmd p");
    let result = run(&mut chat, "get_selection", json!({}));
    assert_eq!(
        (&result["first_line"], &result["last_line"], &result["modified"]),
        (&json!(1), &json!(5000), &json!(true))
    );
    assert!(result["note"].as_str().unwrap().starts_with("showing "), "{}", result["note"]);
    assert!(result["note"].as_str().unwrap().contains(" of 5000 lines"), "{}", result["note"]);
    let whole = result.to_string().len();
    assert!((8_000..40_000).contains(&whole), "{whole}");
    // So is a single line.
    chat.nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('src/main.rs'), 0, -1, false, { ('漢'):rep(100000) })", &[]);
    chat.nvim.command("wincmd p");
    chat.nvim.input("0v$<Esc>");
    chat.nvim.command("wincmd p");
    let text = run(&mut chat, "get_selection", json!({}))["text"].as_str().unwrap().to_owned();
    assert!(text.len() > 20_000 && text.chars().all(|c| c == '漢'), "{}", text.len());
}

#[test]
fn a_selection_in_a_file_that_may_not_be_read_is_not_told() {
    let denied = "The user's policy denies reading the file in which the user was last.";
    let mut chat = chat();
    for file in ["secrets/key", "way/key", "src/../secrets/key"] {
        select(&mut chat, file, "V<Esc>");
        assert_eq!(failure(&mut chat, "get_selection", json!({})), denied, "{file}");
        chat.nvim.command("bwipeout! secrets/key");
    }
    // What a plugin or a program shows may come from anywhere.
    for make in ["file oil:///tmp/", "setlocal buftype=nofile", "setlocal buftype=acwrite | file fugitive:///x//0/y"] {
        select(&mut chat, "", "ggO<Esc>");
        chat.nvim.command("wincmd p | enew! | call setline(1, 'the key')");
        chat.nvim.command(make);
        chat.nvim.input("V<Esc>");
        chat.nvim.command("wincmd p");
        assert_eq!(failure(&mut chat, "get_selection", json!({})), denied, "{make}");
    }
    // A buffer without a name belongs to no file. Without denials, everything may be told.
    select(&mut chat, "", "");
    chat.nvim.command("wincmd p | enew! | call setline(1, 'a note')");
    chat.nvim.input("V<Esc>");
    chat.nvim.command("wincmd p");
    let result = run(&mut chat, "get_selection", json!({}));
    assert_eq!((&result["text"], &result["path"]), (&json!("a note"), &Value::Null));
    let mut open = chat_with("'read'");
    select(&mut open, "secrets/key", "V<Esc>");
    assert_eq!(run(&mut open, "get_selection", json!({}))["text"], "the key");
}

#[test]
fn diagnostics_are_sorted_and_leave_out_denied_files() {
    let mut chat = chat();
    assert_eq!(run(&mut chat, "get_diagnostics", json!({})), json!({ "diagnostics": [] }));
    chat.nvim.lua(
        "local ns = vim.api.nvim_create_namespace('test')
         local function set(file, items)
           vim.cmd.edit(file)
           vim.diagnostic.set(ns, 0, items)
         end
         set('secrets/key', { { lnum = 0, col = 0, message = 'the key is weak', severity = 1 } })
         set('way/key', { { lnum = 0, col = 0, message = 'the key is weak', severity = 1 } })
         set('src/main.rs', {
           { lnum = 2, col = 4, message = 'unknown\\nfunction', severity = 1, source = 'rustc', code = 'E0425' },
           { lnum = 1, col = 20, message = 'comment', severity = 4 },
         })
         set('src/lib.rs', { { lnum = 0, col = 0, message = 'unused', severity = 2, code = 7 } })
         vim.cmd.edit('notes.chat')
         vim.diagnostic.set(ns, 0, { { lnum = 0, col = 0, message = 'about the conversation', severity = 1 } })",
        &[],
    );
    let all = run(&mut chat, "get_diagnostics", json!({}));
    let unused = json!({ "path": "src/lib.rs", "line": 1, "column": 1, "severity": "warning", "message": "unused", "code": "7" });
    let comment = json!({ "path": "src/main.rs", "line": 2, "column": 17, "severity": "hint", "message": "comment" });
    let unknown = json!({
        "path": "src/main.rs", "line": 3, "column": 5, "severity": "error", "message": "unknown\nfunction", "source": "rustc",
        "code": "E0425",
    });
    assert_eq!(all["diagnostics"], json!([unused, comment, unknown]));
    let note = all["note"].as_str().unwrap();
    assert!(note.ends_with("left out: the user's policy denies reading there") && !note.contains("key"), "{note}");
    for (input, expected) in [
        (json!({ "severity": "warning" }), json!([unused, unknown])),
        (json!({ "severity": "error" }), json!([unknown])),
        (json!({ "path": "src/lib.rs" }), json!([unused])),
        (json!({ "path": "alias/lib.rs" }), json!([unused])),
        (json!({ "path": "src", "severity": "info" }), json!([unused, unknown])),
    ] {
        assert_eq!(run(&mut chat, "get_diagnostics", input.clone())["diagnostics"], expected, "{input}");
    }
    assert_eq!(
        failure(&mut chat, "get_diagnostics", json!({ "path": "way/key" })),
        "The user's policy denies reading way/key."
    );
    let error = failure(&mut chat, "get_diagnostics", json!({ "path": "link.lua" }));
    assert!(error.starts_with("No file at link.lua is open in the editor"), "{error}");
    chat.nvim.lua(
        "local items = {}
         for n = 1, 300 do items[n] = { lnum = 0, col = 0, message = ('m'):rep(5000), severity = 1 } end
         vim.diagnostic.set(vim.api.nvim_create_namespace('test'), vim.fn.bufnr('src/lib.rs'), items)",
        &[],
    );
    let many = run(&mut chat, "get_diagnostics", json!({ "path": "src/lib.rs" }));
    assert_eq!(many["diagnostics"].as_array().unwrap().len(), 200);
    assert!(many["note"].as_str().unwrap().starts_with("200 of 300 are shown"), "{}", many["note"]);
}

#[test]
fn open_buffers_lists_files_and_says_what_is_left_out() {
    let mut chat = chat();
    chat.nvim.lua(
        "vim.cmd('edit src/main.rs | 3')
         vim.cmd('edit src/lib.rs | call setline(1, \"changed\")')
         for _, name in ipairs({ 'secrets/key', 'oil:///tmp' }) do vim.cmd('edit ' .. name) end
         vim.cmd('enew | call setline(1, \"a note\")')
         vim.cmd('terminal true')
         -- A Neovim without the parser for help files throws in its filetype plugin.
         vim.cmd('noautocmd help help | close')
         vim.cmd('edit! notes.chat')",
        &[],
    );
    let result = run(&mut chat, "open_buffers", json!({}));
    let expected = json!([
        { "path": "notes.chat", "filetype": "chat", "line": 1, "modified": false, "visible": true },
        { "path": "src/main.rs", "filetype": "rust", "line": 3, "modified": false, "visible": false },
        { "path": "src/lib.rs", "filetype": "rust", "line": 1, "modified": true, "visible": false },
        { "line": 1, "modified": true, "visible": false },
    ]);
    assert_eq!(result["buffers"], expected);
    assert_eq!(result["note"], "2 buffers were left out: the user's policy denies reading there");
}

/// Keeps the list and its prompt, and picks what `choice` says; later, if `choice` is a function.
const PICK: &str = "vim.ui.select = function(items, opts, on_choice)
      _G.shown, _G.prompt = items, opts.prompt
      if later then vim.defer_fn(function() on_choice(choice) end, 20) else on_choice(choice) end
    end";

#[test]
fn the_user_picks_from_the_files_that_may_be_read() {
    let mut chat = chat();
    chat.nvim.lua(PICK, &[]);
    let mut pick = |choice: Value, later: bool, input: Value| {
        chat.nvim.lua(
            "_G.choice, _G.later = ...
             if choice == vim.NIL then choice = nil end
             _G.shown = nil",
            &[choice, later.into()],
        );
        let result = run(&mut chat, "pick_file", input);
        (result, chat.nvim.lua("return shown", &[]), chat.nvim.lua("return prompt", &[]))
    };
    let note = "2 paths were left out: the user's policy denies reading there";
    for later in [false, true] {
        let (result, shown, prompt) = pick(json!("src/lib.rs"), later, json!({ "prompt": "the\nlibrary" }));
        assert_eq!(result, json!({ "path": "src/lib.rs", "note": note }));
        assert_eq!(shown, json!(["link.lua", "notes.chat", "src/lib.rs", "src/main.rs"]));
        assert_eq!(prompt, json!(format!("pick_file: the library [{note}]")));
    }
    let nothing = json!({ "success": false, "error": "The user picked nothing." });
    for later in [false, true] {
        assert_eq!(pick(Value::Null, later, json!({})).0, nothing);
    }
    let (result, shown, _) = pick(json!("src/main.rs"), true, json!({ "root": "./src/" }));
    assert_eq!((result, shown), (json!({ "path": "src/main.rs" }), json!(["src/lib.rs", "src/main.rs"])));
    let (result, ..) = pick(json!("secrets/key"), false, json!({}));
    assert_eq!(result["error"], "The picker returned something that is not in the list.");
    for (root, words) in [
        ("secrets", "denies reading secrets"),
        ("way", "denies reading way"),
        ("gone", "gone"),
        ("src/lib.rs", "src/lib.rs"),
    ] {
        let (result, shown, _) = pick(json!("x"), false, json!({ "root": root }));
        assert!(result["error"].as_str().unwrap().contains(words), "{result}");
        assert_eq!(shown, Value::Null, "{root}");
    }
}

#[test]
fn listing_a_large_folder_waits_and_can_be_stopped() {
    let mut chat = chat();
    for part in 0..20 {
        std::fs::create_dir_all(chat.nvim.work().join(format!("many/{part}"))).unwrap();
        for n in 0..500 {
            std::fs::write(chat.nvim.work().join(format!("many/{part}/file{n}.txt")), "").unwrap();
        }
    }
    chat.nvim.lua(PICK, &[]);
    chat.nvim.lua("_G.choice = 'many/7/file77.txt'", &[]);
    // While the user types, the list does not take their keys.
    chat.nvim.input("Go");
    chat.nvim.wait_for("insert mode", |nvim| nvim.mode() == "i");
    chat.nvim.lua(
        "local context = require('flemma.tools.context').new(vim.fn.bufnr('notes.chat'), 'pick_file', 10, nil, { call_id = 'toolu_1' })
         require('flemma.tools.client.pick_file')({ root = 'many' }, context, function(result) _G.result = result end)",
        &[],
    );
    chat.nvim.type_text("still typing");
    chat.nvim.wait_for("the text", |nvim| nvim.text().contains("still typing"));
    assert_eq!(chat.nvim.lua("return shown", &[]), Value::Null);
    chat.nvim.input("<Esc>");
    chat.nvim.wait_for("the result", |nvim| nvim.lua("return result", &[]) != Value::Null);
    assert_eq!(chat.nvim.lua("return result", &[]), json!({ "path": "many/7/file77.txt" }));
    assert_eq!(chat.nvim.lua("return #shown", &[]), 10_000);
    // A call that is stopped shows nothing any more.
    chat.nvim.lua(
        "_G.shown, _G.result = nil, nil
         local context = require('flemma.tools.context').new(vim.fn.bufnr('notes.chat'), 'pick_file', 10, nil, { call_id = 'toolu_1' })
         require('flemma.tools.client.pick_file')({ root = 'many' }, context, function(result) _G.result = result end)()
         _G.native = require('flemma.native')
         native.call('list', 'files_to_pick', { buffer = vim.fn.bufnr('notes.chat'), folder = 'many' }, function() _G.after = true end)",
        &[],
    );
    chat.nvim.wait_for("the second list", |nvim| nvim.lua("return after", &[]) == true);
    assert_eq!(chat.nvim.lua("return { shown == nil, result == nil }", &[]), json!([true, true]));
}

#[test]
fn the_list_of_neovim_itself_is_narrowed_first() {
    let mut chat = chat();
    for n in 0..100 {
        std::fs::write(chat.nvim.work().join(format!("file{n}.txt")), "").unwrap();
    }
    chat.nvim.lua(
        "local context = require('flemma.tools.context').new(vim.fn.bufnr('notes.chat'), 'pick_file', 10, nil, { call_id = 'toolu_1' })
         require('flemma.tools.client.pick_file')({ prompt = 'the text' }, context, function(result) _G.result = result end)",
        &[],
    );
    chat.nvim.wait_for_screen("pick_file: the text");
    chat.nvim.request("nvim_input", &["file4<CR>".into()]);
    chat.nvim.wait_for_screen("1: file4.txt");
    chat.nvim.request("nvim_input", &["1<CR>".into()]);
    chat.nvim.wait_for("the result", |nvim| nvim.lua("return result ~= nil", &[]) == true);
    assert_eq!(chat.nvim.lua("return result.path", &[]), "file4.txt");
}
