//! Approval: the chain of resolvers, and the user's own decisions.

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
};

/// `flemma.tools.approval`.resolve for a call of `bash`.
fn resolve(chat: &mut Chat, command: &str) -> Value {
    let code = "return { require('flemma.tools.approval').resolve('bash', { command = ... }) }";
    chat.nvim.lua(code, &[json!(command)])
}

fn bash(command: &str) -> Value {
    json!({ "command": command, "timeout": null, "label": null })
}

/// A reply that calls `bash` once for each command.
fn commands(commands: &[&str]) -> super::http::Reply {
    let mut stream = Stream::new();
    for (index, command) in commands.iter().enumerate() {
        stream = stream.tool_use(&format!("toolu_{index}"), "bash", &[&bash(command).to_string()]);
    }
    reply(&stream.end("tool_use"))
}

/// A conversation that waits for a decision about these commands.
fn waiting(which: &[&str], setup: &Setup<'_>) -> Chat {
    let mut chat = Chat::start(setup, [commands(which), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    let count = which.len();
    chat.nvim.wait_for("the status blocks", |nvim| nvim.text().matches("status=pending").count() == count);
    chat.wait_until_idle();
    chat
}

/// The result of each call in the next request.
fn results(chat: &mut Chat) -> Vec<String> {
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let results = chat.messages(1)[2]["content"].as_array().unwrap().clone();
    results.iter().map(|result| result["content"].as_str().unwrap_or_default().trim_end().to_owned()).collect()
}

#[test]
fn the_chain_of_resolvers_is_as_documented() {
    let setup = Setup { options: "tools = { require_approval = false }", ..Setup::default() };
    let mut chat = Chat::start(&setup, []);
    let entries = chat.nvim.lua(
        "return vim.tbl_map(function(entry) return { entry.name, entry.priority } end, require('flemma.tools.approval').get_all())",
        &[],
    );
    assert_eq!(
        entries,
        json!([
            ["urn:flemma:approval:config", 100],
            ["urn:flemma:approval:frontmatter", 90],
            ["urn:flemma:approval:catch-all", 0],
            ["urn:flemma:approval:declared", -10],
        ])
    );
    let looks = chat.nvim.lua(
        r#"
        local approval = require("flemma.tools.approval")
        local before = approval.count()
        approval.register("my_plugin:security_policy", {
          description = "Block dangerous bash commands",
          resolve = function(tool_name, input, context)
            if tool_name == "bash" and input.command:match("rm %-rf") then
              return "deny"
            end
            return nil  -- pass to next resolver
          end,
        })
        local mine = approval.get("my_plugin:security_policy")
        mine.priority = 1000
        local again = approval.get("my_plugin:security_policy")
        local alone = { mine.resolve("bash", { command = "rm -rf /" }), mine.resolve("bash", { command = "ls" }) or "nothing" }
        local found = approval.unregister("my_plugin:security_policy")
        return {
          before, approval.count(), mine.description, again.priority, alone,
          found, approval.unregister("my_plugin:security_policy"), approval.get("my_plugin:security_policy") == nil,
          approval.get("urn:flemma:approval:config").resolve("read", {}),
        }
        "#,
        &[],
    );
    assert_eq!(
        looks,
        json!([4, 4, "Block dangerous bash commands", 50, ["deny", "nothing"], true, false, true, "approve"])
    );
}

#[test]
fn resolvers_outlive_setup_and_are_skipped_when_they_fail() {
    let mut chat = Chat::start(&Setup::default(), []);
    assert_eq!(resolve(&mut chat, "ls"), json!(["require_approval"]));
    let register = |chat: &mut Chat, name: &str, fields: &str| {
        chat.nvim.lua(&format!("require('flemma.tools.approval').register('{name}', {{ {fields} }})"), &[]);
    };
    register(
        &mut chat,
        "strict",
        "resolve = function(_, input) if input.command:match('rm') then return 'deny' end end, priority = 200",
    );
    register(&mut chat, "lenient", "resolve = function() return 'approve' end");
    assert_eq!(resolve(&mut chat, "rm x"), json!(["deny", "strict"]));
    assert_eq!(resolve(&mut chat, "ls"), json!(["approve", "lenient"]));
    chat.nvim.lua("require('flemma').setup({ logging = { enabled = true, path = 'flemma.log' } })", &[]);
    assert_eq!(resolve(&mut chat, "ls"), json!(["approve", "lenient"]));
    // A resolver is replaced by name. Invalid answers and errors are not decisions.
    for (fields, words) in [
        ("resolve = function() return true end", "returned true, a boolean"),
        ("resolve = function() return 'yes' end", "returned \\\"yes\\\""),
        ("resolve = function() error('broken') end", "broken"),
    ] {
        register(&mut chat, "lenient", fields);
        assert_eq!(resolve(&mut chat, "ls"), json!(["require_approval"]), "{fields}");
        let words = words.replace('\\', "");
        chat.nvim.wait_for("the log", |nvim| {
            let log = std::fs::read_to_string(nvim.work().join("flemma.log")).unwrap_or_default();
            log.contains("the approval resolver `lenient` failed and was skipped") && log.contains(&words)
        });
    }
    // A resolver may change the chain while it decides.
    register(
        &mut chat,
        "lenient",
        "resolve = function() require('flemma.tools.approval').unregister('lenient') return 'approve' end",
    );
    assert_eq!(resolve(&mut chat, "ls"), json!(["approve", "lenient"]));
    assert_eq!(resolve(&mut chat, "ls"), json!(["require_approval"]));
}

#[test]
fn the_documented_configurations_work_unchanged() {
    let decides = |options: &str, expected: [&str; 5]| {
        let mut chat = Chat::start(&Setup { options, ..Setup::default() }, []);
        let code = "return vim.tbl_map(function(call)
            return (require('flemma.tools.approval').resolve(call[1], { command = call[2] }))
          end, { { 'bash', 'ls' }, { 'bash', 'rm -rf /' }, { 'read' }, { 'write' }, { 'calculator' } })";
        // While the disk does not answer, calls are asked about.
        chat.nvim.wait_for("the decisions", |nvim| nvim.lua(code, &[]) == json!(expected));
        assert_eq!(chat.nvim.messages(), "");
    };
    let (yes, ask, deny) = ("approve", "require_approval", "deny");
    decides("", [ask, ask, yes, yes, ask]);
    decides(
        "tools = {
               -- Preset references and tool names can be mixed freely
               auto_approve = { \"$readonly\", \"calculator\" },
             }",
        [ask, ask, yes, ask, yes],
    );
    decides(
        "tools = {
               -- Function form for full control
               auto_approve = function(tool_name, input, ctx)
                 if tool_name == \"calculator\" then return true end
                 if tool_name == \"bash\" and input.command:match(\"rm %-rf\") then return \"deny\" end
                 return false  -- require approval
               end,
             }",
        [ask, deny, ask, ask, yes],
    );
    decides(
        "tools = {
               presets = {
                 [\"$yolo\"]    = { approve = { \"bash\", \"read\", \"write\", \"edit\" } },
                 [\"$no-bash\"] = { deny = { \"bash\" } },
               },
               auto_approve = { \"$yolo\", \"$no-bash\" },
             }",
        [deny, deny, yes, yes, ask],
    );
    decides("tools = { require_approval = false }", [yes, yes, yes, yes, yes]);
}

#[test]
fn a_wrong_resolver_is_refused_with_the_fix() {
    let mut chat = Chat::start(&Setup::default(), []);
    for (code, message) in [
        ("register('', { resolve = print })", "the name must be a non-empty string"),
        ("register('x', print)", "`x` must be a table with `resolve`, not a function"),
        ("register('x', {})", "`x`: `resolve` must be a function, not a nil"),
        (
            "register('x', { resolve = print, priority = 'high' })",
            "`x`: `priority` must be a whole number, not \"high\"",
        ),
        (
            "register('x', { resolve = print, priorty = 3 })",
            "`x`: there is no field `priorty`; did you mean `priority`?",
        ),
        ("register('x', { resolve = print, description = 3 })", "`x`: `description` must be a string, not a number"),
    ] {
        let done = chat.nvim.lua(&format!("return require('flemma.tools.approval').{code}"), &[]);
        assert_eq!(done, false, "{code}");
        let message = format!("approval.register: {message}");
        chat.nvim.wait_for(&message, |nvim| said(nvim).contains(&message));
    }
}

#[test]
fn a_module_of_the_users_decides_and_is_its_own_entry() {
    let module = "return { resolve = function(tool, input, ctx)
        vim.g.tool_id = ctx.tool_id
        if tool == 'bash' then return input.command == 'ls' end
        if tool == 'edit' then return 'deny' end
      end }";
    let setup = Setup {
        files: &[("my_policy.lua", module), ("broken_policy.lua", "error('no such thing')")],
        options: "tools = { auto_approve = { 'mine.policy', '$readonly' } }",
        lua: "package.preload['mine.policy'] = function() return dofile('my_policy.lua') end
              package.preload['broken.policy'] = function() return dofile('broken_policy.lua') end",
        ..Setup::default()
    };
    let mut chat = Chat::start(&setup, []);
    let entry = chat
        .nvim
        .lua("local e = require('flemma.tools.approval').get('mine.policy') return { e.priority, e.description }", &[]);
    assert_eq!(entry, json!([100, "a module of tools.auto_approve"]));
    assert_eq!(resolve(&mut chat, "ls"), json!(["approve", "mine.policy"]));
    assert_eq!(resolve(&mut chat, "rm"), json!(["require_approval", "mine.policy"]));
    let others = chat.nvim.lua(
        "local approval = require('flemma.tools.approval')
         return { approval.resolve('edit', {}), approval.resolve('read', {}), approval.resolve('write', {}) }",
        &[],
    );
    assert_eq!(
        others,
        json!(["deny", "approve", "require_approval", "urn:flemma:approval:config"].iter().take(3).collect::<Vec<_>>())
    );

    // The one-word form. A module that does not load requires approval and is reported once.
    chat.nvim.lua("require('flemma').setup({ tools = { auto_approve = 'broken.policy' } })", &[]);
    assert_eq!(resolve(&mut chat, "ls"), json!(["require_approval", "broken.policy"]));
    assert_eq!(resolve(&mut chat, "ls"), json!(["require_approval", "broken.policy"]));
    assert_eq!(chat.nvim.lua("return require('flemma.tools.approval').get('mine.policy') == nil", &[]), true);
    let messages = said(&mut chat.nvim);
    assert_eq!(messages.matches("the module `broken.policy` in tools.auto_approve failed").count(), 1, "{messages}");
}

#[test]
fn a_selection_is_decided_at_once() {
    let mut chat = waiting(&["echo one", "echo two", "echo three"], &Setup::default());
    chat.go_to("**Tool Result:** `toolu_0`");
    chat.nvim.input("V");
    chat.go_to("**Tool Result:** `toolu_1`");
    chat.nvim.input(":Flemma tool:approve<CR>");
    chat.nvim.wait_for("two results", |nvim| nvim.text().contains("\none\n```") && nvim.text().contains("\ntwo\n```"));
    chat.wait_until_idle();
    assert!(chat.nvim.text().contains("status=pending"));
    // The cursor has gone on to what still waits, and a bar is a part of the reason.
    chat.nvim.command("Flemma tool:reject not this one | please");
    assert_eq!(results(&mut chat), ["one", "two", "not this one | please"]);
}

#[test]
fn commands_that_do_not_apply_explain_why() {
    let mut chat = waiting(&["echo one"], &Setup::default());
    chat.nvim.command("1");
    for (command, message) in [
        ("Flemma tool:approve", "no call is pending here"),
        ("Flemma tool:approve forever", "`:Flemma tool:approve` takes only `always`, but was given `forever`"),
        ("1,2Flemma send", "`:Flemma send` takes no range"),
        ("Flemma status now", "`:Flemma status` takes only `all`, but was given `now`"),
    ] {
        chat.nvim.command(command);
        chat.nvim.wait_for(message, |nvim| said(nvim).contains(message));
    }
    let complete = chat.nvim.lua("return vim.fn.getcompletion('Flemma tool:approve ', 'cmdline')", &[]);
    assert_eq!(complete, json!(["always"]));
    assert!(chat.nvim.text().contains("status=pending"));
}

#[test]
fn other_commands_follow_after_a_bar() {
    let mut chat = waiting(&["echo one"], &Setup::default());
    chat.nvim.command("1");
    chat.nvim.command("Flemma status now | let g:never = 1");
    chat.nvim.wait_for("a refusal", |nvim| said(nvim).contains("takes only `all`, but was given `now`"));
    chat.nvim.command("Flemma nosuch|let g:never = 1");
    chat.nvim.wait_for("an unknown command", |nvim| said(nvim).contains("there is no `:Flemma nosuch`"));
    chat.nvim.command("Flemma tool:approve | Flemma nosuch | let g:never = 1");
    assert_eq!(chat.nvim.lua("return vim.g.never or 'unset'", &[]), json!("unset"));
    chat.nvim.input(":Flemma autopilot:status|nosuchcommand<CR>");
    chat.nvim.wait_for("the error of Neovim", |nvim| said(nvim).contains("E492: Not an editor command: nosuchcommand"));
    let messages = chat.nvim.lua("return vim.fn.execute('messages')", &[]).to_string();
    assert!(!messages.contains("traceback") && !messages.contains(".lua:"), "{messages}");

    chat.go_to("**Tool Result:** `toolu_0`");
    chat.nvim.command("Flemma tool:approve|let g:first = 1 | let g:second = 2");
    assert_eq!(chat.nvim.lua("return vim.g.first + vim.g.second", &[]), json!(3));
    assert_eq!(results(&mut chat), ["one"]);
    chat.nvim.command("execute 'Flemma queue \"this | that\"' | let g:third = 3");
    chat.nvim.wait_for("the words", |nvim| nvim.text().contains("\"this | that\""));
    assert_eq!(chat.nvim.lua("return vim.g.third", &[]), json!(3));
}

#[test]
fn one_undo_takes_back_always_and_what_it_approved() {
    let setup = Setup { options: "tools = { autopilot = { enabled = false } }", ..Setup::default() };
    let mut chat = Chat::start(&setup, [commands(&["echo one"])]);
    chat.send_until("**Tool Use:**");
    chat.send_until("status=pending");
    let before = chat.nvim.text();
    chat.nvim.command("Flemma tool:approve always");
    chat.nvim.wait_for("the result", |nvim| nvim.text().contains("\none\n```"));
    chat.wait_until_idle();
    assert!(said(&mut chat.nvim).contains("runs without asking from now on: bash(echo one)"));
    chat.nvim.command("undo");
    assert_eq!(chat.nvim.text(), before);
}

#[test]
fn keys_decide_at_the_call_unless_they_are_switched_off() {
    let mut chat = waiting(&["echo one", "echo two"], &Setup::default());
    chat.go_to("**Tool Result:** `toolu_0`");
    chat.nvim.input("gX");
    chat.nvim.wait_for_screen("Reason, for the model");
    chat.nvim.input("too noisy<CR>");
    chat.nvim.wait_for("the rejection", |nvim| nvim.text().contains("too noisy"));
    chat.nvim.wait_for("no prompt", |nvim| nvim.row_with("Reason, for the model").is_none());
    chat.go_to("**Tool Result:** `toolu_1`");
    chat.nvim.input("gA");
    let results = results(&mut chat);
    assert!(results[0].contains("too noisy") && results[1] == "two", "{results:?}");

    // Escape decides nothing.
    let mut chat = waiting(&["echo one"], &Setup::default());
    chat.go_to("**Tool Result:** `toolu_0`");
    chat.nvim.input("gX");
    chat.nvim.wait_for_screen("Reason, for the model");
    chat.nvim.input("<Esc>");
    chat.nvim.wait_for("Normal mode", |nvim| nvim.mode() == "n");
    assert!(chat.nvim.text().contains("status=pending"));
    let keys = "return require('flemma.view.previews').keys[vim.api.nvim_get_current_buf()].tool_approve";
    assert_eq!(chat.nvim.lua(keys, &[]), "gA");
    // And similar ones from now on.
    chat.nvim.input("gY");
    chat.nvim.wait_for("the rule", |nvim| nvim.text().starts_with("```lua\nflemma.opt.tools.auto_approve:append("));
    assert_eq!(results_of(&mut chat), "one");

    let options = "keymaps = { enabled = false }";
    let mut chat = Chat::start(&Setup { options, ..Setup::default() }, [commands(&["echo one"]), prose(&["fine"])]);
    chat.nvim.command("Flemma send");
    chat.nvim.wait_for("the status block", |nvim| nvim.text().contains("status=pending"));
    chat.wait_until_idle();
    for key in ["gA", "gX", "gY", "gK"] {
        assert_eq!(chat.nvim.lua("return vim.fn.maparg(..., 'n')", &[json!(key)]), "", "{key}");
    }
    assert_eq!(chat.nvim.lua(keys, &[]), Value::Null);
    chat.go_to("**Tool Result:** `toolu_0`");
    chat.nvim.command("execute \"normal \\<Plug>(flemma-tool-approve)\"");
    assert_eq!(results_of(&mut chat), "one");
}

/// The result of the only call, in the file.
fn results_of(chat: &mut Chat) -> String {
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let text = chat.nvim.text();
    let (_, result) = text.split_once("**Tool Result:** `toolu_0`").expect("a result");
    result.lines().find(|line| !line.is_empty() && !line.starts_with('`')).unwrap_or_default().to_owned()
}
