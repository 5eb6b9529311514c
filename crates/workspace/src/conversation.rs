//! One conversation: what it owns, piece by piece. What happens to it is told in [`crate::dispatch`].

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    ops::Range,
    rc::Rc,
};

use crate::{
    approval::lookups::WantedLookup,
    calls::rest::Known,
    drives::Drive,
    execution::tasks::Tasks,
    generation::Generation,
    instructions::Found,
    journaling::records::Records,
    options::effective::{Basis, Effective},
    ownership::holder::Holding,
    page::Page,
    ports::Host,
    queue::outbox::{KeptOutbox, Since},
    references::{captures::Captures, file_hints::BareNames},
    reviews::proposals::Proposals,
    saving::file_on_disk::FileOnDisk,
    trust::Gate,
    undo::interrupted::Effects,
    usage::{accounts::Accounts, replies::Replies},
    views::card::KnownCalls,
};
use flemma_agent::Session;
use flemma_chat::{AwaitKind, CaptureTarget, Diagnostic, FoldGroup, Severity, Status, StatusBlock, Uncaptured};
use flemma_runtime::{ConversationId, backups::Proposal};
use flemma_tools::TurnTools;

/// A conversation.
#[derive(Default)]
pub struct Conversation {
    pub(crate) id: ConversationId,
    /// The number of its buffer.
    pub buffer: i32,
    /// Its text, as far as it is read.
    pub page: Page,
    pub(crate) session: Session,
    pub(crate) tasks: Tasks,
    /// What happens in order when it is known what the disk says of these calls. The first is being looked up.
    pub(crate) lookups: RefCell<VecDeque<Option<WantedLookup>>>,
    pub(crate) accounts: Accounts,
    pub(crate) replies: Replies,
    pub(crate) known_calls: KnownCalls,
    pub(crate) bare_names: BareNames,
    /// What is queued.
    pub outbox: KeptOutbox,
    /// The last evaluation of its frontmatter, with what that depends on.
    pub(crate) evaluated: RefCell<Option<(Basis, Rc<Effective>)>>,
    /// What the last request of this session changed about the tools that were offered.
    pub(crate) turn_tools: RefCell<Option<Rc<TurnTools>>>,
    pub(crate) gate: RefCell<Gate>,
    pub(crate) captures: Captures,
    /// What is written as its instructions when it is sent.
    pub(crate) instructions: RefCell<Option<Found>>,
    /// The same, about which the user is asked.
    pub(crate) asked_instructions: RefCell<Option<Found>>,
    /// The rules of which the user knows that they have changed.
    pub(crate) told_rules: RefCell<Vec<String>>,
    pub(crate) holding: Holding,
    /// The questions that the user was asked about it. Only the answer to the last one counts.
    pub(crate) questions: Generation,
    pub(crate) records: Records,
    pub(crate) deadlines: Generation,
    pub(crate) drive: Drive,
    /// What the user knows of the end that the latest turn came to; `None` if nobody told them anything.
    pub(crate) ending: Cell<Option<Known>>,
    pub(crate) file: FileOnDisk,
    pub(crate) proposal: RefCell<Option<(u64, Rc<Proposal>)>>,
    pub(crate) proposals: Proposals,
    /// The calls that were interrupted, with what they have left in files.
    pub(crate) interrupted: RefCell<Effects>,
    /// Whether the file is written when what happens now is over.
    pub(crate) is_write_due: Cell<bool>,
    /// Whether the next turn is reviewed as soon as a caller is answered.
    pub(crate) is_review_due: Cell<bool>,
    /// Whether it was looked at whether it has to be carried on.
    pub(crate) is_revived: Cell<bool>,
    /// Whether diagnostics are shown, which have to go when their cause does.
    pub(crate) is_diagnosed: Cell<bool>,
}

impl Conversation {
    /// The conversation in a buffer of the host's. `file` is what is known of its file.
    pub(crate) fn new(id: ConversationId, buffer: i32, host: &Rc<dyn Host>, file: FileOnDisk) -> Self {
        Self { id, buffer, page: Page::new(host.text(buffer)), file, ..Self::default() }
    }

    /// Whether a reply or a tool is at work.
    pub fn is_busy(&self) -> bool {
        self.session.is_busy()
    }

    /// Lines came from another file or from a command.
    pub fn read_in(&self, lines: Range<usize>) {
        self.page.read_in(lines);
        self.evaluated.take();
    }

    /// The calls that a key could run or resolve, and whose blocks these lines touch, as far as they are parsed: the id and the tool of
    /// each, whether it has a status block, and a line of it. While a reply arrives, those without one are not complete.
    pub fn waiting_in(&self, lines: &Range<usize>) -> Vec<(String, String, bool, usize)> {
        self.page.with_parsed(|document, _| {
            let waiting = document.calls().waiting_in(lines).into_iter();
            let waiting = waiting.filter(|(_, has_block, _)| *has_block || !self.is_busy());
            waiting.map(|(call, has_block, line)| (call.id.0.clone(), call.name.clone(), has_block, line)).collect()
        })
    }

    /// The folds of the messages in these lines, as far as they are parsed.
    pub fn folds(&self, lines: Range<usize>) -> Vec<FoldGroup> {
        let is_changing = self.is_busy() || !self.page.is_complete.get();
        self.page.with_parsed(|document, text| flemma_chat::folds(document, lines, text, is_changing))
    }

    /// Whether what the user wants of it waits for the disk.
    pub fn is_wanted(&self) -> bool {
        let is_asked = self.holding.wanted.borrow().is_some() || self.gate.borrow_mut().is_reading();
        is_asked || self.accounts.spent.is_reading.get()
    }

    /// Whether its text and its journal are read, so that it is known what its calls are.
    pub(crate) fn is_known(&self) -> bool {
        self.page.is_complete.get() && self.records.is_read()
    }

    /// Whether nothing is under way: its calls may wait for somebody, but nothing of it goes on by itself.
    pub(crate) fn is_at_rest(&self) -> bool {
        let is_idle = !self.is_busy() && !self.is_review_due.get();
        // What was wanted may have to wait for the disk first, and it may turn out that there is nothing to decide about.
        let is_due = self.is_wanted() || self.proposals.is_looking();
        is_idle && !is_due && !self.tasks.has_tools() && !self.records.is_under_way()
    }

    /// This moment, for a message that says this.
    pub(crate) fn since(&self, words: &str) -> Since {
        self.page.with_parsed(|document, text| {
            let message = document.messages().len().saturating_sub(1);
            Since {
                message,
                found: flemma_chat::count_words(document.messages().get(message..).unwrap_or_default(), words, text),
            }
        })
    }

    /// How many calls wait for the user here, as far as the text is parsed. Where nothing is at work, one whose block says that it
    /// runs or was approved waits as well.
    pub(crate) fn waiting_count(&self) -> usize {
        if self.holding.elsewhere().is_some() {
            return 0;
        }
        let is_busy = self.is_busy();
        self.page.with_parsed(|document, _| {
            let waits = |block: &&StatusBlock| match block.status {
                Status::Pending => block.kind() != AwaitKind::ClientExec,
                Status::Approved | Status::Running => !is_busy,
                Status::Denied | Status::Rejected => false,
            };
            document.calls().states().into_iter().filter_map(|(_, block)| block).filter(waits).count()
        })
    }

    /// The references to the editor that the next request would capture and that may not be the user's, as they are written, with
    /// the line of the first.
    pub(crate) fn unvetted_references(&self) -> Vec<(usize, String)> {
        let page = &self.page;
        let is_unvetted = |reference: &Uncaptured| {
            matches!(reference.target, CaptureTarget::Editor(_))
                && !page.is_by_user(reference.line..reference.line + 1)
                && !page.files().allowed_references.contains(&reference.written)
        };
        page.uncaptured().into_iter().filter(is_unvetted).map(|reference| (reference.line, reference.written)).collect()
    }

    /// What is wrong with the text, with the files that it names, and with its references.
    pub(crate) fn text_diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = self.page.diagnostics();
        if !self.captures.problems.borrow().is_empty() {
            found.extend(self.page.uncaptured().into_iter().filter_map(|reference| {
                let problem = self.captures.problem(&reference.written)?;
                let message = format!("{}: {problem}.", reference.written);
                Some(Diagnostic { line: reference.line, severity: Severity::Warning, message })
            }));
            found.sort_by_key(|diagnostic| diagnostic.line);
        }
        found
    }
}
