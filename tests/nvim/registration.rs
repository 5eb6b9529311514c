//! Every way to register a tool, and what the provider is then offered.

use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, prose, said, spinner},
    support::{Nvim, Options},
};

/// The tools of the `n`th request, by name.
fn offered(chat: &Chat, n: usize) -> Vec<(String, Value)> {
    let body = chat.server.wait_for_requests(n + 1)[n].json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.into_iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool)).collect()
}

/// Sends, and gives the tools that were offered beside the built-in ones.
fn own_tools(lua: &str, files: &[(&str, &str)]) -> Vec<(String, Value)> {
    let mut chat = Chat::start(&Setup { lua, files, ..Setup::default() }, [prose(&["ok"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    let builtin = ["ask_user", "bash", "calculator", "edit", "find", "grep", "ls", "read", "write"];
    offered(&chat, 0).into_iter().filter(|(name, _)| !builtin.contains(&name.as_str())).collect()
}

fn names(tools: &[(String, Value)]) -> Vec<&str> {
    tools.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_name_and_a_definition_register_one_tool() {
    let tools = own_tools(
        r#"
        local tools = require("flemma.tools")
        tools.register("my_tool", {
          name = "my_tool",
          description = "Does something useful",
          input_schema = {
            type = "object",
            properties = { query = { type = "string", description = "The input query" } },
            required = { "query" },
          },
          execute = function(input)
            return { success = true, output = "done: " .. input.query }
          end,
        })
        "#,
        &[],
    );
    assert_eq!(
        tools[0].1,
        json!({
            "name": "my_tool",
            "description": "Does something useful",
            "input_schema": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": "The input query"}},
                "required": ["query"],
            },
        })
    );
    assert_eq!(tools.len(), 1);
}

#[test]
fn a_list_registers_several_tools() {
    let tools = own_tools(
        r#"
        require("flemma.tools").register({
          { name = "tool_b", description = "...", execute = print, input_schema = { type = "object", properties = {} } },
          { name = "tool_a", description = "...", execute = print, input_schema = { type = "object", properties = {}, required = {} } },
        })
        "#,
        &[],
    );
    assert_eq!(names(&tools), ["tool_a", "tool_b"], "sorted by name");
    assert_eq!(tools[0].1["input_schema"], json!({"type": "object", "properties": {}, "required": []}));
}

#[test]
fn a_module_gives_definitions_at_once_or_a_source() {
    let definitions = "return { definitions = { { name = 'from_list', execute = print, description = 'x', input_schema = { type = 'object' } } } }";
    let source = "local M = {}
        function M.resolve(register, done)
          vim.defer_fn(function()
            register('from_source', { execute = print, description = 'x', input_schema = { type = 'object' } })
            done()
          end, 20)
        end
        M.timeout = 45
        return M";
    let lua = "
        package.path = package.path .. ';./?.lua'
        local tools = require('flemma.tools')
        assert(tools.register('search_tools') == true)
        assert(tools.get('from_list').description == 'x' and tools.is_ready() and tools.count() > 1)
        assert(tools.register('source_tools') == true)
        assert(tools.get('from_source') == nil and not tools.is_ready(), 'a source takes its time')";
    let tools = own_tools(lua, &[("search_tools.lua", definitions), ("source_tools.lua", source)]);
    assert_eq!(names(&tools), ["from_list", "from_source"]);
}

#[test]
fn a_module_that_does_not_load_is_refused_with_the_reason() {
    let modules = [
        ("throws.lua", "error('no such service')"),
        ("throws_table.lua", "error({ code = 7 })"),
        ("no_table.lua", "return 7"),
        ("empty.lua", "return {}"),
        (
            "half.lua",
            "return { definitions = { { name = 'whole', execute = print, description = 'x', input_schema = { type = 'object' } }, { name = 'half' } } }",
        ),
        ("bad_timeout.lua", "return { resolve = function() end, timeout = 'soon' }"),
    ];
    let table = [
        (
            "no.such.module",
            "the module `no.such.module` was not registered, because it cannot be loaded: module 'no.such.module' not found",
        ),
        ("throws", "no such service"),
        ("throws_table", "code = 7"),
        ("no_table", "the module `no_table` must be a table with `definitions` or `resolve`, not a number"),
        ("empty", "the module `empty` has neither `definitions`"),
        ("half", "tool `half`: `description` is missing"),
        ("bad_timeout", "`timeout` must be a number of seconds, not a string"),
    ];
    // Before `setup`, and without a conversation.
    let mut nvim = Nvim::start(&Options { files: &modules, ..Options::default() });
    nvim.lua("package.path = package.path .. ';./?.lua'", &[]);
    for (module, message) in table {
        let taken = nvim.lua("return require('flemma.tools').register(...)", &[json!(module)]);
        assert_eq!(taken, json!(false), "{module}");
        nvim.wait_for(message, |nvim| said(nvim).contains(message));
    }
    assert!(!said(&mut nvim).contains("stack traceback"));
    let found =
        nvim.lua("local tools = require('flemma.tools') return { tools.get('whole') ~= nil, tools.is_ready() }", &[]);
    assert_eq!(found, json!([true, true]), "what is right in it was taken, and nothing is waited for");
}

#[test]
fn without_the_library_a_module_is_refused_and_says_why() {
    let mut nvim = Nvim::start(&Options {
        environment: &[("FLEMMA_NATIVE", "/nonexistent/flemma.so")],
        files: &[("mine.lua", "vim.g.loaded_mine = true return { definitions = {} }")],
        ..Options::default()
    });
    nvim.lua("package.path = package.path .. ';./?.lua'", &[]);
    assert_eq!(nvim.lua("return require('flemma.tools').register('mine')", &[]), json!(false));
    nvim.wait_for("the reason", |nvim| said(nvim).contains("the module `mine` was not registered: the native library"));
}

#[test]
fn a_function_and_a_table_with_resolve_are_sources() {
    let tools = own_tools(
        r#"
        local tools = require("flemma.tools")
        tools.register(function(register, done)
          vim.fn.jobstart({ "true" }, {
            on_exit = function()
              register("discovered_tool", { execute = print, description = "x", input_schema = { type = "object" } })
              register("second_tool", { execute = print, description = "x", input_schema = { type = "object" } })
              done()
              done("a second word is harmless")
            end,
          })
        end)
        tools.register({
          timeout = 60,
          resolve = function(register, done)
            local timer = vim.uv.new_timer()
            timer:start(10, 0, function()
              register("remote_tool", { execute = print, description = "x", input_schema = { type = "object" } })
              done()
            end)
          end,
        })
        "#,
        &[],
    );
    assert_eq!(names(&tools), ["discovered_tool", "remote_tool", "second_tool"]);
}

#[test]
fn a_source_that_fails_gives_a_warning_and_the_request_is_sent() {
    let lua = r#"
        local tools = require("flemma.tools")
        tools.register(function() error("no network") end)
        tools.register(function(_, done) done("no server \255") end)
        tools.register({ timeout = 0.05, resolve = function() end })
        tools.register("no.such.module")
        "#;
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, [prose(&["ok"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:\nok"));
    let messages = said(&mut chat.nvim);
    for words in
        ["no network", "init.lua:8 did not load: no server", "init.lua:9 did not load within 0.05 s", "no.such.module"]
    {
        assert!(messages.contains(words), "{words}: {messages}");
    }
    assert!(!messages.contains("stack traceback"), "{messages}");
    assert_eq!(spinner(&mut chat.nvim), []);
}

#[test]
fn a_wrong_definition_is_refused_with_its_field_and_the_fix() {
    let table = [
        ("{ name = 'a', input_schema = { type = 'object' } }", "tool `a`: `description` is missing"),
        ("{ name = 'a', description = 'x' }", "tool `a`: `input_schema` is missing"),
        (
            "{ name = 'a', description = 'x', input_schema = { type = 'object' } }",
            "tool `a`: `execute` is missing: give the function that runs a call",
        ),
        (
            "{ name = 'a', description = 'x', input_schema = { type = 'object' }, exceute = print }",
            "`exceute` is not a field of a definition; did you mean `execute`?",
        ),
        (
            "{ name = 'a', description = 'x', input_schema = { type = 'object' }, execute = 'print' }",
            "`execute` must be a function, not \"print\"",
        ),
        (
            "{ name = 'a', execute = print, description = 'x', strict = true, input_schema = { type = 'object', properties = { q = { type = 'string' } }, required = {}, additionalProperties = false } }",
            "`q`",
        ),
        (
            "{ name = 'a', execute = print, description = 7, input_schema = { type = 'object' } }",
            "`description` must be a string, not 7",
        ),
        (
            "{ name = 'a', execute = print, description = 'x', input_schema = { type = 'object' }, approval = 'always' }",
            "must be one of \"auto\", \"requires_approval\", not \"always\"",
        ),
        (
            "{ name = 'a', execute = print, description = 'x', input_schema = { type = 'object', default = print } }",
            "it holds a function at `default`",
        ),
        (
            "{ name = 'a', execute = print, description = 'x', input_schema = { type = 'object' }, timeout = 0/0 }",
            "`timeout` must be a number of seconds, not NaN, which is not a finite number",
        ),
        (
            "{ name = 'a', execute = print, description = 'x', input_schema = { type = 'object' }, timeout = math.huge }",
            "`timeout` must be a number of seconds, not inf, which is not a finite number",
        ),
        (
            "{ name = 'a', execute = print, description = 'x', input_schema = { type = 'object' }, timeout = -1 }",
            "`timeout` must be more than 0 and at most 86400 seconds, not -1",
        ),
    ];
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    nvim.lua(
        "_G.heard = {}; vim.notify = function(message) heard[#heard + 1] = message end
         require('flemma').setup({})",
        &[],
    );
    for (definition, expected) in table {
        let answer = nvim.lua(
            &format!("heard = {{}}; return {{ require('flemma.tools').register({{ {definition} }}), heard[1] }}"),
            &[],
        );
        assert_eq!(answer[0], false, "{definition}");
        let message = answer[1].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{definition}\n  {message}\n  {expected}");
    }
    assert_eq!(nvim.lua("return require('flemma.tools').get('a')", &[]), Value::Null);
    for what in ["42", "{}", "nil, {}"] {
        let answer =
            nvim.lua(&format!("heard = {{}}; return {{ require('flemma.tools').register({what}), #heard }}"), &[]);
        assert_eq!(answer, json!([false, 1]), "{what}");
    }
}

#[test]
fn a_nullable_enum_can_be_written() {
    let mut nvim = Nvim::start(&Options { init: "require('flemma').setup({})", screen: None, ..Options::default() });
    let schema = nvim.lua(
        "local tools = require('flemma.tools')
         assert(tools.register('mine', { description = 'x', execute = print, input_schema = {
           type = 'object', properties = { a = { type = { 'string', 'null' }, enum = { 'x', vim.NIL } } },
         } }))
         return tools.get('mine').input_schema.properties.a.enum",
        &[],
    );
    assert_eq!(schema, json!(["x", null]));
}

#[test]
fn what_is_registered_can_be_asked_for_as_copies() {
    let mut nvim = Nvim::start(&Options { init: "require('flemma').setup({})", screen: None, ..Options::default() });
    let answer = nvim.lua(
        "local tools = require('flemma.tools')
         local before = tools.count()
         tools.register('mine', { description = 'first', input_schema = { type = 'object' }, execute = print, enabled = false })
         tools.register('mine', { description = 'second', input_schema = { type = 'object' }, execute = print, enabled = false })
         local copy = tools.get('mine')
         copy.description = 'changed'
         local function has(opts)
           return vim.iter(tools.get_all(opts)):any(function(tool) return tool.name == 'mine' end)
         end
         local names = vim.tbl_map(function(tool) return tool.name end, tools.get_all({ include_disabled = true }))
         local sorted = vim.deepcopy(names)
         table.sort(sorted)
         return {
           added = tools.count() - before,
           description = tools.get('mine').description,
           execute = tools.get('mine').execute == print,
           enabled_only = has(),
           all = has({ include_disabled = true }),
           sorted = vim.deep_equal(names, sorted),
           removed = tools.unregister('mine'),
           removed_again = tools.unregister('mine'),
           gone = tools.get('mine') == nil,
           ready = tools.is_ready(),
         }",
        &[],
    );
    assert_eq!(
        answer,
        json!({
            "added": 1, "description": "second", "execute": true, "enabled_only": false, "all": true,
            "sorted": true, "removed": true, "removed_again": false, "gone": true, "ready": true,
        })
    );
}

#[test]
fn five_thousand_tools_load_while_the_user_types() {
    let lua = "
        local tools = require('flemma.tools')
        for source = 1, 200 do
          tools.register(function(register, done)
            for tool = 1, 25 do
              register(('tool_%d_%d'):format(source, tool), {
                description = 'x', execute = print,
                input_schema = { type = 'object', properties = { a = { type = 'string' }, b = { type = { 'number', 'null' } } } },
              })
            end
            done()
          end)
        end";
    let mut nvim = Nvim::start(&Options {
        init: &format!("require('flemma').setup({{}})\nvim.notify = function() end\n{lua}"),
        files: &[("notes.chat", "@You:\nHello\n")],
        arguments: &["notes.chat"],
        ..Options::default()
    });
    nvim.input("Gotyped<Esc>");
    nvim.wait_for("the tools", |nvim| nvim.lua("return require('flemma.tools').is_ready()", &[]) == true);
    assert_eq!(nvim.text(), "@You:\nHello\ntyped\n");
    let count = nvim.lua("return require('flemma.tools').count()", &[]).as_u64().unwrap();
    assert!(count >= 5000, "{count}");
}

#[test]
fn a_source_with_an_invalid_limit_is_refused() {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    nvim.lua("_G.heard = {}; vim.notify = function(message) heard[#heard + 1] = message end", &[]);
    for timeout in ["0/0", "-1", "0", "1e18"] {
        let answer = nvim.lua(
            &format!(
                "heard = {{}}
                 local ok = require('flemma.tools').register({{ resolve = function() end, timeout = {timeout} }})
                 return {{ ok, heard[1] }}"
            ),
            &[],
        );
        assert_eq!(answer[0], false, "{timeout}");
        let said = answer[1].as_str().unwrap();
        assert!(said.contains("`timeout` must be more than 0 and at most 86400 seconds, not "), "{said}");
    }
}

#[test]
fn names_groups_and_functions_decide_what_is_offered() {
    let lua = "
        local tools = require('flemma.tools')
        local function define(name, more)
          tools.register(name, vim.tbl_extend('force', {
            description = 'x', input_schema = { type = 'object' }, execute = print, enabled = false,
          }, more or {}))
        end
        define('one')
        define('two')
        define('mine', { enabled = function(ctx)
          _G.asked = ctx
          _G.written = pcall(vim.api.nvim_buf_set_lines, ctx.bufnr, 0, 0, false, { 'mine' })
          return ctx.named
        end })
        define('broken', { enabled = function() error('on purpose') end })
        define('odd', { enabled = function() return 'yes' end })
        _G.answers = {
          tools.register_group('pair', { tools = { 'one', 'two' }, system_prompt = 'Work in pairs.', description = 'Two' }),
          tools.register_group('gone', { tools = { 'one' } }),
          tools.unregister_group('gone'), tools.unregister_group('gone'),
          tools.register_group('bad', { tools = 'one' }),
          tools.get_groups(),
          type(tools.get('mine').enabled), type(tools.get('one').enabled),
        }";
    let replies = [prose(&["first"]), prose(&["second"]), prose(&["third"])];
    let mut chat = Chat::start(&Setup { lua, ..Setup::default() }, replies);
    let groups =
        json!([{ "name": "pair", "tools": ["one", "two"], "description": "Two", "system_prompt": "Work in pairs." }]);
    let answers = chat.nvim.lua("return answers", &[]);
    assert_eq!(answers, json!([true, true, true, false, false, groups, "function", "boolean"]));
    assert!(said(&mut chat.nvim).contains("group `bad`: `tools` must be a list with the names of tools"));
    chat.nvim.wait_for("no drawing to ask", |nvim| nvim.lua("return asked == nil", &[]) == true);
    for (words, reply) in [("", "first"), ("@pair and @mine", "second"), ("use `@pair`", "third")] {
        chat.nvim.input(&format!("Go{words}<Esc><C-]>"));
        chat.nvim.wait_for(reply, |nvim| nvim.text().contains(&format!("@Assistant:\n{reply}")));
        chat.wait_until_idle();
    }
    let builtin = names(&offered(&chat, 0)).join(" ");
    assert_eq!(names(&offered(&chat, 2)).join(" "), builtin);
    let named: Vec<_> =
        names(&offered(&chat, 1)).into_iter().filter(|name| !builtin.contains(name)).map(str::to_owned).collect();
    assert_eq!(named, ["mine", "one", "two"]);
    let bodies: Vec<Value> = (0..3).map(|n| chat.server.wait_for_requests(n + 1)[n].json()).collect();
    assert_eq!(bodies[0]["tools"], bodies[2]["tools"]);
    assert!(bodies[1]["system"].to_string().contains("Work in pairs."), "{}", bodies[1]["system"]);
    assert!(bodies[0]["system"].is_null() && bodies[2]["system"].is_null());
    assert_eq!(chat.nvim.lua("return { asked.bufnr, written }", &[]), json!([1, false]));
    let said = said(&mut chat.nvim);
    for words in
        ["the tool `broken`: `enabled` failed: ", "the tool `odd`: `enabled` returned a string, not true or false"]
    {
        assert_eq!(said.matches(words).count(), 1, "{said}");
    }
    assert!(!said.contains("traceback"), "{said}");
}
