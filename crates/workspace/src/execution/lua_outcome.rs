//! What a tool written in Lua returned, and the text in the document that it becomes.
//!
//! The value is read on the main thread, where Lua lives: the bytes of a string are copied once, and of a table no more
//! than [`MAX_VALUES`] values and [`MAX_TEXT`] bytes are converted. What grows with the answer (is it UTF-8? how many lines?
//! where to cut, and where to save the whole?) is done here, on a thread that may take its time.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::runtime::Handle;

use flemma_chat::Language;
use flemma_runtime::blocking;
use flemma_text::truncate::{self, MAX_BYTES, MAX_LINES};
use flemma_tools::{
    Outcome, Output, Permitted, Rendered,
    builtin::{ShownFile, shown_data, shown_file},
    overflow, paths,
    rules::DeniedPaths,
};

/// The most values of a table that are converted: more than a result shows, and no more than the editor has time for.
pub const MAX_VALUES: usize = 20_000;
/// The most bytes of text in a table that are converted.
pub const MAX_TEXT: usize = 2 << 20;

/// The most files that a result shows.
const MAX_FILES: usize = 20;

/// Where files are.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilePlaces {
    /// Where the whole of an output goes that is too long for the document.
    pub(crate) outputs: PathBuf,
    /// Where relative paths start.
    pub(crate) folder: PathBuf,
    /// The files that the user denies reading.
    pub(crate) denied: Arc<DeniedPaths>,
    /// What the agents of the conversation permit.
    pub(crate) permitted: Arc<Permitted>,
}

/// A file that a result is to show, as it came out of Lua.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LuaFile {
    /// Its path.
    Path(Vec<u8>),
    /// Its content.
    Data(Vec<u8>),
}

/// What a tool said, as it came out of Lua.
#[derive(Debug)]
pub struct LuaOutcome {
    value: LuaValue,
    /// The files that are shown with it.
    files: Vec<LuaFile>,
    /// Whether a table was cut off at [`MAX_VALUES`] or [`MAX_TEXT`].
    is_part: bool,
}

/// The value that it returned.
#[expect(missing_docs, reason = "what is said of a value says what its fields are")]
#[derive(Clone, Debug, PartialEq)]
pub enum LuaValue {
    /// A string, or what is written as one.
    Text(Vec<u8>),
    /// What went wrong, and what it had to say before that.
    Failure { error: Vec<u8>, output: Option<Vec<u8>> },
    /// A table with a boolean `ok`: that, and the whole table.
    Structured { ok: bool, value: serde_json::Value },
    /// Any other table.
    Table(serde_json::Value),
}

impl LuaOutcome {
    /// A failure with a message of ours.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(LuaValue::Failure { error: message.into().into_bytes(), output: None }, false)
    }

    /// What a tool said. `is_part`: a table was cut off at [`MAX_VALUES`] or [`MAX_TEXT`].
    pub fn new(value: LuaValue, is_part: bool) -> Self {
        Self { value, files: Vec::new(), is_part }
    }

    /// The same with files that are shown.
    pub fn showing(self, files: Vec<LuaFile>) -> Self {
        Self { files, ..self }
    }

    /// What somebody would miss if it were dropped; `None` for a failure and for a blank text.
    pub fn worth_keeping(self) -> Option<Vec<u8>> {
        match self.value {
            LuaValue::Text(text) => (!text.trim_ascii().is_empty()).then_some(text),
            LuaValue::Structured { ok: true, value } | LuaValue::Table(value) => Some(value.to_string().into_bytes()),
            LuaValue::Structured { ok: false, .. } | LuaValue::Failure { .. } => None,
        }
    }

    /// Whether it can be dealt with at once.
    pub(crate) fn is_small(&self) -> bool {
        !self.is_part
            && self.files.is_empty()
            && match &self.value {
                LuaValue::Text(text) => text.len() <= MAX_BYTES,
                LuaValue::Failure { error, output } => error.len() + output.as_ref().map_or(0, Vec::len) <= MAX_BYTES,
                // How much that is shows only when it is written.
                LuaValue::Structured { .. } | LuaValue::Table(_) => false,
            }
    }

    /// What stands in the result, as it came: text, or bytes that are none. Also whether it is an error.
    fn written(self) -> (Vec<u8>, bool, Language) {
        let outcome = match self.value {
            LuaValue::Text(text) => return (text, false, Language::Plain),
            LuaValue::Failure { mut error, output } => {
                error.extend(output.into_iter().flat_map(|output| [&b"\n\n"[..], &output].concat()));
                return (error, true, Language::Plain);
            }
            LuaValue::Structured { ok, value } => Outcome::Structured { ok, value },
            LuaValue::Table(value) => Outcome::Success(Output::Json(value)),
        };
        let Rendered { text, is_error, language, .. } = outcome.render();
        (text.into_bytes(), is_error, language)
    }

    /// The result as it stands in the document. A text that is too long is cut, and its whole saved. That blocks on the
    /// disk, and so do files.
    pub(crate) fn render(mut self, tool: &str, places: &FilePlaces) -> Rendered {
        let files = std::mem::take(&mut self.files);
        let rendered = self.render_text(tool, &places.outputs);
        if files.is_empty() { rendered } else { show(rendered, tool, files, places) }
    }

    fn render_text(self, tool: &str, outputs: &Path) -> Rendered {
        let is_part = self.is_part;
        let (bytes, is_error, language) = self.written();
        let rendered = |text, language| Rendered { text, is_error, language, attachments: Vec::new() };
        let is_long = bytes.len() > MAX_BYTES || truncate::count_lines(&bytes) > MAX_LINES;
        if !is_long && !is_part {
            // Without a copy where they are UTF-8.
            let text = String::from_utf8(bytes);
            let text = text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            return rendered(text, language);
        }
        let (shown, mut notes) = if is_long {
            let (shown, note) = overflow::beginning(&bytes, &overflow::save(outputs, tool, &bytes));
            (shown, vec![note])
        } else {
            (String::from_utf8_lossy(&bytes), Vec::new())
        };
        if is_part {
            notes.push(format!(
                "The tool returned a table of more than {} values or {}, and what is beyond was left out. (For its \
                 author: return less, or a string)",
                MAX_VALUES,
                truncate::format_size(MAX_TEXT as u64)
            ));
        }
        rendered(format!("{shown}\n\n[{}]", notes.join(". ")), Language::Plain)
    }
}

/// Adds files to a result: a line about each, or why it is not shown.
fn show(mut rendered: Rendered, tool: &str, files: Vec<LuaFile>, places: &FilePlaces) -> Rendered {
    let is_blank = rendered.text.trim().is_empty();
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    if files.len() > MAX_FILES {
        problems.push(format!("[The tool showed {} files; the first {MAX_FILES} are here.]", files.len()));
    }
    for (at, file) in files.into_iter().take(MAX_FILES).enumerate() {
        let shown = match file {
            LuaFile::Path(name) => {
                let path = paths::resolve(&places.folder, Path::new(OsStr::from_bytes(&name)));
                shown_file(&path, &String::from_utf8_lossy(&name), &places.denied, &places.permitted)
            }
            LuaFile::Data(data) => shown_data(&places.outputs, tool, &data, &format!("Attachment {}", at + 1)),
        };
        match shown {
            Ok(ShownFile { about, attachment }) => {
                lines.push(about);
                rendered.attachments.push(attachment);
            }
            Err(problem) => problems.push(format!("[{problem}]")),
        }
    }
    rendered.is_error |= is_blank && rendered.attachments.is_empty();
    // A value stays what it is, unless there is something to say about it.
    if rendered.language == Language::Plain || !problems.is_empty() {
        rendered.language = Language::Plain;
        let parts = [std::mem::take(&mut rendered.text), lines.join("\n"), problems.join("\n")];
        let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
        rendered.text = parts.collect::<Vec<_>>().join("\n\n");
    }
    rendered
}

/// Takes the result of a call. It may be called from any thread.
pub(crate) type Deliver = Arc<dyn Fn(Rendered) + Send + Sync>;

/// The right to answer one run of a tool written in Lua. It may be used from any thread. The first answer counts: one that comes
/// twice, or after the call was cancelled or its time was up, is dropped.
#[derive(Clone)]
pub struct ToolAnswer {
    tool: String,
    is_answered: Arc<AtomicBool>,
    deliver: Deliver,
    /// The threads that render long answers; `None` where the system gives none.
    threads: Option<Handle>,
    places: FilePlaces,
}

impl ToolAnswer {
    /// The right to answer a call of `tool`.
    pub(crate) fn new(tool: String, deliver: Deliver, threads: Option<Handle>, places: FilePlaces) -> Self {
        Self { tool, is_answered: Arc::default(), deliver, threads, places }
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Takes the right to answer; `false` if it was taken before.
    pub(crate) fn claim(&self) -> bool {
        !self.is_answered.swap(true, Ordering::SeqCst)
    }

    /// Whether the run was answered, or stopped.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered.load(Ordering::SeqCst)
    }

    /// Answers, unless that was done before: then the outcome comes back. What may take long is done on another thread.
    pub fn finish(&self, outcome: LuaOutcome) -> Option<LuaOutcome> {
        if !self.claim() {
            return Some(outcome);
        }
        match self.threads.as_ref().filter(|_| !outcome.is_small()) {
            Some(threads) => {
                let answer = self.clone();
                let render = move || (answer.deliver)(outcome.render(&answer.tool, &answer.places));
                blocking(threads, Box::new(render));
            }
            None => (self.deliver)(outcome.render(&self.tool, &self.places)),
        }
        None
    }
}
