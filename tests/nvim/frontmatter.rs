//! Frontmatter: the options of one conversation.

use serde_json::{Value, json};

use super::chat::{Chat, Setup, prose, said};

/// A conversation with frontmatter that the user has typed.
fn typed(block: &str, setup: &Setup<'_>, replies: impl IntoIterator<Item = super::http::Reply>) -> Chat {
    let mut chat = Chat::start(setup, replies);
    type_block(&mut chat, block);
    chat
}

fn type_block(chat: &mut Chat, block: &str) {
    let lines: Vec<&str> = block.lines().collect();
    chat.nvim.request("nvim_buf_set_lines", &[json!(0), json!(0), json!(0), json!(false), json!(lines)]);
}

fn lua(code: &str) -> String {
    format!("```lua\n{code}\n```\n")
}

/// The request that a block leads to.
fn body(block: &str) -> Value {
    let mut chat = typed(block, &Setup::default(), [prose(&["ok"])]);
    chat.nvim.input("<C-]>");
    chat.server.wait_for_requests(1)[0].json()
}

fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The message when a block prevents the conversation from being sent.
fn refusal(block: &str) -> String {
    let mut chat = typed(block, &Setup::default(), []);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("a refusal", |nvim| said(nvim).contains("Not sent"));
    assert!(chat.server.requests().is_empty());
    let messages = said(&mut chat.nvim);
    assert!(!messages.contains("stack traceback"), "{messages}");
    messages
}

/// The decision about a call and its resolver, from `flemma.tools.approval`.resolve.
pub fn resolve(chat: &mut Chat, tool: &str, input: &Value) -> (String, Value) {
    let found = chat.nvim.lua(
        "local decision, by = require('flemma.tools.approval').resolve(...) return { decision, by or vim.NIL }",
        &[json!(tool), input.clone()],
    );
    (found[0].as_str().unwrap_or_default().to_owned(), found[1].clone())
}

/// What is found under this frontmatter, which is deleted again.
fn under<T>(chat: &mut Chat, block: &str, look: impl FnOnce(&mut Chat) -> T) -> T {
    let before = chat.nvim.lines(0).len();
    type_block(chat, block);
    let typed = chat.nvim.lines(0).len() - before;
    let found = look(chat);
    chat.nvim.request("nvim_buf_set_lines", &[json!(0), json!(0), json!(typed), json!(false), json!([])]);
    found
}

pub const FILE: &str = "urn:flemma:approval:frontmatter";

#[test]
fn every_documented_way_to_choose_tools_works() {
    let default = ["ask_user", "bash", "calculator", "edit", "find", "grep", "ls", "read", "write"];
    for (code, tools) in [
        (r#"flemma.opt.tools = {"bash", "read"}"#, &["bash", "read"][..]),
        (
            r#"flemma.opt.tools:remove("calculator")"#,
            &["ask_user", "bash", "edit", "find", "grep", "ls", "read", "write"],
        ),
        (
            r#"flemma.opt.tools:append("calculator_async")"#,
            &["ask_user", "bash", "calculator", "calculator_async", "edit", "find", "grep", "ls", "read", "write"],
        ),
        (r#"flemma.opt.tools = flemma.opt.tools + "read""#, &default),
        (
            r#"flemma.opt.tools = flemma.opt.tools - {"grep", "find", "ls"} - "edit""#,
            &["ask_user", "bash", "calculator", "read", "write"],
        ),
        (r#"flemma.opt.tools:set({}):prepend("bash")"#, &["bash"]),
        (
            r#"flemma.opt.tools = (flemma.opt.tools - "bash") ^ "calculator""#,
            &["ask_user", "calculator", "edit", "find", "grep", "ls", "read", "write"],
        ),
        (
            r#"for _, name in ipairs(flemma.opt.tools:get()) do if name ~= "ls" then flemma.opt.tools:remove(name) end end"#,
            &["ls"],
        ),
        ("flemma.opt.tools = {}", &[]),
    ] {
        assert_eq!(offered(&body(&lua(code))), tools, "{code}");
    }
}

#[test]
fn provider_parameters_of_a_file_override_general_ones() {
    let sent = body(&lua(
        "flemma.opt.thinking = \"low\"\nflemma.opt.anthropic.thinking_budget = 20000\nflemma.opt.max_tokens = 30000\n\
         flemma.opt.cache_retention = \"long\"\nflemma.opt.model = \"claude-other\"",
    ));
    assert_eq!(sent["thinking"], json!({ "type": "enabled", "budget_tokens": 20000 }));
    assert_eq!((&sent["max_tokens"], &sent["model"]), (&json!(30000), &json!("claude-other")));
    assert_eq!(sent["tools"][8]["cache_control"]["ttl"], "1h");
    let sent = body(&lua("flemma.opt.thinking = \"medium\"\nflemma.opt.thinking = nil\nflemma.opt.temperature = 0.3"));
    assert_eq!((sent.get("thinking"), &sent["temperature"]), (None, &json!(0.3)));
}

#[test]
fn a_language_that_was_registered_is_read_by_its_parser() {
    let setup = Setup {
        lua: "require('flemma.codeblock.parsers').register('ini', function(code, ctx)
            assert(ctx.bufnr > 0 and ctx.filename:match('notes.chat$'))
            local options = {}
            for key, value in code:gmatch('(%w+)=(%w+)') do options[key] = tonumber(value) or value end
            if options.fail then error('no such key: fail', 0) end
            return options
          end)",
        ..Setup::default()
    };
    let mut chat = typed("```ini\nmodel=fromini\n```\n", &setup, [prose(&["ok"])]);
    chat.nvim.input("<C-]>");
    assert_eq!(chat.server.wait_for_requests(1)[0].json()["model"], "fromini");
    let mut chat = typed("```ini\nfail=1\n```\n", &setup, []);
    chat.nvim.input("<C-]>");
    chat.nvim
        .wait_for("a refusal", |nvim| said(nvim).contains("Not sent: line 1: the ini frontmatter: no such key: fail"));
}

#[test]
fn mistakes_name_their_line_and_the_fix_and_nothing_is_sent() {
    for (block, message) in [
        (
            lua("\nflemma.opt.tools = {\"bahs\"}"),
            "line 3: `flemma.opt.tools`: unknown tool `bahs`; did you mean `bash`?",
        ),
        (
            lua("flemma.opt.tools:append(\"calculatr\")"),
            "line 2: `flemma.opt.tools`: unknown tool `calculatr`; did you mean `calculator`?",
        ),
        (
            lua("local x = 1\nflemma.opt.thinkin = 1"),
            "line 3: unknown option `flemma.opt.thinkin`; did you mean `flemma.opt.thinking`?",
        ),
        (
            lua("local x = flemma.opt.modle"),
            "line 2: unknown option `flemma.opt.modle`; did you mean `flemma.opt.model`?",
        ),
        (lua("flemma.opt.anthropic.thinking_bugdet = 1"), "did you mean `flemma.opt.anthropic.thinking_budget`?"),
        (
            lua("flemma.opt.max_tokens = \"many\""),
            "line 2: `flemma.opt.max_tokens` must be a whole number from 1 up, not \"many\"",
        ),
        (lua("flemma.opt.tools:append(3)"), "line 2: give a name, or a list of names, not a number"),
        (lua("if then"), "line 2: unexpected symbol near 'then'"),
        (lua("\n\nerror(\"stop here\")"), "line 4: stop here"),
        (lua("error({ code = 7 })"), "code = 7"),
        (lua("local a = nil\nreturn a.b"), "line 3: attempt to index local 'a' (a nil value)"),
    ] {
        let messages = refusal(&block);
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(messages.contains(&message), "{block}\n{messages}");
    }
}

const DENY: &str = "deny";

/// The decisions about three tools with this frontmatter, and its error.
fn evaluate(chat: &mut Chat, code: &str) -> ([String; 3], String) {
    under(chat, &lua(code), |chat| {
        let decisions = ["read", "write", "bash"].map(|tool| resolve(chat, tool, &json!({})).0);
        let shown = chat.nvim.lua("return require('flemma.status').lines(vim.api.nvim_get_current_buf())", &[]);
        let mut shown = shown.as_array().unwrap().iter().filter_map(Value::as_str);
        (decisions, shown.find(|line| line.contains("line ")).unwrap_or_default().to_owned())
    })
}

/// The policy is a function, from the file or the configuration, and the file's code edits a list.
#[test]
fn a_function_policy_applies_or_gives_an_error_at_its_line() {
    let function = "local before = flemma.opt.tools.auto_approve\n\
        local derived = flemma.opt.tools.auto_approve + \"bash\"\n\
        flemma.opt.tools.auto_approve = function() return \"deny\" end";
    let list = "flemma.opt.tools.auto_approve";
    let lost = "is a function that this file has set";
    let config = "the configuration uses a function";
    // Each line with its error if the file has set the function, and if the configuration has.
    let operations = [
        (format!("{list} = {list} + \"bash\""), lost, config),
        (format!("{list} = \"bash\" + {list}"), lost, config),
        (format!("{list} = {list} - \"write\""), lost, config),
        (format!("{list} = {list} ^ \"bash\""), lost, config),
        (format!("{list}:append(\"bash\")"), lost, config),
        (format!("{list}:prepend({{ \"bash\" }})"), lost, config),
        (format!("{list}:remove(\"write\")"), lost, config),
        (format!("{list} = {list}:get()"), lost, config),
        (format!("local l = {{ unpack({list}:get()) }} {list} = l"), lost, config),
        (format!("local l = {{}} for _, n in ipairs({list}) do l[#l + 1] = n end {list} = l"), lost, config),
        (format!("local l = {{}} for _, n in pairs({list}) do l[#l + 1] = n end {list} = l"), lost, config),
        (format!("local l = {{}} for i = 1, #{list} do l[i] = {list}[i] end {list} = l"), lost, config),
        (format!("{list} = {{ {list}[1], \"bash\" }}"), lost, config),
        (format!("{list} = vim.list_extend({{ \"bash\" }}, {list})"), "expected table", "expected table"),
        (format!("{list} = {list}"), lost, config),
        ("flemma.opt.tools = { auto_approve = { append = { \"bash\" } } }".to_owned(), lost, config),
        (format!("{list} = {{ remove = {{ \"write\" }} }}"), lost, config),
        (format!("{list}:set({{ \"bash\" }})"), lost, ""),
        (format!("{list} = {{ set = {{ \"bash\" }} }}"), lost, ""),
        // A list that was made before the function was set.
        ("before:append(\"bash\")".to_owned(), lost, config),
        (format!("{list} = before + \"bash\""), lost, config),
        (format!("{list} = before:get()"), lost, config),
        (format!("{list} = derived"), lost, ""),
        (format!("{list} = derived - \"write\""), lost, ""),
    ];
    let setups = [
        Setup::default(),
        Setup { options: "tools = { auto_approve = function() return 'deny' end }", ..Setup::default() },
    ];
    for (is_configured, setup) in [false, true].into_iter().zip(&setups) {
        let mut chat = Chat::start(setup, []);
        for (operation, in_file, in_config) in &operations {
            if is_configured && (operation.contains("before") || operation.contains("derived")) {
                continue; // There is no list to begin with.
            }
            let said_first = if is_configured { String::new() } else { format!("{function}\n") };
            let code = format!("{said_first}{operation}");
            let (decisions, messages) = evaluate(&mut chat, &code);
            let expected = if is_configured { in_config } else { in_file };
            if expected.is_empty() {
                assert_eq!((decisions.each_ref().map(String::as_str), messages.as_str()), ([DENY; 3], ""), "{code}");
                continue;
            }
            let at = format!("line {}: ", code.lines().count() + 1);
            assert!(messages.contains(&at) && messages.contains(expected), "{code}: {messages}");
            assert_ne!(decisions[2], "approve", "{code}");
            // Code that catches the error keeps the function as well.
            let caught = format!("{said_first}pcall(function() {operation} end)");
            assert_eq!(evaluate(&mut chat, &caught), ([DENY; 3].map(str::to_owned), String::new()), "{caught}");
        }
    }
    // `=` replaces it with a list, another function or nothing.
    let mut chat = Chat::start(&Setup::default(), []);
    for (code, expected) in [
        ("flemma.opt.tools.auto_approve = { \"bash\" }", ["require_approval", "approve"]),
        ("flemma.opt.tools.auto_approve = function(tool) return tool == \"bash\" end", ["require_approval", "approve"]),
        ("flemma.opt.tools.auto_approve = nil", ["approve", "require_approval"]),
        ("pcall(function() flemma.opt.tools.auto_approve = { \"nonsense\" } end)", ["deny", "deny"]),
        ("pcall(function() flemma.opt.tools = { auto_approve = { \"bash\" }, nonsense = 1 } end)", ["deny", "deny"]),
        ("flemma.opt.tools = { \"read\" } flemma.opt.tools:append(\"bash\")", ["deny", "deny"]),
    ] {
        let ([read, _, bash], _) = evaluate(&mut chat, &format!("{function}\n{code}"));
        assert_eq!([read, bash], expected, "{code}");
    }
}

/// Lists can be iterated and printed like plain tables.
#[test]
fn lists_are_read_by_the_functions_that_read_tables() {
    let sent = body(&lua("local names, pairs_too = {}, 0\n\
        for index, name in ipairs(flemma.opt.tools) do names[index] = name end\n\
        for _ in pairs(flemma.opt.tools) do pairs_too = pairs_too + 1 end\n\
        assert(#flemma.opt.tools == #names and pairs_too == #names and flemma.opt.tools[2] == names[2])\n\
        assert(tostring(flemma.opt.tools) == table.concat(names, \", \"))\n\
        flemma.opt.model = table.concat(names, \" \")"));
    assert_eq!(sent["model"], "ask_user bash calculator edit find grep ls read write");
}

#[test]
fn the_code_of_a_file_reaches_nothing_but_its_options() {
    for code in [
        "os.execute(\"touch escaped\")",
        "io.popen(\"touch escaped\")",
        "require(\"flemma.core\").cancel()",
        "vim.cmd(\"call writefile([], 'escaped')\")",
        "vim.fn.writefile({}, \"escaped\")",
        "vim.api.nvim_command(\"quit\")",
        "loadstring(\"return 1\")()",
        "load(function() return nil end)",
        "dofile(\"x.lua\")",
        "getmetatable(\"\").__index.format = print",
        "setmetatable(_G, {})",
        "debug.sethook()",
        "getfenv(0)",
        "package.loadlib(\"x\", \"y\")",
        "jit.on()",
        "coroutine.create(print)",
        "string.dump(print)",
        "rawset(flemma.opt, \"x\", 1)",
        "vim.inspect.inspect = print",
        "vim.fn.system(\"touch escaped\")",
    ] {
        let messages = refusal(&lua(code));
        assert!(messages.contains("line 2: attempt to"), "{code}: {messages}");
    }
    // Files get copies, so one file cannot change what another one sees.
    let sent = body(&lua("string.format = nil\nmath.huge = 1\nvim.tbl_keys = nil\nflemma.opt.max_tokens = 5"));
    assert_eq!(sent["max_tokens"], 5);
}

#[test]
fn a_runaway_loop_is_stopped_and_the_editor_lives() {
    for (line, code) in [
        (2, "while true do end"),
        (3, "local n = 0\nwhile true do n = n + 1 end"),
        (4, "local function spin()\n  local n = 0\n  while true do n = n + 1 end\nend\nspin()"),
        (2, "while true do pcall(function() while true do end end) end"),
        (2, "repeat pcall(error) until false"),
        (3, "\nwhile true do string.rep(\"x\", 10) end"),
        (2, "local function f() return f() end f()"),
    ] {
        let messages = refusal(&lua(code));
        let expected = format!("line {line}: the frontmatter ran for more than a quarter of a second and was stopped");
        assert!(messages.contains(&expected), "{code}: {messages}");
    }
}

#[test]
fn code_that_uses_too_much_memory_is_stopped() {
    for (code, message) in [
        ("local s = \"x\" while true do s = s .. s end", "used more than 64 MB of memory and was stopped"),
        ("local t = {} while true do t[#t + 1] = {} end", "and was stopped"),
        ("local s = (\"x\"):rep(1e6) for i = 1, 1e9 do s = s:reverse() end", "and was stopped"),
    ] {
        let messages = refusal(&lua(code));
        assert!(messages.contains(message), "{code}: {messages}");
    }
}

#[test]
fn an_error_inside_an_editor_function_names_the_files_line() {
    let messages = refusal(&lua("local x = 1\nvim.split(\"x\", 3)"));
    assert!(messages.contains("line 3: "), "{messages}");
}

#[test]
fn status_shows_what_a_line_cannot_hold() {
    let mut chat = Chat::start(&Setup::default(), []);
    type_block(&mut chat, &lua("error(\"a\\nb\\0c\")"));
    chat.nvim.command("Flemma status");
    chat.nvim.wait_for_screen("a⤶b");
}

#[test]
fn the_documented_examples_work_unchanged() {
    let examples = [
        "flemma.opt.tools.auto_approve = { \"$readonly\" }",
        "flemma.opt.tools.auto_approve = { \"calculator\", \"read\" }",
        "flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }",
        "flemma.opt.tools.auto_approve = function(tool_name, input, ctx)\n  if tool_name == \"calculator\" then return true end\n  return nil  -- pass to next resolver\nend",
        "flemma.opt.tools.auto_approve = { \"$default\" }\nflemma.opt.tools.auto_approve:remove(\"write\")",
        "flemma.opt.tools.auto_approve = { \"$default\" }\nflemma.opt.tools.auto_approve:append(\"bash\")",
        "flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + \"bash\" - \"write\"",
    ];
    // (read, write, bash, calculator)
    let decisions = [
        ["approve", "require_approval", "require_approval", "require_approval"],
        ["approve", "require_approval", "require_approval", "approve"],
        ["approve", "approve", "approve", "require_approval"],
        ["require_approval", "require_approval", "require_approval", "approve"],
        ["approve", "require_approval", "require_approval", "require_approval"],
        ["approve", "approve", "approve", "require_approval"],
        ["approve", "require_approval", "approve", "require_approval"],
    ];
    let mut chat = Chat::start(&Setup::default(), []);
    for (code, expected) in examples.iter().zip(decisions) {
        let found = under(&mut chat, &lua(code), |chat| {
            ["read", "write", "bash", "calculator"].map(|tool| resolve(chat, tool, &json!({ "command": "ls" })).0)
        });
        assert_eq!(found, expected, "{code}");
    }
}

#[test]
fn empty_lists_and_removals_work_in_every_spelling() {
    let json = |code: &str| format!("```json\n{code}\n```\n");
    let files = [
        (lua("flemma.opt.tools.auto_approve = {}"), "require_approval"),
        (lua("flemma.opt.tools.auto_approve:set({})"), "require_approval"),
        (lua("flemma.opt.tools.auto_approve:remove(\"$default\")"), "require_approval"),
        (lua("flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve - \"$default\""), "require_approval"),
        (lua("flemma.opt.tools.auto_approve:remove(\"ls\")"), "require_approval"),
        (lua("flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve - \"ls\""), "require_approval"),
        (json(r#"{ "tools": { "auto_approve": [] } }"#), "require_approval"),
        (json(r#"{ "tools.auto_approve": [] }"#), "require_approval"),
        (json(r#"{ "tools": { "auto_approve": { "set": [] } } }"#), "require_approval"),
        (json(r#"{ "tools": { "auto_approve": { "remove": ["ls"] } } }"#), "require_approval"),
        (lua("flemma.opt.tools.auto_approve:remove(\"ls\"):append(\"ls\")"), "approve"),
        (lua("flemma.opt.tools.auto_approve:remove(\"read\")"), "approve"),
        (json(r#"{ "tools": { "auto_approve": { "append": ["bash"] } } }"#), "approve"),
    ];
    let mut chat = Chat::start(&Setup::default(), []);
    for (file, expected) in files {
        let found = under(&mut chat, &file, |chat| resolve(chat, "ls", &json!({ "path": "." })).0);
        assert_eq!(found, expected, "{file}");
    }

    // The configuration's empty list applies to files as well: only the tools they name run.
    chat.nvim.lua("require('flemma').setup({ tools = { auto_approve = {} } })", &[]);
    assert_eq!(resolve(&mut chat, "ls", &json!({ "path": "." })).0, "require_approval");
    type_block(&mut chat, &lua("flemma.opt.tools.auto_approve:append(\"find\")"));
    assert_eq!(resolve(&mut chat, "find", &json!({ "path": "." })).0, "approve");
    assert_eq!(resolve(&mut chat, "ls", &json!({ "path": "." })).0, "require_approval");
    chat.nvim.lua("require('flemma').setup({ tools = { auto_approve = {}, require_approval = false } })", &[]);
    assert_eq!(resolve(&mut chat, "ls", &json!({ "path": "." })).0, "approve");
}

#[test]
fn a_policy_function_fails_closed_and_is_stopped_if_endless() {
    let mut chat = Chat::start(&Setup::default(), []);
    type_block(
        &mut chat,
        &lua("flemma.opt.tools.auto_approve = function(tool, input, ctx)
               if tool == \"bash\" and input.command:match(\"rm %-rf\") then return \"deny\" end
               if tool == \"read\" then while true do end end
               if tool == \"write\" then error(\"oops\") end
               if tool == \"edit\" then return \"perhaps\" end
               return ctx.bufnr > 0 and tool == \"bash\" or false
             end"),
    );
    let asked = ("require_approval".to_owned(), json!(FILE));
    assert_eq!(resolve(&mut chat, "bash", &json!({ "command": "rm -rf /" })), ("deny".to_owned(), json!(FILE)));
    assert_eq!(resolve(&mut chat, "bash", &json!({ "command": "ls" })), ("approve".to_owned(), json!(FILE)));
    for tool in ["read", "write", "edit", "grep"] {
        assert_eq!(resolve(&mut chat, tool, &json!({})), asked, "{tool}");
    }
    let messages = said(&mut chat.nvim);
    assert_eq!(messages.matches("the function flemma.opt.tools.auto_approve failed: ").count(), 1, "once: {messages}");
}

#[test]
fn the_line_of_a_mistake_is_not_left_in_a_closed_fold() {
    let mut chat = typed(&lua("-- one\nlocal a = 1\nerror('no')\n-- two"), &Setup::default(), []);
    let is_closed = "return vim.fn.foldclosed(3) ~= -1";
    chat.nvim.wait_for("the fold", |nvim| nvim.lua("return vim.fn.foldlevel(3)", &[]) != 0);
    chat.nvim.input("ggzcG");
    chat.nvim.wait_for("a closed fold", |nvim| nvim.lua(is_closed, &[]) == true);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("a refusal", |nvim| said(nvim).contains("Not sent: line 4"));
    chat.nvim.wait_for("the line", |nvim| nvim.lua(is_closed, &[]) == false);
    chat.nvim.input("4G");
    chat.nvim.wait_for("the cursor", |nvim| nvim.cursor().0 == 4);
}
