//! What keys and commands want of a conversation.

use std::ops::Range;

use crate::{
    Conversation, Workspace,
    calls::rest::Known,
    components::InstructionSource,
    trust::{Wish, gatekeeper::BUSY},
};
use flemma_agent::{Choice, Input, Level, UndoStep};
use flemma_model::{CallId, UserError};

/// What a key or a command wants of a conversation, and the user's answers to questions. Lines are counted from 0.
#[expect(missing_docs, reason = "what is said of a command says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Let the conversation go on: categorise, execute, or send, whichever is next.
    Advance,
    /// Stop everything.
    Cancel,
    /// Stop every tool.
    CancelTools,
    /// Stop the tool at a line, or the only one that runs.
    CancelTool { line: usize },
    /// Run the call at a line, or resolve it as its status says.
    Execute { line: usize },
    /// Decide about the calls whose blocks these lines touch.
    Decide { lines: Range<usize>, choice: Choice },
    /// Approve the calls whose blocks these lines touch, and all like them from now on.
    AlwaysApprove { lines: Range<usize> },
    /// Take in the rules and skills of the project as they are now.
    TakeInstructions,
    /// The answer to a question with this number: see [`HostEffect::Ask`](crate::HostEffect::Ask).
    Answer { question: u64, is_yes: bool },
    /// The question with this number about instructions has no answer: what the user wanted is taken back.
    Dismiss { question: u64 },
}

impl Command {
    /// Whether it sends, runs or decides something, and does not only stop or answer.
    fn acts(&self) -> bool {
        match self {
            Self::Advance
            | Self::Execute { .. }
            | Self::Decide { .. }
            | Self::AlwaysApprove { .. }
            | Self::TakeInstructions => true,
            Self::Cancel | Self::CancelTools | Self::CancelTool { .. } | Self::Answer { .. } | Self::Dismiss { .. } => {
                false
            }
        }
    }
}

impl Workspace {
    /// Does what a key or a command wants of the conversation in a buffer. Without a conversation nothing happens.
    pub fn dispatch(&self, buffer: i32, command: Command) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        let conversation = &*conversation;
        if command.acts() && self.ownership.is_refused(conversation) {
            return;
        }
        match command {
            Command::Advance => self.want_afresh(conversation, Input::Advance.into()),
            Command::TakeInstructions => self.want_afresh(conversation, Wish::TakeInstructions),
            Command::Cancel => self.cancel(conversation),
            Command::CancelTools => self.shared.feed(conversation, [Input::CancelTools]),
            Command::CancelTool { line } => self.cancel_tool(conversation, line),
            Command::Execute { line } => self.execute(conversation, line),
            Command::Decide { lines, choice } => {
                self.decide(conversation, lines, |calls| Input::Decide(calls, choice, UndoStep::Own).into());
            }
            Command::AlwaysApprove { lines } => self.decide(conversation, lines, Wish::AlwaysApprove),
            Command::Answer { question, is_yes } => self.answer(conversation, question, is_yes),
            Command::Dismiss { question } => {
                // An earlier question says nothing about what goes on now.
                let is_asked = conversation.gate.borrow().asks_about_instructions();
                if is_asked && conversation.questions.is_current(question) {
                    self.stop(conversation, false);
                }
            }
        }
    }

    /// Wants something for which instructions are found as they are now.
    fn want_afresh(&self, conversation: &Conversation, wish: Wish) {
        if !conversation.is_busy() {
            conversation.instructions.take();
        }
        self.ownership.want_alone(conversation, wish);
    }

    /// Puts a prompt into the user's message, unless they may not change the conversation. `then` hears why that was not done.
    pub fn insert_prompt(
        &self,
        buffer: i32,
        (name, arguments): (String, String),
        then: impl FnOnce(&InstructionSource, Result<(), UserError>) + Send + 'static,
    ) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        if !self.ownership.is_refused(&conversation) {
            self.instructions.insert_prompt(&conversation, name, arguments, then);
        }
    }

    /// Stops everything, what waits for an answer included.
    fn cancel(&self, conversation: &Conversation) {
        let was_deciding = conversation.records.cancel();
        conversation.proposals.wait_for_no_save();
        self.stop(conversation, was_deciding);
    }

    /// Stops everything apart from decisions that are on their way to the disk. `was_deciding` says whether there were some that do not
    /// count any more.
    pub(crate) fn stop(&self, conversation: &Conversation, was_deciding: bool) {
        let waited_for_trust = conversation.gate.borrow_mut().cancel();
        let waited_for_disk =
            conversation.holding.wanted.take().is_some() | conversation.accounts.spent.is_reading.take();
        if (waited_for_trust || waited_for_disk || was_deciding) && !conversation.is_busy() {
            self.shared.host.notify(Level::Info, "cancelled: nothing was sent or run");
            self.shared.feed(conversation, [Input::Released]);
        } else {
            conversation.ending.set(Some(Known::Cancelled));
            self.shared.feed(conversation, [Input::Cancel]);
        }
        self.ownership.lock_while_wanted(conversation);
    }

    pub(crate) fn answer(&self, conversation: &Conversation, question: u64, is_yes: bool) {
        // An earlier question may still be on the screen, and be about a text that has changed since.
        if !conversation.questions.is_current(question) {
            return;
        }
        if self.admission.instructions_were_answered(conversation, is_yes) {
            return;
        }
        if !is_yes {
            self.shared.host.notify(Level::Info, "not trusted: nothing is run or sent. Ctrl-] asks again");
        }
        if conversation.gate.borrow_mut().asks_about_files() {
            let next = conversation.gate.borrow_mut().files_were_answered(is_yes);
            self.admission.pass(conversation, next);
        } else {
            self.admission.frontmatter_was_answered(conversation, is_yes);
        }
    }

    fn execute(&self, conversation: &Conversation, line: usize) {
        match conversation.page.call_at(line) {
            Some(call) => self.ownership.want_alone(conversation, Input::Execute(call).into()),
            None if conversation.is_busy() => self.shared.host.notify(Level::Info, BUSY),
            None => self.shared.host.notify(
                Level::Info,
                "no tool call under the cursor; move it to a `**Tool Use:**` or `**Tool Result:**` block",
            ),
        }
    }

    fn cancel_tool(&self, conversation: &Conversation, line: usize) {
        let session = &conversation.session;
        let running = session.running();
        let at_cursor = conversation.page.call_at(line).filter(|id| session.is_working_on(id));
        let only = || (running.len() == 1).then(|| running[0].id.clone());
        match at_cursor.or_else(only) {
            Some(call) => self.shared.feed(conversation, [Input::CancelTool(call)]),
            None if running.is_empty() => self.shared.host.notify(Level::Info, "no tool is running here"),
            None => self.shared.host.notify(
                Level::Info,
                &format!("{} tools are running; put the cursor on the one to stop", running.len()),
            ),
        }
    }

    /// Decides about the calls whose blocks these lines touch; where there are none, the user is told.
    fn decide(&self, conversation: &Conversation, lines: Range<usize>, wish: impl FnOnce(Vec<CallId>) -> Wish) {
        let calls = conversation.page.calls_in(lines);
        if calls.is_empty() {
            let message = "no call is pending here; ]w moves to the next one, or select several";
            return self.shared.host.notify(Level::Info, message);
        }
        self.ownership.want_alone(conversation, wish(calls));
    }
}
