//! Several commands at one conversation, of which some have read it before others were done with it.
#![cfg(target_os = "linux")]

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde_json::json;

use super::desktop::{Desktop, Running, wait_for};
use crate::{
    chat::{call, prose},
    http::{Recorded, Reply, Server},
    said::Said,
    slow_disk,
};

/// A tool that must not run twice, and notes that it runs.
const ONCE: &str = "require('flemma.tools').register('once', {
    description = 'Has an effect.',
    input_schema = { type = 'object' },
    execute = function(_, ctx)
        local file = assert(io.open('effects', 'a'))
        file:write(ctx.call_id .. '\\n')
        file:close()
        return 'it is done'
    end,
})";

/// One call, and the end.
fn model(request: &Recorded) -> Reply {
    let has_result = request.json()["messages"].to_string().contains("tool_result");
    if has_result { prose(&["finished"]) } else { call("toolu_once", "once", &json!({})) }
}

fn user(options: &str) -> Desktop {
    let user = Desktop::with(options, ONCE, Server::deciding(model));
    slow_disk::build(&user.home().join("slow.so"));
    user
}

/// Checks that nothing was done twice, and that nothing is overwritten.
#[track_caller]
fn check(user: &Desktop, what: &str) {
    let text = user.text("notes.chat");
    let counts = ["\nfinished\n", "**Tool Use:** `once`", "it is done\n```"].map(|words| text.matches(words).count());
    assert_eq!((counts, user.text("effects").lines().count()), ([1; 3], 1), "{what}\n{text}");
}

/// `flemma run` by this program of it, whose call of this number for this file waits for the disk, as long as the gate is there;
/// `None` if there are not so many.
fn held_up(user: &Desktop, program: &str, file: &Path, number: usize) -> Option<(Running, PathBuf)> {
    let beside = |more: &str| PathBuf::from(format!("{}.{more}", file.display()));
    let (gate, waits) = (beside("gate"), beside("waits"));
    fs::write(&gate, "").unwrap();
    let mut command = user.command(&["run", "--json", "notes.chat"]);
    command.env("LD_PRELOAD", user.home().join("slow.so")).env("FLEMMA_SLOW_DISK", file);
    command.env("FLEMMA_SLOW_PROGRAM", program).env("FLEMMA_SLOW_CALL", number.to_string());
    let mut running = Running::of(command.spawn().unwrap());
    wait_for("the disk", || waits.exists() || running.has_ended());
    waits.exists().then_some((running, gate))
}

/// Whether somebody has the lock of the conversation.
fn is_held(user: &Desktop) -> bool {
    let names = fs::read_dir(user.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.into_iter().any(|name| name.starts_with(".notes.chat"))
}

#[test]
fn a_run_that_has_read_an_older_file_reads_it_again() {
    // Versions of Neovim differ in how often they look.
    for (program, least) in [("flemma", 2), ("nvim", 5)] {
        let mut rounds = 0;
        for number in 1.. {
            let user = user("tools = { auto_approve = { 'once' } }");
            let Some((first, gate)) = held_up(&user, program, &user.path("notes.chat"), number) else { break };
            if is_held(&user) {
                fs::remove_file(gate).unwrap();
                if program == "nvim" {
                    break;
                }
                // It gives the lock back before it starts Neovim.
                continue;
            }
            let second = user.flemma(&["run", "--json", "notes.chat"]);
            fs::remove_file(gate).unwrap();
            let first = first.wait();
            let what = format!("call {number} of {program}: {first:?} {second:?}");
            // One of its threads may have taken the lock while another one waits.
            assert!([first.code, second.code].iter().all(|code| [0, 4].contains(code)), "{what}");
            rounds += usize::from(second.code == 0);
            check(&user, &what);
        }
        assert!(rounds >= least, "{program} looks at the file {rounds} times before it has the lock");
    }
}

#[test]
fn of_many_commands_at_once_none_repeats_or_overwrites() {
    let user = user("");
    assert_eq!(user.flemma(&["run", "notes.chat"]).code, 3);
    let id = user.flemma(&["pending", "--json"]).json()["pending"][0]["call"].as_str().unwrap().to_owned();
    let commands = (0..24).map(|number| match number % 4 {
        0 => user.spawn(&["resolve", "notes.chat", &id, "--approve"]),
        1 => user.spawn(&["resolve", "notes.chat", &id, "--approve", "--continue"]),
        _ => user.spawn(&["run", "notes.chat"]),
    });
    let commands: Vec<Running> = commands.collect();
    let said: Vec<Said> = commands.into_iter().map(Running::wait).collect();
    assert!(said.iter().all(|said| [0, 1, 3, 4].contains(&said.code)), "{said:?}");
    assert_eq!(user.flemma(&["run", "notes.chat"]).code, 0);
    check(&user, &format!("{said:?}"));
}

#[test]
fn a_decision_waits_for_a_run_that_is_just_starting() {
    let mut waited = 0;
    for number in 1.. {
        let user = user("");
        assert_eq!(user.flemma(&["run", "notes.chat"]).code, 3);
        // It holds the conversation, and waits for the journal.
        let journals = user.home().join("state/nvim/flemma/journal");
        let journal = fs::read_dir(journals).unwrap().next().unwrap().unwrap().path();
        let Some((first, gate)) = held_up(&user, "nvim", &journal, number) else { break };
        let mut decision = user.spawn(&["resolve", "notes.chat", "toolu_once", "--approve"]);
        thread::sleep(Duration::from_millis(700));
        waited += usize::from(!decision.has_ended());
        fs::remove_file(gate).unwrap();
        let (said, first) = (decision.wait(), first.wait());
        let what = format!("call {number}: {said:?} {first:?}");
        assert!(said.code == 0 && [0, 3].contains(&first.code), "{what}");
        assert_eq!(user.flemma(&["run", "notes.chat"]).code, 0, "{what}");
        check(&user, &what);
    }
    assert!(waited > 0);
}
