//! The open calls of conversations on the disk, as their texts and this user's journal have them: for whoever only looks.

use std::{
    cell::LazyCell,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    calls::{Standing, asks_again, is_handed_on, key::Keyed as _, waits},
    page::answered,
};
use flemma_chat::{AwaitKind, Awaiting, Document, OpenCall, Status, Text};
use flemma_journal::{Actor, CallKey, Ledger, Life, Role};
use flemma_model::{CallId, ToolInput};
use flemma_runtime::{Journal, Owner, holder};
use flemma_tools::{Definition, Registry, preview};

/// The most cells of what a call asks.
const QUESTION: usize = 400;

/// What is needed to look at conversations: nothing is made, locked or changed.
pub struct CallsOnDisk {
    journal: Journal,
    locks: PathBuf,
    tools: Registry,
    now: Timestamp,
}

/// An open call of a conversation on the disk.
#[derive(Clone, Debug)]
pub struct CallOnDisk {
    /// The line of its block, or else of the call, from 0.
    pub line: usize,
    /// Its id.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// The input.
    pub input: Arc<ToolInput>,
    /// What it asks, or would do, on one line. It is made from the input: anybody may have written the block.
    pub question: String,
    /// What becomes of it.
    pub state: CallState,
    /// Whether its deadline has passed.
    pub is_overdue: bool,
}

/// What becomes of an open call. `awaiting` is what its block says.
#[expect(missing_docs, reason = "what is said of a state says what its fields are")]
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// It waits for a decision or an answer; `None` if only its block says for which, and anybody may have written the block.
    Waits { kind: Option<AwaitKind>, awaiting: Awaiting },
    /// It was started then, and it is not known whether it has ended. It waits for a decision, unless it runs again without a question,
    /// since that does no harm.
    Interrupted { since: Timestamp, runs_again: bool, awaiting: Awaiting },
    /// Another process has started it then, and is at work on the conversation. It may say who it is.
    Running { since: Timestamp, by: Option<Owner> },
    /// It has no block yet: the policies of the user decide when the conversation goes on.
    Undecided,
    /// It was approved, by this actor and then, and runs when the conversation goes on.
    Approved { by: Actor, at: Timestamp },
    /// The journal has its result, by this actor and from then, which is written into the file when the conversation is opened.
    Ended { by: Actor, at: Timestamp },
    /// Its block says that it may not run. It gets an error result when the conversation goes on.
    Refused(Status),
}

impl CallsOnDisk {
    /// Looks with this journal and the locks in this folder. `now` decides what is overdue.
    pub fn new(journal: Journal, locks: PathBuf, now: Timestamp) -> Self {
        Self { journal, locks, tools: Registry::with_builtins(), now }
    }

    /// The open calls of a text, which is that of the file at this absolute path, in their order, without those of replies that
    /// were cut off: these never run. It blocks on the disk.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn calls(&self, path: &Path, document: &Document, lines: &dyn Text) -> io::Result<Vec<CallOnDisk>> {
        let mut open = document.calls().open(lines);
        open.retain(|call| !call.aborted);
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let ledger = Ledger::replay(self.journal.look(path)?);
        let holder = LazyCell::new(|| holder::look(&self.locks, path));
        let calls = open.into_iter().map(|call| {
            let key = call.key();
            let standing = Standing::of(&ledger, &key, || answered(document, lines, &key));
            let tool = self.tools.get(&call.name).map(AsRef::as_ref);
            let mut state = CallState::of(&call, &key, &standing, &ledger, tool);
            // Where its block asks, whoever holds it does not run it.
            if let CallState::Interrupted { since, awaiting, .. } = &state
                && !asks_again(awaiting)
                && let Some(by) = &*holder
            {
                state = CallState::Running { since: *since, by: by.clone() };
            }
            let question = preview::call(tool, "", &call.input, QUESTION);
            CallOnDisk {
                question: question.trim_start_matches(':').trim_start().to_owned(),
                line: call.placeholder.as_ref().map_or(call.line, |placeholder| placeholder.line),
                is_overdue: state.awaiting().is_some_and(|awaiting| awaiting.is_over(self.now)),
                id: call.id,
                tool: call.name,
                input: call.input,
                state,
            }
        });
        Ok(calls.collect())
    }
}

impl CallOnDisk {
    /// Whether somebody has to do something for it.
    pub fn is_waiting(&self) -> bool {
        self.state.kind().is_some() || self.state == CallState::Undecided
    }
}

impl CallState {
    /// It is the judgement that an open conversation makes ([`Standing`]), where nothing is at work on its calls.
    fn of(call: &OpenCall, key: &CallKey, standing: &Standing, ledger: &Ledger, tool: Option<&Definition>) -> Self {
        let awaiting = waits(call, || matches!(standing, Standing::Approved(_)));
        match (standing, ledger.approval(key)) {
            (Standing::Ended(_), _) => {
                if let Some(ending) = &ledger.of(key).ending {
                    return Self::Ended { by: ending.by.clone(), at: ending.at };
                }
            }
            // The command line has decided, also where the file has not got it yet.
            (Standing::Approved(by), Some((_, at)))
                if awaiting.is_none() || by.role == Role::CommandLine && !is_handed_on(ledger, key) =>
            {
                return Self::Approved { by: by.clone(), at };
            }
            _ => {}
        }
        match (call.status(), awaiting) {
            (Some(status @ (Status::Denied | Status::Rejected)), _) => Self::Refused(status),
            (_, awaiting) if *standing == Standing::Interrupted => {
                let Life::Open { started: Some(since), .. } = ledger.of(key).life else { return Self::Undecided };
                let runs_again = tool.is_some_and(|tool| tool.idempotent);
                Self::Interrupted { since, runs_again, awaiting: awaiting.unwrap_or_default() }
            }
            (_, Some(awaiting)) => {
                Self::Waits { kind: standing.kind(ledger, key, tool.map(|tool| &tool.executor)), awaiting }
            }
            (_, None) => Self::Undecided,
        }
    }

    /// What its block says, if it waits.
    pub fn awaiting(&self) -> Option<&Awaiting> {
        match self {
            Self::Waits { awaiting, .. } | Self::Interrupted { awaiting, .. } => Some(awaiting),
            _ => None,
        }
    }

    /// What it waits for.
    pub fn kind(&self) -> Option<AwaitKind> {
        match self {
            Self::Waits { kind, awaiting } => Some(kind.unwrap_or(awaiting.kind)),
            Self::Interrupted { runs_again: false, .. } => Some(AwaitKind::Approval),
            _ => None,
        }
    }
}
