//! Runs that are stopped or killed, and what the next one makes of it.

use std::fs;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::desktop::{Desktop, wait_for};
use crate::{
    anthropic::Stream,
    chat::{call, prose},
    http::Reply,
};

/// A reply of which only the beginning comes.
fn half() -> Reply {
    let stream = Stream::new().text(&["half a reply"]).end("end_turn");
    let events = stream.events();
    events[..3].iter().fold(Reply::stream(), |reply, event| reply.chunk(event.as_str())).hang()
}

/// A tool of the user's that notes that it runs, and does not answer in its first run.
fn slow(fields: &str) -> String {
    format!(
        "require('flemma.tools').register('slow', {{
            description = 'Takes its time.',
            input_schema = {{ type = 'object' }},
            approval = 'auto',
            async = true,
            {fields}
            execute = function(_, ctx, done)
                local is_first = vim.uv.fs_stat('effects') == nil
                local file = assert(io.open('effects', 'a'))
                file:write(ctx.call_id .. '\\n')
                file:close()
                if not is_first then done('done at last') end
            end,
        }})"
    )
}

#[test]
fn a_signal_ends_the_turn_cleanly_and_the_next_run_asks_again() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let user = Desktop::new("", "", [half(), prose(&["fine"])]);
        let running = user.spawn(&["run", "notes.chat"]);
        user.server.wait_for_requests(1);
        // What has arrived is in the file at the end. A run that is stopped before has nothing to keep.
        running.signal(signal);
        let said = running.wait();
        assert!(said.code == 1 && said.err.contains("it was stopped by SIG"), "{said:?}");
        user.wait_for_neovims_to_exit();
        let text = user.text("notes.chat");
        assert!(!text.contains("half") || text.contains("half a reply\n\n<!-- flemma:aborted -->"), "{text}");
        let said = user.flemma(&["run", "notes.chat"]);
        assert_eq!(said.code, 0, "{said:?}");
        let text = user.text("notes.chat");
        assert!(text.starts_with("@You:\nHello\n\n@Assistant:\nfine\n") && !text.contains("half"), "{text}");
        assert_eq!(user.server.requests()[1].json()["messages"], user.server.requests()[0].json()["messages"]);
    }
}

#[test]
fn a_run_that_was_taken_over_writes_nothing_and_says_so() {
    let user = Desktop::new("", "", [half(), prose(&["fine"])]);
    let running = user.spawn(&["run", "notes.chat"]);
    user.server.wait_for_requests(1);
    let neovims = user.neovims();
    neovims.iter().for_each(|neovim| kill_process(*neovim, Signal::STOP).unwrap());
    let said = user.flemma(&["run", "notes.chat", "--steal"]);
    neovims.iter().for_each(|neovim| kill_process(*neovim, Signal::CONT).unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    let text = user.text("notes.chat");
    assert!(text.contains("fine"), "{text}");
    let said = running.wait();
    assert!(said.code == 4 && !said.err.contains(":write"), "{said:?}");
    assert_eq!(user.text("notes.chat"), text);
}

#[test]
fn the_time_that_is_given_ends_the_turn_cleanly() {
    let user = Desktop::new("", "", [half(), prose(&["fine"])]);
    for seconds in ["2", "20", "40"] {
        let said = user.flemma(&["run", "notes.chat", "--timeout", seconds]);
        assert!(said.code == 1 && said.err.contains(&format!("after {seconds} seconds (--timeout)")), "{said:?}");
        user.wait_for_neovims_to_exit();
        // On a busy machine, the time may be over before the request is sent.
        if !user.server.requests().is_empty() {
            break;
        }
    }
    assert_eq!(user.flemma(&["run", "notes.chat"]).code, 0);
    assert!(user.text("notes.chat").starts_with("@You:\nHello\n\n@Assistant:\nfine\n"));
}

#[test]
fn a_kill_of_everything_asks_about_the_call_that_ran() {
    let user = Desktop::new("", &slow(""), [call("toolu_1", "slow", &json!({})), prose(&["fine"])]);
    let running = user.spawn(&["run", "notes.chat"]);
    wait_for("the tool", || !user.text("effects").is_empty());
    for neovim in user.neovims() {
        kill_process(neovim, Signal::KILL).unwrap();
    }
    let said = running.wait();
    assert!(said.code == 1 && said.err.contains("Neovim exited"), "{said:?}");
    let said = user.flemma(&["run", "notes.chat", "--json"]);
    assert_eq!(said.code, 3, "{said:?}");
    let json = said.json();
    assert_eq!((&json["kinds"], &json["waiting"][0]["state"]), (&json!(["approval"]), &json!("interrupted")));
    assert_eq!(user.text("effects"), "toolu_1\n");
    let said = user.flemma(&["resolve", "notes.chat", "toolu_1", "--reject", "leave it", "--continue"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.text("effects"), "toolu_1\n");
}

#[test]
fn a_call_that_is_idempotent_runs_again_after_a_kill() {
    let user = Desktop::new("", &slow("idempotent = true,"), [call("toolu_1", "slow", &json!({})), prose(&["fine"])]);
    let running = user.spawn(&["run", "notes.chat"]);
    wait_for("the tool", || !user.text("effects").is_empty());
    let neovims = user.neovims();
    running.signal(Signal::KILL);
    neovims.into_iter().for_each(|neovim| kill_process(neovim, Signal::KILL).unwrap());
    drop(running);
    let said = user.flemma(&["run", "notes.chat"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(user.text("effects"), "toolu_1\ntoolu_1\n");
    assert!(user.text("notes.chat").contains("done at last"));
}

#[test]
fn a_call_that_is_idempotent_runs_again_after_a_stop() {
    let slow = slow("idempotent = true,");
    for accident in [Some(Signal::TERM), Some(Signal::INT), Some(Signal::KILL), None] {
        let user = Desktop::new("", &slow, [call("toolu_1", "slow", &json!({})), prose(&["fine"])]);
        let said = match accident {
            Some(signal) => {
                let running = user.spawn(&["run", "notes.chat"]);
                wait_for("the tool", || !user.text("effects").is_empty());
                running.signal(signal);
                running.wait()
            }
            // On a busy machine, the time may be over before the tool runs.
            None => ["3", "30", "60"]
                .map(|seconds| {
                    user.text("effects").is_empty().then(|| user.flemma(&["run", "notes.chat", "--timeout", seconds]))
                })
                .into_iter()
                .flatten()
                .last()
                .unwrap(),
        };
        assert!(matches!(said.code, 1 | -1), "{said:?}");
        user.wait_for_neovims_to_exit();
        // The model has not heard of an error, and does not call the tool once more with another id.
        let text = user.text("notes.chat");
        assert!(text.contains("status=running") && !text.contains("cancelled"), "{accident:?}: {text}");
        let said = user.flemma(&["run", "notes.chat"]);
        assert_eq!(said.code, 0, "{accident:?}: {said:?}");
        assert_eq!(user.text("effects"), "toolu_1\ntoolu_1\n", "{accident:?}");
        assert!(user.text("notes.chat").contains("done at last"));
    }
}

#[test]
fn a_neovim_that_gets_a_signal_leaves_the_file_whole() {
    // An engine may tell all processes of a job to end.
    for is_both in [false, true] {
        let replies = [call("toolu_1", "slow", &json!({})), prose(&["fine"])];
        let user = Desktop::new("", &slow("idempotent = true,"), replies);
        let running = user.spawn(&["run", "notes.chat"]);
        wait_for("the tool", || !user.text("effects").is_empty());
        let neovims = user.neovims();
        if is_both {
            running.signal(Signal::TERM);
        }
        neovims.into_iter().for_each(|neovim| kill_process(neovim, Signal::TERM).unwrap());
        let said = running.wait();
        assert!(said.code == 1 && !said.err.contains("internal error"), "{said:?}");
        let text = user.text("notes.chat");
        assert!(text.starts_with("@You:\nHello\n") && text.contains("status=running"), "{is_both}: {text}");
        let said = user.flemma(&["run", "notes.chat"]);
        assert_eq!((said.code, user.text("effects").as_str()), (0, "toolu_1\ntoolu_1\n"), "{said:?}");
    }
}

#[test]
fn neovim_ends_when_its_command_is_killed() {
    let user = Desktop::new("", &slow(""), [call("toolu_1", "slow", &json!({})), prose(&["fine"])]);
    let running = user.spawn(&["run", "notes.chat"]);
    wait_for("the tool", || !user.text("effects").is_empty());
    running.signal(Signal::KILL);
    drop(running);
    user.wait_for_neovims_to_exit();
    let leftover = fs::read_dir(user.path(".")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut leftover: Vec<_> = leftover.collect();
    leftover.sort();
    assert_eq!(leftover, ["effects", "notes.chat"]);
    // The tool is gone, and whoever carries the conversation on learns that.
    let said = user.flemma(&["run", "notes.chat", "--json"]);
    assert!(matches!(said.code, 0 | 3), "{said:?}");
    assert_eq!(user.text("effects"), "toolu_1\n");
}
