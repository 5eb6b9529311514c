//! What the user presses and answers.

use flemma_agent::Choice;
use flemma_workspace::{Command, Switched};

use super::harness::Harness;

impl Harness {
    #[track_caller]
    pub fn press(&self, command: Command) {
        self.workspace.dispatch(self.current(), command);
        self.settle();
    }

    /// Ctrl-].
    #[track_caller]
    pub fn go(&self) {
        self.press(Command::Advance);
    }

    /// Ctrl-C.
    #[track_caller]
    pub fn stop(&self) {
        self.press(Command::Cancel);
    }

    /// Alt-Enter in the first line with these words.
    #[track_caller]
    pub fn execute(&self, words: &str) {
        self.press(Command::Execute { line: self.line_with(words) });
    }

    /// `:Flemma tool:approve` in the first line with these words.
    #[track_caller]
    pub fn approve(&self, words: &str) {
        let line = self.line_with(words);
        self.press(Command::Decide { lines: line..line + 1, choice: Choice::Approve });
    }

    /// `:Flemma tool:reject` in the first line with these words.
    #[track_caller]
    pub fn reject(&self, words: &str, message: Option<&str>) {
        let line = self.line_with(words);
        let choice = Choice::Reject(message.map(str::to_owned));
        self.press(Command::Decide { lines: line..line + 1, choice });
    }

    /// `:Flemma tool:approve always` in the first line with these words.
    #[track_caller]
    pub fn always(&self, words: &str) {
        let line = self.line_with(words);
        self.press(Command::AlwaysApprove { lines: line..line + 1 });
    }

    /// Answers the latest question.
    #[track_caller]
    pub fn answer(&self, yes: bool) {
        let latest = self.questions().checked_sub(1).expect("a question");
        self.answer_question(latest, yes);
    }

    /// Answers a question that was asked before, by its place among them.
    #[track_caller]
    pub fn answer_question(&self, nth: usize, yes: bool) {
        let (buffer, question) = {
            let questions = self.host.questions.borrow();
            (questions[nth].0, questions[nth].1)
        };
        self.workspace.dispatch(buffer, Command::Answer { question, is_yes: yes });
        self.settle();
    }

    /// `:Flemma switch`; gives the message.
    #[track_caller]
    pub fn switch(&self, words: &str) -> String {
        match self.try_switch(words) {
            Ok(Switched::Done(message)) => message,
            other => panic!("{words}: {other:?}"),
        }
    }

    pub fn try_switch(&self, words: &str) -> Result<Switched, String> {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        self.workspace.switches.switch(&words).map_err(|error| error.to_string())
    }
}
