//! The open calls of conversations on the disk, as their texts and this user's journal have them: for whoever only looks.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;

use crate::calls::{
    outlook::{CallState, Outlook, outlooks},
    suspension::asks_again,
};
use flemma_chat::{AwaitKind, Awaiting, Document, Text};
use flemma_journal::Ledger;
use flemma_model::{CallId, ToolInput};
use flemma_runtime::{Journal, Owner, holder};
use flemma_tools::{Registry, preview};

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
    pub state: StateOnDisk,
    /// Whether its deadline has passed.
    pub is_overdue: bool,
}

/// What becomes of an open call.
#[derive(Clone, Debug)]
pub enum StateOnDisk {
    /// See [`CallState`].
    Known(CallState),
    /// Another process has started it, and is at work on the conversation.
    Running {
        /// When it was started.
        since: Timestamp,
        /// The process, if it says who it is.
        by: Option<Owner>,
    },
}

impl CallsOnDisk {
    /// Looks with this journal and the locks in this folder. `now` decides what is overdue.
    #[must_use]
    pub fn new(journal: Journal, locks: PathBuf, now: Timestamp) -> Self {
        Self { journal, locks, tools: Registry::with_builtins(), now }
    }

    /// The open calls of a text, which is that of the file at this absolute path. It blocks on the disk.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn calls(&self, path: &Path, document: &Document, lines: &dyn Text) -> io::Result<Vec<CallOnDisk>> {
        let open = document.calls().open(lines);
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let ledger = Ledger::replay(self.journal.look(path)?);
        let outlooks = outlooks(open, document, lines, &ledger, &self.tools);
        let is_started = |outlook: &Outlook| matches!(outlook.state, CallState::Interrupted { .. });
        let holder = outlooks.iter().any(is_started).then(|| holder::look(&self.locks, path)).flatten();
        let calls = outlooks.into_iter().map(|Outlook { call, state }| {
            let state = match (state, &holder) {
                // Where its block asks, whoever holds it does not run it.
                (CallState::Interrupted { since, awaiting, .. }, Some(by)) if !asks_again(&awaiting) => {
                    StateOnDisk::Running { since, by: by.clone() }
                }
                (state, _) => StateOnDisk::Known(state),
            };
            let tool = self.tools.get(&call.name).map(AsRef::as_ref);
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
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.state.kind().is_some() || matches!(self.state, StateOnDisk::Known(CallState::Undecided))
    }
}

impl StateOnDisk {
    /// What its block says, if it waits.
    #[must_use]
    pub fn awaiting(&self) -> Option<&Awaiting> {
        match self {
            Self::Known(CallState::Waits { awaiting, .. } | CallState::Interrupted { awaiting, .. }) => Some(awaiting),
            _ => None,
        }
    }

    /// What it waits for.
    #[must_use]
    pub fn kind(&self) -> Option<AwaitKind> {
        match self {
            Self::Known(CallState::Waits { kind, awaiting }) => Some(kind.unwrap_or(awaiting.kind)),
            Self::Known(CallState::Interrupted { runs_again: false, .. }) => Some(AwaitKind::Approval),
            _ => None,
        }
    }
}
