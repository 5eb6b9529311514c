//! What a command says, and the exit code.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use serde_json::{Value, json};
use thiserror::Error;

use super::names;
use flemma_runtime::Owner;
pub(super) use flemma_runtime::save::plain_words as words;

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything that was asked for is done.
    Done = 0,
    /// It failed, for a reason that standard error names.
    Failed = 1,
    /// The arguments are wrong. (`clap` uses the same number.)
    Usage = 2,
    /// The conversation waits for a person. What for is on standard output.
    Suspended = 3,
    /// The conversation is held where it cannot be handed over to.
    Held = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what it was asked for.
#[derive(Debug, Error)]
pub enum Failure {
    /// The arguments make no sense together with what is there.
    #[error("{0}")]
    Usage(String),
    /// Something else.
    #[error("{0}")]
    Failed(String),
    /// Another process holds the conversation, and cannot be asked.
    #[error("{file} is held {}", place(.owner.as_ref()))]
    Held {
        /// The conversation.
        file: String,
        /// Who holds it, if that is known.
        owner: Option<Owner>,
    },
    /// A process that answers has the conversation open, and keeps it.
    #[error("{file} is held by {}, which {how}", who(.owner.as_ref()))]
    InUse {
        /// The conversation.
        file: String,
        /// Who has it open, if that is known.
        owner: Option<Owner>,
        /// What that process does with it, and what to do about it.
        how: &'static str,
    },
}

/// Who holds a conversation.
pub(super) fn who(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "another process".to_owned(), Owner::to_string)
}

fn place(owner: Option<&Owner>) -> String {
    match owner {
        Some(owner) if is_far(owner) => format!(
            "by {owner}. Run this command on {}, or close the conversation there. If that process or machine is gone, \
             --steal takes it over",
            owner.host
        ),
        Some(owner) => format!(
            "by {owner}, which does not answer. Close the conversation there, or end the process. --steal takes it over \
             from a process that is stopped"
        ),
        None => "by another process, which does not say who it is. Close the conversation there. If that process is \
                 gone, --steal takes it over"
            .to_owned(),
    }
}

impl Failure {
    /// The exit code.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Failed(_) => Exit::Failed,
            Self::Held { .. } | Self::InUse { .. } => Exit::Held,
        }
    }

    /// The same for a program.
    pub fn to_json(&self) -> Value {
        let mut value = json!({ "ok": false, "error": self.to_string() });
        if let Self::Held { owner: Some(owner), .. } | Self::InUse { owner: Some(owner), .. } = self {
            value["host"] = owner.host.as_str().into();
            value["pid"] = owner.process.into();
        }
        value
    }
}

/// What a command has to say.
#[derive(Debug)]
pub struct Report {
    /// For a person.
    pub text: String,
    /// The same for a program.
    pub json: Value,
    /// What went wrong beside it, for standard error.
    pub warnings: Vec<String>,
    /// The exit code.
    pub exit: Exit,
}

impl Report {
    /// What is said of something that is done.
    pub fn done(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json, warnings: Vec::new(), exit: Exit::Done }
    }

    /// The same, where some of it failed for these reasons.
    pub fn with_errors(text: impl Into<String>, json: Value, errors: Vec<String>) -> Self {
        let exit = if errors.is_empty() { Exit::Done } else { Exit::Failed };
        Self { text: text.into(), json, warnings: errors, exit }
    }
}

/// Prints the outcome of a command: a report to standard output, an error to standard error. With `is_json` either goes to
/// standard output.
pub fn print(outcome: Result<Report, Failure>, is_json: bool) -> ExitCode {
    let (text, exit) = match &outcome {
        Ok(report) if is_json => (names::json(&report.json), report.exit),
        Ok(report) => {
            for warning in &report.warnings {
                let _ = writeln!(io::stderr(), "flemma: {}", names::message(warning));
            }
            (report.text.clone(), report.exit)
        }
        Err(failure) if is_json => (names::json(&failure.to_json()), failure.exit()),
        Err(failure) => {
            let _ = writeln!(io::stderr(), "flemma: {}", names::message(&failure.to_string()));
            return failure.exit().into();
        }
    };
    match put(&text) {
        Ok(()) => exit.into(),
        // Who reads it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit.into(),
        Err(error) => {
            // The disk is full, for example. What was done is done.
            let words = words(&error);
            let _ =
                writeln!(io::stderr(), "flemma: the command was carried out, but its output was not written: {words}");
            if exit == Exit::Done { Exit::Failed.into() } else { exit.into() }
        }
    }
}

/// Whether that is a process of another machine.
pub(super) fn is_far(owner: &Owner) -> bool {
    owner.host != Owner::this().host
}

/// `1 error`, `2 errors`.
pub(super) fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

fn put(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}
