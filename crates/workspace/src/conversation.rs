//! One conversation: what it owns, piece by piece. What happens to it is told in [`super::dispatch`].

use std::{
    cell::{Cell, RefCell, RefMut},
    ops::Range,
    rc::Rc,
};

use super::{
    accounts::Accounts, bare_names::BareNames, captures::Captures, drive::Drive, effective::Evaluated, ending::Ending,
    file_on_disk::FileOnDisk, generation::Generation, holder::Holding, interrupted_calls::InterruptedCalls,
    kept_outbox::KeptOutbox, known_calls::KnownCalls, page::Page, ports::Host, proposals::Proposals,
    questions::Questions, records::Records, replies::Replies, tasks::Tasks, trust::Gate,
};
use flemma_agent::Session;
use flemma_chat::{Decoration, Region};
use flemma_model::CallId;
use flemma_runtime::{ConversationId, backups::Proposal};
use flemma_tools::TurnTools;

/// A conversation.
pub struct Conversation {
    id: ConversationId,
    buffer: i32,
    page: Page,
    session: Session,
    tasks: Tasks,
    accounts: Accounts,
    replies: Replies,
    known_calls: KnownCalls,
    bare_names: BareNames,
    outbox: KeptOutbox,
    evaluated: Evaluated,
    /// What the last request of this session changed about the tools that were offered.
    turn_tools: RefCell<Option<Rc<TurnTools>>>,
    gate: RefCell<Gate>,
    captures: Captures,
    holding: Holding,
    questions: Questions,
    records: Records,
    deadlines: Generation,
    drive: Drive,
    ending: Ending,
    file: FileOnDisk,
    proposal: RefCell<Option<(u64, Rc<Proposal>)>>,
    proposals: Proposals,
    interrupted: InterruptedCalls,
    /// Whether the file is written when what happens now is over.
    is_write_due: Cell<bool>,
    /// Whether the next turn is reviewed as soon as a caller is answered.
    is_review_due: Cell<bool>,
    /// Whether it was looked at whether it has to be carried on.
    is_revived: Cell<bool>,
    /// Whether diagnostics are shown, which have to go when their cause does.
    is_diagnosed: Cell<bool>,
}

impl Conversation {
    /// The conversation in a buffer of the host's. `file` is what is known of its file.
    pub(super) fn new(id: ConversationId, buffer: i32, host: &Rc<dyn Host>, file: FileOnDisk) -> Self {
        Self {
            id,
            buffer,
            page: Page::new(host.text(buffer)),
            session: Session::default(),
            tasks: Tasks::default(),
            accounts: Accounts::default(),
            replies: Replies::default(),
            known_calls: KnownCalls::default(),
            bare_names: BareNames::default(),
            outbox: KeptOutbox::default(),
            evaluated: Evaluated::default(),
            turn_tools: RefCell::default(),
            gate: RefCell::default(),
            captures: Captures::default(),
            holding: Holding::default(),
            questions: Questions::default(),
            records: Records::default(),
            deadlines: Generation::default(),
            drive: Drive::default(),
            ending: Ending::default(),
            file,
            proposal: RefCell::default(),
            proposals: Proposals::default(),
            interrupted: InterruptedCalls::default(),
            is_write_due: Cell::new(false),
            is_review_due: Cell::new(false),
            is_revived: Cell::new(false),
            is_diagnosed: Cell::new(false),
        }
    }

    pub(super) fn id(&self) -> ConversationId {
        self.id
    }

    /// The number of its buffer.
    #[must_use]
    pub fn buffer(&self) -> i32 {
        self.buffer
    }

    pub(super) fn page(&self) -> &Page {
        &self.page
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub(super) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// What is known of its messages.
    pub(super) fn replies(&self) -> &Replies {
        &self.replies
    }

    /// What is known of its calls, for drawing.
    pub(super) fn known_calls(&self) -> &KnownCalls {
        &self.known_calls
    }

    /// Which of the names on the screen are files.
    pub(super) fn bare_names(&self) -> &BareNames {
        &self.bare_names
    }

    /// What the user has written while it was at work.
    pub(super) fn outbox(&self) -> &KeptOutbox {
        &self.outbox
    }

    pub(super) fn evaluated(&self) -> &Evaluated {
        &self.evaluated
    }

    pub(super) fn turn_tools(&self) -> &RefCell<Option<Rc<TurnTools>>> {
        &self.turn_tools
    }

    pub(super) fn gate(&self) -> RefMut<'_, Gate> {
        self.gate.borrow_mut()
    }

    /// The references that are being captured.
    pub(super) fn captures(&self) -> &Captures {
        &self.captures
    }

    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(super) fn holding(&self) -> &Holding {
        &self.holding
    }

    pub(super) fn records(&self) -> &Records {
        &self.records
    }

    /// Which of the timers for deadlines counts.
    pub(super) fn deadlines(&self) -> &Generation {
        &self.deadlines
    }

    pub(super) fn drive(&self) -> &Drive {
        &self.drive
    }

    /// What the user knows of the end of its latest turn.
    pub(super) fn ending(&self) -> &Ending {
        &self.ending
    }

    pub(super) fn file(&self) -> &FileOnDisk {
        &self.file
    }

    /// What the user was last shown of taking changes back, by its number.
    pub(super) fn proposal(&self) -> &RefCell<Option<(u64, Rc<Proposal>)>> {
        &self.proposal
    }

    /// What calls that wait would write.
    pub(super) fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    /// What calls that were interrupted have done to files.
    pub(super) fn interrupted(&self) -> &InterruptedCalls {
        &self.interrupted
    }

    /// Sets whether the file is written when what happens now is over; gives what was set before.
    pub(super) fn set_write_due(&self, is_due: bool) -> bool {
        self.is_write_due.replace(is_due)
    }

    pub(super) fn is_review_due(&self) -> &Cell<bool> {
        &self.is_review_due
    }

    pub(super) fn is_revived(&self) -> &Cell<bool> {
        &self.is_revived
    }

    /// Notes whether diagnostics are shown.
    pub(super) fn set_diagnosed(&self, is_diagnosed: bool) {
        self.is_diagnosed.set(is_diagnosed);
    }

    /// Whether diagnostics are shown.
    pub(super) fn is_diagnosed(&self) -> bool {
        self.is_diagnosed.get()
    }

    /// Whether a reply or a tool is at work.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.session.is_busy()
    }

    /// Whether the whole text is parsed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.page.is_complete()
    }

    /// Parses the next lines of a file that was just opened; says whether there are more.
    pub(super) fn parse_on(&self) -> bool {
        self.page.parse_on()
    }

    /// Does what can be done later for a file that was just opened; says whether there is more.
    pub fn index_on(&self) -> bool {
        self.page.index_on()
    }

    /// Lines have changed that changed once more before they were looked at.
    pub fn missed(&self, lines: Range<usize>) {
        self.page.missed(lines);
    }

    /// The changes that were just reported were undo or redo.
    pub fn undone(&self) {
        self.page.undone();
    }

    /// The changes that were reported so far are complete, and were not undo.
    pub fn settle(&self) {
        self.page.settle();
    }

    /// Lines came from another file or from a command.
    pub fn read_in(&self, lines: Range<usize>) {
        self.page.read_in(lines);
        self.evaluated.forget();
    }

    /// The colours of these lines, as far as they are parsed.
    #[must_use]
    pub fn decorations(&self, lines: Range<usize>) -> Vec<Decoration> {
        self.page.decorations(lines)
    }

    /// The references to files and to the editor in these lines, as far as they are parsed: the line of each, and its range in
    /// the line in bytes.
    #[must_use]
    pub fn references(&self, lines: Range<usize>) -> Vec<(usize, Range<usize>)> {
        self.page.references(lines)
    }

    /// What of these lines is Markdown and what is code, as far as they are parsed.
    #[must_use]
    pub fn regions(&self, lines: Range<usize>) -> Vec<Region> {
        self.page.regions(lines)
    }

    /// The ids of the calls that have no result yet.
    #[must_use]
    pub fn open_calls(&self) -> Vec<String> {
        self.page.open_ids().into_iter().map(|id| id.0).collect()
    }

    /// The calls that a key could run or resolve, and whose blocks these lines touch, as far as they are parsed: the id and the tool of
    /// each, whether it has a status block, and a line of it. While a reply arrives, those without one are not complete.
    #[must_use]
    pub fn waiting_in(&self, lines: &Range<usize>) -> Vec<(String, String, bool, usize)> {
        self.page.with_parsed(|document, _| {
            let waiting = document
                .calls()
                .waiting_in(lines)
                .into_iter()
                .filter(|(_, has_block, _)| *has_block || !self.is_busy());
            waiting.map(|(call, has_block, line)| (call.id.0.clone(), call.name.clone(), has_block, line)).collect()
        })
    }

    /// The call whose use or result a line belongs to.
    #[must_use]
    pub fn call_at(&self, line: usize) -> Option<CallId> {
        self.page.call_at(line)
    }

    /// The line of the next or the previous message's marker.
    #[must_use]
    pub fn message_from(&self, line: usize, is_forward: bool) -> Option<usize> {
        self.page.message_from(line, is_forward)
    }

    /// For each line, whether the user wrote it in this session: for tests.
    #[must_use]
    pub fn own_lines(&self) -> Vec<bool> {
        let count = self.page.with_document(|_, text| text.line_count());
        (0..count).map(|line| self.page.is_by_user(line..line + 1)).collect()
    }
}
