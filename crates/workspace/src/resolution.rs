//! The one way in which a call that waits is resolved: by a key, a command, Lua, the user interface or the clock.
//!
//! A resolution is checked against what the call really waits for, recorded and flushed ([`super::journaling`]), written into
//! the document, and only then may the next turn start. The first one wins: to all others the call is stale.

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

use super::{
    Conversation, HostEffect,
    answers::Answers,
    background::Background,
    call_key::Keyed as _,
    event::{ByKey, LoopEvent, Reply},
    frontmatter::Frontmatter,
    holding::Ownership,
    journaling::{Journaling, not_recorded, recorded},
    records::Claim,
    rejection::{refused_write, with_writes_before},
    running::Execution,
    shared::Shared,
    stale::Stale,
    standing::{Calls, Standing, is_handed_on},
    starts::Starts,
    taking_back::Undo,
    verdict::Approval,
};
use flemma_agent::{CallResult, Choice, Input, UndoStep, Verdict};
use flemma_chat::{AwaitKind, OpenCall};
use flemma_journal::{Binding, CallKey, Decision, Event, Record, Role};
use flemma_model::CallId;
use flemma_tools::{Definition, Executor};

/// How long a caller that waits for the acknowledgement waits for the disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the model is told of a call that wanted to write something, about which nobody decided in time.
const EXPIRED_WRITE: &str =
    "The user did not respond in time to what this call wants to write. It was not written, and the call was ended.";

/// Why a call that was interrupted does not take a simple approval.
const INTERRUPTED: &str = "it was started before and interrupted; it is not known whether it had an effect";

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
pub(super) struct Prepared {
    pub(super) call: OpenCall,
    pub(super) records: Vec<Record>,
    pub(super) input: Input,
    /// Whether its start is among the records.
    pub(super) starts: bool,
    /// What its tool hears if it waits with what it wants to write: why nothing of that is written.
    pub(super) refusal: Option<String>,
    /// How often the user had stopped everything by then.
    pub(super) cancellations: u64,
    /// Whether a program waits for the outcome, and hears of it before the next turn starts.
    pub(super) is_awaited: bool,
}

impl Prepared {
    pub(super) fn key(&self) -> CallKey {
        CallKey::of(&self.call.id, &self.call.name, &self.call.input)
    }

    /// Whether it lets a call run.
    pub(super) fn is_approval(&self) -> bool {
        is_approval(&self.input)
    }
}

fn is_approval(input: &Input) -> bool {
    matches!(input, Input::Decide(_, Choice::Approve, _))
}

/// Decisions and answers: checked, recorded, and then carried out.
pub struct Resolutions {
    pub(super) shared: Rc<Shared>,
    pub(super) background: Background<Self>,
    pub(super) frontmatter: Rc<Frontmatter>,
    pub(super) ownership: Rc<Ownership>,
    pub(super) journaling: Rc<Journaling>,
    pub(super) undo: Rc<Undo>,
    pub(super) approval: Rc<Approval>,
    pub(super) calls: Rc<Calls>,
    pub(super) starts: Rc<Starts>,
    pub(super) answers: Rc<Answers>,
    pub(super) execution: Rc<Execution>,
}

impl Resolutions {
    /// Resolves a call. `reply` hears of the end once the resolution is on the disk and in the document.
    pub(super) fn resolve_call(
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

    /// Checks a resolution, and takes the right to resolve the call.
    pub(super) fn prepare(
        &self,
        conversation: &Conversation,
        id: &CallId,
        resolution: Resolution,
        role: Role,
        free: usize,
    ) -> Result<Prepared, ResolveError> {
        let (resolution, is_again) = match resolution {
            Resolution::ApproveAgain => (Resolution::Approve, true),
            resolution => (resolution, false),
        };
        self.ownership.check_held(conversation).map_err(|held| ResolveError::Held(held.to_string()))?;
        self.journaling.check_known(conversation).map_err(|unread| ResolveError::Unread(unread.to_string()))?;
        if resolution == Resolution::Approve {
            self.shared.host.perform(HostEffect::NoteReviews { buffer: conversation.buffer() });
        }
        let open = conversation.page.open_call(id);
        let Some(call) = open.clone().filter(|call| !call.aborted) else {
            return Err(ResolveError::Stale(self.why_not_open(conversation, id, open.as_ref())));
        };
        let stale = |why: Stale| Err(ResolveError::Stale(why));
        let session = &conversation.session;
        if conversation.records.is_claimed(id) || session.is_working_on(id) || session.has_request() {
            return stale(Stale::Busy);
        }
        let awaiting = self.calls.waits(conversation, &call);
        let key = call.key();
        let standing = conversation.standing(&call);
        // Until it starts, the last decision counts.
        let takes_back = matches!((&resolution, &standing), (Resolution::Reject(_), Standing::Approved(_)));
        match standing {
            Standing::Ended(_) => {
                let ending = conversation.records.with_ledger(|ledger| ledger.ending(&key).cloned());
                return stale(Stale::Resolved(ending.map(|ending| (ending.by, ending.at))));
            }
            // Whoever decides from a list may not know of the run. A key is pressed where the block asks.
            Standing::Interrupted if resolution == Resolution::Approve && !is_again => {
                if let Some(how) = way_to_run_again(role) {
                    let message = format!("{INTERRUPTED}: {how} approves another run");
                    return Err(ResolveError::Invalid(message));
                }
            }
            // Others are not approved twice, also where the file has not got it yet.
            Standing::Approved(by)
                if role != Role::User
                    && !takes_back
                    && (awaiting.is_none()
                        || by.role == Role::CommandLine
                            && !conversation.records.with_ledger(|ledger| is_handed_on(ledger, &key))) =>
            {
                let approval =
                    conversation.records.with_ledger(|ledger| ledger.approval(&key).map(|(by, at)| (by.clone(), at)));
                return stale(Stale::Approved(approval));
            }
            _ => {}
        }
        if awaiting.is_none() && role != Role::User && !takes_back {
            // It was never asked about, or the user has written a decision that no key has carried out yet.
            return stale(if call.placeholder.is_none() { Stale::Undecided } else { Stale::Refused });
        }
        let accepts = matches!(resolution, Resolution::Approve | Resolution::Answer(_));
        // They may have looked at what the file had before.
        if accepts && role == Role::CommandLine && conversation.records.with_ledger(|ledger| ledger.is_changed(&key)) {
            return stale(Stale::Changed);
        }
        let over = awaiting.and_then(|awaiting| awaiting.expires).filter(|expires| self.shared.host.now() >= *expires);
        match (&resolution, over) {
            (Resolution::Expire, None) => return stale(Stale::NotDue),
            (Resolution::Expire, Some(_)) | (_, None) => {}
            (_, Some(at)) if role == Role::User => {
                self.shared.tell(LoopEvent::Overdue(conversation, &call, ByKey::Yes));
                return Err(ResolveError::Late(at));
            }
            (_, Some(at)) => {
                self.shared.tell(LoopEvent::Overdue(conversation, &call, ByKey::No));
                return Err(ResolveError::Late(at));
            }
        }
        let kind = self.calls.effective_kind(conversation, &call);
        let definition = self.shared.toolbox.get(&call.name);
        let is_end = matches!(resolution, Resolution::Reject(_) | Resolution::Impossible(_) | Resolution::Expire);
        let mut refusal = None;
        let (events, input, starts) = match (resolution, kind) {
            (Resolution::Approve | Resolution::ApproveAs(_), AwaitKind::Approval)
                if self.is_unknown(conversation, &call) =>
            {
                return stale(Stale::Unknown(call.name));
            }
            (resolution @ (Resolution::Approve | Resolution::ApproveAs(_)), AwaitKind::Approval) => {
                // A policy may deny it.
                if self.shared.host.carries_on()
                    && let Verdict::Unclear(why) = self.approval.verdict(conversation, &call)
                {
                    return Err(ResolveError::Invalid(format!("{}: {why}. Try again when it does", call.label())));
                }
                let made = conversation.made_of(&key);
                if resolution == Resolution::Approve
                    && let Some(problem) = conversation.made_of_another(&call, &key)
                {
                    return Err(ResolveError::Invalid(problem));
                }
                let starts = free > 0 && self.starts_at_once(conversation, definition.as_deref());
                let bound = match resolution {
                    Resolution::ApproveAs(binding) => Some(binding),
                    _ if role == Role::User => self.bound_for_user(conversation, &call, &key).or(made),
                    // Whoever else approves has seen nothing. What the user has left out stays out.
                    _ => made,
                };
                let events = self
                    .approval
                    .bound(conversation, &call, bound)
                    .into_iter()
                    .chain([Event::Decided(Decision::Approved)]);
                let events = events.chain(starts.then_some(Event::Started));
                let input = Input::Decide(vec![id.clone()], Choice::Approve, UndoStep::Own);
                (events.collect(), input, starts)
            }
            (Resolution::Reject(words), AwaitKind::Approval) if conversation.tasks.is_suspended(&key) => {
                // Its tool hears of it, and says what the result is.
                let before = self.undo.written_before(conversation, &call);
                refusal = Some(refused_write(words.as_deref(), before.as_deref()));
                (vec![Event::Decided(Decision::Rejected), Event::WentOn], Input::GoOn(id.clone()), false)
            }
            (Resolution::Impossible(words), AwaitKind::Approval) if conversation.tasks.is_suspended(&key) => {
                refusal = Some(words);
                (vec![Event::WentOn], Input::GoOn(id.clone()), false)
            }
            (Resolution::Reject(words), AwaitKind::Approval) => {
                let answer = self.answers.rejection(conversation, &call, words.as_deref());
                let events = vec![Event::Decided(Decision::Rejected), Event::Resolved(recorded(&answer))];
                (events, Input::Decide(vec![id.clone()], Choice::Reject(words), UndoStep::Own), false)
            }
            (Resolution::Reject(words), AwaitKind::Elicitation) if has_own_rejection(definition.as_deref()) => {
                let answer = self.answers.rejection(conversation, &call, words.as_deref());
                (vec![Event::Resolved(recorded(&answer))], self.resolved(&call, answer, role), false)
            }
            (Resolution::Impossible(words), AwaitKind::Approval) => {
                let answer = CallResult::error(words);
                (vec![Event::Resolved(recorded(&answer))], self.resolved(&call, answer, role), false)
            }
            (
                Resolution::Approve | Resolution::ApproveAgain | Resolution::ApproveAs(_) | Resolution::Impossible(_),
                kind,
            ) => {
                return stale(Stale::WaitsFor(kind));
            }
            (Resolution::Expire, kind) => {
                let has_proposed = kind == AwaitKind::Approval && conversation.has_proposed(&call);
                let answer = CallResult::error(if has_proposed {
                    with_writes_before(
                        EXPIRED_WRITE.to_owned(),
                        self.undo.written_before(conversation, &call).as_deref(),
                    )
                } else {
                    self.answers.expired(kind)
                });
                (vec![Event::Expired(recorded(&answer))], self.resolved(&call, answer, role), false)
            }
            (_, AwaitKind::Approval) => return stale(Stale::WaitsFor(AwaitKind::Approval)),
            (resolution, kind) => {
                let asked = conversation.asked(&call);
                let answer = self.answers.answer_of(&call, definition.as_deref(), asked, resolution, kind)?;
                (vec![Event::Resolved(recorded(&answer))], self.resolved(&call, answer, role), false)
            }
        };
        let input = if is_end { self.ending_input(conversation, id, &events, input) } else { input };
        self.check_fault(conversation, &input)?;
        let claim = if is_approval(&input) { Claim::Approval } else { Claim::Exclusive };
        conversation.records.claim(id, claim);
        let records = self.journaling.records_of(conversation, &call, role, events);
        let cancellations = conversation.records.cancellations();
        let is_awaited = matches!(role, Role::Script | Role::CommandLine);
        Ok(Prepared { call, records, input, starts, refusal, cancellations, is_awaited })
    }

    /// What an approval of the user is for: what they were shown. If a call was interrupted and there is nothing to be shown any more, it
    /// may have made the change that they approved before.
    fn bound_for_user(&self, conversation: &Conversation, call: &OpenCall, key: &CallKey) -> Option<Binding> {
        let is_shown = matches!(conversation.proposals.found(key), Some(Ok(_)));
        if !is_shown && conversation.is_interrupted(call) {
            let before = conversation.records.with_ledger(|ledger| ledger.last_binding(key).cloned());
            if before.is_some() {
                return before;
            }
        }
        conversation.proposals.shown(key)
    }

    /// Why there is no open call of this name.
    fn why_not_open(&self, conversation: &Conversation, id: &CallId, open: Option<&OpenCall>) -> Stale {
        if open.is_some() {
            return Stale::CutOff;
        }
        if conversation.page.call_ids().contains(id) {
            let ending = conversation.records.with_ledger(|ledger| ledger.last_ending(id).cloned());
            return Stale::Resolved(ending.map(|ending| (ending.by, ending.at)));
        }
        let calls = conversation.page.open_calls().into_iter();
        let waiting = calls.filter(|call| self.calls.waits(conversation, call).is_some());
        Stale::Missing(id.clone(), waiting.map(|call| call.id).collect())
    }

    /// Whether only the block of a call says what it waits for. Where conversations do not go on, the tools of the user are
    /// not known.
    fn is_unknown(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        !self.shared.host.carries_on() && self.calls.recorded_kind(conversation, call).is_none()
    }

    /// Whether a call that is approved now starts in the same step. In a driven conversation the file is written first.
    pub(super) fn starts_at_once(&self, conversation: &Conversation, definition: Option<&Definition>) -> bool {
        let is_server = definition.is_some_and(|definition| matches!(definition.executor, Executor::Server(_)));
        let goes_on = !self.shared.is_leaving() && !conversation.drive.is_on();
        is_server && goes_on && self.shared.can_run_tools() && conversation.records.is_read()
    }
}

/// Whether a tool has words of its own for a call that the user rejects.
fn has_own_rejection(definition: Option<&Definition>) -> bool {
    definition.is_some_and(|definition| definition.format_rejection.is_some())
}

/// How a program approves that a call runs again that was interrupted. The keys of the user need no other way.
fn way_to_run_again(role: Role) -> Option<&'static str> {
    match role {
        Role::CommandLine => Some("--again"),
        Role::Script => Some("{ approved = true, again = true }"),
        _ => None,
    }
}

/// There is no conversation, and so no call.
pub(super) fn missing(call: &CallId) -> ResolveError {
    ResolveError::Stale(Stale::Missing(call.clone(), Vec::new()))
}
