//! Tools written in Lua: their input, their answers, and the results.

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, call, previews, prose, reply, said},
};

/// A conversation in which the model calls the tool `mine` once, and Lua that registers it.
fn with_tool(fields: &str, input: &Value, options: &str) -> Chat {
    let lua = register("mine", fields);
    let options = format!("tools = {{ auto_approve = {{ 'mine' }}, {options} }}");
    let setup = Setup { lua: &lua, options: &options, ..Setup::default() };
    Chat::start(&setup, [call("toolu_1", "mine", input), prose(&["fine"])])
}

fn register(name: &str, fields: &str) -> String {
    format!(
        "require('flemma.tools').register('{name}', {{ description = 'x', input_schema = {{ type = 'object' }}, {fields} }})"
    )
}

/// Runs the call; gives the result that the provider sees: its text, and whether it is an error.
fn answer(chat: &mut Chat) -> (String, bool) {
    chat.send_until("@Assistant:\nfine");
    let messages = chat.messages(1);
    let result = messages[2]["content"][0].clone();
    assert_eq!(result["tool_use_id"], "toolu_1");
    let text = match &result["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let messages = said(&mut chat.nvim);
    assert!(!messages.contains("stack traceback"), "{messages}");
    (text, result["is_error"] == true)
}

#[test]
fn every_kind_of_answer_has_a_defined_outcome() {
    let table: &[(&str, &str, bool)] = &[
        ("execute = function() return 'plain' end", "plain", false),
        ("execute = function() return { success = true, output = 'said' } end", "said", false),
        ("execute = function() return { success = true, output = { a = 1 } } end", "{\"a\":1}", false),
        ("execute = function() return { success = false, error = 'no' } end", "no", true),
        ("execute = function() return { success = false, error = 'no', output = 'half' } end", "no\n\nhalf", true),
        ("execute = function() return { ok = true, result = 1 } end", "\"ok\":true", false),
        ("execute = function() return { ok = false, error = 'x' } end", "\"ok\":false", true),
        ("execute = function() return { 1, 2 } end", "[1,2]", false),
        ("execute = function() return 42 end", "42", false),
        ("execute = function() return { 1, a = 2 } end", "{\"1\":1,\"a\":2}", false),
        ("execute = function() return { a = vim.NIL, b = { vim.NIL, 1 } } end", "\"b\":[null,1]", false),
        ("execute = function() local t = {}; t.t = t; return t end", "contains itself", true),
        ("execute = function() return nil, 'could not open' end", "could not open", true),
        ("execute = function() return print end", "returned a function", true),
        ("execute = function() error('two\\nlines') end", "two\nlines", true),
        ("execute = function() error({ code = 'E7' }) end", "code = \"E7\"", true),
        ("async = true, execute = function(_, _, callback) callback(nil, 'refused') end", "refused", true),
        ("execute = function() end", "returned nothing", true),
        ("execute = function() return coroutine.create(print) end", "returned a thread", true),
        ("execute = function() error('on purpose') end", "failed: ", true),
        ("execute = function() return 'a\\255b' end", "a\u{fffd}b", false),
        ("execute = function() return { success = true, output = { print } } end", "cannot be written as JSON", true),
        (
            "async = true, execute = function(_, _, callback) callback({ success = true, output = 'now' }) end",
            "now",
            false,
        ),
        (
            "async = true, execute = function(_, _, callback) vim.defer_fn(function() callback('later') end, 10) end",
            "later",
            false,
        ),
        ("async = true, execute = function(_, _, callback) callback('once'); callback('twice') end", "once", false),
        (
            "async = true, execute = function(_, _, callback)
            local timer = vim.uv.new_timer()
            timer:start(5, 0, function() callback({ success = true, output = tostring(vim.in_fast_event()) }) end)
          end",
            "true",
            false,
        ),
        (
            "async = true, timeout = 0.05, execute = function() return function() vim.g.stopped = true end end",
            "did not answer within",
            true,
        ),
        ("async = true, execute = function() error('early') end", "failed: ", true),
    ];
    for (fields, expected, is_error) in table {
        let mut chat = with_tool(fields, &json!({}), "");
        let (text, error) = answer(&mut chat);
        assert!(text.contains(expected), "{fields}\n{text}");
        assert_eq!(error, *is_error, "{fields}");
        if fields.contains("vim.g.stopped") {
            assert_eq!(chat.nvim.lua("return vim.g.stopped", &[]), true, "its own function was called");
        }
    }
}

#[test]
fn the_context_is_what_the_contract_says() {
    let fields = "execute = function(_, ctx)
        local copy = ctx:get_config()
        copy.max_size = 0
        return { success = true, output = vim.json.encode({
          bufnr = ctx.bufnr == vim.api.nvim_get_current_buf(),
          cwd = ctx.cwd == vim.fn.getcwd(),
          timeout = ctx.timeout,
          dirname = ctx.__dirname == vim.fs.dirname(vim.api.nvim_buf_get_name(0)),
          filename = vim.fs.basename(ctx.__filename),
          relative = ctx.path.resolve('sub/file.txt') == ctx.__dirname .. '/sub/file.txt',
          absolute = ctx.path.resolve('/etc/hosts'),
          writable = ctx.sandbox.is_path_writable('some.txt'),
          own_chat = ctx.sandbox.is_path_writable(ctx.__filename),
          wrapped = ctx.sandbox.wrap_command({ 'bash', '-c', 'echo hello' }),
          size = ctx.truncate.format_size(12345),
          limits = { ctx.truncate.MAX_LINES, ctx.truncate.MAX_BYTES },
          tail = ctx.truncate.truncate_tail('a\\nb\\nc', { max_lines = 1 }).content,
          head = ctx.truncate.truncate_head('a\\nb\\nc', { max_lines = 2 }).output_lines,
          config = ctx:get_config().max_size,
        }) }
      end";
    let mut chat = with_tool(fields, &json!({}), "default_timeout = 7, mine = { max_size = 12 }");
    let (text, error) = answer(&mut chat);
    assert!(!error, "{text}");
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({
            "bufnr": true, "cwd": true, "timeout": 7, "dirname": true, "filename": "notes.chat", "relative": true,
            "absolute": "/etc/hosts", "writable": true, "own_chat": false, "wrapped": ["bash", "-c", "echo hello"],
            "size": "12.1 KB", "limits": [2000, 51200], "tail": "c", "head": 2, "config": 12,
        })
    );
}

#[test]
fn a_limit_of_less_than_a_second_reaches_the_tool_as_it_is() {
    let fields = "timeout = 0.5, execute = function(_, ctx) return tostring(ctx.timeout) end";
    assert_eq!(answer(&mut with_tool(fields, &json!({}), "")), ("0.5".to_owned(), false));
}

#[test]
fn null_is_absent_in_lua_and_keeps_its_place_in_a_list() {
    let fields = "execute = function(input)
        return vim.inspect(input.limit) .. ' ' .. input.query .. ' ' .. #input.list
      end";
    let mut chat = with_tool(fields, &json!({"limit": null, "query": "q", "list": [1, null, 3]}), "");
    assert_eq!(answer(&mut chat), ("nil q 3".to_owned(), false));
}

#[test]
fn cancelling_all_tools_starts_no_other() {
    let lua = "_G.started = 0\n".to_owned()
        + &register("mine", "async = true, execute = function() started = started + 1 end");
    let stream = (1..=5).fold(Stream::new(), |stream, n| stream.tool_use(&format!("toolu_{n}"), "mine", &["{}"]));
    let options = "tools = { auto_approve = { 'mine' }, max_concurrent = 2 }";
    let setup = Setup { lua: &lua, options, ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use"))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("two to run", |nvim| nvim.lua("return started", &[]) == 2);
    chat.nvim.command("Flemma tool:cancel-all");
    chat.wait_until_idle();
    assert_eq!(chat.nvim.lua("return started", &[]), 2);
    let text = chat.nvim.text();
    assert_eq!(text.matches("status=pending").count(), 3, "{text}");
    assert_eq!(text.matches("(error)").count(), 2, "{text}");
}

#[test]
fn progress_is_shown_but_never_sent_and_tools_can_be_stopped() {
    let fields = "async = true, streaming = true, execute = function(_, ctx, callback)
        for n = 1, 1000 do ctx.progress('step ' .. n) end
        _G.answer = callback
        return function() vim.g.stopped = true end
      end";
    let mut chat = with_tool(fields, &json!({}), "default_timeout = 600");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("step 1000");
    assert!(!chat.nvim.text().contains("step"));
    chat.nvim.command("Flemma tool:list");
    chat.nvim.wait_for_screen("mine (toolu_1)");
    chat.nvim.input("q");
    chat.nvim.command("Flemma tool:cancel");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(chat.nvim.lua("return vim.g.stopped", &[]), true);
    let before = chat.nvim.text();
    chat.nvim.lua("answer('too late')", &[]);
    assert!(!chat.messages(1).to_string().contains("step"));
    assert_eq!(chat.nvim.text(), before);
    assert!(before.contains("**Tool Result:** `toolu_1` (error)"));
}

#[test]
fn registering_again_does_not_disturb_a_call_in_flight() {
    let fields = "async = true, execute = function(_, _, callback) _G.answer = callback end";
    let mut chat = with_tool(fields, &json!({}), "");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the tool to run", |nvim| nvim.lua("return answer ~= nil", &[]) == true);
    chat.nvim.lua(&register("mine", "execute = function() return 'new' end"), &[]);
    chat.nvim.lua("collectgarbage(); answer('old')", &[]);
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert!(chat.nvim.text().contains("```\nold\n```"), "{}", chat.nvim.text());
}

#[test]
fn a_tools_own_preview_is_shown_and_one_that_throws_falls_back() {
    let schema = "input_schema = { type = 'object' }, description = 'x', execute = print";
    let lua = format!(
        "local tools = require('flemma.tools')
         tools.register('my_search', {{ {schema}, format_preview = function(input, max_length)
           return '\"' .. input.query .. '\"\\n(limit ' .. input.limit .. ')'
         end }})
         tools.register('broken', {{ {schema}, format_preview = function() error('x') end }})
         tools.register('wide', {{ {schema}, format_preview = function(_, max_length) return ('漢'):rep(max_length) end }})
         tools.register('plain', {{ {schema} }})"
    );
    let input = json!({"query": "how", "limit": 3}).to_string();
    let stream = ["my_search", "broken", "wide", "plain"]
        .iter()
        .enumerate()
        .fold(Stream::new(), |stream, (n, tool)| stream.tool_use(&format!("toolu_{n}"), tool, &[&input]));
    let mut chat = Chat::start(&Setup { lua: &lua, ..Setup::default() }, [reply(&stream.end("tool_use"))]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the previews", |nvim| previews(nvim).len() == 2);
    chat.nvim.wait_for_screen("? broken limit=3, query=\"how\"");
    chat.nvim.wait_for_screen("? plain limit=3, query=\"how\"");
    let found: Vec<String> = previews(&mut chat.nvim).into_iter().map(|(_, text)| text).collect();
    assert_eq!(found[0], "my_search: \"how\"⤶(limit 3)");
    assert!(found[1].starts_with("wide: 漢漢") && found[1].ends_with('…'), "{}", found[1]);
    // Redrawn at the width of the window.
    chat.nvim.command("vsplit");
    let width = chat.nvim.lua("return vim.fn.getwininfo(vim.api.nvim_get_current_win())[1].width", &[]);
    chat.nvim.wait_for("the narrow preview", |nvim| {
        let wide = previews(nvim).into_iter().find(|(_, text)| text.starts_with("wide")).unwrap().1;
        nvim.lua("return vim.fn.strdisplaywidth(...)", &[wide.into()]).as_u64() <= width.as_u64()
    });
}

#[test]
fn a_tool_that_blocks_the_editor_is_reported_once() {
    let fields = "timeout = 0.01, execute = function()
        local till = vim.uv.hrtime() + 30e6
        while vim.uv.hrtime() < till do end
        return 'at last'
      end";
    let lua = register("mine", fields);
    let setup = Setup { lua: &lua, options: "tools = { auto_approve = { 'mine' } }", ..Setup::default() };
    let mut chat = Chat::start(
        &setup,
        [call("toolu_1", "mine", &json!({})), call("toolu_2", "mine", &json!({})), prose(&["fine"])],
    );
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert_eq!(chat.nvim.text().matches("at last").count(), 2);
    let said = said(&mut chat.nvim);
    assert_eq!(said.matches("the tool `mine` held up Neovim for 0.").count(), 1, "{said}");
    assert!(said.contains("and its limit is 0.01 seconds. A tool that takes long sets `async = true`"), "{said}");
}

#[test]
fn long_answers_are_truncated_and_marked_as_such() {
    // What the tool returns, how the result begins, and the text of its note.
    let table = [
        ("('x'):rep(100e6)", "xxx", "Showing the first 50.0 KB of line 1 of 1. The full output (95.4 MB) is in "),
        (
            "('\\255\\n'):rep(1e6)",
            "\u{fffd}\n\u{fffd}",
            "Showing lines 1-2000 of 1000000. The full output (1.9 MB) is in ",
        ),
        (
            "(function() local t = {}; for n = 1, 1e6 do t[n] = { id = n } end; return t end)()",
            "[\n  {\n    \"id\": 1\n  },",
            "The tool returned a table of more than 20000 values or 2.0 MB, and what is beyond was left out.",
        ),
        (
            "{ success = true, output = { text = ('y'):rep(10e6) } }",
            "{\n\n[Showing line 1 of 3. The full output (2.0 MB) is in ",
            "The tool returned a table of more than 20000 values or 2.0 MB",
        ),
        ("{ ok = true, list = vim.fn.range(1, 20000) }", "{\n  \"", "more than 20000 values"),
    ];
    for (value, begins, note) in table {
        let mut chat = with_tool(&format!("execute = function() return {value} end"), &json!({}), "");
        let (text, error) = answer(&mut chat);
        assert!(!error && text.len() < 60_000, "{value}: {} bytes", text.len());
        let last = text.lines().last().unwrap_or_default();
        let shown: String = text.chars().take(60).collect();
        assert!(text.starts_with(begins), "{value}: {shown}");
        assert!(last.contains(note), "{value}: {last}");
    }
    // As many as fit.
    let list = "execute = function() local t = {}; for n = 1, 1500 do t[n] = n end; return t end";
    let (text, _) = answer(&mut with_tool(list, &json!({}), ""));
    assert!(text.ends_with("1500\n]"), "{}", &text[text.len() - 100..]);
}

#[test]
fn progress_that_is_wider_than_the_window_is_cut_with_dots() {
    let fields = "async = true, streaming = true, execute = function(_, ctx)
        ctx.progress(('wide '):rep(100) .. '\\nshort')
      end";
    let mut chat = with_tool(fields, &json!({}), "default_timeout = 600");
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for_screen("short");
    let row = chat.nvim.screen().into_iter().find(|row| row.contains("wide wide")).unwrap();
    assert!(row.trim_end().ends_with('…'), "{row}");
    chat.nvim.command("Flemma tool:cancel");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
}

#[test]
fn the_functions_about_a_call_know_it_and_change_no_text() {
    let fields = "
        execute = function() return 'ran' end,
        format_preview = function(input, _, ctx)
          return ('%s in %d of %s'):format(input.n, ctx.bufnr, ctx.call_id)
        end,
        format_rejection = function(input, ctx)
          _G.written = pcall(vim.api.nvim_buf_set_lines, ctx.bufnr, 0, 0, false, { 'mine' })
          return ('no %s for %s in %d: %s'):format(input.n, ctx.call_id, ctx.bufnr, ctx.reason)
        end,
        approval = function(input, ctx)
          _G.asked = vim.tbl_extend('force', _G.asked or {}, { [ctx.call_id] = ctx.bufnr })
          _G.undone = pcall(vim.cmd.undo)
          return input.n == 1 and 'auto' or input.n == 2 and 'requires_approval' or nil
        end";
    let stream = (1..=3).fold(Stream::new(), |stream, n| {
        stream.tool_use(&format!("toolu_{n}"), "mine", &[&json!({ "n": n }).to_string()])
    });
    let lua = register("mine", fields);
    let setup = Setup { lua: &lua, ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the previews", |nvim| previews(nvim).len() == 2);
    let found: Vec<String> = previews(&mut chat.nvim).into_iter().map(|(_, text)| text).collect();
    assert_eq!(found, ["mine: 2 in 1 of toolu_2", "mine: 3 in 1 of toolu_3"]);
    assert_eq!(chat.nvim.lua("return asked", &[]), json!({ "toolu_1": 1, "toolu_2": 1, "toolu_3": 1 }));
    assert_eq!(chat.nvim.lua("return undone", &[]), false, "the text was not changed");
    // The end of the first call moves the cursor.
    chat.wait_until_idle();
    chat.go_to("**Tool Result:** `toolu_2`");
    chat.nvim.command("Flemma tool:reject too late");
    chat.nvim.wait_for("the first rejection", |nvim| nvim.text().matches("status=pending").count() == 1);
    chat.go_to("**Tool Result:** `toolu_3`");
    chat.nvim.command("Flemma tool:reject");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let results = chat.messages(1)[2]["content"].as_array().unwrap().clone();
    let texts: Vec<_> =
        results.iter().map(|result| result["content"].as_str().unwrap_or_default().trim_end()).collect();
    assert_eq!(texts, ["ran", "no 2 for toolu_2 in 1: too late", "no 3 for toolu_3 in 1: nil"]);
    assert_eq!(chat.nvim.lua("return written", &[]), false);
    let kept = "local tool = require('flemma.tools').get('mine')
        return { type(tool.approval), type(tool.format_rejection), tool.approval({ n = 1 }, { call_id = '' }) }";
    assert_eq!(chat.nvim.lua(kept, &[]), json!(["function", "function", "auto"]));
}

#[test]
fn a_function_about_a_call_that_fails_is_one_warning() {
    for (field, body, words) in [
        ("approval", "error('on purpose')", "`approval` failed: "),
        ("approval", "error({ code = 7 })", "code = 7"),
        (
            "approval",
            "return 'deny'",
            "`approval` returned \"deny\". It may return \"auto\", \"requires_approval\" or nil",
        ),
        ("approval", "return true", "`approval` returned true, a boolean"),
        ("format_rejection", "error('on purpose')", "`format_rejection` failed: "),
        ("format_rejection", "return {}", "`format_rejection` returned a table, not a string. The model is told of"),
    ] {
        let lua = register("mine", &format!("execute = print, {field} = function() {body} end"));
        let stream = ["a", "b"].iter().fold(Stream::new(), |stream, id| stream.tool_use(id, "mine", &["{}"]));
        let setup = Setup { lua: &lua, ..Setup::default() };
        let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])]);
        chat.nvim.input("<C-]>");
        for left in [2, 1] {
            chat.nvim.wait_for("the calls to wait", |nvim| nvim.text().matches("status=pending").count() == left);
            chat.wait_until_idle();
            chat.nvim.command("Flemma tool:reject");
        }
        chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
        assert_eq!(
            chat.nvim.text().matches("The user rejected this call; it did not run.").count(),
            2,
            "{field} {body}"
        );
        let said = said(&mut chat.nvim);
        assert_eq!(said.matches(words).count(), 1, "{field} {body}: {said}");
        assert!(!said.contains("traceback"), "{said}");
    }
}
