//! The one way in which a call that waits is resolved: by a key, a command, Lua, the user interface or the clock.
//!
//! A resolution is checked against what the call really waits for, recorded and flushed ([`crate::journaling`]), written into
//! the document, and only then may the next turn start. The first one wins: to all others the call is stale.

pub(crate) mod answers;
pub(crate) mod apply;
pub(crate) mod deadlines;
pub(crate) mod decisions;
pub(crate) mod prepare;
pub(crate) mod rejection;
pub(crate) mod stale;
pub(crate) mod starts;
pub(crate) mod written;

use std::{
    io,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::{
    Conversation,
    approval::Approval,
    background::Background,
    calls::OpenCalls,
    event::{LoopEvent, Reply},
    execution::Execution,
    journaling::{Journaling, not_recorded},
    options::Frontmatter,
    ownership::Ownership,
    resolutions::{answers::Answers, stale::Stale, starts::Starts},
    shared::Shared,
    undo::Undo,
};
use flemma_agent::{CallResult, Choice, Input};
use flemma_chat::OpenCall;
use flemma_journal::{Binding, CallKey, Record, Role};
use flemma_model::CallId;

/// How long a caller that waits for the acknowledgement waits for the disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// What becomes of a call that waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// It may run.
    Approve,
    /// It may run, also if it was started before and interrupted.
    ApproveAgain,
    /// It may run, and write what the user was shown and has made of it.
    ApproveAs(Binding),
    /// It would fail, and this is why: there is nothing to decide about.
    Impossible(String),
    /// It may not run, or the user does not answer. The text, if there is one, tells the model why.
    Reject(Option<String>),
    /// The answer, which is the result.
    Answer(Value),
    /// There is no answer, and this is why.
    Fail(String),
    /// A result that is ready to be written.
    Result(CallResult),
    /// Nobody resolved it in time.
    Expire,
}

/// Why a call was not resolved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// There is no such call, it has its result, its time is over, or it does not wait for this.
    #[error("stale")]
    Stale(Stale),
    /// Its deadline has passed, then. The user is told so.
    #[error("stale")]
    Late(Timestamp),
    /// Another process holds the conversation.
    #[error("{0}")]
    Held(String),
    /// The conversation or its journal is not read.
    #[error("{0}")]
    Unread(String),
    /// The answer is not one that the tool accepts, or the document cannot take it.
    #[error("{0}")]
    Invalid(String),
    /// It could not be recorded.
    #[error("{0}")]
    NotRecorded(String),
}

impl ResolveError {
    /// The same in words that name the reason, for the command line.
    #[must_use]
    pub fn explained(&self) -> String {
        match self {
            Self::Stale(why) => format!("stale: {why}"),
            Self::Late(at) => format!("stale: its deadline passed at {at}"),
            other => other.to_string(),
        }
    }
}

/// A resolution that was checked, and whose call nobody else can resolve now.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) call: OpenCall,
    pub(crate) records: Vec<Record>,
    pub(crate) input: Input,
    /// Whether its start is among the records.
    pub(crate) starts: bool,
    /// What its tool hears if it waits with what it wants to write: why nothing of that is written.
    pub(crate) refusal: Option<String>,
    /// How often the user had stopped everything by then.
    pub(crate) cancellations: u64,
    /// Whether a program waits for the outcome, and hears of it before the next turn starts.
    pub(crate) is_awaited: bool,
}

impl Prepared {
    pub(crate) fn key(&self) -> CallKey {
        CallKey::of(&self.call.id, &self.call.name, &self.call.input)
    }

    /// Whether it lets a call run.
    pub(crate) fn is_approval(&self) -> bool {
        is_approval(&self.input)
    }
}

pub(crate) fn is_approval(input: &Input) -> bool {
    matches!(input, Input::Decide(_, Choice::Approve, _))
}

/// Decisions and answers: checked, recorded, and then carried out.
pub struct Resolutions {
    pub(crate) shared: Rc<Shared>,
    pub(crate) background: Background<Self>,
    pub(crate) frontmatter: Rc<Frontmatter>,
    pub(crate) ownership: Rc<Ownership>,
    pub(crate) journaling: Rc<Journaling>,
    pub(crate) undo: Rc<Undo>,
    pub(crate) approval: Rc<Approval>,
    pub(crate) calls: Rc<OpenCalls>,
    pub(crate) starts: Rc<Starts>,
    pub(crate) answers: Rc<Answers>,
    pub(crate) execution: Rc<Execution>,
}

impl Resolutions {
    /// Resolves a call. `reply` hears of the end once the resolution is on the disk and in the document.
    pub(crate) fn resolve_call(
        &self,
        conversation: &Conversation,
        call: &CallId,
        resolution: Resolution,
        role: Role,
        reply: Reply,
    ) {
        if role == Role::User
            && let Resolution::Reject(words) = &resolution
            && conversation.records.overrule(call, words.as_deref())
        {
            return self.shared.tell(LoopEvent::Reply(reply, Ok(())));
        }
        match self.prepare(conversation, call, resolution, role, self.calls.free_slots(conversation)) {
            Ok(prepared) => {
                let records = prepared.records.clone();
                self.journaling.commit(
                    (self, &self.background),
                    conversation,
                    records,
                    move |this, conversation, written| {
                        let resolved = this.apply(conversation, vec![prepared], None, written);
                        this.shared.tell(LoopEvent::Reply(reply, resolved));
                    },
                );
            }
            Err(error) => self.shared.tell(LoopEvent::Reply(reply, Err(error))),
        }
    }

    /// The same, for a caller that waits for the acknowledgement, and so for the disk.
    ///
    /// # Errors
    /// Why the call was not resolved.
    pub fn resolve_now(
        &self,
        buffer: i32,
        call: &CallId,
        resolution: Resolution,
        role: Role,
    ) -> Result<(), ResolveError> {
        let conversation = self.shared.conversation(buffer).ok_or_else(|| missing(call))?;
        let prepared = self.prepare(&conversation, call, resolution, role, self.calls.free_slots(&conversation))?;
        let written = match conversation.records.path() {
            None => Ok(()),
            Some(path) => {
                let (tell, told) = mpsc::channel();
                // Whether somebody has the outcome: the caller here, or a job because the caller has given up.
                let is_taken = Arc::new(AtomicBool::new(false));
                let (taken, id, late) = (Arc::clone(&is_taken), conversation.id(), prepared.clone());
                let mailbox = self.background.mailbox().clone();
                let journal = self.journaling.journal.fenced(self.ownership.fence(&conversation));
                journal.append(&path, prepared.records.clone(), move |written| {
                    if !taken.swap(true, Ordering::SeqCst) {
                        let _ = tell.send(written);
                        return;
                    }
                    let written = written.map_err(|error| not_recorded(&error));
                    mailbox.job_for(id, move |this, conversation| {
                        if written.is_ok() {
                            conversation.records.apply(&late.records);
                        }
                        let _ = this.apply(conversation, vec![late], None, written);
                    });
                });
                match told.recv_timeout(PATIENCE) {
                    Ok(written) => written.map_err(|error| not_recorded(&error)),
                    Err(_) if is_taken.swap(true, Ordering::SeqCst) => {
                        told.recv().map_err(io::Error::other).flatten().map_err(|error| not_recorded(&error))
                    }
                    Err(_) => {
                        let limit = PATIENCE.as_secs();
                        let message = format!(
                            "it is not recorded yet: the disk has not answered for {limit} seconds. It takes effect when it is"
                        );
                        return Err(ResolveError::NotRecorded(message));
                    }
                }
            }
        };
        if written.is_ok() {
            conversation.records.apply(&prepared.records);
        }
        self.apply(&conversation, vec![prepared], None, written)
    }
}

/// There is no conversation, and so no call.
pub(crate) fn missing(call: &CallId) -> ResolveError {
    ResolveError::Stale(Stale::Missing(call.clone(), Vec::new()))
}
