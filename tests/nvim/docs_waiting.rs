//! The chapter of the help on calls that wait: its examples and tables, in a real editor.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Output},
};

use serde_json::{Value, json};

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
    docs::{annotated, file, help},
    http::Reply,
    support::Nvim,
};

/// The code block of the chapter that contains `text`.
fn example(language: &str, text: &str) -> String {
    let help = help();
    let chapter = help.split("*flemma-waiting*").nth(1).unwrap().split("\n====").next().unwrap().to_owned();
    let begin = format!(">{language}\n");
    let blocks = chapter.split(&begin).skip(1);
    let mut code = blocks.map(|rest| rest.split("\n<").next().unwrap().to_owned());
    code.find(|code| code.contains(text)).unwrap_or_else(|| panic!("no {language} example with {text}"))
}

/// The first words of the rows of the table behind a tag.
fn rows(tag: &str) -> BTreeSet<String> {
    let help = help();
    let section = help.split(&format!("*{tag}*")).nth(1).unwrap().split("\n\n\t\t\t").next().unwrap().to_owned();
    let rows = section.lines().filter_map(|line| line.strip_prefix("\t`"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

fn keys(table: &Value) -> BTreeSet<String> {
    table.as_object().unwrap().keys().cloned().collect()
}

/// A reply with these calls, whose ids are `toolu_01` and so on.
fn calls<'a>(all: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    let mut stream = Stream::new();
    for (index, (tool, input)) in all.into_iter().enumerate() {
        stream = stream.tool_use(&format!("toolu_0{}", index + 1), tool, &[&input.to_string()]);
    }
    reply(&stream.end("tool_use"))
}

/// The kinds of the calls that wait in the current buffer.
fn pending(nvim: &mut Nvim) -> Vec<String> {
    let found = nvim.lua("return require('flemma.tools').pending(0)", &[]);
    let kinds = found.as_array().into_iter().flatten();
    kinds.map(|call| format!("{} {}", call["tool"].as_str().unwrap(), call["kind"].as_str().unwrap())).collect()
}

/// Another editor with the home of the first one, on the file of its conversation.
fn again(first: &Chat, replies: impl IntoIterator<Item = Reply>) -> Chat {
    Chat::another(first, &first.nvim.work().join("notes.chat"), ("", ""), replies)
}

#[test]
fn the_examples_in_lua_resolve_every_kind_of_call() {
    // What the user picks and types; the picker takes the first call, and `yes` in the form.
    let stubs = "_G.typed = { '8080', 'sqlite' }
        vim.g.mapleader = ' '
        vim.ui.select = function(items, _, on_choice) on_choice(items[1], 1) end
        vim.ui.input = function(_, on_confirm) on_confirm(table.remove(typed, 1)) end";
    let examples = ["choose_port", "<Leader>w", "send_report"].map(|text| example("lua", text));
    let lua = format!("{stubs}\n{}", examples.join("\n"));
    let port = json!({ "question": "Where?" });
    let ask = json!({ "question": "Which database?", "options": null, "default": null });
    let all = [("send_report", json!({})), ("choose_port", port), ("ask_user", ask)];
    let mut chat = Chat::start(&Setup { lua: &lua, ..Setup::default() }, [calls(all), prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    let kinds = ["send_report approval", "choose_port elicitation", "ask_user elicitation"];
    chat.nvim.wait_for("three calls", |nvim| pending(nvim) == kinds);
    chat.wait_until_idle();

    // The block and the list say what the help says.
    let call = chat.nvim.lua("return require('flemma.tools').pending()[2]", &[]);
    let fields = rows("flemma.tools.pending()");
    assert_eq!(keys(&call), fields);
    assert_eq!(annotated(&file("lua/flemma/types.lua"), "flemma.PendingCall"), fields);
    let now = chat.nvim.lua("return os.time()", &[]).as_f64().unwrap();
    let left = call["expires"].as_f64().unwrap() - now;
    assert!((3500.0..=3601.0).contains(&left), "an hour, and not {left} s");
    let text = chat.nvim.text();
    let block = text.lines().find(|line| line.contains("question=Where?") || line.contains("question=\"Where?\""));
    let block = block.unwrap_or_else(|| panic!("no question in\n{text}"));
    assert!(block.starts_with("```flemma:tool status=pending kind=elicitation executor=human expires=2"), "{block}");
    let words = block.split_whitespace().filter_map(|word| Some(word.split_once('=')?.0.to_owned()));
    let documented = rows("flemma-waiting-block");
    assert!(words.filter(|word| word != "status").all(|word| documented.contains(&word)), "{documented:?}");

    // The key approves the first call, and opens the forms of the others.
    chat.nvim.input("<Space>w");
    chat.nvim.wait_for("the tool", |nvim| nvim.text().contains("sent for the script"));
    chat.nvim.input("<Space>w");
    chat.nvim.wait_for("the first form", |nvim| pending(nvim) == ["ask_user elicitation"]);
    chat.nvim.input("<Space>w");
    chat.nvim.wait_for("the last reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let sent = chat.messages(1)[2]["content"].clone();
    let results: Vec<&str> =
        sent.as_array().unwrap().iter().map(|part| part["content"].as_str().unwrap().trim_end()).collect();
    assert_eq!((results[0], results[2]), ("sent for the script", "sqlite"));
    let port: Value = serde_json::from_str(results[1]).unwrap();
    assert_eq!(port, json!({ "port": 8080, "public": true }));
}

/// A call that waits for an answer, in a file from an earlier session.
const QUESTION: &str = "@You:\nHello\n\n@Assistant:\n**Tool Use:** `ask_user` (`toolu_01`)\n\n```json\n\
    {\"question\":\"Which port?\",\"options\":null,\"default\":null}\n```\n\n@You:\n**Tool Result:** `toolu_01`\n\n\
    ```flemma:tool status=pending kind=elicitation executor=human question=\"Which port?\"\n```\n";

/// Runs a script for the shell as the user of this editor.
pub fn run_in_shell(chat: &Chat, script: &str) -> Output {
    let nvim = std::env::var_os("FLEMMA_NVIM").filter(|path| !path.is_empty()).unwrap_or_else(|| "nvim".into());
    let init = chat.nvim.folder("init.lua");
    // The user's own configuration, which the tests do not keep where Neovim looks for it.
    let script = format!("nvim() {{ timeout 20 \"$NVIM_PROGRAM\" --clean -u \"$INIT\" \"$@\"; }}\n{script}");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).current_dir(chat.nvim.work()).env_clear();
    for name in ["PATH", "LD_LIBRARY_PATH", "FLEMMA_NATIVE"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.env("NVIM_PROGRAM", nvim).env("INIT", init).env("HOME", chat.nvim.folder(""));
    command.env("XDG_STATE_HOME", chat.nvim.folder("state")).env("XDG_DATA_HOME", chat.nvim.folder("data"));
    command.env("XDG_RUNTIME_DIR", chat.nvim.folder("run")).env("LC_ALL", "C.UTF-8").output().unwrap()
}

#[test]
fn the_example_for_the_shell_answers_a_closed_file_once() {
    let mut chat = Chat::start(&Setup { text: Some(QUESTION), ..Setup::default() }, []);
    let settled = "return require('flemma.native').call('state', vim.fn.bufnr(), 'settled')";
    chat.nvim.wait_for("the lock", |nvim| nvim.lua(settled, &[]) == true);
    chat.nvim.wait_for("the call", |nvim| pending(nvim) == ["ask_user elicitation"]);
    let script = example("sh", "headless");
    let run = |chat: &Chat| {
        let output = run_in_shell(chat, &script);
        let said = String::from_utf8_lossy(&output.stderr).replace('\r', "");
        // One sentence, on a line that ends.
        assert!(output.stdout.is_empty() && said.lines().count() == 1 && said.ends_with('\n'), "{output:?}");
        (said, output.status.code())
    };
    let (held, code) = run(&chat);
    assert!(held.contains("is open in another Neovim") && !held.contains("Flemma:"), "{held}");
    assert_eq!(code, Some(1), "{held}");
    let _ = chat.nvim.try_lua("vim.cmd('qall!')", &[]);
    chat.nvim.wait_for_exit();
    assert_eq!(chat.nvim.file("notes.chat"), QUESTION);

    let (answered, code) = run(&chat);
    assert_eq!(code, Some(0), "{answered}");
    assert_eq!(answered, "answered\n");
    let after = chat.nvim.file("notes.chat");
    assert!(after.ends_with("**Tool Result:** `toolu_01`\n\n```\n8080\n```\n"), "{after}");
    let (stale, code) = run(&chat);
    assert_eq!(stale, "stale\n");
    assert_eq!(code, Some(1), "{stale}");
    assert_eq!((chat.nvim.file("notes.chat"), chat.server.requests().len()), (after, 0));

    // A path that leads nowhere is another mistake.
    fs::write(chat.nvim.work().join("notes.lua"), "").unwrap();
    for (path, problem) in [
        ("nofile.chat", "there is no file nofile.chat"),
        ("no/folder.chat", "there is no file no/folder.chat"),
        (".", "there is no file ."),
        ("notes.lua", "notes.lua is not a conversation"),
    ] {
        let output = run_in_shell(&chat, &script.replace("notes.chat", path));
        let said = String::from_utf8_lossy(&output.stderr).replace('\r', "");
        assert_eq!((said, output.status.code()), (format!("{problem}\n"), Some(1)), "{path}");
    }

    let mut chat = again(&chat, [prose(&["fine"])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    assert!(chat.messages(0)[2]["content"][0]["content"].to_string().contains("8080"), "{}", chat.messages(0));
}

#[test]
fn a_message_after_a_prompt_begins_a_line_without_a_screen() {
    let expired = QUESTION.replace("executor=human", "executor=human expires=2020-01-01T00:00:00Z");
    let chat = Chat::start(&Setup::default(), []);
    fs::write(chat.nvim.work().join("late.chat"), expired).unwrap();
    // A question of Flemma, and a tool's own prompt whose answer is passed on too late.
    let ways = [
        "require([[flemma.form]]).open(0, [[toolu_01]])",
        "vim.ui.input({ prompt = [[Name? ]] }, function(text)
           require([[flemma.host]]).perform([[refuse_late]], vim.fn.bufnr(), [[ask_user]], [[toolu_01]], text)
         end)",
    ];
    for way in ways {
        let script = format!(
            "nvim -n --headless late.chat -c 'lua vim.api.nvim_feedkeys(\"half typed\\r\", \"nt\", false) {way}
             vim.wait(30000, function() return vim.fn.execute([[messages]]):find([[not answered]]) end)' -c 'qall!'"
        );
        let output = run_in_shell(&chat, &script);
        let shown = String::from_utf8_lossy(&output.stderr).replace('\r', "\n");
        assert!(shown.contains("half typed"), "{shown}");
        assert!(shown.lines().any(|line| line.starts_with("Flemma: ask_user (toolu_01): not answered")), "{shown}");
    }
}

#[test]
fn what_is_recorded_is_in_the_file_when_a_headless_editor_goes() {
    let expired = QUESTION.replace("executor=human", "executor=human expires=2020-01-01T00:00:00Z");
    let mut chat = Chat::start(&Setup::default(), []);
    let _ = chat.nvim.try_lua("vim.cmd('qall!')", &[]);
    chat.nvim.wait_for_exit();
    let resolve = "tools.resolve(FILE, [[toolu_01]], { answer = [[8080]] }";
    let wait = "vim.wait(9000, function() return done end)";
    // The way the file is opened, what is asked of it, how the editor goes, and what the file has then.
    let late = "```\nThe user did not respond in time.\n```\n";
    let cases = [
        (&expired[..], "case.chat", format!("print({resolve}))"), "wqa", late),
        (&expired[..], "", format!("print({resolve}))"), "wqa", late),
        (&expired[..], "", format!("print({resolve}))"), "cquit 0", late),
        (QUESTION, "", format!("print({resolve}))"), "qall!", "```\n8080\n```\n"),
        // A callback that is not waited for gets no answer, and nothing is sent any more.
        (QUESTION, "", format!("{resolve}, error)"), "qall!", "question=\"Which port?\"\n```\n"),
        (QUESTION, "", format!("{resolve}, function() done = 1 end) {wait}"), "qall!", "```\n8080\n```\n"),
        (QUESTION, "case.chat", format!("{resolve}, function() done = 1 end) {wait}"), "qall!", "```\n8080\n```\n"),
    ];
    for (index, (text, argument, code, end, result)) in cases.iter().enumerate() {
        let name = format!("case-{index}.chat");
        fs::write(chat.nvim.work().join(&name), text).unwrap();
        let code = code.replace("FILE", &format!("[[{name}]]"));
        let argument = argument.replace("case.chat", &name);
        let script =
            format!("nvim -n --headless {argument} -c 'lua local tools = require([[flemma.tools]]) {code}' -c '{end}'");
        let output = run_in_shell(&chat, &script);
        let after = chat.nvim.file(&name);
        assert!(output.status.success(), "{script}: {output:?}");
        assert!(after.ends_with(result), "{script}: {output:?}\n{after}");
        assert!(!chat.nvim.work().join(format!(".{name}.flemma-lock")).exists());
    }
    assert_eq!(chat.server.requests().len(), 0);
}

#[test]
fn an_interrupted_call_asks_as_the_help_says() {
    let command = json!({ "label": null, "command": "echo ran >> ran; sleep 60", "timeout": null });
    let mut chat = Chat::start(&Setup::default(), [calls([("bash", command)])]);
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the call", |nvim| pending(nvim) == ["bash approval"]);
    chat.wait_until_idle();
    chat.nvim.input("<M-CR>");
    let (file, ran) = (chat.nvim.work().join("notes.chat"), chat.nvim.work().join("ran"));
    chat.nvim.wait_for("the command and the file", |_| {
        fs::read_to_string(&ran).is_ok_and(|text| text == "ran\n")
            && fs::read_to_string(&file).is_ok_and(|text| text.contains("status=running"))
    });
    // The journal is the user's alone, and has no input.
    let journal = chat.nvim.folder("state").join("nvim/flemma/journal");
    let listed = Command::new("ls").arg("-ldn").arg(&journal).output().unwrap();
    assert!(listed.stdout.starts_with(b"drwx------"), "{listed:?}");
    let records = fs::read_dir(&journal).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let records: String = records.collect();
    assert!(records.contains("\"event\":\"started\"") && !records.contains("sleep 60"), "{records}");
    chat.nvim.kill();

    let mut second = again(&chat, [prose(&["fine"])]);
    second.nvim.wait_for("the question", |nvim| nvim.text().contains("Run it again?"));
    assert_eq!(pending(&mut second.nvim), ["bash approval"]);
    // The card says so too, and the question is on the screen while the cursor is elsewhere.
    second.nvim.input("gg");
    second.nvim.wait_for("the card and the question", |nvim| {
        let rows = nvim.screen();
        rows.iter().any(|row| row.starts_with(" ? bash") && row.ends_with("interrupted"))
            && rows.iter().any(|row| row.starts_with("It was interrupted") && row.ends_with("Run it again?"))
            && rows.iter().any(|row| row == "  gA run again  gX reject")
    });
    second.go_to("Run it again?");
    second.nvim.command("Flemma tool:reject");
    second.nvim.wait_for("the reply", |nvim| nvim.text().contains("@Assistant:\nfine"));
    let told = second.messages(0)[2]["content"].to_string();
    assert!(told.contains("it is not known whether it had an effect"), "{told}");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n", "{}", said(&mut second.nvim));
}

#[test]
fn what_ran_and_was_never_written_is_named() {
    let command = json!({ "label": null, "command": "echo ran", "timeout": null });
    let setup = Setup {
        options: "editing = { auto_write = false }, tools = { auto_approve = { 'bash' } }",
        ..Setup::default()
    };
    let mut chat = Chat::start(&setup, [calls([("bash", command)]), prose(&["fine"])]);
    chat.send_until("@Assistant:\nfine");
    chat.nvim.kill();

    let mut second = again(&chat, []);
    second.nvim.wait_for("the message", |nvim| said(nvim).contains("tools have run whose calls are not in this file"));
    let told = said(&mut second.nvim);
    assert!(told.contains("`bash` (toolu_01, "), "{told}");
    // A file that was written since lacks them because the user wants it so.
    second.nvim.command("silent write");
    let _ = second.nvim.try_lua("vim.cmd('qall!')", &[]);
    second.nvim.wait_for_exit();
    let mut third = again(&chat, []);
    third.nvim.wait_for("the journal", |nvim| {
        nvim.lua("return require('flemma.native').call('state', vim.fn.bufnr(), 'settled')", &[]) == true
    });
    assert!(!said(&mut third.nvim).contains("not in this file"), "{}", said(&mut third.nvim));
}
