//! The command line: conversations without an editor.
//!
//! A command looks into files, or opens one conversation as an editor does: with its lock, its journal and its state
//! machine ([`flemma_workspace`]), and with a host that runs nothing. So a decision or an answer from here takes the same
//! way as a key press, and there is one winner between them.

mod arguments;
mod check;
mod desk;
mod editor;
mod files;
mod headless;
mod host;
mod manual;
mod names;
mod report;
mod resolve;
mod rpc;
mod run;
mod show;
mod state;
mod sweep;
mod waiting;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

use clap::FromArgMatches;
use serde_json::json;

use arguments::{Arguments, Command};
use report::{Failure, Report};

/// Runs the command of the process's arguments. Gives the exit code.
pub fn main() -> ExitCode {
    let parsed = manual::command().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_json = error.use_stderr() && env::args_os().any(|argument| argument == "--json");
            if is_json {
                let words = error.render().to_string();
                let words = words.strip_prefix("error: ").unwrap_or(&words);
                return report::print(Err(Failure::Usage(words.to_owned())), true);
            }
            // The help and the version come this way, too. Who reads them is gone if they cannot be written.
            let is_written = error.print().and_then(|()| io::stdout().flush()).is_ok();
            let code = if is_written || error.use_stderr() { error.exit_code() } else { 1 };
            return ExitCode::from(u8::try_from(code).unwrap_or(2));
        }
    };
    report::print(run(&arguments.command), arguments.json)
}

fn run(command: &Command) -> Result<Report, Failure> {
    match command {
        Command::Pending(place) => waiting::pending(place),
        Command::Show(file) => show::show(file),
        Command::Resolve(arguments) => resolve::resolve(arguments),
        Command::Run(arguments) => Ok(run::run(arguments)),
        Command::Sweep(place) => sweep::sweep(place),
        Command::Check(place) => check::check(place),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut manual::command(), "flemma", &mut script);
            Ok(printed(script))
        }
        Command::Man => {
            let made = manual::page();
            let page = made.map_err(|error| Failure::Failed(format!("the manual page was not made: {error}")))?;
            Ok(printed(page))
        }
    }
}

fn printed(bytes: Vec<u8>) -> Report {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Report::done(text.clone(), json!({ "ok": true, "text": text }))
}
