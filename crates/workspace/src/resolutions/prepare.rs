//! The check of a resolution: whether the call waits for it, and what it leads to.

use crate::{
    Conversation, HostEffect,
    approval::lookups::Known,
    calls::{Standing, is_handed_on, key::Keyed as _},
    components::Resolutions,
    event::LoopEvent,
    journaling::{recorded, records::Claim, restored},
    resolutions::{
        Prepared, Resolution, ResolveError,
        answers::{refused_write, with_writes_before},
        is_approval,
        stale::Stale,
    },
};
use flemma_agent::{CallResult, Choice, Input, ResolvedBy, UndoStep, Verdict};
use flemma_chat::{AwaitKind, Awaiting, OpenCall, Severity};
use flemma_journal::{Binding, CallKey, Decision, Event, Role};
use flemma_model::CallId;
use flemma_tools::Definition;

/// What the result of a call says whose change nobody decided about in time.
const EXPIRED_WRITE: &str =
    "The user did not respond in time to what this call wants to write. It was not written, and the call was ended.";

/// Why nobody approves a call from afar of which a run was interrupted.
const INTERRUPTED: &str = "it was started before and interrupted; it is not known whether it had an effect";

/// A resolution of an open call, with who resolves it.
struct Attempt<'a> {
    conversation: &'a Conversation,
    call: &'a OpenCall,
    key: CallKey,
    role: Role,
    /// What the call waits for.
    awaiting: Option<Awaiting>,
    definition: Option<&'a Definition>,
}

/// What a resolution leads to.
struct Outcome {
    events: Vec<Event>,
    input: Input,
    /// What the tool hears if it waits with what it wants to write.
    refusal: Option<String>,
    /// What the user was shown, if this approves it.
    shown: Option<Binding>,
}

impl Outcome {
    fn new(events: impl IntoIterator<Item = Event>, input: Input) -> Self {
        Self { events: events.into_iter().collect(), input, refusal: None, shown: None }
    }
}

fn stale<T>(why: Stale) -> Result<T, ResolveError> {
    Err(ResolveError::Stale(why))
}

impl Resolutions {
    /// Checks a resolution, and takes the right to resolve the call.
    pub(crate) fn prepare(
        &self,
        conversation: &Conversation,
        id: &CallId,
        resolution: Resolution,
        role: Role,
    ) -> Result<Prepared, ResolveError> {
        let (resolution, is_again) = match resolution {
            Resolution::ApproveAgain => (Resolution::Approve, true),
            resolution => (resolution, false),
        };
        self.ownership.check_held(conversation)?;
        self.journaling.check_known(conversation)?;
        if resolution == Resolution::Approve {
            self.shared.host.perform(HostEffect::NoteReviews { buffer: conversation.buffer });
        }
        let open = conversation.page.open_call(id);
        let Some(call) = open.clone().filter(|call| !call.aborted) else {
            return stale(self.why_not_open(conversation, id, open.as_ref()));
        };
        let session = &conversation.session;
        if conversation.records.is_claimed(id) || session.is_working_on(id) || session.has_request() {
            return stale(Stale::Busy);
        }
        let definition = self.shared.toolbox.get(&call.name);
        let awaiting = self.calls.waits(conversation, &call);
        let definition = definition.as_deref();
        let attempt = Attempt { conversation, call: &call, key: call.key(), role, awaiting, definition };
        attempt.check_standing(&resolution, is_again)?;
        self.check_deadline(&attempt, &resolution)?;
        let is_end = matches!(resolution, Resolution::Reject(_) | Resolution::Impossible(_) | Resolution::Expire);
        let Outcome { events, input, refusal, shown } = self.outcome(&attempt, resolution)?;
        let input = if is_end { self.ending_input(conversation, id, &events, input) } else { input };
        self.check_fault(conversation, &input)?;
        let claim = if is_approval(&input) { Claim::Approval } else { Claim::Exclusive };
        conversation.records.claim(id, claim);
        let cancellations = conversation.records.cancelled.get();
        let is_awaited = matches!(role, Role::Script | Role::CommandLine);
        Ok(Prepared { call, role, shown, events, input, refusal, cancellations, is_awaited })
    }

    /// Nothing but the clock resolves a call after its deadline.
    fn check_deadline(&self, attempt: &Attempt<'_>, resolution: &Resolution) -> Result<(), ResolveError> {
        let now = self.shared.host.now();
        let over = attempt.awaiting.as_ref().and_then(|awaiting| awaiting.expires).filter(|expires| now >= *expires);
        match (resolution, over) {
            (Resolution::Expire, None) => stale(Stale::NotDue),
            (Resolution::Expire, Some(_)) | (_, None) => Ok(()),
            (_, Some(at)) => {
                self.shared.tell(LoopEvent::Overdue(attempt.conversation, attempt.call, attempt.role));
                stale(Stale::Late(at))
            }
        }
    }

    fn outcome(&self, attempt: &Attempt<'_>, resolution: Resolution) -> Result<Outcome, ResolveError> {
        let Attempt { conversation, call, role, definition, .. } = *attempt;
        let id = &call.id;
        let kind = self.calls.effective_kind(conversation, call);
        let waits_for_write = conversation.tasks.is_suspended(&attempt.key);
        let is_rejection = matches!(resolution, Resolution::Reject(_)).then_some(Event::Decided(Decision::Rejected));
        let ended = |answer: CallResult| {
            let events = is_rejection.into_iter().chain([Event::Resolved(recorded(&answer))]);
            Outcome::new(events, resolved(call, answer, role))
        };
        Ok(match (resolution, kind) {
            (resolution @ (Resolution::Approve | Resolution::ApproveAs(_)), AwaitKind::Approval) => {
                return self.approval_of(attempt, resolution);
            }
            (Resolution::Reject(words), AwaitKind::Approval) if waits_for_write => {
                // Its tool hears of it, and says what the result is.
                let before = self.undo.written_before(conversation, call);
                let refusal = Some(refused_write(words.as_deref(), before.as_deref()));
                let events = [Event::Decided(Decision::Rejected), Event::WentOn];
                Outcome { refusal, ..Outcome::new(events, Input::GoOn(id.clone())) }
            }
            (Resolution::Impossible(words), AwaitKind::Approval) if waits_for_write => {
                Outcome { refusal: Some(words), ..Outcome::new([Event::WentOn], Input::GoOn(id.clone())) }
            }
            (Resolution::Reject(words), AwaitKind::Approval) => {
                let answer = self.rejection(conversation, call, words.as_deref());
                let events = [Event::Decided(Decision::Rejected), Event::Resolved(recorded(&answer))];
                Outcome::new(events, Input::Decide(vec![id.clone()], Choice::Reject(words), UndoStep::Own))
            }
            (Resolution::Reject(words), AwaitKind::Elicitation)
                if definition.is_some_and(|definition| definition.format_rejection.is_some()) =>
            {
                ended(self.rejection(conversation, call, words.as_deref()))
            }
            (Resolution::Impossible(words), AwaitKind::Approval) => ended(CallResult::error(words)),
            (
                Resolution::Approve | Resolution::ApproveAgain | Resolution::ApproveAs(_) | Resolution::Impossible(_),
                kind,
            ) => return stale(Stale::WaitsFor(kind)),
            (Resolution::Expire, kind) => {
                let answer = CallResult::error(self.expiry(attempt, kind));
                Outcome::new([Event::Expired(recorded(&answer))], resolved(call, answer, role))
            }
            (_, AwaitKind::Approval) => return stale(Stale::WaitsFor(AwaitKind::Approval)),
            (resolution, kind) => {
                let asked = conversation.records.asked(&call.key());
                ended(self.answer_of(call, definition, asked, resolution, kind)?)
            }
        })
    }

    fn approval_of(&self, attempt: &Attempt<'_>, resolution: Resolution) -> Result<Outcome, ResolveError> {
        let Attempt { conversation, call, ref key, role, .. } = *attempt;
        if !self.shared.host.carries_on() && self.calls.recorded_kind(conversation, call).is_none() {
            // Nobody here knows its tool.
            return stale(Stale::Unknown(call.name.clone()));
        }
        let made = conversation.records.made(key);
        if resolution == Resolution::Approve
            && let Some(problem) = conversation.made_of_another(call, key)
        {
            return Err(ResolveError::Invalid(problem));
        }
        let shown = match resolution {
            Resolution::ApproveAs(binding) => Some(binding),
            _ if role == Role::User => attempt.shown().or(made),
            // Whoever else approves has seen nothing. What the user has left out stays out.
            _ => made,
        };
        let input = Input::Decide(vec![call.id.clone()], Choice::Approve, UndoStep::Own);
        Ok(Outcome { shown, ..Outcome::new([Event::Decided(Decision::Approved)], input) })
    }

    /// Adds to an approval what it is for, now that it is known what the disk says.
    ///
    /// # Errors
    /// When the disk does not answer: a policy may deny the call.
    pub(crate) fn bind(
        &self,
        conversation: &Conversation,
        prepared: &mut Prepared,
        known: &Known,
    ) -> Result<(), ResolveError> {
        let call = &prepared.call;
        if self.shared.host.carries_on()
            && let Verdict::Unclear(why) = self.approval.verdict(conversation, call, known)
        {
            return Err(ResolveError::Invalid(format!("{}: {why}. Try again when it does", call.label())));
        }
        let bound = self.approval.bound(conversation, call, prepared.shown.take(), known);
        prepared.events.splice(..0, bound);
        Ok(())
    }

    /// What the model is told of a call that nobody resolved in time.
    fn expiry(&self, attempt: &Attempt<'_>, kind: AwaitKind) -> String {
        let Attempt { conversation, call, ref key, .. } = *attempt;
        let words = match kind {
            AwaitKind::Approval if conversation.records.has_proposed(key) => {
                let before = self.undo.written_before(conversation, call);
                return with_writes_before(EXPIRED_WRITE.to_owned(), before.as_deref());
            }
            AwaitKind::Approval => "The user did not respond in time, so this call did not run.",
            AwaitKind::Elicitation => "The user did not respond in time.",
            AwaitKind::ClientExec if self.shared.host.has_ui() => "The editor did not respond in time.",
            AwaitKind::ClientExec => "No user interface of the editor was attached, so this call could not run.",
        };
        words.to_owned()
    }

    /// The input that follows from a resolution that only ends a call. It needs no trust, if the conversation does not go on.
    fn ending_input(&self, conversation: &Conversation, call: &CallId, events: &[Event], input: Input) -> Input {
        let result = events.iter().find_map(|event| match event {
            Event::Resolved(result) | Event::Expired(result) => Some(result),
            _ => None,
        });
        match result {
            Some(result) if !self.frontmatter.facts(conversation, false).is_free() => {
                Input::Resolve { call: call.clone(), answer: restored(result), by: ResolvedBy::Untrusted }
            }
            _ => input,
        }
    }

    /// Whether the document or its frontmatter is in the way of this.
    fn check_fault(&self, conversation: &Conversation, input: &Input) -> Result<(), ResolveError> {
        let needs_trust = !matches!(input, Input::Resolve { by: ResolvedBy::Untrusted, .. });
        let lacks_trust = self.frontmatter.of(conversation).fault.as_ref().is_some_and(|fault| fault.lacks_trust);
        if lacks_trust && needs_trust {
            let message = "the code in the frontmatter of this conversation is not trusted yet; open it in an editor, \
                           press Ctrl-], and decide";
            return Err(ResolveError::Invalid(message.to_owned()));
        }
        let diagnostics = conversation.page.diagnostics();
        let first = diagnostics.into_iter().find(|found| found.severity == Severity::Error);
        if first.is_none() && (lacks_trust || !self.calls.is_at_fault(conversation)) {
            return Ok(());
        }
        if self.shared.host.carries_on() {
            let message = "nothing was changed: the document has an error, which its diagnostics show";
            return Err(ResolveError::Invalid(message.to_owned()));
        }
        let first = first.map_or_else(String::new, |found| format!(" in line {}: {}", found.line + 1, found.message));
        let message = format!("nothing was changed, because the file has an error{first} (`flemma check` lists all)");
        Err(ResolveError::Invalid(message))
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
}

impl Attempt<'_> {
    /// Whether the call can be resolved like this, from what was recorded about it.
    fn check_standing(&self, resolution: &Resolution, is_again: bool) -> Result<(), ResolveError> {
        let Self { conversation, call, ref key, role, .. } = *self;
        let records = &conversation.records;
        let standing = conversation.standing(call);
        // Until it starts, the last decision counts.
        let takes_back = matches!((resolution, &standing), (Resolution::Reject(_), Standing::Approved(_)));
        let is_approval = *resolution == Resolution::Approve;
        let waits_for_approval = self.awaiting.as_ref().is_some_and(|awaiting| awaiting.kind == AwaitKind::Approval);
        let is_answer = waits_for_approval && matches!(resolution, Resolution::Answer(_) | Resolution::Impossible(_));
        match standing {
            Standing::Ended(_) => {
                let ending = records.with_ledger(|ledger| ledger.of(key).ending.clone());
                return stale(Stale::Resolved(ending.map(|ending| (ending.by, ending.at))));
            }
            // Whoever decides from a list may not know of the run. A key is pressed where the block asks.
            Standing::Interrupted if !is_again && (is_approval || is_answer) => {
                if let Some(how) = way_to_run_again(role) {
                    return Err(ResolveError::Invalid(format!("{INTERRUPTED}: {how} approves another run")));
                }
            }
            // Others are not approved twice, also where the file has not got it yet.
            Standing::Approved(by)
                if role != Role::User
                    && !takes_back
                    && (self.awaiting.is_none()
                        || by.role == Role::CommandLine
                            && !records.with_ledger(|ledger| is_handed_on(ledger, key))) =>
            {
                let approval = records.with_ledger(|ledger| ledger.approval(key).map(|(by, at)| (by.clone(), at)));
                return stale(Stale::Approved(approval));
            }
            _ => {}
        }
        if self.awaiting.is_none() && role != Role::User && !takes_back {
            // It was never asked about, or the user has written a decision that no key has carried out yet.
            return stale(if call.placeholder.is_none() { Stale::Undecided } else { Stale::Refused });
        }
        let accepts = matches!(resolution, Resolution::Approve | Resolution::Answer(_));
        // They may have looked at what the file had before.
        if accepts && role == Role::CommandLine && records.with_ledger(|ledger| ledger.is_changed(key)) {
            return stale(Stale::Changed);
        }
        Ok(())
    }

    /// What an approval of the user is for: what they were shown. If the call was interrupted and there is nothing to be shown any
    /// more, it may have made the change that they approved before.
    fn shown(&self) -> Option<Binding> {
        let Self { conversation, call, ref key, .. } = *self;
        let is_shown = matches!(conversation.proposals.found(key), Some(Ok(_)));
        if !is_shown && conversation.is_interrupted(call) {
            let before = conversation.records.with_ledger(|ledger| ledger.last_binding(key).cloned());
            if before.is_some() {
                return before;
            }
        }
        conversation.proposals.shown(key)
    }
}

/// The input that gives a call its result.
pub(crate) fn resolved(call: &OpenCall, answer: CallResult, role: Role) -> Input {
    let by = match role {
        Role::User | Role::Script | Role::CommandLine => ResolvedBy::Person,
        Role::Clock => ResolvedBy::Clock,
        Role::Policy | Role::Document | Role::Tool | Role::Client => ResolvedBy::Other,
    };
    Input::Resolve { call: call.id.clone(), answer, by }
}

/// How somebody says that a call is to run again; `None` for a user, who is asked in its block.
fn way_to_run_again(role: Role) -> Option<&'static str> {
    match role {
        Role::CommandLine => Some("--again"),
        Role::Script => Some("{ approved = true, again = true }"),
        _ => None,
    }
}
