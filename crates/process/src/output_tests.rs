use super::*;

const LONG: Duration = Duration::from_secs(60);

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[tokio::test]
async fn the_two_outputs_are_told_apart() {
    let answer = output(sh("echo out; echo err >&2; exit 3"), LONG).await.unwrap().unwrap();
    assert_eq!(
        (answer.end, &answer.stdout[..], &answer.stderr[..]),
        (CommandEnd::Exited(3), &b"out\n"[..], &b"err\n"[..])
    );
}

#[tokio::test]
async fn a_command_that_times_out_is_killed_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let mut command = sh("sleep 600 & echo $! > \"$FILE\"; wait");
    command.env("FILE", &pid);
    let mut limit = Duration::from_millis(200);
    let pid = loop {
        // On a busy machine it may not have started by then.
        assert!(output(command, limit).await.unwrap().is_none());
        match std::fs::read_to_string(&pid).ok().and_then(|text| text.trim().parse().ok()) {
            Some(pid) => break rustix::process::Pid::from_raw(pid).unwrap(),
            None => limit *= 2,
        }
        command = sh("sleep 600 & echo $! > \"$FILE\"; wait");
        command.env("FILE", &pid);
    };
    while rustix::process::test_kill_process(pid).is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_is_printed_without_end_is_cut() {
    let answer = output(sh("yes"), LONG).await.unwrap().unwrap();
    assert_eq!(answer.stdout.len() as u64, MAX_OUTPUT);
}
