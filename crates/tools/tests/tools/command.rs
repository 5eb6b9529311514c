//! Commands that tools in Lua run, with real programs.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use flemma_tools::command::{CommandRequest, CommandResult, run_command};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::workshop::{is_alive, wait_until};

/// Runs a command, whose long outputs are saved in this folder.
fn run_in(outputs: &TempDir, request: CommandRequest, cancel: &CancellationToken) -> CommandResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run_command(request, cancel.clone(), outputs.path().to_owned()))
}

fn run(request: CommandRequest) -> CommandResult {
    run_in(&tempfile::tempdir().unwrap(), request, &CancellationToken::new())
}

fn shell(text: &str) -> CommandRequest {
    CommandRequest { argv: CommandRequest::shell(OsStr::new(text)), ..CommandRequest::default() }
}

fn argv(words: &[&str]) -> CommandRequest {
    CommandRequest { argv: words.iter().map(OsString::from).collect(), ..CommandRequest::default() }
}

fn problem(request: CommandRequest) -> String {
    let result = run(request);
    assert!(result.code != 0 && result.stdout.is_empty() && result.stderr.is_empty(), "{result:?}");
    result.problem.unwrap().to_string()
}

#[test]
fn the_two_outputs_and_the_exit_code_are_told_apart() {
    let result = run(shell("echo one; echo two >&2; printf 'three\\n\\nfour'; exit 3"));
    assert_eq!((result.code, result.signal, result.is_stopped, result.problem), (3, None, false, None));
    assert_eq!(
        (result.stdout, result.stderr),
        (vec!["one".into(), "three".into(), "".into(), "four".into()], vec!["two".into()])
    );
}

#[test]
fn a_command_without_output_has_no_lines() {
    let result = run(argv(&["true"]));
    assert_eq!((result.code, result.stdout.len(), result.stderr.len()), (0, 0, 0));
}

#[test]
fn a_signal_is_128_and_its_number() {
    let result = run(shell("kill -KILL $$"));
    assert_eq!((result.code, result.signal, result.is_stopped), (137, Some(9), false));
}

#[test]
fn words_of_argv_are_no_code() {
    let words = ["a b", "$(echo x)", "`id`", "'", "\"", "*", "", "-n", "a\nb"];
    let result = run(argv(&[&["printf", "<%s>"][..], &words].concat()));
    assert_eq!(result.stdout.join("\n"), words.map(|word| format!("<{word}>")).concat());
}

#[test]
fn escapes_go_and_strange_bytes_stay_readable() {
    let result = run(shell(
        "printf '\\033[1;31mred\\033[0m\\r\\n\\033]8;;http://x\\033\\\\link\\033]8;;\\007\\r\\n\\377\\376 caf\\303\\251\\000!\\n\\033]0;open\\nnext\\033['",
    ));
    assert_eq!(result.stdout, ["red", "link", "\u{fffd}\u{fffd} café!", "", "next"]);
}

#[test]
fn of_megabytes_the_end_arrives_and_a_file_has_all() {
    let outputs = tempfile::tempdir().unwrap();
    let lines = 1_000_000;
    let result = run_in(
        &outputs,
        shell(&format!(r#"seq {lines}; seq 5000 | awk '{{ printf "\033[31m%s\n", $0 }}' >&2"#)),
        &CancellationToken::new(),
    );
    assert_eq!(result.code, 0);
    let (note, shown) = result.stdout.split_last().unwrap();
    assert_eq!((shown.len(), shown[1999].as_str(), shown[2000].as_str()), (2001, "1000000", ""));
    let path = note.strip_prefix("[Showing lines 998001-1000000 of 1000000. The full output (6.6 MB) is in ").unwrap();
    let file = fs::read_to_string(path.strip_suffix(']').unwrap()).unwrap();
    assert_eq!((file.lines().count(), file.lines().next_back()), (lines, Some("1000000")));
    let (note, shown) = result.stderr.split_last().unwrap();
    assert_eq!((shown[0].as_str(), shown[1999].as_str()), ("3001", "5000"));
    assert!(note.starts_with("[Showing lines 3001-5000 of 5000. "), "{note}");
}

#[test]
fn one_endless_line_is_cut_to_its_end() {
    let result = run(shell("head -c 3000000 /dev/zero | tr '\\0' x; printf end"));
    let (note, shown) = result.stdout.split_last().unwrap();
    assert!(shown[0].len() <= 50 * 1024 && shown[0].ends_with("xend") && shown.len() == 2);
    assert!(note.starts_with("[Showing the last 50.0 KB of line 1, which is the last line. "), "{note}");
}

#[test]
fn lines_that_are_mostly_escapes_are_counted_right() {
    // What is kept of the output is cut, and what is left of it without escapes is short.
    let result =
        run(shell("for i in $(seq 9999); do printf '\\033[38;5;1m\\033[48;5;2m\\033[1m%s\\033[0m\\n' $i; done"));
    let (note, shown) = result.stdout.split_last().unwrap();
    let first = 9999 + 1 - (shown.len() - 1);
    assert_eq!((shown[0].clone(), shown[shown.len() - 2].as_str()), (first.to_string(), "9999"));
    assert!(note.starts_with(&format!("[Showing lines {first}-9999 of 9999. ")), "{note}");
}

#[test]
fn the_folder_and_the_variables_are_those_of_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let request = CommandRequest {
        cwd: Some(folder.path().to_owned()),
        env: vec![("GREETING".into(), "a 'b' $HOME\nc".into()), ("TERM".into(), "xterm".into())],
        ..shell("pwd -P; printf '%s' \"$GREETING\"; echo \" $TERM $PAGER ${NVIM-none}\"")
    };
    let cwd = folder.path().canonicalize().unwrap();
    assert_eq!(run(request).stdout, [cwd.to_str().unwrap(), "a 'b' $HOME", "c xterm cat none"]);
}

#[test]
fn a_command_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain");
    fs::write(&file, "text").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let plain = file.to_str().unwrap();
    assert_eq!(problem(argv(&["no-such-program-here"])), "The program `no-such-program-here` was not found.");
    assert_eq!(problem(argv(&[plain])), format!("`{plain}` could not be started: it is not executable."));
    assert_eq!(problem(argv(&[])), "The command was not started: the command names no program.");
    assert_eq!(problem(argv(&[""])), "The command was not started: the command names no program.");
    assert_eq!(
        problem(argv(&["echo", "a\0b"])),
        "The command was not started: argument 1 of `echo` has a NUL byte, which no program can be given."
    );
    let env = |name: &str, value: &str| CommandRequest { env: vec![(name.into(), value.into())], ..argv(&["true"]) };
    assert_eq!(
        problem(env("A=B", "")),
        "The command was not started: `A=B` cannot be the name of an environment variable."
    );
    assert_eq!(
        problem(env("A", "\0")),
        "The command was not started: the environment variable `A` has a NUL byte, which no program can be given."
    );
    assert_eq!(
        problem(argv(&["true", &"x".repeat(4_000_000)])),
        "`true` could not be started: its arguments or environment variables are longer than the system takes. Put long \
         text in a file."
    );
    let gone = CommandRequest { cwd: Some("/no/such/folder".into()), ..argv(&["true"]) };
    assert_eq!(problem(gone), "`true` was not started: the working directory /no/such/folder does not exist.");
}

#[test]
fn a_script_that_begins_with_a_dash_is_no_option() {
    assert_eq!(run(shell("-x")).code, 127);
}

#[test]
fn a_stopped_command_ends_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let cancel = CancellationToken::new();
    let request = shell(&format!("echo before; setsid sleep 600 & echo $! > '{}'; wait", pid.display()));
    let stop = cancel.clone();
    let at = pid.clone();
    let stopper = thread::spawn(move || {
        wait_until("the command runs", || fs::read_to_string(&at).is_ok_and(|text| text.ends_with('\n')));
        stop.cancel();
    });
    let start = Instant::now();
    let result = run_in(&folder, request, &cancel);
    stopper.join().unwrap();
    assert!(result.is_stopped && result.code != 0 && result.problem.is_none(), "{result:?}");
    assert_eq!(result.stdout, ["before"]);
    assert!(start.elapsed() < Duration::from_secs(60));
    let child = fs::read_to_string(&pid).unwrap();
    wait_until("the child has ended", || !is_alive(child.trim()));
}

#[test]
fn a_background_process_is_left_and_noted() {
    let result = run(shell("echo done; sleep 2 &"));
    assert_eq!((result.code, result.stdout), (0, vec!["done".into()]));
    assert!(result.stderr[0].contains("still running"), "{:?}", result.stderr);
}
