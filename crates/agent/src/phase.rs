//! What a turn is waiting for, and why it looks at the document again.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Activity, RequestId, effect::RequestKind};
use flemma_chat::Status;
use flemma_model::CallId;

/// What the agent is waiting for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Phase {
    /// Nothing. Calls may be pending.
    #[default]
    Idle,
    /// The tool sources. Then it does what the user asked for.
    Loading(Deferred),
    /// What the references in the user's message mean. Then the request is sent.
    Capturing(RequestKind),
    /// A reply of which nothing is shown yet, so that a retry is invisible.
    Requesting { request: RequestId, kind: RequestKind, attempt: u32 },
    /// The pause before a retry.
    BackingOff { request: RequestId, kind: RequestKind, attempt: u32, reason: String },
    /// The rest of a reply.
    Streaming { request: RequestId, activity: Activity },
    /// Its own effects, after which it reviews the document.
    Reviewing(ReviewCause),
    /// Tools, or the verdicts on their calls.
    Executing,
}

/// What is deferred until the tools have loaded.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deferred {
    Advance,
    Execute(CallId),
    Send(RequestKind),
    Outbox,
}

/// What a review follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewCause {
    /// A complete reply.
    Reply,
    /// A complete part of a reply. The rest is requested at once.
    PartOfReply,
    /// An aborted reply.
    AbortedReply,
    /// A round of tools.
    Round,
    /// The user's decision about the last pending call.
    Decision,
    /// A message that has left the outbox.
    Post,
}

/// What is left to do of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Round {
    /// The calls that have no status block yet.
    pub(super) new: VecDeque<CallId>,
    /// All calls that are executed after that.
    pub(super) calls: VecDeque<CallId>,
    /// The first new call that waits for somebody.
    pub(super) waits: Option<CallId>,
    /// The status that each new call was given.
    pub(super) placed: HashMap<CallId, Status>,
    /// The new calls that had a result at once.
    pub(super) settled: HashSet<CallId>,
}

impl Round {
    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.new.is_empty() && self.calls.is_empty()
    }
}
