//! Tools in Rust: their input and their result.
//!
//! A [`NativeTool`] runs on the runtime's threads, never on the editor's main thread. Its [`Context`] has everything that it
//! knows about the conversation. It returns an [`Outcome`], and [`Outcome::render`] is the text in the document and for the
//! model.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Approved, Commitment, Concern, Earlier, FileClass, Judged, LuaSandbox, Permitted, Proposal, Recorder, SeenPages,
    linked::Linked,
    paths,
    rules::{DeniedPaths, Names},
};
use flemma_chat::Language;
use flemma_model::{Attachment, ModelError, UserError};
use flemma_process::OnProgress;

/// JSON of up to this many characters is written on one line in a result.
const COMPACT_JSON: usize = 80;

/// Says what a file is to tools that write. It blocks on the disk.
pub type Protected = Arc<dyn Fn(&Path) -> FileClass + Send + Sync>;

/// A tool written in Rust.
pub trait NativeTool: Send + Sync {
    /// Runs one call. `input` has been checked against the tool's schema.
    ///
    /// The future must be polled on a tokio runtime with I/O and time. When `context.cancel` fires, it ends soon, leaves
    /// nothing running, and still returns an outcome.
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome>;

    /// What a call would do, in one line of about `width` display cells without the tool's name; `None` for the
    /// generic preview. `input` may be anything: it is shown before it is checked.
    fn preview(&self, input: &Value, width: usize) -> Option<String>;

    /// The program that a call would run, which the user has to read to the end before it does; `None` for a tool that runs none.
    /// `input` may be anything.
    fn program(&self, _input: &Value) -> Option<String> {
        None
    }

    /// What a call is about, in a few words without the tool's name and the label; `None` for what the preview says. `input`
    /// may be anything.
    fn summary(&self, _input: &Value) -> Option<String> {
        None
    }

    /// The path of the file whose content the result of a call is; `None` if it is something else. `input` may be anything.
    fn shown_file(&self, _input: &Value) -> Option<String> {
        None
    }

    /// Whether the tool says beforehand what it would write ([`NativeTool::propose`]).
    fn is_proposing(&self) -> bool {
        false
    }

    /// What a call would write, or why it would fail; `None` for a tool that does not say so. `input` has been checked
    /// against the tool's schema. It changes nothing, and blocks on the disk.
    fn propose(&self, _input: &Value, _context: &Context) -> Option<Result<Proposal, ModelError>> {
        None
    }

    /// The files that a call may write, as its input names them, absolute; `None` if it may be others. `input` may be anything.
    /// It does not look at the disk.
    fn targets(&self, _input: &Value, _context: &Context) -> Option<Vec<PathBuf>> {
        None
    }
}

impl fmt::Debug for dyn NativeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeTool")
    }
}

/// What a tool can use while it runs.
#[derive(Clone)]
pub struct Context {
    /// The working directory; absolute.
    pub cwd: PathBuf,
    /// The folder of the `.chat` file; `None` if the conversation has no file.
    pub chat_dir: Option<PathBuf>,
    /// How long the call may take, unless its input sets a timeout.
    pub timeout: Duration,
    /// Fires when the user cancels the call.
    pub cancel: CancellationToken,
    /// Asked before the first file is changed.
    pub commitment: Commitment,
    /// Receives the latest lines of output.
    pub progress: OnProgress,
    /// The user's `tools.<name>` table; `Null` if there is none.
    pub config: Value,
    /// The folder for the full output if it is too long for the document.
    pub overflow_dir: PathBuf,
    /// Called before a file is written.
    pub protected: Protected,
    /// Which files were judged when the call was approved; `None` for a call that only proposes.
    pub judged: Option<Arc<Judged>>,
    /// The folder of notes; absolute.
    pub notes_root: PathBuf,
    /// The files that the user denies reading. They are neither searched nor listed.
    pub denied: Arc<DeniedPaths>,
    /// What the agents of the conversation let tools read and write.
    pub permitted: Arc<Permitted>,
    /// Keeps what files were before they are changed; `None` if nothing is kept.
    pub recorder: Option<Arc<dyn Recorder>>,
    /// What the user has approved; `None` for a call that may write whatever it proposes.
    pub approved: Option<Arc<Approved>>,
    /// What the calls above would write, for a call that proposes. A call that runs finds what is on the disk.
    pub earlier: Earlier,
    /// The files that are open with changes which are not saved.
    pub unsaved: Arc<[PathBuf]>,
    /// Whether somebody has decided that the call may run, and not only a policy of the user's.
    pub is_decided: bool,
    /// Evaluates Lua; `None` where there is none.
    pub lua: Option<LuaSandbox>,
    /// Which files with instructions the user trusts: the digest of the text that they have trusted in each, by its real path.
    pub instructions: Arc<HashMap<String, String>>,
    /// What the run of a tool in Lua has read of the notes.
    pub seen: Arc<SeenPages>,
}

impl Context {
    /// A context for calls in `cwd` with the given default timeout, without progress, protection, records or configuration. Long
    /// outputs are saved to `overflow_dir`.
    pub fn new(cwd: PathBuf, timeout: Duration, overflow_dir: PathBuf) -> Self {
        Self {
            notes_root: cwd.clone(),
            cwd,
            chat_dir: None,
            timeout,
            cancel: CancellationToken::new(),
            commitment: Commitment::default(),
            progress: Arc::new(|_| {}),
            config: Value::Null,
            overflow_dir,
            protected: Arc::new(|_| FileClass::Ordinary),
            judged: None,
            denied: Arc::default(),
            permitted: Arc::default(),
            recorder: None,
            approved: None,
            earlier: Earlier::default(),
            unsaved: Arc::default(),
            is_decided: false,
            lua: None,
            instructions: Arc::default(),
            seen: Arc::default(),
        }
    }

    /// Whether a search or a list leaves out an entry of a folder whose links are resolved: the user denies reading it, or an
    /// agent does not permit it.
    pub fn hides(&self, entry: &Path) -> bool {
        self.denied.contains(entry) || !self.permitted.shows(entry)
    }

    /// Whether the editor has changes of a file that are not saved. It blocks on the disk.
    pub fn is_unsaved(&self, path: &Path) -> bool {
        !self.unsaved.is_empty() && paths::find_same(&self.unsaved, &paths::real(path)).is_some()
    }

    /// Whether the user denies reading a file under one of its names. The links of `real` are resolved.
    pub(super) fn is_unread(&self, real: &Path) -> bool {
        self.denied.contains(real) || self.denied.judge_names(Linked::at(real)) != Names::Allowed
    }

    /// The absolute path for a path from a model. Relative paths start at the conversation's folder, or at the working
    /// directory if it has none. `~` and `~/…` are the user's home. Absolute paths are not changed.
    pub fn resolve(&self, path: &str) -> PathBuf {
        paths::resolve(self.chat_dir.as_ref().unwrap_or(&self.cwd), Path::new(path))
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The tool succeeded.
    Success(Output),
    /// The tool failed.
    Failure {
        /// What went wrong and how to fix it, for the model.
        error: ModelError,
        /// The output before the failure.
        output: Option<String>,
    },
    /// Nothing was written: the user has approved something else than what the call would write now. It has to be shown to them
    /// again.
    Outdated(UserError),
    /// Nothing was written, because nobody but a policy has approved it, and the user has to know this.
    Asks(Concern),
    /// A table with a boolean `ok` that says whether the call succeeded. The model gets it unchanged.
    Structured {
        /// Its `ok`.
        ok: bool,
        /// The whole table.
        value: Value,
    },
}

/// The output of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Plain text.
    Text(String),
    /// What changed in a file, as a diff.
    Diff(String),
    /// A table.
    Json(Value),
    /// A file to show the model, with a text about it.
    Attached(String, Attachment),
}

/// An outcome as it is written to the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text inside the fence; no final newline is needed.
    pub text: String,
    /// Whether the header says `(error)`.
    pub is_error: bool,
    /// The language of the fence.
    pub language: Language,
    /// The files that are shown to the model with it.
    pub attachments: Vec<Attachment>,
}

impl Outcome {
    /// Success with plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Success(Output::Text(text.into()))
    }

    /// Failure with only a message.
    pub fn failure(error: ModelError) -> Self {
        Self::Failure { error, output: None }
    }

    /// The same with a note for the model below its text.
    pub fn noted(mut self, note: &str) -> Self {
        match &mut self {
            Self::Success(Output::Text(text) | Output::Attached(text, _)) => text.push_str(&format!("\n\n[{note}]")),
            Self::Failure { error, .. } => *error = ModelError::new(format!("{error} {note}.")),
            _ => {}
        }
        self
    }

    /// The text for the document. A failure with output has both: the error, a blank line, the output.
    pub fn render(&self) -> Rendered {
        let (text, is_error, language) = match self {
            Self::Success(Output::Text(text) | Output::Attached(text, _)) => (text.clone(), false, Language::Plain),
            Self::Success(Output::Diff(text)) => (text.clone(), false, Language::Diff),
            Self::Success(Output::Json(value)) => (json_text(value), false, Language::Json),
            Self::Structured { ok, value } => (json_text(value), !ok, Language::Json),
            Self::Outdated(why) => (format!("Nothing was written: {why}."), true, Language::Plain),
            Self::Asks(Concern { words, .. }) => (format!("Nothing was written: {words}."), true, Language::Plain),
            Self::Failure { error, output: None } => (error.to_string(), true, Language::Plain),
            Self::Failure { error, output: Some(output) } => (format!("{error}\n\n{output}"), true, Language::Plain),
        };
        let attachments = match self {
            Self::Success(Output::Attached(_, attachment)) => vec![attachment.clone()],
            _ => Vec::new(),
        };
        Rendered { text, is_error, language, attachments }
    }
}

/// Compact if it fits on one line, and pretty-printed otherwise.
pub(super) fn json_text(value: &Value) -> String {
    let compact = value.to_string();
    if compact.chars().count() <= COMPACT_JSON { compact } else { format!("{value:#}") }
}
