//! Agents in an editor: a buffer chooses one, and every kind of tool keeps to it.

use serde_json::json;

use super::chat::{Chat, Setup, call, prose};

const FILES: &[(&str, &str)] =
    &[("Journal/today.md", "allowed\n"), ("Private/diary.md", "SECRET\n"), ("other.chat", "@You:\nHello\n")];

const OPTIONS: &str =
    "agents = { diary = { allowedReadPaths = { 'Journal' } } }, tools = { auto_approve = { '$default', 'bash' } }";

const TOOLS: &str = "
    local function define(name, more)
      require('flemma.tools').register(name, vim.tbl_extend('force', {
        description = 'x', approval = 'auto',
        input_schema = { type = 'object', properties = { paths = { type = 'array', items = { type = 'string' } } } },
        execute = function(input, ctx)
          return { success = true, output = table.concat(vim.tbl_map(function(path)
            return path .. ': ' .. tostring(ctx.path.problem(path, 'write'))
              .. ' ' .. tostring(ctx.sandbox.is_path_writable(path))
          end, input.paths), '\\n') }
        end,
      }, more))
    end
    define('listed', { read_path_param = { 'paths' } })
    define('judging', { read_path_param = {} })
    define('silent', {})
    _G.open = function()
      local chat = vim.fn.bufnr('notes.chat')
      return require('flemma.tools.client.open_buffers')({},
        require('flemma.tools.context').new(chat, 'open_buffers', 10, nil, { call_id = 'toolu_9' }), function() end)
    end";

#[test]
fn a_buffer_chooses_an_agent_and_every_tool_keeps_to_it() {
    let text = "```json\n{ \"agent\": \"diary\" }\n```\n\n@You:\nHello\n";
    // The user trusts what the file says.
    let lua = format!("{TOOLS}\nvim.ui.select = function(items, _, done) done(items[2]) end");
    let setup = Setup { files: FILES, options: OPTIONS, lua: &lua, text: Some(text), ..Setup::default() };
    let both = json!({ "paths": ["Journal/today.md", "Private/diary.md"] });
    let made = [
        ("read", json!({ "path": "Private/../Private/diary.md" })),
        ("read", json!({ "path": "Journal/today.md" })),
        ("bash", json!({ "command": "cat Private/diary.md" })),
        ("listed", both.clone()),
        ("listed", json!({ "paths": ["Journal/today.md"] })),
        ("judging", both.clone()),
        ("silent", both.clone()),
    ];
    let id = |at: usize| format!("toolu_{at}");
    let replies = made.iter().enumerate().map(|(at, (tool, input))| call(&id(at), tool, input));
    let elsewhere = [call("toolu_a", "read", &made[0].1), call("toolu_b", "silent", &both)];
    let replies: Vec<_> = replies.chain([prose(&["fine"])]).chain(elsewhere).chain([prose(&["done"])]).collect();
    let mut chat = Chat::start(&setup, replies);
    chat.send_until("@Assistant:\nfine");
    let body = chat.server.wait_for_requests(made.len() + 1)[made.len()].json();
    let result = |id: &str, body: &serde_json::Value| {
        let messages = body["messages"].as_array().unwrap();
        let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
        let mut found = parts.filter(|part| part["tool_use_id"] == id).map(|part| part["content"].to_string());
        found.next_back().unwrap_or_else(|| panic!("no result of {id} in {body:#}"))
    };
    for (at, words) in [
        (0, "The agent `diary` does not allow `Private/../Private/diary.md` to be read."),
        (1, "allowed"),
        (2, "`bash` does not declare which files it uses"),
        (3, "The agent `diary` does not allow `Private/diary.md` to be read. Only these paths may: `Journal`."),
        (4, "Journal/today.md: nil true"),
        (5, "Private/diary.md: The agent `diary` does not allow"),
        (6, "`silent` does not declare which files it uses"),
    ] {
        let found = result(&id(at), &body);
        assert!(found.contains(words), "{at}: {found}");
        assert!(!found.contains("SECRET"), "{at}: {found}");
    }
    assert!(result(&id(5), &body).contains("Journal/today.md: nil true"), "{}", result(&id(5), &body));
    assert!(!chat.nvim.text().contains("status=pending"), "nobody is asked");

    // The editor tells of no other file.
    chat.nvim.command("badd Private/diary.md | badd Journal/today.md");
    let open = chat.nvim.lua("return open()", &[]).to_string();
    assert!(open.contains("Journal/today.md") && !open.contains("diary.md"), "{open}");
    chat.nvim.command("Flemma status");
    chat.nvim.wait_for("the agent", |nvim| {
        nvim.screen().iter().any(|line| line.contains("diary: reads ") && line.contains("Journal"))
    });
    chat.nvim.command("close");

    // Another buffer has none.
    chat.nvim.command("edit other.chat");
    chat.wait_until_idle();
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\ndone"));
    let body = chat.server.wait_for_requests(made.len() + 4)[made.len() + 3].json();
    assert!(result("toolu_a", &body).contains("SECRET"), "{body:#}");
    assert!(result("toolu_b", &body).contains("Private/diary.md: nil true"), "{body:#}");
}
