//! Decisions that the user has written into the document: a status that was changed by hand, or text in a block. A key that
//! carries them out records them first.

use serde_json::Value;

use crate::{
    Conversation, HostEffect,
    approval::lookups::Known,
    calls::{Standing, key::Keyed as _},
    components::Resolutions,
    event::LoopEvent,
    journaling::{recorded, records::Claim},
    resolutions::{BEING_RECORDED, answers::answer_text, deadlines::EXPIRED_AT_ONCE},
    trust::Wish,
};
use flemma_agent::{CallResult, Input, Level, ResolvedBy, own_words, rejection};
use flemma_chat::{AwaitKind, OpenCall, Status};
use flemma_journal::{Binding, CallKey, Decision, Event, Role};
use flemma_model::{CallId, ToolInput};
use flemma_tools::{Executor, form::Form};

/// What the user has written about some calls, as far as it was looked at.
struct TypedDecisions<'a> {
    resolutions: &'a Resolutions,
    conversation: &'a Conversation,
    decisions: Vec<Decided>,
    /// Answers, which take effect before anything else.
    answers: Vec<Input>,
}

/// A decision that was written into the document.
struct Decided {
    call: OpenCall,
    role: Role,
    events: Vec<Event>,
    /// What an approval is for, apart from where its files are.
    shown: Option<Binding>,
}

impl Decided {
    fn is_approval(&self) -> bool {
        self.events.contains(&Event::Decided(Decision::Approved))
    }
}

/// Decisions and answers that the user has typed into blocks.
impl Resolutions {
    /// Continues the conversation, or runs one call of it, after what the user has written is recorded.
    pub(crate) fn go_on_as_written(&self, conversation: &Conversation, input: Input) {
        let session = &conversation.session;
        if session.has_request() || self.calls.is_at_fault(conversation) || !conversation.records.is_read() {
            // The agent says why not, or waits.
            return self.shared.feed(conversation, [input]);
        }
        let only = match &input {
            Input::Execute(call) => Some(call.clone()),
            _ => None,
        };
        let records = &conversation.records;
        let mut wanted = conversation.page.open_ids().into_iter();
        if wanted.any(|id| only.as_ref().is_none_or(|only| *only == id) && records.is_claimed(&id)) {
            return self.shared.host.notify(Level::Info, BEING_RECORDED);
        }
        let Some((decisions, answers)) = self.written(conversation, only.as_ref()) else { return };
        if decisions.is_empty() {
            return self.shared.feed(conversation, [input]);
        }
        // Nobody else may resolve them meanwhile.
        for decided in &decisions {
            conversation.records.claim(&decided.call.id, Claim::Exclusive);
        }
        let approved = decisions.iter().filter(|decided| decided.is_approval());
        let approved = approved.map(|decided| decided.call.clone()).collect();
        let cancellations = conversation.records.cancelled.get();
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            this.carry_out(conversation, (input, only, cancellations), (decisions, answers), known);
        };
        self.approval.look_up_in_order(&self.background, conversation, approved, then);
    }

    /// Records what is written, and continues the conversation.
    fn carry_out(
        &self,
        conversation: &Conversation,
        (input, only, cancellations): (Input, Option<CallId>, u64),
        (decisions, answers): (Vec<Decided>, Vec<Input>),
        known: &Known,
    ) {
        let approved = decisions.iter().filter(|decided| decided.is_approval());
        let approved: Vec<CallKey> = approved.map(|decided| decided.call.key()).collect();
        let calls: Vec<CallId> = decisions.iter().map(|decided| decided.call.id.clone()).collect();
        let record = |decided: Decided| {
            let is_approval = decided.is_approval();
            let Decided { call, role, events, shown } = decided;
            let bound = is_approval.then(|| self.approval.bound(conversation, &call, shown, known)).flatten();
            self.journaling.records_of(conversation, &call, role, bound.into_iter().chain(events))
        };
        let records = decisions.into_iter().flat_map(record).collect();
        self.journaling.commit((self, &self.background), conversation, records, move |this, conversation, flushed| {
            for call in &calls {
                conversation.records.release(call);
            }
            if let Err(problem) = flushed {
                return this.shared.host.notify(Level::Error, &problem.to_string());
            }
            let is_cancelled = conversation.records.cancelled.get() != cancellations;
            // A key runs the call that the user saw. If they have edited it since, it waits.
            let is_same = only.is_none() || approved.iter().all(|key| conversation.is_open(key));
            let stays = is_same && !is_cancelled;
            let goes_on = stays && !this.shared.is_ending(conversation);
            if goes_on {
                // What was edited meanwhile is another call.
                let others = approved.into_iter().filter(|key| !conversation.is_open(key));
                this.journaling.take_back(conversation, others);
            } else if stays {
                this.journaling.keep_approved(conversation, approved);
            } else {
                this.journaling.take_back(conversation, approved);
            }
            // An answer of one call carries the conversation on by itself.
            let is_answered = only.is_some() && !answers.is_empty();
            for answer in answers {
                if let Input::Resolve { call, .. } = &answer {
                    this.execution.stop_tool(conversation, call);
                }
                this.shared.tell(LoopEvent::Want(conversation, Wish::Recorded(answer)));
            }
            if !is_answered && goes_on {
                this.shared.tell(LoopEvent::Want(conversation, Wish::Recorded(input)));
            }
            this.shared.tell(LoopEvent::Resolved(conversation));
        });
    }

    /// What is written about the open calls, or about one of them, which a key approves. `None` after a message: it cannot
    /// be carried out.
    fn written(&self, conversation: &Conversation, only: Option<&CallId>) -> Option<(Vec<Decided>, Vec<Input>)> {
        self.shared.host.perform(HostEffect::NoteReviews { buffer: conversation.buffer });
        let mut written =
            TypedDecisions { resolutions: self, conversation, decisions: Vec::new(), answers: Vec::new() };
        let now = self.shared.host.now();
        let mut late = 0;
        for call in conversation.page.open_calls() {
            if only.is_some_and(|id| *id != call.id) || call.aborted {
                continue;
            }
            if conversation.is_at_work_on(&call.id) {
                written.at_work(&call)?;
            } else if matches!(conversation.standing(&call), Standing::Ended(_)) {
                // It is brought into the document first.
            } else if call.awaiting().is_some_and(|awaiting| awaiting.is_over(now)) {
                if late < EXPIRED_AT_ONCE {
                    self.shared.tell(LoopEvent::Overdue(conversation, &call, Role::User));
                }
                late += 1;
            } else {
                written.at_rest(&call, only.is_some())?;
            }
        }
        (late == 0).then_some((written.decisions, written.answers))
    }

    /// The result that text in the block of any other call makes; `None` after a message: it does not match the
    /// `result_schema` of a tool that the editor answers.
    fn typed_result(&self, call: &OpenCall, content: &str) -> Option<CallResult> {
        let definition = self.shared.toolbox.get(&call.name);
        let client = definition.filter(|definition| matches!(definition.executor, Executor::Client(_)));
        let json = serde_json::from_str(content);
        let fix = if json.is_ok() { "Correct it" } else { "Write JSON that matches it" };
        let value = json.unwrap_or_else(|_| Value::from(content.trim_end_matches('\n')));
        if let Some(Err(mistakes)) = client.map(|definition| definition.check_answer(&value)) {
            let message = format!(
                "{}: your text is not used as the result, because it does not match the result_schema of the tool: \
                 {}. {fix} in the block, and press Ctrl-] again.",
                call.label(),
                mistakes.sentence()
            );
            self.shared.host.notify(Level::Warn, &message);
            return None;
        }
        Some(CallResult::text(own_words(content)))
    }

    /// The result that the text in the block of a question makes; `None` after a message.
    fn typed_answer(&self, call: &OpenCall, content: &str) -> Option<CallResult> {
        let (Some(definition), ToolInput::Json(input)) = (self.shared.toolbox.get(&call.name), &*call.input) else {
            return Some(CallResult::text(own_words(content)));
        };
        match Form::of(&definition, input).answer_from_text(content) {
            // Text that is not the number or the words of a choice is the result as it stands, with its empty lines.
            Ok(Value::String(text)) if text == content.trim_end_matches('\n') => {
                Some(CallResult::text(own_words(content)))
            }
            Ok(answer) => Some(answer_text(&answer)),
            Err(mistake) => {
                // The content begins in the line after the fence.
                let above = call.placeholder.as_ref().map_or(0, |placeholder| placeholder.fence + 1);
                let place = mistake.line.map_or_else(String::new, |line| format!("line {}: ", above + line));
                let message = format!(
                    "{}: your answer is not sent: {place}{}. Alt-Enter opens the form of the question.",
                    call.label(),
                    mistake.message
                );
                self.shared.host.notify(Level::Warn, &message);
                None
            }
        }
    }
}

impl TypedDecisions<'_> {
    /// What is written about a call that waits. `is_meant`: a key is pressed on it. `None` after a message.
    fn at_rest(&mut self, call: &OpenCall, is_meant: bool) -> Option<()> {
        let Self { resolutions, conversation, .. } = *self;
        let (status, content) = (call.status(), call.typed());
        let is_question = resolutions.calls.effective_kind(conversation, call) == AwaitKind::Elicitation;
        let is_approved = match status {
            status if is_question && status != Some(Status::Rejected) => {
                if !content.is_empty() {
                    let answer = resolutions.typed_answer(call, content)?;
                    self.add(call, [Event::Resolved(recorded(&answer))]);
                    let by = if is_meant { ResolvedBy::Typed } else { ResolvedBy::Document };
                    self.answers.push(Input::Resolve { call: call.id.clone(), answer, by });
                }
                false
            }
            Some(Status::Denied) => false,
            Some(Status::Rejected) => {
                let answer = resolutions.rejection(conversation, call, None);
                self.add(call, [Event::Decided(Decision::Rejected), Event::Resolved(recorded(&answer))]);
                false
            }
            Some(_) if !content.is_empty() => {
                let answer = resolutions.typed_result(call, content)?;
                self.add(call, [Event::Resolved(recorded(&answer))]);
                false
            }
            Some(Status::Approved) => {
                let is_same = !conversation.session.was_changed_since_approval(call);
                // What a policy has written is no decision of the user's: it is judged again when the call starts.
                let is_own = !conversation.tasks.is_judged(&call.key());
                is_meant || (is_same && is_own && resolutions.calls.counts(conversation, call))
            }
            Some(Status::Pending | Status::Running) | None => is_meant,
        };
        // What was decided before was decided for what was shown then. A key that only goes on decides nothing about what is shown now.
        if is_approved && (is_meant || !matches!(conversation.standing(call), Standing::Approved(_))) {
            self.approve(call)?;
        }
        Some(())
    }

    fn approve(&mut self, call: &OpenCall) -> Option<()> {
        let (Self { resolutions, conversation, .. }, key) = (&*self, call.key());
        if let Some(problem) = conversation.made_of_another(call, &key) {
            resolutions.shared.host.notify(Level::Warn, &problem);
            resolutions.shared.feed(conversation, [Input::Refused(call.id.clone())]);
            return None;
        }
        let shown = conversation.proposals.shown(&key).or_else(|| conversation.records.made(&key));
        // Whoever wrote the status, it is a key of the user that counts.
        let (call, events) = (call.clone(), vec![Event::Decided(Decision::Approved)]);
        self.decisions.push(Decided { call, role: Role::User, events, shown });
        Some(())
    }

    fn add(&mut self, call: &OpenCall, events: impl IntoIterator<Item = Event>) {
        let role = role_of(self.conversation, call);
        let (call, events) = (call.clone(), events.into_iter().collect());
        self.decisions.push(Decided { call, role, events, shown: None });
    }

    /// In the block of a call that the editor's user interface runs, `status=rejected` stops it, and text is its result. `None`
    /// after a message.
    fn at_work(&mut self, call: &OpenCall) -> Option<()> {
        if self.conversation.session.is_working_on(&call.id) {
            return Some(());
        }
        let placeholder = call.placeholder.as_ref()?;
        let (answer, decided) = match placeholder.block.status {
            Status::Rejected => (rejection(call, None, None, |_| None), Some(Event::Decided(Decision::Rejected))),
            _ if placeholder.content.is_empty() => return Some(()),
            _ => (self.resolutions.typed_result(call, &placeholder.content)?, None),
        };
        self.add(call, decided.into_iter().chain([Event::Resolved(recorded(&answer))]));
        self.answers.push(Input::Resolve { call: call.id.clone(), answer, by: ResolvedBy::Document });
        Some(())
    }
}

/// Who has written the block of a call: the user in this session, or somebody whose file this is.
fn role_of(conversation: &Conversation, call: &OpenCall) -> Role {
    let Some(placeholder) = &call.placeholder else { return Role::User };
    let fence = placeholder.fence;
    let content = fence + 1..fence + 1 + placeholder.content.lines().count();
    let page = &conversation.page;
    let is_own = if content.is_empty() { page.is_authorised(call) } else { page.is_by_user(content) };
    if is_own || placeholder.block.status == Status::Pending && placeholder.content.is_empty() {
        Role::User
    } else {
        Role::Document
    }
}
