//! `bash`: runs a shell command.
//!
//! The command runs in the working directory with [`process::run`], which stops it and everything that it started when it is
//! cancelled or takes too long. Standard output and standard error are combined, and only the end is kept if they are long.
//! A non-zero exit code is a failure that includes the output.
//!
//! The shell is the one that rules are read for, as far as there is one ([`Shell::find`]). The environment is the editor's, with
//! the changes that `command::environment` makes, and a locale in which the shell reads UTF-8.

use std::{os::unix::process::ExitStatusExt, path::Path, process::ExitStatus, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use crate::{
    Context, NativeTool, Outcome,
    command::{LEFT_RUNNING, ShownPart, environment},
    overflow, preview, seconds,
};
use flemma_model::ModelError;
use flemma_process as process;
use flemma_process::{Captured, CommandEnd, CommandSpec, Finished, Grammar, Shell, StopCause, Streams};
use flemma_text::{
    ansi, things,
    truncate::{self, Limits, format_size},
};

/// The longest single argument that Linux passes to a program, in bytes, including its final NUL.
const MAX_COMMAND: usize = 128 * 1024;

/// The tool.
pub(super) struct Bash;

impl NativeTool for Bash {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        async move { execute(&input, context).await.unwrap_or_else(Outcome::failure) }.boxed()
    }

    fn preview(&self, input: &Value, width: usize) -> Option<String> {
        let command = input.get("command")?.as_str()?;
        // The user must see how it ends: if it is too long, the label is left out first, and then the middle.
        let whole = preview::labelled(format!("$ {command}"), input);
        Some(if preview::fits(&whole, width) { whole } else { preview::without_middle(&format!("$ {command}"), width) })
    }

    fn program(&self, input: &Value) -> Option<String> {
        Some(format!("$ {}", input.get("command")?.as_str()?))
    }

    fn summary(&self, input: &Value) -> Option<String> {
        input.get("command")?.as_str().map(str::to_owned)
    }
}

/// Runs the command. `Err` is the reason why it could not be started.
async fn execute(input: &Value, context: Context) -> Result<Outcome, ModelError> {
    let command = shell_command(input)?;
    let timeout = timeout(input, &context)?;
    ensure!(context.cwd.is_dir(), "The working directory {} does not exist.", context.cwd.display());
    let named = context.config.get("shell").and_then(Value::as_str).map(str::to_owned);
    let name = named.clone().unwrap_or_else(|| "bash".to_owned());
    let shell = tokio::task::spawn_blocking(move || Shell::find(named.as_deref())).await;
    let Ok(Ok(shell)) = shell else {
        bail!(
            "The shell `{name}` was not found. The user can name another one as tools.bash.shell in the configuration."
        );
    };
    match process::run(spec(&shell, &name, &command, timeout, &context)).await {
        Ok(finished) => Ok(outcome(finished, timeout, &context.overflow_dir).await),
        Err(error) => bail!("The command could not be started with `{name}`: {error}."),
    }
}

fn shell_command(input: &Value) -> Result<String, ModelError> {
    let command = super::text(input, "command")?;
    ensure!(!command.trim().is_empty(), "`command` is empty.");
    if let Some(place) = command.find('\0') {
        bail!("`command` has a NUL byte at byte {place}: it cannot be passed to a program. Remove it.");
    }
    if command.len() + 2 > MAX_COMMAND {
        bail!(
            "`command` is {} long; the limit is {}. Write it to a file and run that.",
            format_size(command.len() as u64),
            format_size(MAX_COMMAND as u64)
        );
    }
    // A leading dash or plus would be read as an option of the shell.
    let guard = if command.starts_with(['-', '+']) { " " } else { "" };
    Ok(format!("{guard}{command}"))
}

fn timeout(input: &Value, context: &Context) -> Result<Duration, ModelError> {
    match input.get("timeout").and_then(Value::as_f64) {
        None => Ok(context.timeout),
        Some(seconds) if seconds > 0.0 => Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
        Some(seconds) => bail!("`timeout` must be more than 0 seconds, not {seconds}."),
    }
}

fn spec(shell: &Shell, name: &str, command: &str, timeout: Duration, context: &Context) -> CommandSpec {
    let kept = context.config.get("keep_env").and_then(Value::as_array).into_iter().flatten();
    let kept: Vec<String> = kept.filter_map(Value::as_str).map(str::to_owned).collect();
    let overflow_dir = context.overflow_dir.clone();
    let mut env = environment(&kept);
    env.extend(shell.locale.map(|locale| ("LC_ALL".into(), Some(locale.into()))));
    let mut args = vec!["-c".into(), command.into()];
    if shell.grammar != Grammar::Unknown {
        // What the shell calls itself in its messages.
        args.push(name.into());
    }
    CommandSpec {
        program: shell.program.clone().into(),
        args,
        cwd: context.cwd.clone(),
        env,
        timeout,
        cancel: context.cancel.clone(),
        progress: Arc::clone(&context.progress),
        make_file: Arc::new(move || overflow::create(&overflow_dir, "bash")),
        streams: Streams::Together,
    }
}

async fn outcome(finished: Finished, timeout: Duration, overflow_dir: &Path) -> Outcome {
    let mut output = shown(finished.output, overflow_dir).await;
    if finished.left_running {
        output = Some(output.map_or_else(|| LEFT_RUNNING.to_owned(), |output| format!("{output}\n\n{LEFT_RUNNING}")));
    }
    let error = match (finished.stopped, finished.end) {
        (Some(StopCause::Cancelled), _) => {
            "Cancelled by the user: the command and everything that it started were stopped.".to_owned()
        }
        (Some(StopCause::TimedOut), _) => format!(
            "Timed out after {}: the command and everything that it started were stopped. Pass a larger `timeout` if it \
             needs longer.",
            seconds::in_words(timeout)
        ),
        (None, CommandEnd::Exited(0)) => return Outcome::text(output.unwrap_or_else(|| "(no output)".into())),
        (None, CommandEnd::Exited(code)) => format!("exit code {code}"),
        (None, CommandEnd::Signalled(signal)) => {
            // The standard library knows the signals' names: "signal: 9 (SIGKILL)".
            format!("ended by {}", ExitStatus::from_raw(signal).to_string().replacen(": ", " ", 1))
        }
        (None, CommandEnd::Unknown) => "The command ended, but its exit status is unknown.".to_owned(),
    };
    Outcome::Failure { error: ModelError::new(error), output }
}

/// The output for the result, with a note if it is only a part, or a description if it is only white space; `None` if there
/// is none.
async fn shown(output: Captured, overflow_dir: &Path) -> Option<String> {
    let tail = truncate::truncate_tail(&output.tail, Limits::default());
    let content = ansi::plain(tail.content.trim_end_matches(['\n', '\r']));
    if !tail.truncated {
        return match (tail.total_bytes, content.trim().is_empty()) {
            (0, _) => None,
            (_, true) => Some(format!("(only white space, in {})", things(tail.total_lines, "line"))),
            (_, false) => Some(content.into_owned()),
        };
    }
    let (part, content) = (ShownPart::of(&tail), ansi::plain(&tail.content).into_owned());
    let note = part.note(output, overflow_dir, "bash").await;
    Some(format!("{content}\n\n{note}"))
}
