//! What the open calls of a conversation wait for, from its text and its journal alone: for whoever only looks.
//!
//! It is the judgement that an open conversation makes ([`crate::standing`]), where nothing is at work on its calls.

use jiff::Timestamp;

use crate::{
    calls::{Standing, is_handed_on, key::Keyed as _, waits},
    page::answered,
};
use flemma_chat::{AwaitKind, Awaiting, Document, OpenCall, Status, Text};
use flemma_journal::{Actor, CallKey, Ledger, Life, Role};
use flemma_tools::Registry;

/// An open call, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outlook {
    /// The call.
    pub call: OpenCall,
    /// What becomes of it.
    pub state: CallState,
}

/// What becomes of an open call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// It waits for a decision or an answer.
    Waits {
        /// What it waits for; `None` if only its block says that, and anybody may have written the block.
        kind: Option<AwaitKind>,
        /// What its block says.
        awaiting: Awaiting,
    },
    /// It was started then, and it is not known whether it has ended. It waits for a decision, unless something is still at
    /// work on it.
    Interrupted {
        /// When it was started.
        since: Timestamp,
        /// Whether it runs again without a question, since that does no harm.
        runs_again: bool,
        /// What its block says.
        awaiting: Awaiting,
    },
    /// It has no block yet: the policies of the user decide when the conversation goes on.
    Undecided,
    /// It was approved, and runs when the conversation goes on.
    Approved {
        /// Who approved it.
        by: Actor,
        /// When.
        at: Timestamp,
    },
    /// The journal has its result, which is written into the file when the conversation is opened.
    Ended {
        /// Who ended it.
        by: Actor,
        /// When.
        at: Timestamp,
    },
    /// Its block says that it may not run. It gets an error result when the conversation goes on.
    Refused(Status),
}

/// The open calls of a conversation, in their order, without those of replies that were cut off: these never run.
#[must_use]
pub(crate) fn outlooks(
    calls: Vec<OpenCall>,
    document: &Document,
    text: &dyn Text,
    ledger: &Ledger,
    tools: &Registry,
) -> Vec<Outlook> {
    let calls = calls.into_iter().filter(|call| !call.aborted);
    let look = |call: OpenCall| {
        let key = call.key();
        let standing = Standing::of(ledger, &key, || answered(document, text, &key));
        let state = state(&call, &key, &standing, ledger, tools);
        Outlook { call, state }
    };
    calls.map(look).collect()
}

fn state(call: &OpenCall, key: &CallKey, standing: &Standing, ledger: &Ledger, tools: &Registry) -> CallState {
    let status = call.placeholder.as_ref().map(|placeholder| placeholder.block.status);
    let awaiting = waits(call, || matches!(standing, Standing::Approved(_)));
    let tool = tools.get(&call.name);
    match (standing, ledger.approval(key)) {
        (Standing::Ended(_), _) => {
            if let Some(ending) = ledger.ending(key) {
                return CallState::Ended { by: ending.by.clone(), at: ending.at };
            }
        }
        // The command line has decided, also where the file has not got it yet.
        (Standing::Approved(by), Some((_, at)))
            if awaiting.is_none() || by.role == Role::CommandLine && !is_handed_on(ledger, key) =>
        {
            return CallState::Approved { by: by.clone(), at };
        }
        _ => {}
    }
    match (status, awaiting) {
        (Some(status @ (Status::Denied | Status::Rejected)), _) => CallState::Refused(status),
        (_, awaiting) if *standing == Standing::Interrupted => {
            let Life::Open { started: Some(since), .. } = ledger.life(key) else { return CallState::Undecided };
            let runs_again = tool.is_some_and(|tool| tool.idempotent);
            CallState::Interrupted { since, runs_again, awaiting: awaiting.unwrap_or_default() }
        }
        (_, Some(awaiting)) => {
            let kind = standing.kind(ledger, key, tool.map(|tool| &tool.executor));
            CallState::Waits { kind, awaiting }
        }
        (_, None) => CallState::Undecided,
    }
}
