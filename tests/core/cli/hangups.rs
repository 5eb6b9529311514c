//! Commands that are killed, or that nobody listens to.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::harness::{Shell, WAITING};
use crate::said::Said;

/// How many kills there are of each command with each signal.
const ROUNDS: u32 = 16;

const SIGNALS: [Signal; 3] = [Signal::HUP, Signal::TERM, Signal::KILL];

fn records(shell: &Shell, name: &str) -> Vec<String> {
    let key = format!("/{name}\"");
    let files = fs::read_dir(shell.state().join("journal")).into_iter().flatten();
    let text: String = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    // A last line that was cut off is no record.
    text.lines().filter(|line| line.contains(&key) && line.ends_with('}')).map(str::to_owned).collect()
}

#[test]
#[ignore = "slow"]
fn a_command_that_is_killed_leaves_a_valid_state() {
    let shell = Shell::new();
    let overdue = WAITING.replace("question=\"Why?\"", "expires=2020-01-01T00:00:00Z question=\"Why?\"");
    let (mut unfinished, mut acknowledged) = (0, 0);
    let commands: [(&[&str], &str, &str); 6] = [
        (&["resolve", "FILE", "call_ask", "--result", "\"done\""], WAITING, "resolved"),
        (&["resolve", "FILE", "call_bash", "--approve"], WAITING, "approved"),
        (&["sweep", "FILE"], &overdue, "expired"),
        (&["pending", "FILE"], WAITING, ""),
        (&["show", "FILE"], WAITING, ""),
        (&["check", "FILE"], WAITING, ""),
    ];
    for (at, (arguments, text, event)) in commands.into_iter().enumerate() {
        let for_file = |name: &str| -> Vec<String> {
            arguments.iter().map(|word| if *word == "FILE" { name.to_owned() } else { (*word).to_owned() }).collect()
        };
        let run = |name: &str| {
            let words = for_file(name);
            shell.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let begun = Instant::now();
        shell.put(&format!("whole-{at}.chat"), text);
        assert_eq!(run(&format!("whole-{at}.chat")).output().unwrap().status.code(), Some(0), "{arguments:?}");
        let whole = shell.text(&format!("whole-{at}.chat"));
        let took = begun.elapsed();
        for (signal, round) in SIGNALS.into_iter().flat_map(|signal| (0..ROUNDS).map(move |round| (signal, round))) {
            let name = format!("{at}-{}-{round}.chat", signal.as_raw());
            shell.put(&name, text);
            let child = run(&name).spawn().unwrap();
            thread::sleep(took * round / ROUNDS);
            let _ = kill_process(Pid::from_child(&child), signal);
            let first: Said = child.wait_with_output().unwrap().into();
            unfinished += u32::from(first.code == -1);
            acknowledged += u32::from(first.code == 0);
            // The file is as it was, or as it is after the whole command.
            let now = shell.text(&name);
            assert!(now == text || now == whole, "{arguments:?} {first:?}\n{now}");
            let is_recorded = records(&shell, &name).iter().any(|line| line.contains(&format!("\"{event}\"")));
            assert!(first.code != 0 || event.is_empty() || is_recorded, "{arguments:?} {first:?}");
            // Nobody holds it, and a second run completes what the first one began.
            let second: Said = run(&name).output().unwrap().into();
            let is_done = if event.is_empty() || event == "expired" {
                second.code == 0
            } else {
                second.code == i32::from(is_recorded)
            };
            assert!(is_done, "{arguments:?} {is_recorded} {first:?} {second:?}");
            // What is recorded counts also where the file lacks it: the next editor writes it.
            let now = shell.text(&name);
            assert!(now == whole || event != "resolved" && is_recorded, "{arguments:?} {first:?} {second:?}");
            let all = records(&shell, &name);
            let times = all.iter().filter(|line| line.contains(&format!("\"{event}\""))).count();
            assert_eq!(times, usize::from(!event.is_empty()), "{arguments:?} {all:?}");
        }
    }
    // Neither of them leaves anything behind.
    let left = fs::read_dir(shell.path("")).unwrap().map(|file| file.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| !name.to_string_lossy().ends_with(".chat")).collect();
    assert!(left.is_empty(), "{left:?}");
    let locks: Vec<_> = fs::read_dir(shell.state().join("locks")).unwrap().map(|file| file.unwrap().path()).collect();
    let contents: Vec<_> = locks.iter().map(fs::read_to_string).collect();
    assert!(locks.is_empty(), "{locks:?} {contents:?}");
    assert!(unfinished > 50 && acknowledged > 10, "{unfinished} killed, {acknowledged} acknowledged");
}

#[test]
fn a_command_that_nobody_listens_to_does_its_work_and_says_so() {
    for (number, how) in ["1>&-", "0<&-", "2>&-", "0<&- 1>&- 2>&-", ">/dev/full"].into_iter().enumerate() {
        let shell = Shell::with_notes();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("\"$0\" resolve notes.chat call_ask --result 1 {how}")]);
        command
            .arg(env!("CARGO_BIN_EXE_flemma"))
            .current_dir(shell.path(""))
            .env("HOME", shell.path("..").canonicalize().unwrap());
        command.env_remove("XDG_STATE_HOME").env_remove("NVIM_APPNAME");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let expected = if how == ">/dev/full" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{how}: {output:?}");
        assert!(shell.text("notes.chat").contains("```json\n1\n```"), "{number} {how}");
    }
    // Who reads it has gone.
    let shell = Shell::with_notes();
    let mut child = shell.spawn(&["resolve", "notes.chat", "call_ask", "--result", "1"]);
    drop(child.stdout.take());
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(shell.text("notes.chat").contains("```json\n1\n```"));
}

#[test]
fn input_that_never_comes_holds_nothing() {
    let shell = Shell::with_notes();
    let mut child =
        shell.command(&["resolve", "notes.chat", "call_ask", "--result", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    // It waits for its input, and others can resolve the call meanwhile.
    assert_eq!(shell.flemma(&["resolve", "notes.chat", "call_ask", "--result", "1"]).code, 0);
    let input = child.stdin.take();
    thread::sleep(Duration::from_millis(10));
    drop(input);
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!(said.code, 2, "{said:?}");
}
