//! Tools in Rust: what they are given, and what they give back.
//!
//! A [`NativeTool`] runs on the runtime's threads, never on the editor's main thread. All that it knows of the
//! conversation is in its [`Context`]; what it returns is an [`Outcome`], whose [`Outcome::render`] is the text that
//! stands in the document and goes to the model.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{paths, rules::DeniedPaths};
use crate::{chat::Language, model::Attachment, process::OnProgress};

/// JSON up to this many characters stays on one line in a result.
const COMPACT_JSON: usize = 80;

/// Says why a file must not be written (an open conversation, the trust store), or `None` if it may.
pub type Protected = Arc<dyn Fn(&Path) -> Option<String> + Send + Sync>;

/// A tool that is written in Rust.
pub trait NativeTool: Send + Sync {
    /// Runs one call. `input` has been checked against the tool's schema.
    ///
    /// The future must be polled on a tokio runtime with I/O and time. When `context.cancel` fires it ends soon, leaves nothing
    /// running behind, and still gives an outcome.
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome>;

    /// What a call would do, in one line of about `width` display cells without the tool's name; `None` for the
    /// generic preview. `input` may be anything: it is shown before it is checked.
    fn preview(&self, input: &Value, width: usize) -> Option<String>;
}

/// What a tool may know and use while it runs.
#[derive(Clone)]
pub struct Context {
    /// The working directory; absolute.
    pub cwd: PathBuf,
    /// The folder of the `.chat` file; `None` while the conversation has no file.
    pub chat_dir: Option<PathBuf>,
    /// How long the call may take unless its input says otherwise.
    pub timeout: Duration,
    /// Fires when the user cancels the call.
    pub cancel: CancellationToken,
    /// Where the latest lines of output go.
    pub progress: OnProgress,
    /// The user's `tools.<name>` table; `Null` if there is none.
    pub config: Value,
    /// Where the whole of an output goes that is too long for the document.
    pub overflow_dir: PathBuf,
    /// Asked before a file is written.
    pub protected: Protected,
    /// What the user denies reading: it is neither searched nor listed.
    pub denied: Arc<DeniedPaths>,
}

impl Context {
    /// A context for calls in `cwd`, with the given default timeout: nobody watches, nothing is protected, no
    /// configuration, and long outputs go to `overflow_dir`.
    pub fn new(cwd: PathBuf, timeout: Duration, overflow_dir: PathBuf) -> Self {
        Self {
            cwd,
            chat_dir: None,
            timeout,
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| {}),
            config: Value::Null,
            overflow_dir,
            protected: Arc::new(|_| None),
            denied: Arc::default(),
        }
    }

    /// The absolute path of what a model calls `path`: relative paths start at the conversation's folder, or at the
    /// working directory if it has none; `~` and `~/…` are the user's home; absolute paths stay.
    pub fn resolve(&self, path: &str) -> PathBuf {
        paths::resolve(self.chat_dir.as_ref().unwrap_or(&self.cwd), Path::new(path))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("cwd", &self.cwd).field("chat_dir", &self.chat_dir).finish_non_exhaustive()
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The tool did what it was asked.
    Success(Output),
    /// It did not.
    Failure {
        /// What went wrong, and what to do better: for the model.
        error: String,
        /// What the tool had to say before it failed.
        output: Option<String>,
    },
    /// A table that says by a boolean `ok` of its own how the call ended, and reaches the model as it is.
    Structured {
        /// Its `ok`.
        ok: bool,
        /// The whole table.
        value: Value,
    },
}

/// What a tool said.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Plain text.
    Text(String),
    /// What changed in a file, as a diff.
    Diff(String),
    /// A table.
    Json(Value),
    /// A file for the model to look at, and what to say about it.
    Attached(String, Attachment),
}

/// An outcome as it stands in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text inside the fence; no final newline is needed.
    pub text: String,
    /// Whether the header says `(error)`.
    pub is_error: bool,
    /// What the fence says that it is.
    pub language: Language,
    /// The files that the model is shown with it.
    pub attachments: Vec<Attachment>,
}

impl Outcome {
    /// Success with plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Success(Output::Text(text.into()))
    }

    /// Failure with nothing but a message.
    pub fn failure(error: impl Into<String>) -> Self {
        Self::Failure { error: error.into(), output: None }
    }

    /// The text for the document. A failure that has output too keeps both: the error, a blank line, the output.
    pub fn render(&self) -> Rendered {
        let (text, is_error, language) = match self {
            Self::Success(Output::Text(text) | Output::Attached(text, _)) => (text.clone(), false, Language::Plain),
            Self::Success(Output::Diff(text)) => (text.clone(), false, Language::Diff),
            Self::Success(Output::Json(value)) => (json_text(value), false, Language::Json),
            Self::Structured { ok, value } => (json_text(value), !ok, Language::Json),
            Self::Failure { error, output: None } => (error.clone(), true, Language::Plain),
            Self::Failure { error, output: Some(output) } => (format!("{error}\n\n{output}"), true, Language::Plain),
        };
        let attachments = match self {
            Self::Success(Output::Attached(_, attachment)) => vec![attachment.clone()],
            _ => Vec::new(),
        };
        Rendered { text, is_error, language, attachments }
    }
}

/// Compact where it fits on one line, pretty beyond.
fn json_text(value: &Value) -> String {
    let compact = value.to_string();
    if compact.chars().count() <= COMPACT_JSON { compact } else { format!("{value:#}") }
}
