//! The calls that wait in all conversations of the user: those that are open, and those on the disk.
//!
//! Files are read by a thread of their own, for a limited time: a folder may be a whole home. An open conversation is not read
//! from the disk as well, under whatever name its file has there.

pub(crate) mod chat_files;
pub(crate) mod conversations;
pub(crate) mod finding;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Serialize, Serializer};

use crate::{
    calls::on_disk::{CallOnDisk, CallState, CallsOnDisk},
    components::Lists,
    lists::chat_files::chat_files,
    saving::file_layout::FileLayout,
};
use flemma_chat::{AwaitKind, Awaiting, Document};
use flemma_model::{CallId, ToolInput, UserError};
use flemma_text::one_line;
use flemma_tools::{Summary, preview};

/// For how long files are read.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest question in a list, in characters.
const LONGEST: usize = 200;

/// The most cells of what a call is about, and of its label.
const SUBJECT: usize = 60;

/// The calls that wait, for a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaitingList {
    /// The calls: of the open conversations in the order of their buffers, then of files in the order of their names.
    pub calls: Vec<WaitingCall>,
    /// Why files could not be read.
    pub problems: Vec<String>,
    /// Whether there was no time to read all files.
    pub is_cut_short: bool,
}

/// A call that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingCall {
    /// Where its conversation is.
    #[serde(flatten)]
    pub place: WaitingPlace,
    /// The line of its status block, or else of the call, from 0.
    pub line: usize,
    /// Its id.
    #[serde(rename = "call")]
    pub id: CallId,
    /// What it waits for and until when, on one line.
    pub text: String,
}

/// Where a conversation is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum WaitingPlace {
    /// In this buffer.
    #[serde(rename = "buf")]
    Buffer(i32),
    /// In this file, which is not open.
    #[serde(rename = "file", serialize_with = "as_text")]
    File(PathBuf),
}

fn as_text<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

impl Lists {
    /// Lists the calls that wait in the open conversations, in those below `folder`, and, if `is_all`, in those whose calls
    /// this user's journal knows. `then` is called with the list when the files are read.
    pub fn list_waiting(&self, folder: PathBuf, is_all: bool, then: impl FnOnce(&Self, WaitingList) + Send + 'static) {
        let open: Vec<PathBuf> =
            self.shared.conversations.all().iter().map(|it| self.shared.place(it).file.into()).collect();
        let (journal, locks, now) =
            (self.journaling.journal.clone(), self.ownership.locks.folder.clone(), self.shared.host.now());
        let look = move || {
            let known = if is_all { journal.conversations() } else { Vec::new() };
            look(&folder, known, &open, &CallsOnDisk::new(journal, locks, now))
        };
        self.background.run(look, |this: &Self, found| then(this, this.waiting_list(found)));
    }

    /// The line of the `count`th call that waits after or before `line`, or of the last one in that direction.
    pub fn waiting_from(&self, buffer: i32, line: usize, is_forward: bool, count: usize) -> Option<usize> {
        let mut lines: Vec<usize> = self.calls.pending_calls(Some(buffer)).into_iter().map(|call| call.line).collect();
        lines.retain(|at| if is_forward { *at > line } else { *at < line });
        lines.sort_unstable();
        if !is_forward {
            lines.reverse();
        }
        lines.get(count.max(1) - 1).or(lines.last()).copied()
    }

    fn waiting_list(&self, (list, on_disk): (WaitingList, Vec<(PathBuf, CallOnDisk)>)) -> WaitingList {
        let mut calls = self.waiting_here();
        calls.extend(on_disk.into_iter().map(|(file, call)| WaitingCall {
            text: self.sentence(&call.tool, &call.input, &call.state),
            place: WaitingPlace::File(file),
            line: call.line,
            id: call.id,
        }));
        WaitingList { calls, ..list }
    }

    /// The calls that wait in the open conversations.
    fn waiting_here(&self) -> Vec<WaitingCall> {
        let mut calls = Vec::new();
        for conversation in self.shared.conversations.all() {
            let place = WaitingPlace::Buffer(conversation.buffer);
            for call in self.calls.pending_calls(Some(conversation.buffer)) {
                let awaiting = Awaiting { kind: call.kind, expires: call.expires, ..Awaiting::default() };
                let input = call.input.map_or(ToolInput::Malformed(String::new()), ToolInput::Json);
                let text = self.words(&call.tool, &input, call.question, &awaiting);
                calls.push(WaitingCall { place: place.clone(), line: call.line, id: call.id, text });
            }
            if conversation.is_busy() {
                continue;
            }
            // Without autopilot, the calls of a reply have no blocks until the user goes on.
            let open = conversation.page.open_calls().into_iter();
            calls.extend(open.filter(|call| call.placeholder.is_none() && !call.aborted).map(|call| WaitingCall {
                place: place.clone(),
                line: call.line,
                text: self.sentence(&call.name, &call.input, &CallState::Undecided),
                id: call.id,
            }));
        }
        calls
    }

    /// What a call waits for, on one line. The words of a file are cut to size.
    fn sentence(&self, tool: &str, input: &ToolInput, state: &CallState) -> String {
        match state {
            CallState::Interrupted { since, .. } => {
                let since = self.shared.host.local_time(*since);
                let call = self.subject(tool, input);
                format!("{call}: it was started {since}, and may have had an effect. Run it again?")
            }
            CallState::Undecided => {
                format!("{}: Ctrl-] lets your policies decide", self.subject(tool, input))
            }
            state => {
                let mut awaiting = state.awaiting().cloned().unwrap_or_default();
                awaiting.kind = state.kind().unwrap_or_default();
                let asks = awaiting.kind == AwaitKind::Elicitation;
                let question = asks.then(|| self.calls.form_question(tool, input)).flatten();
                self.words(tool, input, question, &awaiting)
            }
        }
    }

    /// The tool, and what the call is about: as on its card.
    fn subject(&self, tool: &str, input: &ToolInput) -> String {
        let definition = self.shared.toolbox.get(tool);
        let summary = Summary::of(definition.as_deref(), tool, input);
        let label = if summary.label.is_empty() { String::new() } else { format!("  {}", summary.label) };
        format!("{}{}", summary.line(SUBJECT), preview::clip(&label, SUBJECT))
    }

    /// What a call waits for. The words of its block may be anybody's, so they are not among these.
    fn words(&self, tool: &str, input: &ToolInput, question: Option<String>, awaiting: &Awaiting) -> String {
        let what = match awaiting.kind {
            AwaitKind::Approval => "waits for your approval",
            AwaitKind::Elicitation => "waits for your answer",
            AwaitKind::ClientExec => "waits for the editor",
        };
        let deadline = awaiting.expires.map(|at| {
            let word = if awaiting.is_over(self.shared.host.now()) { "expired" } else { "until" };
            format!(", {word} {}", self.shared.host.local_time(at))
        });
        let question = question.map(|question| format!(": {}", one_line(&question, LONGEST)));
        // The question says what the call is about.
        let call = if question.is_some() { one_line(tool, LONGEST) } else { self.subject(tool, input) };
        format!("{call}: {what}{}{}", deadline.unwrap_or_default(), question.unwrap_or_default())
    }
}

/// Looks at files, without those that are `open`. Gives a list without calls, and the calls that were found. It blocks on the disk.
fn look(
    folder: &Path,
    known: Vec<PathBuf>,
    open: &[PathBuf],
    disk: &CallsOnDisk,
) -> (WaitingList, Vec<(PathBuf, CallOnDisk)>) {
    let end = Instant::now() + PATIENCE;
    let (mut list, mut found) = (WaitingList::default(), Vec::new());
    // A file may be reached under several names.
    let mut seen: BTreeSet<PathBuf> = open.iter().filter_map(|file| file.canonicalize().ok()).collect();
    let known = known.into_iter().filter(|file| file.is_absolute()).map(Ok);
    let files = folder.is_dir().then(|| chat_files(folder));
    if files.is_none() {
        list.problems.push(format!("there is no folder {}", folder.display()));
    }
    for file in files.into_iter().flatten().chain(known) {
        if Instant::now() > end {
            list.is_cut_short = true;
            break;
        }
        let read = file.map_err(|error| UserError::new(error.to_string())).and_then(|file| {
            let calls = read(&file, &mut seen, disk)?;
            found.extend(calls.into_iter().map(|call| (file.clone(), call)));
            Ok(())
        });
        list.problems.extend(read.err().map(|problem| problem.to_string()));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    (list, found)
}

/// The calls that wait in a file; none if it is not there, or was seen before.
fn read(file: &Path, seen: &mut BTreeSet<PathBuf>, disk: &CallsOnDisk) -> Result<Vec<CallOnDisk>, UserError> {
    // The journal knows files that are not there any more.
    let Ok(real) = file.canonicalize() else { return Ok(Vec::new()) };
    // A pipe would wait for a writer, and a device may have no end.
    if !seen.insert(real) || !file.is_file() {
        return Ok(Vec::new());
    }
    let unreadable = |error: &dyn std::fmt::Display| UserError::new(format!("{}: {error}", file.display()));
    let bytes = fs::read(file).map_err(|error| unreadable(&error))?;
    let (_, lines) = FileLayout::read(&bytes).map_err(|error| unreadable(&error))?;
    let calls = disk.calls(file, &Document::parse(&lines), &lines).map_err(|error| unreadable(&error))?;
    Ok(calls.into_iter().filter(CallOnDisk::is_waiting).collect())
}
