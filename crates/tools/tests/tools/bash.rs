//! The `bash` tool, with real commands.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::workshop::{Workshop, is_alive, wait_until};

fn bash(command: &str) -> Value {
    json!({ "label": null, "command": command, "timeout": null })
}

fn bash_for(seconds: f64, command: &str) -> Value {
    json!({ "label": null, "command": command, "timeout": seconds })
}

#[test]
fn output_and_errors_are_interleaved_as_written() {
    let shop = Workshop::new();
    assert_eq!(shop.ok("bash", bash("echo one; echo two >&2; echo three")), "one\ntwo\nthree");
}

#[test]
fn a_command_runs_in_the_working_directory() {
    let shop = Workshop::new();
    let cwd = shop.context.cwd.canonicalize().unwrap();
    assert_eq!(shop.ok("bash", bash("pwd -P")), cwd.to_str().unwrap());
}

#[test]
fn a_command_that_prints_nothing_says_so() {
    assert_eq!(Workshop::new().ok("bash", bash("true")), "(no output)");
}

#[test]
fn a_command_that_prints_only_white_space_says_so_too() {
    let shop = Workshop::new();
    assert_eq!(shop.ok("bash", bash(r"printf '\n\n\n'")), "(only white space, in 3 lines)");
    assert_eq!(shop.ok("bash", bash("printf ' '")), "(only white space, in 1 line)");
}

#[test]
fn one_second_is_no_seconds() {
    let text = Workshop::new().err("bash", bash_for(1.0, "sleep 60"));
    assert!(text.starts_with("Timed out after 1 second: "), "{text}");
}

#[test]
fn an_exit_code_is_an_error_that_keeps_the_output() {
    let shop = Workshop::new();
    assert_eq!(shop.err("bash", bash("echo half; exit 3")), "exit code 3\n\nhalf");
    assert_eq!(shop.err("bash", bash("false")), "exit code 1");
}

#[test]
fn a_signal_is_named() {
    assert_eq!(Workshop::new().err("bash", bash("kill -SEGV $$")), "ended by signal 11 (SIGSEGV)");
}

#[test]
fn there_is_no_input_no_terminal_and_no_pager() {
    let shop = Workshop::new();
    assert_eq!(
        shop.ok("bash", bash("cat; echo $TERM $GIT_PAGER; test -t 0 || echo no terminal")),
        "dumb cat\nno terminal"
    );
    assert!(shop.err("bash", bash("echo x > /dev/tty")).contains("/dev/tty"));
}

#[test]
fn an_editor_that_a_program_starts_fails_at_once() {
    let names = ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"];
    for name in names.into_iter().chain(["SVN_EDITOR", "HGEDITOR", "SUDO_EDITOR"]) {
        // SAFETY: the environment of this process is read through the standard library alone, which locks it.
        unsafe { std::env::set_var(name, "sh -c 'echo started; exit 0'") };
    }
    let shop = Workshop::new();
    let said = "No editor is available here. Give the text in the command, as in git commit -m.";
    for name in names {
        let text = shop.err("bash", bash(&format!("eval \"${name} file\"")));
        assert_eq!(text, format!("exit code 1\n\n{said}"), "{name}");
        // As a program does that starts it without a shell.
        let text = shop.err("bash", bash(&format!("${name} file")));
        assert!(!text.contains("started"), "{text}");
    }
    assert_eq!(shop.ok("bash", bash("echo ${SVN_EDITOR-none} ${HGEDITOR-none} ${SUDO_EDITOR-none}")), "none none none");
    let start = Instant::now();
    let text =
        shop.err("bash", bash("git init -q . && git -c core.editor='echo started' commit --allow-empty <<< ':!x'"));
    assert!(text.contains(said) && !text.contains("started"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn neovims_own_variables_do_not_reach_a_command() {
    // SAFETY: the environment of this process is read through the standard library alone, which locks it.
    unsafe { std::env::set_var("NVIM", "/run/nvim.sock") };
    let shown = Workshop::new().ok("bash", bash("env | grep -E '^(NVIM|VIMRUNTIME|VIM)=' || echo none"));
    assert_eq!(shown, "none");
}

#[test]
fn provider_keys_reach_a_command_only_if_the_user_allows_it() {
    for (index, name) in flemma_provider::secret_variables().enumerate() {
        // SAFETY: the environment of this process is read through the standard library alone, which locks it.
        unsafe { std::env::set_var(name, format!("secret-{index}")) };
    }
    let mut shop = Workshop::new();
    assert_eq!(shop.ok("bash", bash("env | grep secret- || echo none")), "none");
    shop.context.config = json!({ "keep_env": ["OPENAI_API_KEY"] });
    assert_eq!(shop.ok("bash", bash("env | grep secret-")), "OPENAI_API_KEY=secret-1");
    for name in flemma_provider::secret_variables() {
        // SAFETY: as above.
        unsafe { std::env::remove_var(name) };
    }
}

#[test]
fn a_command_that_begins_like_an_option_is_a_command() {
    assert!(Workshop::new().err("bash", bash("-c 'echo run'")).starts_with("exit code 127"));
}

#[test]
fn bytes_that_are_no_utf8_are_shown_as_replacement_characters() {
    assert_eq!(Workshop::new().ok("bash", bash(r"printf 'a\xffb'")), "a\u{fffd}b");
}

#[test]
fn a_timeout_keeps_the_output_and_leaves_nothing_running() {
    let shop = Workshop::new();
    let text = shop.err("bash", bash_for(0.5, "echo begun; sleep 1000 & echo $! > child; wait"));
    assert!(text.starts_with("Timed out after 0.5 seconds"), "{text}");
    assert!(text.ends_with("\n\nbegun"), "{text}");
    wait_until("the grandchild dies", || !is_alive(&shop.content("child")));
}

#[test]
fn a_command_that_ignores_the_polite_signal_is_killed() {
    let shop = Workshop::new();
    let started = Instant::now();
    let command = "trap '' TERM; echo $$ > shell; (trap '' TERM; echo $BASHPID > child; while :; do sleep 0.1; done) & \
                   while :; do sleep 0.1; done";
    let text = shop.err("bash", bash_for(0.4, command));
    assert!(text.starts_with("Timed out"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(15), "took {:?}", started.elapsed());
    wait_until("both die", || !is_alive(&shop.content("shell")) && !is_alive(&shop.content("child")));
}

#[test]
fn a_silent_process_that_ignores_sigterm_is_killed() {
    let shop = Workshop::new();
    let quiet = "(trap '' TERM; exec >/dev/null 2>&1; echo $BASHPID > child; while :; do sleep 0.1; done)";
    let text = shop.err("bash", bash_for(0.4, &format!("{quiet} & exec sleep 1000")));
    assert!(text.starts_with("Timed out"), "{text}");
    wait_until("it dies", || !is_alive(&shop.content("child")));
}

#[test]
fn cancelling_stops_the_whole_group_and_keeps_the_output() {
    let shop = Workshop::new();
    let (cancel, ready) = (shop.context.cancel.clone(), shop.path("child"));
    let canceller = thread::spawn(move || {
        wait_until("the command has begun", || fs::read_to_string(&ready).is_ok_and(|pid| pid.ends_with('\n')));
        cancel.cancel();
    });
    let started = Instant::now();
    let text = shop.err("bash", bash("echo begun; bash -c 'sleep 1000 & echo $! > child; wait'; echo never"));
    canceller.join().unwrap();
    assert!(text.starts_with("Cancelled by the user"), "{text}");
    assert!(text.contains("begun") && !text.contains("never"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(15));
    wait_until("the grandchild dies", || !is_alive(&shop.content("child")));
}

#[cfg(target_os = "linux")]
#[test]
fn what_has_left_the_group_is_stopped_with_it() {
    let shop = Workshop::new();
    let away = "setsid sh -c 'trap \"\" TERM; exec >/dev/null 2>&1; echo $$ >NAME; while :; do sleep 0.1; done' &";
    let text = shop.err("bash", bash_for(0.5, &format!("{} sleep 1000", away.replace("NAME", "one"))));
    assert!(text.starts_with("Timed out"), "{text}");
    wait_until("it dies", || !is_alive(&shop.content("one")));
    // What an earlier command left running is not the later command's.
    shop.ok("bash", bash(&format!("{} while ! test -s two; do sleep 0.01; done", away.replace("NAME", "two"))));
    shop.err("bash", bash_for(0.3, "sleep 1000"));
    assert!(is_alive(&shop.content("two")));
    std::process::Command::new("kill").args(["-KILL", shop.content("two").trim()]).status().unwrap();
}

#[test]
fn what_was_cancelled_before_it_began_still_gives_a_result() {
    let shop = Workshop::new();
    shop.context.cancel.cancel();
    assert!(shop.err("bash", bash("sleep 1000")).starts_with("Cancelled by the user"));
}

#[test]
fn dropping_the_call_kills_the_group() {
    let shop = Workshop::new();
    let registry = flemma_tools::Registry::with_builtins();
    let flemma_tools::Executor::Server(flemma_tools::Runner::Native(tool)) =
        registry.get("bash").unwrap().executor.clone()
    else {
        panic!()
    };
    let call = tool.run(bash("sleep 1000 & echo $! > child; wait"), shop.context.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let task = runtime.spawn(call);
    wait_until("the command has begun", || fs::read_to_string(shop.path("child")).is_ok_and(|pid| pid.ends_with('\n')));
    task.abort();
    wait_until("the grandchild dies", || !is_alive(&shop.content("child")));
}

#[test]
fn a_background_process_keeps_running_without_blocking() {
    let shop = Workshop::new();
    let started = Instant::now();
    let text = shop.ok("bash", bash("sleep 1000 & echo $! > child; echo started"));
    assert!(started.elapsed() < Duration::from_secs(15), "took {:?}", started.elapsed());
    assert!(text.starts_with("started\n\n[A process that the command started in the background"), "{text}");
    let child = shop.content("child");
    assert!(is_alive(&child));
    std::process::Command::new("kill").arg(child.trim()).status().unwrap();
}

#[test]
fn a_long_output_shows_its_end_and_names_the_full_file() {
    let shop = Workshop::new();
    let text = shop.ok("bash", bash("seq 1 5000"));
    assert!(text.starts_with("3001\n3002\n"), "{}", &text[..40]);
    let notice = text.lines().last().unwrap();
    let path = notice.strip_prefix("[Showing lines 3001-5000 of 5000. The full output (23.3 KB) is in ").unwrap();
    let path = path.strip_suffix("]").unwrap();
    let whole: String = (1..=5000).map(|line| format!("{line}\n")).collect();
    assert_eq!(fs::read_to_string(path).unwrap(), whole);
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&shop.context.overflow_dir).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn two_hundred_megabytes_go_to_the_file_and_not_to_memory() {
    let shop = Workshop::new();
    let before = resident();
    let text = shop.ok("bash", bash("yes | head -c 200M"));
    let grown = resident().saturating_sub(before);
    assert!(grown < 120 * 1024, "resident memory grew by {grown} KB");
    assert!(text.len() < 60 * 1024);
    let notice = text.lines().last().unwrap();
    assert!(
        notice.starts_with("[Showing lines 104855601-104857600 of 104857600. The full output (200.0 MB)"),
        "{notice}"
    );
    let path = notice.rsplit(" is in ").next().unwrap().trim_end_matches(']');
    assert_eq!(fs::metadata(path).unwrap().len(), 200 << 20);
}

#[test]
fn an_endless_output_ends_with_the_timeout() {
    let shop = Workshop::new();
    let started = Instant::now();
    let text = shop.err("bash", bash_for(0.5, "yes"));
    assert!(text.starts_with("Timed out after 0.5 seconds"), "{}", &text[..60]);
    assert!(started.elapsed() < Duration::from_secs(15), "took {:?}", started.elapsed());
}

#[test]
fn an_output_that_cannot_be_saved_is_still_shown() {
    let mut shop = Workshop::new();
    shop.context.overflow_dir = shop.put("a-file", "").join("below");
    let text = shop.ok("bash", bash("seq 1 5000"));
    assert!(
        text.contains("\n5000\n") && text.contains("[Showing lines 3001-5000 of 5000. The rest could not be saved")
    );
}

#[test]
fn the_last_lines_are_reported_while_a_command_runs() {
    let mut shop = Workshop::new();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reports);
    shop.context.progress = Arc::new(move |text| seen.lock().unwrap().push(text));
    let started = Instant::now();
    shop.ok(
        "bash",
        bash(r"for i in $(seq 60); do printf '%s\n' line$i; sleep 0.01; done; printf '10%%\r\033[1m99%%'; sleep 0.3"),
    );
    // One every 100 ms, and one at the end. A busy machine may delay a report, but adds none.
    let most = started.elapsed().as_millis() / 100 + 2;
    let reports = reports.lock().unwrap();
    assert!(reports.len() > 1 && reports.len() as u128 <= most, "{most}: {reports:?}");
    // The editor shows colours, so they stay here.
    assert_eq!(reports.last().unwrap(), "line57\nline58\nline59\nline60\n\u{1b}[1m99%");
}

#[test]
fn what_cannot_be_run_says_why() {
    let mut shop = Workshop::new();
    assert_eq!(
        shop.err("bash", bash("echo \0")),
        "`command` has a NUL byte at byte 5: it cannot be passed to a program. Remove it."
    );
    assert_eq!(shop.err("bash", bash("  ")), "`command` is empty.");
    assert_eq!(shop.err("bash", bash_for(0.0, "ls")), "`timeout` must be more than 0 seconds, not 0.");
    assert!(shop.err("bash", bash(&"x".repeat(200_000))).contains("195.3 KB long; the limit is 128.0 KB"));
    shop.context.config = json!({ "shell": "/no/such/shell" });
    assert_eq!(
        shop.err("bash", bash("ls")),
        "The shell `/no/such/shell` was not found. The user can name another one as tools.bash.shell in the configuration."
    );
    shop.context.cwd = "/no/such/folder".into();
    assert_eq!(shop.err("bash", bash("ls")), "The working directory /no/such/folder does not exist.");
}

#[test]
fn a_command_is_read_in_utf_8() {
    let shop = Workshop::new();
    assert_eq!(shop.ok("bash", bash("x=$(printf '\\342\\202\\254'); echo ${#x}")), "1");
}

#[test]
fn the_configured_shell_runs_the_command() {
    let mut shop = Workshop::new();
    shop.context.config = json!({ "shell": "sh" });
    assert_eq!(shop.ok("bash", bash("echo $0")), "sh");
}

/// Resident memory of this process in KB.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Where there is no bash, it is another one, and the user may have named one.
#[test]
fn the_description_promises_no_shell_that_may_not_be_there() {
    let definition = flemma_tools::builtin::all().into_iter().find(|tool| tool.name == "bash").unwrap();
    assert!(definition.description.contains("the user's shell"), "{}", definition.description);
    assert!(!definition.description.contains("with bash"), "{}", definition.description);
}
