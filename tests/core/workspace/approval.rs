//! Approval: rules and policies in a workspace, and the user's own decisions.

use std::rc::Rc;

use flemma_tools::{
    LuaError,
    approval::{Decision, Resolve},
};
use flemma_workspace::{Command, ports::Question};
use serde_json::{Value, json};

use super::{
    harness::{Harness, Setup, bash, calls, commands, prose},
    scripts::text,
};

/// A conversation that waits for a decision about these commands.
fn waiting(which: &[&str], setup: Setup<'_>) -> Harness {
    let chat = Harness::start(setup, [commands(which), prose("fine")]);
    chat.go();
    chat.wait_for_pending(which.len());
    chat
}

/// A file with a call of `bash` that has this block in place of its result.
fn with_block(command: &str, block: &str) -> String {
    format!(
        "@You:\nHello\n\n@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n\
         ```flemma:tool {block}\n```",
        bash(command)
    )
}

fn decide(chat: &Harness, command: &str) -> Decision {
    chat.decision("bash", bash(command)).0
}

#[test]
fn decisions_run_or_answer_calls_and_then_send() {
    let chat = waiting(&["echo one", "echo two", "echo three"], Setup::default());
    let cursor = chat.buffer().cursor.get().unwrap();
    assert!(chat.buffer().lines()[cursor.line + 2].contains("status=pending"), "the cursor is on the first");
    chat.approve("Tool Result:** `call_0`");
    chat.wait_for_pending(2);
    chat.reject("Tool Result:** `call_1`", Some("not this one | please"));
    assert_eq!(chat.sent(), 1, "one still waits");
    chat.approve("Tool Result:** `call_2`");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["one", "Error: not this one | please", "three"]);
}

#[test]
fn lines_are_decided_about_at_once() {
    let chat = waiting(&["echo one", "echo two", "echo three"], Setup::default());
    let lines = chat.line_with("Tool Result:** `call_0`")..chat.line_with("Tool Result:** `call_1`") + 1;
    chat.press(Command::Decide { lines, choice: flemma_agent::Choice::Approve });
    chat.wait_for_pending(1);
    chat.reject("Tool Result:** `call_2`", None);
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["one", "two", "Error: The user rejected this call; it did not run."]);
}

/// The edit is kept, the model hears nothing of it, and the call runs when it is corrected.
#[test]
fn a_call_with_a_typo_in_its_input_waits() {
    let chat = waiting(&["echo one"], Setup::default());
    let line = chat.line_with("\"echo one\"");
    let right = chat.buffer().lines()[line].clone();
    chat.replace_line(line, &right.replace('}', ""));
    chat.approve("Tool Result:** `call_0`");
    chat.settle();
    let told = format!("error: No tool was run: line {}: The input of the call `call_0` is not valid JSON", line + 1);
    assert!(chat.told().iter().any(|words| words.starts_with(&told)), "{:?}", chat.told());
    assert!(chat.text().contains("status=pending") && chat.sent() == 1, "{}", chat.text());
    chat.replace_line(line, &right);
    chat.approve("Tool Result:** `call_0`");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["one"]);
}

/// The rejection comes before the approval is on the disk.
#[test]
fn a_rejection_right_after_an_approval_counts() {
    for is_leaving in [false, true] {
        let chat = waiting(&["touch one", "touch two"], Setup::default());
        chat.approve("Tool Result:** `call_0`");
        chat.approve("Tool Result:** `call_1`");
        chat.reject("Tool Result:** `call_0`", Some("not that"));
        if is_leaving {
            chat.workspace.wind_up();
            let text = chat.text();
            assert!(text.contains("not that") && text.matches("status=approved").count() == 1, "{text}");
            let chat = chat.kill(&(text + "\n"), json!({}), [prose("fine")]);
            let buffer = chat.edit("notes.chat");
            chat.drain_until("the journal", |chat| chat.workspace.is_settled(buffer));
            chat.go();
            chat.wait_for("@Assistant:\nfine");
            assert_eq!(chat.results(0), ["Error: not that", "(no output)"]);
            assert!(!chat.work("one").exists() && chat.work("two").exists());
            continue;
        }
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(chat.results(1), ["Error: not that", "(no output)"]);
        assert!(!chat.work("one").exists() && chat.work("two").exists());
        assert!(!chat.told().iter().any(|told| told.contains("no pending call")), "{:?}", chat.told());
    }
}

#[test]
fn always_for_a_command_is_a_rule_about_its_words() {
    let replies = [commands(&["echo 'one two' && true"]), commands(&["echo 'one two'"]), commands(&["echo three"])];
    let chat = Harness::new("@You:\nHello", replies);
    chat.go();
    chat.wait_for_pending(1);
    chat.always("Tool Result");
    chat.drain_until("another command to wait", |chat| {
        chat.text().contains("echo three") && chat.text().contains("status=pending")
    });
    assert_eq!(
        chat.buffer().lines()[..4].join("\n"),
        "```lua\nflemma.opt.tools.auto_approve:append(\"bash(echo 'one two')\")\n\
         flemma.opt.tools.auto_approve:append(\"bash(true)\")\n```"
    );
    assert!(
        chat.told().contains(&"info: runs without asking from now on: bash(echo 'one two'), bash(true)".to_owned())
    );
    assert_eq!(chat.questions(), 0, "what Flemma wrote for the user is theirs");
}

#[test]
fn always_stands_in_the_file_and_can_be_taken_back() {
    let replies = [calls([("mine", json!({}))]), calls([("mine", json!({}))]), prose("fine")];
    let chat = Harness::new("@You:\nHello", replies);
    chat.register("mine", |_, answer| {
        answer.finish(text("done"));
        None
    });
    chat.go();
    chat.wait_for_pending(1);
    chat.always("Tool Result");
    chat.wait_for("@Assistant:\nfine");
    let begins = "```lua\nflemma.opt.tools.auto_approve:append(\"mine\")\n```\n\n@You:\nHello\n";
    assert!(chat.text().starts_with(begins), "{}", chat.text());
    let file = Some("urn:flemma:approval:frontmatter".to_owned());
    assert_eq!(chat.decision("mine", json!({})), (Decision::Approve, file));
    chat.delete(0..4);
    assert_eq!(chat.decision("mine", json!({})), (Decision::RequireApproval, None));
}

#[test]
fn always_writes_nothing_where_it_would_do_nothing() {
    let policy = Setup { policy: Some(Rc::new(|_| Ok(Some(Decision::RequireApproval)))), ..Setup::default() };
    let why = "not approved: `flemma.opt.tools.auto_approve`: the configuration uses a function";
    let no_rule = "not approved: no rule can cover this call of `bash`";
    for (command, setup, why) in [("echo one", policy, why), ("bash -c 'echo one'", Setup::default(), no_rule)] {
        let chat = waiting(&[command], setup);
        let before = chat.text();
        // The keys below the card do not offer it.
        let keys = &chat.workspace.views.previews(&chat.conversation(), 80, 0).0[0].keys;
        assert_eq!(keys[..], [("tool_approve", "approve"), ("tool_reject", "reject")]);
        chat.always("Tool Result");
        chat.wait_for_words(why);
        assert_eq!(chat.text(), before);
    }
}

#[test]
fn always_does_not_answer_a_question() {
    let question = json!({ "label": null, "question": "Which one?", "options": null, "default": null });
    let chat = Harness::start(Setup::default(), [calls([("ask_user", question)])]);
    chat.go();
    chat.wait_for_pending(1);
    chat.always("status=pending");
    chat.wait_for_words("`ask_user` asks you a question; press Alt-Enter to answer it");
    assert!(!chat.text().contains("auto_approve"), "{}", chat.text());
}

#[test]
fn statuses_edited_by_hand_do_what_they_say() {
    let chat = waiting(&["echo one", "echo two", "echo three"], Setup::default());
    let set = |call: &str, from: &str, to: &str| {
        let line = chat.line_with(&format!("Tool Result:** `{call}`")) + 2;
        let words = chat.buffer().lines()[line].replace(from, to);
        chat.replace_line(line, &words);
    };
    // An unknown status stops everything, whichever key or command is used, and nothing is written.
    set("call_0", "pending", "no");
    let before = chat.text();
    let line = chat.line_with("status=no");
    let here = || "status=no";
    chat.told();
    let presses: [&dyn Fn(); 5] =
        [&|| chat.go(), &|| chat.execute(here()), &|| chat.approve(here()), &|| chat.always(here()), &|| {
            chat.reject(here(), None)
        }];
    for press in presses {
        press();
        let why = format!("No tool was run: line {}: There is no status `no`.", line + 1);
        let told = chat.told();
        assert!(told.iter().any(|told| told.contains(&why)), "{told:?}");
        assert_eq!(chat.text(), before);
    }
    set("call_0", "=no", "=approved");
    set("call_1", "pending", "reject");
    chat.type_at(chat.line_with("status=reject") + 1, "I don't want that.");
    chat.go();
    chat.drain_until("two results", |chat| {
        chat.text().contains("(error)") && chat.text().contains("one\n```") && !chat.conversation().is_busy()
    });
    let cursor = chat.buffer().cursor.get().unwrap();
    assert!(chat.buffer().lines()[cursor.line + 2].contains("status=pending"), "the cursor is on what still waits");
    assert_eq!(chat.sent(), 1);
    chat.execute("status=pending");
    chat.wait_for("@Assistant:\nfine");
    assert_eq!(chat.results(1), ["one", "Error: I don't want that.", "three"]);
}

#[test]
fn what_runs_is_what_was_approved() {
    let chat = waiting(&["echo one"], Setup::default());
    chat.replace("status=pending", "status=approved");
    chat.replace("echo one", "touch ran");
    chat.go();
    let told = chat.told();
    let words = "bash (call_0): its input was changed after the approval";
    assert!(told.iter().any(|told| told.contains(words)), "{told:?}");
    assert!(chat.text().contains("status=pending"));
    assert!(!chat.work("ran").exists());
}

#[test]
fn undo_does_not_make_a_foreign_approval_count() {
    let text = with_block("touch ran", "status=approved");
    let chat = Harness::new(&text, [prose("fine")]);
    for _ in 0..2 {
        chat.go();
        chat.wait_for_pending(1);
        chat.undo();
        assert!(chat.text().contains("status=approved"));
    }
    assert!(!chat.work("ran").exists());
    // An approval typed by the user counts.
    chat.replace("status=approved", "status=pending");
    chat.replace("status=pending", "status=approved");
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    assert!(chat.work("ran").exists());
}

#[test]
fn a_pending_call_that_mentions_approval_can_be_approved() {
    let chat = Harness::new(&with_block("touch ran", "status=pending note=\"approved by me\""), [prose("ok")]);
    chat.replace("pending", "approved");
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert!(chat.work("ran").exists());
}

/// A stranger's conversation lies beside a repository of theirs, whose configuration runs a program.
#[test]
fn a_command_is_judged_for_the_folder_in_which_it_runs() {
    use Decision::{Approve, RequireApproval};
    let config = "[core]\n\tfsmonitor = \"touch /tmp/owned\"\n";
    for (own, here, there) in
        [(Value::Null, "", "theirs"), (json!("theirs"), "theirs", ""), (json!("./theirs/"), "theirs", "")]
    {
        let options =
            json!({ "tools": { "auto_approve": ["bash(git status)", "bash(cd *)"], "bash": { "cwd": own } } });
        let files = [("theirs/.git/config", config), ("theirs/.git/HEAD", "ref: refs/heads/main\n")];
        let chat =
            Harness::start(Setup { options, files: &files, ..Setup::default() }, [commands(&["pwd"]), prose("ok")]);
        chat.put("theirs/talk.chat", "@You:\nHello\n");
        chat.edit("theirs/talk.chat");
        let path = |folder: &str| chat.work(folder).components().collect::<std::path::PathBuf>().display().to_string();
        let (here, there) = (path(here), path(there));
        for (command, decision) in [
            ("git status".to_owned(), Approve),
            ("cd . && git status".to_owned(), Approve),
            (format!("cd {here} && git status"), Approve),
            (format!("cd {there} && git status"), RequireApproval),
        ] {
            assert_eq!(decide(&chat, &command), decision, "{command} in {here}");
        }
        // Where it runs is said before that.
        chat.go();
        chat.wait_for_pending(1);
        let (preview, shown) = (chat.previews().remove(0), format!("  in {here}"));
        let is_told = preview.diff.iter().any(|line| shown.starts_with(&line.text));
        let status = chat.workspace.views.status(&chat.conversation()).rows;
        let row = status.iter().find(|row| row.name == "tools.bash.cwd");
        let is_elsewhere = !here.ends_with("theirs");
        assert_eq!(is_told, is_elsewhere, "{preview:?}");
        assert_eq!(
            row.is_some_and(|row| row.value == format!("{here}, not the file's folder")),
            is_elsewhere,
            "{row:?}"
        );
        chat.approve("status=pending");
        chat.wait_for("@Assistant:\nok");
        assert_eq!(chat.results(1), [here]);
    }
}

#[test]
fn rules_speak_of_a_commands_words_and_a_files_place() {
    let rules = json!(["bash(git status)", "bash(cargo test *)", "read(src/**)", "!bash(rm *)"]);
    let options = json!({ "tools": { "auto_approve": rules } });
    let chat = Harness::start(Setup { options, files: &[("src/a.rs", "x")], ..Setup::default() }, []);
    std::os::unix::fs::symlink("/etc", chat.work("src/link")).unwrap();
    use Decision::{Approve, Deny, RequireApproval};
    for (command, decision) in [
        ("git status", Approve),
        ("for own in a; do git status; done", Approve),
        // Commands inherit the environment.
        ("for PATH in a; do git status; done", RequireApproval),
        ("cd sub && git status", RequireApproval),
        ("cargo test --lib && cargo test", Approve),
        ("git status && cargo test x; git status", Approve),
        ("git push", RequireApproval),
        ("git status > out", RequireApproval),
        ("git status; $(git status)", RequireApproval),
        ("git status && rm -rf .", Deny),
        ("env rm x", Deny),
        ("echo `rm x`", Deny),
    ] {
        assert_eq!(decide(&chat, command), decision, "{command}");
    }
    for (path, decision) in [
        ("src/a.rs", Approve),
        ("./src/../src/a.rs", Approve),
        ("src/../notes.chat", RequireApproval),
        ("src/link/passwd", RequireApproval),
        ("/etc/passwd", RequireApproval),
    ] {
        assert_eq!(chat.decision("read", json!({ "path": path })).0, decision, "{path}");
    }
}

#[test]
fn a_misspelt_tool_is_named_when_a_conversation_is_opened() {
    let presets = json!({ "$safe": { "deny": ["raed", "grep(x)", "a_tool_of_a_plugin"] } });
    let options = json!({ "tools": { "auto_approve": ["bahs", "late_tool", "$safe"], "presets": presets } });
    let chat = Harness::start(Setup { options, ..Setup::default() }, [prose("ok")]);
    let typos = [
        "warn: tools.auto_approve: unknown tool `bahs`; did you mean `bash`?",
        "warn: tools.presets.$safe: unknown tool `raed`; did you mean `read`?",
    ];
    assert_eq!(chat.told(), typos);
    // A plugin may still register what is close to nothing, up to the first request.
    chat.define("late_tool", json!({ "executor": "human" }));
    chat.put("other.chat", "@You:\nHello\n");
    chat.edit("other.chat");
    assert_eq!(chat.told(), Vec::<String>::new());
    chat.go();
    chat.wait_for("@Assistant:\nok");
    assert_eq!(chat.told(), ["warn: tools.presets.$safe: unknown tool `a_tool_of_a_plugin`"]);
}

#[test]
fn a_bad_rule_is_an_error_and_keeps_the_options() {
    let chat = Harness::new("@You:\nHello", []);
    for (tools, message) in [
        (json!({ "auto_approve": ["!bash(rm"] }), "tools.auto_approve: the rule `!bash(rm`: it does not end in `)`"),
        (
            json!({ "presets": { "$x": { "deny": ["bash()"] } } }),
            "tools.presets.$x: the rule `bash()`: there is nothing between",
        ),
        (
            json!({ "auto_approve": ["read", "$defalt"] }),
            "tools.auto_approve: unknown preset `$defalt`; did you mean `$default`?",
        ),
        (
            json!({ "presets": { "mine": { "approve": ["read"] } } }),
            "tools.presets: the name of a preset begins with `$`: write `$name`, not `mine`",
        ),
        (
            json!({ "presets": { "$mine": { "deny": ["$default"] } } }),
            "tools.presets.$mine: `$default` is the name of a preset; a preset lists tools and rules",
        ),
    ] {
        let problems = chat.set_up(json!({ "tools": tools, "model": "other" }), None).unwrap_err();
        assert!(problems[0].contains(message), "{problems:?}");
    }
    assert_eq!(chat.workspace.shared.config().model(), "qwen3");
}

#[test]
fn options_that_were_never_right_approve_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let chat = Harness::new("@You:\nHello", []);
    // A workspace of its own, whose first options are wrong.
    let fresh = flemma_workspace::Workspace::new(chat.host.clone(), chat.scripts.clone(), folder.path(), || {});
    let tools = json!({ "tools": { "auto_approve": ["bash(ls)", "!write", "bash(rm"] } });
    fresh.configure(&tools, None, folder.path()).unwrap_err();
    for tool in ["read", "write", "bash"] {
        let call =
            flemma_workspace::HypotheticalCall { tool: tool.to_owned(), input: json!({}), id: "".into(), buffer: 0 };
        assert_eq!(fresh.approval.resolve(&call).0, Decision::RequireApproval, "{tool}");
    }
}

#[test]
fn a_denied_path_is_left_out_of_searches() {
    let grep = |path: Value| {
        json!({ "label": null, "pattern": "word", "path": path, "glob": null, "case": null, "fixed_strings": null,
            "context": null, "limit": null, "all": null })
    };
    let in_options = json!({ "tools": { "auto_approve": ["$default", "!read(secret/**)"] } });
    let in_file = "```lua\nflemma.opt.tools.auto_approve:append(\"!read(secret/**)\")\n```\n";
    for (options, matter) in [(in_options, None), (Value::Null, Some(in_file))] {
        let files = &[("secret/key.txt", "the word\n"), ("open.txt", "the word\n")];
        let replies = [calls([("grep", grep(Value::Null)), ("grep", grep(json!("secret")))]), prose("fine")];
        let chat = Harness::start(Setup { files, options, ..Setup::default() }, replies);
        matter.into_iter().for_each(|matter| chat.type_at(0, matter));
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        let found = chat.results(1);
        let left_out = "open.txt:1:the word\n\n[1 path was left out: the user's policy denies reading there]";
        assert_eq!(found[0], left_out, "{matter:?}");
        assert!(found[1].contains("The user's policy denies this call"), "{found:?}");
    }
}

#[test]
fn a_policy_that_fails_asks_and_says_so_once() {
    let fails = Setup { policy: Some(Rc::new(|_| Err(LuaError::new("failed: oops")))), ..Setup::default() };
    let chat = Harness::start(fails, []);
    for _ in 0..2 {
        assert_eq!(decide(&chat, "ls"), Decision::RequireApproval);
    }
    let told = chat.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("warn: the function tools.auto_approve failed: oops. "), "{told:?}");
}

#[test]
fn tool_options_need_trust_in_every_spelling() {
    let blocks = [
        ("json", r#"{"tools.auto_approve":["bash"]}"#),
        ("json", r#"{"tools":{"auto_approve":["bash"]}}"#),
        ("json", r#"{"tools":{"auto_approve":{"append":["bash"]}}}"#),
        ("json", r#"{"tools.autopilot.enabled":true}"#),
        ("json", r#"{"max_tokens":77,"tools":{"append":"calculator"}}"#),
        ("ini", "tools.auto_approve=bash"),
        ("lua", "flemma.opt.tools.auto_approve = [\"bash\"]"),
    ];
    for (language, code) in blocks {
        let call = with_block("touch ran", "status=approved").split_once("@Assistant").unwrap().1.to_owned();
        let text = format!("```{language}\n{code}\n```\n\n@You:\nHello\n\n@Assistant{call}");
        let chat = Harness::new(&text, []);
        let ini = |code: &str| {
            let (key, value) = code.trim().split_once('=').ok_or("no `=`")?;
            Ok(json!({ key: [value] }))
        };
        chat.scripts.parsers.borrow_mut().insert("ini".to_owned(), Rc::new(ini));
        chat.go();
        assert_eq!(chat.wait_for_question(), Question::Frontmatter { language: language.to_owned() }, "{code}");
        assert!(!chat.work("ran").exists(), "{code}");
        assert_eq!((chat.sent(), chat.scripts.ran.borrow().len()), (0, 0), "{code}");
    }
}

/// Some calls wait for others in the same reply, and these change what paths lead to.
#[test]
fn a_policy_judges_again_what_starts_later() {
    let swap = "sleep 0.1; rm -r docs; ln -s $TO docs";
    let note = |name: &str, input: Value| (name.to_owned(), input);
    let write = |path: &str| note("write", json!({ "path": path, "content": "[core]\n", "label": null }));
    let read = |path: &str| note("read", json!({ "path": path, "offset": null, "limit": null, "label": null }));
    let edit = |path: &str| note("edit", json!({ "path": path, "old_text": "old", "new_text": "new", "label": null }));
    for (to, call, is_denied) in [
        (".git", write("docs/config"), false),
        (".git", write("docs/new/x"), false),
        (".git", edit("docs/config"), false),
        ("../secret", read("docs/config"), false),
        ("denied", read("docs/config"), true),
        ("denied", edit("docs/config"), true),
    ] {
        let whole = if call.0 == "read" { "calculator" } else { "$default" };
        let list = [whole, "read(docs/**)", "!read(denied/**)", "my.bash"];
        let options = json!({ "tools": { "auto_approve": list, "max_concurrent": 1 } });
        let approve: Resolve = Rc::new(|call| Ok((call.tool == "bash").then_some(Decision::Approve)));
        let files = &[
            ("docs/config", "old\n"),
            (".git/config", "old\n"),
            ("denied/config", "old\n"),
            ("../secret/config", "old\n"),
        ];
        let (tool, input) = call.clone();
        let reply = calls([("bash", bash(&swap.replace("$TO", to))), (&*tool, input)]);
        let chat = Harness::start(Setup { files, ..Setup::default() }, [reply, prose("fine")]);
        chat.scripts.modules.borrow_mut().insert("my.bash".to_owned(), approve);
        chat.set_up(options, None).unwrap();
        chat.go();
        if is_denied {
            chat.wait_for("@Assistant:\nfine");
            assert!(chat.results(1)[1].contains("policy denies"), "{to} {call:?}: {:?}", chat.results(1));
        } else {
            chat.wait_for_words("your rules approved this call earlier");
            chat.wait_for_pending(1);
        }
        for file in [".git/config", "denied/config", "../secret/config"] {
            assert_eq!(std::fs::read_to_string(chat.work(file)).unwrap(), "old\n", "{to} {call:?}");
        }
        assert!(!chat.work(".git/new").exists(), "{to} {call:?}");
    }
}

/// No rule, preset, function or option approves these; the user's own key does.
#[test]
fn start_up_files_ask_whatever_the_policy_says() {
    let own = json!({ "tools": { "auto_approve": ["$mine"], "presets": { "$mine": { "approve": ["write"] } } } });
    let write = |path: &str| json!({ "path": path, "content": "new", "label": null });
    for (options, path) in [
        (json!({ "tools": { "auto_approve": ["write"] } }), ".bashrc"),
        (json!({ "tools": { "auto_approve": ["write(*)"] } }), "sub/.zshrc"),
        (json!({ "tools": { "auto_approve": ["write(.git/**)"] } }), ".git/config"),
        (json!({ "tools": { "auto_approve": ["$default"], "write_outside": "auto" } }), ".nvim.lua"),
        (own, ".exrc"),
        (json!({ "tools": { "require_approval": false } }), "link"),
        (Value::Null, ".gitconfig"),
    ] {
        let policy = (options == Value::Null).then(|| -> Resolve { Rc::new(|_| Ok(Some(Decision::Approve))) });
        let input = [write(path), write("plain.txt")].map(|input| ("write", input));
        let chat = Harness::start(Setup { options, policy, ..Setup::default() }, [calls(input), prose("fine")]);
        std::os::unix::fs::symlink(".inputrc", chat.work("link")).unwrap();
        chat.go();
        chat.wait_for_pending(if path.starts_with(".git/") { 2 } else { 1 });
        assert!(!chat.work(path).exists(), "{path}");
        chat.wait_for_diff(0, "a program reads this file when it starts");
        if path.starts_with(".git/") {
            chat.approve("Tool Result:** `call_1`");
            chat.drain_until("rest", |chat| chat.workspace.is_at_rest(chat.current()));
        }
        chat.always("Tool Result:** `call_0`");
        chat.wait_for_words("asks every time");
        chat.approve("Tool Result:** `call_0`");
        chat.wait_for("@Assistant:\nfine");
        assert_eq!(std::fs::read_to_string(chat.work(path)).unwrap(), "new", "{path}");
    }
}

/// A shell is asked what it is. Nobody says that it is the disk that does not answer.
#[test]
fn a_shell_that_takes_its_time_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let shell = folder.path().join("slow");
    std::fs::write(
        &shell,
        "#!/bin/sh\nwhile [ -e \"$0\" ] && [ ! -e \"$0.go\" ]; do sleep 0.02; done; exec bash \"$@\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let options = json!({ "tools": { "auto_approve": ["bash(echo *)"], "bash": { "shell": shell } } });
    let calls = commands(&["echo one"]);
    let chat = Harness::start(Setup { options, ..Setup::default() }, [calls, prose("fine")]);
    chat.go();
    chat.wait_for_pending(1);
    chat.wait_for_words(&format!("the shell `{}` has not said yet what it is", shell.display()));
    std::fs::write(folder.path().join("slow.go"), "").unwrap();
    chat.drain_until("an approval", |chat| {
        let waits = chat.text().contains("status=pending");
        if waits {
            chat.approve("status=pending");
        }
        !waits
    });
    chat.wait_for("@Assistant:\nfine");
}

/// What a policy has approved is no decision of the user's, also where they carry on by hand.
#[test]
fn carrying_on_does_not_approve_for_a_policy() {
    let options = json!({ "tools": { "auto_approve": ["write"], "autopilot": { "enabled": false } } });
    let write = json!({ "path": "docs/inputrc", "content": "new", "label": null });
    let reply = calls([("write", write), ("bash", bash("echo"))]);
    let chat = Harness::start(Setup { options, ..Setup::default() }, [reply, prose("fine")]);
    std::fs::create_dir_all(chat.work("docs")).unwrap();
    std::os::unix::fs::symlink("x", chat.work("docs/inputrc")).unwrap();
    chat.go();
    chat.drain_until("the calls", |chat| chat.text().contains("call_1") && !chat.conversation().is_busy());
    if !chat.text().contains("status=approved") {
        chat.go();
    }
    chat.drain_until("an approval", |chat| chat.text().contains("status=approved") && !chat.conversation().is_busy());
    std::fs::remove_file(chat.work("docs/inputrc")).unwrap();
    std::os::unix::fs::symlink("../.inputrc", chat.work("docs/inputrc")).unwrap();
    chat.go();
    chat.wait_for_pending(2);
    assert!(!chat.work(".inputrc").exists());
}

#[test]
fn no_tool_writes_the_trust_store_or_a_conversation() {
    for (path, why) in [
        ("../state/trust.jsonl", "records what the user trusts"),
        ("../state/journal/forged.jsonl", "records what the user trusts"),
        ("../state/outbox/forged.jsonl", "records what the user trusts"),
        ("../state/changes/forged", "records what the user trusts"),
        ("../state/locks/forged", "records what the user trusts"),
        ("../state/link.jsonl", "records what the user trusts"),
        ("store.jsonl", "records what the user trusts"),
        ("notes.chat", "is a conversation that is open in the editor"),
        ("link.txt", "is a conversation that is open in the editor"),
        ("twin.txt", "is the same file as "),
        (".notes.chat.flemma-lock", "says who has a conversation open"),
    ] {
        let input = json!({ "path": path, "content": "{}", "label": null });
        let options = json!({ "tools": { "require_approval": false, "auto_approve": ["write"] } });
        let chat = Harness::start(Setup { options, ..Setup::default() }, [calls([("write", input)]), prose("fine")]);
        let store = chat.state("trust.jsonl");
        std::fs::write(&store, "").unwrap();
        std::fs::hard_link(&store, chat.work("store.jsonl")).unwrap();
        std::os::unix::fs::symlink(&store, chat.state("link.jsonl")).unwrap();
        std::fs::hard_link(chat.work("notes.chat"), chat.work("twin.txt")).unwrap();
        std::os::unix::fs::symlink("notes.chat", chat.work("link.txt")).unwrap();
        chat.go();
        chat.wait_for("@Assistant:\nfine");
        let results = chat.results(1);
        assert!(results[0].starts_with("Error: ") && results[0].contains(why), "{path}: {results:?}");
        assert_eq!(std::fs::read_to_string(&store).unwrap(), "", "{path}");
        assert_ne!(std::fs::read_to_string(chat.work("notes.chat")).unwrap(), "{}", "{path}");
        let problem = |path: &str| {
            let (id, path) = ("call_0".into(), chat.work(path));
            chat.workspace.permissions.path_problem(&chat.conversation(), &id, flemma_tools::Access::Write, &path)
        };
        assert!(problem(path).is_some() && problem("new.txt").is_none(), "{path}");
    }
}
