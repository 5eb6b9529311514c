//! The commands of `doc/fleet.md`, as they are written.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::json;

use super::desktop::Desktop;
use crate::{
    anthropic::Stream,
    chat::reply,
    docs::file,
    http::{Recorded, Reply, Server},
    said::Said,
};

/// The code blocks of the page, each with its language.
fn blocks() -> Vec<(String, String)> {
    let page = file("doc/fleet.md");
    let blocks = page.split("\n```").skip(1).step_by(2);
    blocks
        .map(|block| block.split_once('\n').unwrap())
        .map(|(name, code)| (name.to_owned(), code.to_owned() + "\n"))
        .collect()
}

/// The one block of a language that contains these words, for a folder in place of `/shared`.
#[track_caller]
fn block(user: &Desktop, language: &str, words: &str) -> String {
    let mut found: Vec<_> =
        blocks().into_iter().filter(|(its, code)| its == language && code.contains(words)).collect();
    assert_eq!(found.len(), 1, "{language} blocks with {words}");
    found.remove(0).1.replace("/shared", user.home().join("shared").to_str().unwrap())
}

/// Runs shell code with the variables of the page.
fn shell(user: &Desktop, code: &str) -> Said {
    let bin = user.home().join("bin");
    let variables = block(user, "sh", "export CHATS");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{variables}\n{code}")]).current_dir(user.home());
    // The same environment as that of a command.
    for (name, value) in user.command(&[]).get_envs() {
        command.env(name, value.unwrap());
    }
    command.env("PATH", path).output().unwrap().into()
}

fn program(user: &Desktop, name: &str, text: &str) {
    user.put(&format!("bin/{name}"), text);
    fs::set_permissions(user.home().join("bin").join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// A model that files a ticket, runs a command or asks a question, as the conversation says, and then is done.
fn model(request: &Recorded) -> Reply {
    let messages = request.json()["messages"].clone();
    let text = messages[0].to_string();
    let (id, tool, input) = if text.contains("deploy") {
        ("toolu_01", "bash", json!({ "label": "deploy", "command": "echo deployed", "timeout": null }))
    } else if text.contains("ask") {
        ("toolu_02", "ask_user", json!({ "question": "Which port?", "options": null, "default": null }))
    } else {
        ("toolu_03", "file_ticket", json!({ "title": "broken" }))
    };
    if messages.to_string().contains("tool_result") {
        return reply(&Stream::new().text(&["That is done."]).end("end_turn"));
    }
    reply(&Stream::new().tool_use(id, tool, &[&input.to_string()]).end("tool_use"))
}

/// A user with the page's configuration and script, and five conversations.
fn user() -> Desktop {
    let user = Desktop::with("", "", Server::deciding(model));
    let address = format!("parameters = {{ anthropic = {{ base_url = '{}' }} }},", user.server.base_url());
    let init = block(&user, "lua", "file_ticket").replace("/opt/flemma", env!("CARGO_MANIFEST_DIR"));
    let init = init.replace("  tools = {\n", &format!("  {address}\n  tools = {{\n"));
    user.put("shared/flemma/config/nvim/init.lua", &init);
    let nvim = std::env::var("FLEMMA_NVIM").unwrap_or_else(|_| "nvim".into());
    user.put("shared/flemma/config/flemma/config.toml", &format!("nvim = '{nvim}'\n"));
    program(&user, "carry-on", &block(&user, "sh", "# carry-on FILE"));
    program(&user, "file-ticket", "#!/bin/sh\necho \"$2\" >> tickets\necho filed\n");
    fs::create_dir_all(user.home().join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_flemma"), user.home().join("bin/flemma")).unwrap();
    for name in ["deploy", "ask", "ticket", "ticket 2", "ticket'3"] {
        user.put(&format!("shared/chats/{name}.chat"), &format!("@You:\nPlease {name}\n"));
    }
    user
}

fn done(user: &Desktop) -> BTreeSet<String> {
    let files = fs::read_dir(user.home().join("shared/chats")).unwrap().map(|entry| entry.unwrap().path());
    let is_done = |path: &Path| fs::read_to_string(path).unwrap_or_default().matches("That is done.").count() == 1;
    files.filter(|path| is_done(path)).map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn the_page_on_many_conversations_works_with_xargs() {
    let user = user();
    let said = shell(&user, &block(&user, "sh", "xargs -0 -n 1 -P 8 carry-on"));
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(done(&user), ["ticket", "ticket 2", "ticket'3"].map(str::to_owned).into());
    let waits = |text: &str| (text.contains("toolu_01 bash"), text.contains("toolu_02 ask_user"));
    assert_eq!(waits(&said.out), (true, true), "{said:?}");
    assert!(said.out.contains("kind=approval") && said.out.contains("kind=elicitation"), "{said:?}");
    let command = "flemma pending \"$CHATS\"\n";
    assert!(blocks().iter().any(|(_, code)| code == command));
    let pending = shell(&user, command);
    assert_eq!(waits(&pending.out), (true, true), "{pending:?}");
    let said = shell(&user, &block(&user, "sh", "flemma resolve \"$CHATS/deploy.chat\""));
    assert_eq!(said.code, 0, "{said:?}");
    // Handing out everything again does what is left, and nothing twice.
    let said = shell(&user, &block(&user, "sh", "xargs -0 -n 1 -P 8 carry-on"));
    assert_eq!((said.code, done(&user).len()), (0, 5), "{said:?}");
    let tickets = fs::read_to_string(user.home().join("tickets")).unwrap();
    assert_eq!(tickets, "toolu_03\n".repeat(3));
    assert!(user.home().join("shared/flemma/state/nvim/flemma/journal").is_dir());
    assert!(!user.home().join("state/nvim/flemma/journal").exists(), "the journal is the shared one");
}

#[test]
fn the_page_on_many_conversations_works_with_slurm_code() {
    let user = user();
    program(&user, "scontrol", "#!/bin/sh\necho \"$@\" >> requeued\n");
    let queue = "find \"$CHATS\" -name '*.chat' | sort > \"$CHATS/queue\"\n";
    let script = block(&user, "sh", "#SBATCH");
    for task in 1..=5 {
        let said = shell(&user, &format!("{queue}export SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID={task}\n{script}"));
        assert_eq!(said.code, 0, "{said:?}");
    }
    assert_eq!(done(&user).len(), 3);
    assert!(!user.home().join("requeued").exists());
    user.put("shared/chats/ticket.chat", "@You:\n\n");
    let said = shell(&user, &format!("export SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=5\n{script}"));
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(fs::read_to_string(user.home().join("requeued")).unwrap(), "requeue 7_5\n");
    // The command of the pods, one index on.
    let yaml = block(&user, "yaml", "JOB_COMPLETION_INDEX");
    let pod = yaml.split("- |\n").nth(1).unwrap().split("          env:").next().unwrap().to_owned();
    let said = shell(&user, &format!("export JOB_COMPLETION_INDEX=3\nsh -c '{pod}'"));
    assert_eq!(said.code, 0, "{said:?}");
    let said = shell(&user, &format!("export JOB_COMPLETION_INDEX=0\nsh -c '{pod}'"));
    assert_eq!((said.code, said.out.contains("kind=elicitation")), (3, true), "{said:?}");
}

#[test]
fn the_page_on_many_conversations_works_with_parallel() {
    let is_gnu = |output: std::process::Output| output.stdout.starts_with(b"GNU parallel");
    if !Command::new("parallel").arg("--version").output().is_ok_and(is_gnu) {
        println!("skipped: there is no GNU parallel");
        return;
    }
    let user = user();
    user.put("shared/chats/ticket.chat", "@You:\n\n");
    let queue = "find \"$CHATS\" -name '*.chat' | sort > \"$CHATS/queue\"\n";
    let said = shell(&user, &format!("{queue}{}", block(&user, "sh", "joblog\" carry-on {}")));
    assert_eq!((said.code, done(&user).len()), (1, 2), "{said:?}");
    user.put("shared/chats/ticket.chat", "@You:\nPlease ticket\n");
    let said = shell(&user, &block(&user, "sh", "--resume-failed carry-on"));
    assert_eq!((said.code, done(&user).len()), (0, 3), "{said:?}");
}

#[test]
fn the_page_on_many_conversations_quotes_real_code() {
    let ray = file("examples/ray/fleet.py");
    let quoted = blocks().into_iter().find(|(_, code)| code.contains("@ray.remote")).unwrap().1;
    assert!(ray.contains(&quoted), "{quoted}");
    // Both are Python at least.
    for (_, code) in blocks().iter().filter(|(language, code)| language == "python" && code.contains("temporalio")) {
        let check = "import ast, sys; ast.parse(sys.argv[1])";
        assert!(Command::new("python3").args(["-c", check, code]).status().unwrap().success());
    }
    // A block that no test knows is not verified.
    assert_eq!(blocks().len(), 13, "the blocks of doc/fleet.md");
}
