//! What is drawn in a conversation's buffer: previews of calls that wait, and what goes on right now.

use std::path::PathBuf;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::{
    Conversation,
    calls::{INTERRUPTED, key::Keyed as _},
    components::Views,
    ports::{CallContext, Place},
    reviews::made::NotMade,
};
use flemma_agent::{Activity, Level};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_model::{CallId, ToolInput};
use flemma_provider::ProviderName;
use flemma_text::{
    ansi::{self, AnsiStyle},
    wrap::wrap,
};
use flemma_tools::{Definition, DiffLine, Executor, Summary, preview};

/// A line of virtual text under a status block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// The line of the card, from 0.
    pub line: usize,
    /// The text; empty if the card says it.
    pub text: String,
    /// How many lines the call would add to files; `None` where that is not known.
    pub added: Option<usize>,
    /// How many it would remove.
    pub removed: Option<usize>,
    /// The first lines of what would change.
    pub diff: Vec<PreviewLine>,
    /// Whether the text is a question to the user.
    pub asks: bool,
    /// What the user's keys do with the call: the action of a key, and a word for it.
    pub keys: Vec<(&'static str, &'static str)>,
    /// The files that the call would write, if that is known: absolute, with links resolved.
    pub files: Vec<String>,
}

impl Preview {
    fn of(line: usize, text: String) -> Self {
        Self { line, text, ..Self::default() }
    }

    /// What takes several lines.
    fn whole(line: usize, lines: Vec<String>) -> Self {
        let mut lines = lines.into_iter();
        let mut preview = Self::of(line, lines.next().unwrap_or_default());
        preview.diff = lines.map(|text| PreviewLine { kind: "call", text }).collect();
        preview
    }
}

/// A line of what would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewLine {
    /// What it is: `call`, `warning`, or a word of [`DiffKind::as_str`](flemma_tools::DiffKind::as_str).
    pub kind: &'static str,
    /// The line, with its sign.
    pub text: String,
}

/// What goes on right now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveView {
    /// What stands at the end of the buffer, beside the spinner.
    pub text: Option<String>,
    /// The tools that run.
    pub running: Vec<RunningView>,
}

/// A tool that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunningView {
    /// The id of its call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The line of its card, from 0.
    pub line: usize,
    /// For how long it has been running.
    pub seconds: u64,
    /// The lines of its latest output, in pieces of one colour.
    pub latest: Vec<Vec<OutputPiece>>,
}

/// A piece of a command's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputPiece {
    /// The text.
    pub text: String,
    /// Its colours, as in [`AnsiStyle::words`].
    pub style: String,
}

/// The cells in front of what goes on: the spinner and a space.
const SPINNER: usize = 2;

/// The cells of a card that may be taken by what a call waits for and by the lines that it would change, and by a deadline.
const BESIDE: usize = 29;
const DEADLINE: usize = 16;

/// How many open calls are previewed at a time. The user's keys are heard in between.
const PREVIEWED_AT_ONCE: usize = 100;

impl Views {
    /// The previews of the status blocks that are empty and wait, none wider than `width` cells. A file that is still being
    /// read has none yet: reading on here would hold up the first screen.
    ///
    /// These are the previews of a few open calls, from the one at `first` on; and where to go on, if there are more.
    pub fn previews(&self, conversation: &Conversation, width: usize, first: usize) -> (Vec<Preview>, Option<usize>) {
        if !conversation.page.is_complete.get() {
            return (Vec::new(), None);
        }
        let (calls, next) = conversation.page.with_document(|document, text| {
            let (calls, next) = (document.calls().open(text).into_iter(), first + PREVIEWED_AT_ONCE);
            let next = Some(next).filter(|next| *next < calls.len());
            (calls.skip(first).take(PREVIEWED_AT_ONCE).collect::<Vec<_>>(), next)
        });
        let place = self.shared.place(conversation);
        let previews = calls.iter().filter_map(|call| {
            let placeholder = call.placeholder.as_ref()?;
            match placeholder.block.status {
                Status::Pending | Status::Approved if placeholder.content.is_empty() => {
                    Some(self.waiting(conversation, &place, call, placeholder.line, width))
                }
                // It stood in the file, or what ran was stopped from outside.
                Status::Running if !conversation.session.is_working_on(&call.id) => {
                    let (_, words) = conversation.holding.of_running();
                    Some(Preview::of(placeholder.line, preview::line(&call.name, &words, width)))
                }
                _ => None,
            }
        });
        (previews.collect(), next)
    }

    /// The preview of a call that waits, whose card is on this line.
    fn waiting(
        &self,
        conversation: &Conversation,
        place: &Place,
        call: &OpenCall,
        line: usize,
        width: usize,
    ) -> Preview {
        let definition = self.shared.toolbox.get(&call.name);
        let definition = definition.as_deref();
        let own = definition.and_then(|definition| self.own_preview(conversation.buffer, definition, call, width));
        let lines = if own.is_some() { None } else { preview::lines(definition, &call.name, &call.input, width) };
        let summary = Summary::of(definition, &call.name, &call.input);
        let is_said = own.is_none() && lines.is_none();
        let mut text = own.unwrap_or_else(|| preview::call(definition, &call.name, &call.input, width));
        let awaiting = call.awaiting();
        let deadline = awaiting.as_ref().and_then(|awaiting| awaiting.expires).map_or(0, |_| DEADLINE);
        let fits = text.width() + BESIDE + deadline <= width && self.shared.config().looks.enabled;
        if is_said && fits && is_on_card(&text, &call.name, &summary.what) {
            text.clear();
        }
        let mut preview = lines.map_or_else(|| Preview::of(line, text), |lines| Preview::whole(line, lines));
        if let Some(folder) = self.permissions.runs_elsewhere(place, &call.name) {
            let lines = wrap(&format!("  in {}", folder.display()), width).into_iter();
            preview.diff.extend(lines.map(|text| PreviewLine { kind: "call", text }));
        }
        preview.asks = definition.is_some_and(|definition| matches!(definition.executor, Executor::Human));
        let is_decided = awaiting.as_ref().is_some_and(|awaiting| awaiting.kind == AwaitKind::Approval);
        // Whether a call that was interrupted is to run again, if its block asks that.
        let question = awaiting.and_then(|awaiting| awaiting.question).filter(|asks| asks == INTERRUPTED);
        if let Some(question) = &question {
            preview.diff.insert(0, PreviewLine { kind: "warning", text: preview::clip(question, width) });
        }
        let mut preview = self.with_change(conversation, call, preview, width);
        preview.keys = match (preview.asks, is_decided) {
            (true, _) => vec![("tool_execute", "answer")],
            (false, true) if question.is_some() => vec![("tool_approve", "run again"), ("tool_reject", "reject")],
            (false, true) => vec![("tool_approve", "approve"), ("tool_reject", "reject")],
            (false, false) => Vec::new(),
        };
        let may_always = definition.is_some_and(|definition| self.permissions.has_rule(place, definition, &call.input));
        if preview.keys.len() == 2 && question.is_none() && may_always && !self.asks_always(conversation, call) {
            preview.keys.push(("tool_approve_always", "always"));
        }
        if !preview.files.is_empty() {
            preview.keys.push(("tool_review", "review"));
        }
        preview
    }

    /// Whether the call would write a file of which writing asks every time.
    fn asks_always(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        let found = conversation.proposals.found(&call.key());
        found.is_some_and(|found| found.is_ok_and(|ready| ready.proposal.files.iter().any(|file| file.is_start_up)))
    }

    /// Adds what a call would write, which the user is shown with that.
    fn with_change(&self, conversation: &Conversation, call: &OpenCall, mut preview: Preview, width: usize) -> Preview {
        let key = call.key();
        let Some(found) = conversation.proposals.found(&key) else {
            let words = conversation.proposals.delay_words(&key).map(DiffLine::note);
            preview.diff.extend(fitted(words.as_slice(), width));
            return preview;
        };
        conversation.proposals.show(&key, conversation.records.made(&key).as_ref());
        let most = self.shared.config().tools.review.lines as usize;
        let lines = match &found {
            Ok(ready) => {
                preview.files = paths(&ready.places());
                let shown = ready.shown();
                if let Some((added, removed)) = shown.lines {
                    let figures = format!(" +{added} -{removed}");
                    if !preview.text.is_empty() && preview::fits(&format!("{}{figures}", preview.text), width) {
                        preview.text.push_str(&figures);
                    }
                    (preview.added, preview.removed) = (Some(added), Some(removed));
                }
                let mut lines = shown.first_lines(most);
                let before = conversation.records.with_ledger(|ledger| ledger.last_binding(&key).cloned());
                let elsewhere = before.and_then(|before| ready.proposal.leads_to(&before));
                let notes = [elsewhere, ready.follows(), ready.made.note().map(str::to_owned)];
                lines.splice(0..0, notes.into_iter().flatten().filter(|_| most > 0).map(DiffLine::note));
                lines
            }
            // Nothing would change, and the user has to know why.
            Err(problem) => {
                preview.files = paths(&conversation.proposals.places(&key));
                let kept = conversation.records.made(&key).map(|_| DiffLine::note(NotMade::Impossible.note()));
                problem.to_string().lines().take(most.max(1)).map(DiffLine::note).chain(kept).collect()
            }
        };
        preview.diff = fitted(&lines, width);
        preview
    }

    /// What a tool's own `format_preview` says; `None` where it has none, throws, or gives no text.
    fn own_preview(&self, buffer: i32, definition: &Definition, call: &OpenCall, width: usize) -> Option<String> {
        let function = definition.format_preview?;
        let ToolInput::Json(input) = &*call.input else { return None };
        let room = preview::room(&definition.name, width);
        let input = &definition.taken(input);
        match self.shared.scripts.preview(CallContext { function, input, buffer, call: &call.id }, room) {
            Ok(body) => body.map(|body| preview::line(&definition.name, &body, width)),
            Err(thrown) => {
                self.shared
                    .log(Level::Warn, &format!("format_preview of `{}` threw an error: {thrown}", definition.name));
                None
            }
        }
    }
}

/// Whether the card of a call says what its preview says, apart from remarks, which follow two spaces.
fn is_on_card(preview: &str, name: &str, what: &str) -> bool {
    let body = preview.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or_default();
    let rest = body.strip_prefix("$ ").unwrap_or(body).strip_prefix(what);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("  "))
}

/// The lines of a diff, none wider than `width` cells.
fn fitted(lines: &[DiffLine], width: usize) -> Vec<PreviewLine> {
    let fitted = DiffLine::fitted(lines, width).into_iter();
    fitted.map(|(kind, text)| PreviewLine { kind: kind.as_str(), text }).collect()
}

impl Conversation {
    /// What goes on right now, no line wider than `width` cells.
    pub fn live(&self, width: usize) -> LiveView {
        let text = self.activity_text().map(|text| text + &self.progress_text());
        let running = self.session.running();
        let places: Vec<(CallId, usize)> = self.page.with_document(|document, _| {
            let runs = |id: &CallId| running.iter().any(|call| call.id == *id);
            let placeholders = document.calls().placeholders().filter(|(id, _, _)| runs(id));
            placeholders.map(|(id, _, lines)| (id.clone(), lines.start)).collect()
        });
        let running = running.iter().filter_map(|call: &OpenCall| {
            let (_, line) = places.iter().rfind(|(id, _)| *id == call.id)?;
            Some(RunningView {
                id: call.id.0.clone(),
                name: call.name.clone(),
                line: *line,
                seconds: self.tasks.elapsed(&call.id).as_secs(),
                latest: coloured_lines(&self.tasks.latest(&call.id), width),
            })
        });
        LiveView {
            text: text.map(|text| preview::clip(&text, width.saturating_sub(SPINNER))),
            running: running.collect(),
        }
    }

    /// What goes on, for the screen: a reply comes from the model that was asked for it, whatever the options say since.
    pub(crate) fn activity_text(&self) -> Option<String> {
        match self.session.activity() {
            Activity::Loading if self.page.is_reading.get() => Some("reading the conversation".to_owned()),
            Activity::Waiting if self.accounts.reads_files.get() => {
                Some("reading the files that the conversation shows".to_owned())
            }
            activity => {
                let (provider, model) = self.accounts.recipient().unwrap_or_default();
                describe(&activity, provider, &model)
            }
        }
    }

    /// How long a reply has taken so far and how much of it has arrived; empty while there is none.
    pub(crate) fn progress_text(&self) -> String {
        match self.session.activity() {
            Activity::Idle
            | Activity::Loading
            | Activity::Capturing
            | Activity::Retrying { .. }
            | Activity::Executing { .. } => String::new(),
            // The provider may have counted the first token already.
            Activity::Waiting => self.accounts.progress(|_| (0, false)),
            _ => self.accounts.progress(|rate| self.session.progress().tokens(rate)),
        }
    }

    /// The calls that run, with their time, and those that wait, with their line.
    pub(crate) fn call_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for call in self.session.running() {
            let seconds = self.tasks.elapsed(&call.id).as_secs();
            lines.push(format!("  running  {} ({}), {seconds} s", call.name, call.id));
        }
        for call in self.page.open_calls().iter().filter(|call| !self.tasks.is_running(&call.id)) {
            let place = call.placeholder.as_ref().map_or(call.line, |placeholder| placeholder.fence);
            let status = call.status().map_or_else(|| "new".to_owned(), |status| status.to_string());
            lines.push(format!("  waiting  {} ({}), line {}: {status}", call.name, call.id, place + 1));
        }
        lines
    }
}

/// The lines of an output in pieces of one colour, none wider than `width` cells.
fn coloured_lines(output: &str, width: usize) -> Vec<Vec<OutputPiece>> {
    let mut style = AnsiStyle::default();
    let line = |line: &str| {
        let mut room = width;
        let mut pieces = Vec::new();
        for (text, style) in ansi::runs(line, &mut style) {
            let text = preview::clip(text, room);
            room = room.saturating_sub(text.width());
            pieces.push(OutputPiece { text, style: style.words() });
        }
        pieces
    };
    output.lines().map(line).collect()
}

fn paths(places: &[PathBuf]) -> Vec<String> {
    places.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn describe(activity: &Activity, provider: ProviderName, model: &str) -> Option<String> {
    match activity {
        Activity::Idle | Activity::Executing { .. } => None,
        Activity::Loading => Some("Waiting for tool definitions to load…".into()),
        Activity::Capturing => Some("looking up the references in your message".into()),
        Activity::Waiting => Some(format!("waiting for {} ({model})", provider.name())),
        Activity::Retrying { attempt, reason } => Some(format!("retrying (attempt {attempt}): {reason}")),
        Activity::Thinking => Some("thinking".into()),
        Activity::Writing => Some("writing".into()),
        Activity::Hosting { tool } => Some(format!("{} runs {tool}", provider.name())),
        Activity::Calling { tool, bytes } => {
            let size = flemma_text::truncate::format_size(*bytes as u64);
            Some(format!("writing the input of {tool} ({size})"))
        }
    }
}
