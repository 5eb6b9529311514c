//! What components tell the loop. A component asks those below it, and never one above: what is to happen there, it tells.

use crate::{
    Conversation,
    approval::lookups::Known,
    background::{JobWith, WhenKnown},
    instructions::Found,
    resolutions::{Resolution, ResolveError},
    trust::Wish,
};
use flemma_agent::Input;
use flemma_chat::OpenCall;
use flemma_journal::Role;
use flemma_model::{CallId, UserError};

/// Who hears how a resolution ended.
pub(crate) type Reply = JobWith<Result<(), ResolveError>>;

/// Something that has happened, or should.
pub(crate) enum LoopEvent<'a> {
    /// Inputs for the session of a conversation.
    Input(&'a Conversation, Vec<Input>),
    /// Somebody wants something of a conversation that is read, and held here.
    Want(&'a Conversation, Wish),
    /// Somebody wants something of a conversation, which may have to be read first.
    WantAlone(&'a Conversation, Wish),
    /// The journal of the conversation at this path is to be read.
    ReadJournal(&'a Conversation, String),
    /// A journal that could not be read is needed.
    NeedJournal(&'a Conversation),
    /// The document and the journal are to be brought together, as far as both are read.
    Recover(&'a Conversation),
    /// The journal is read: what waited for it may start.
    JournalRead(&'a Conversation),
    /// The journal cannot be read: what waited for it does not start.
    JournalUnreadable(&'a Conversation, UserError),
    /// Another process has taken the conversation over.
    Taken(&'a Conversation),
    /// Records are on the disk that something waits for.
    Recorded,
    /// Somebody is told how a resolution ended.
    Reply(Reply, Result<(), ResolveError>),
    /// What a judgement has to know of the disk is there.
    Known(&'a Conversation, &'a Known, WhenKnown),
    /// Something was resolved.
    Resolved(&'a Conversation),
    /// A call is resolved with this.
    Resolve(&'a Conversation, &'a CallId, Resolution, Role, Reply),
    /// A call is past its deadline, which somebody in this role meets.
    Overdue(&'a Conversation, &'a OpenCall, Role),
    /// What a conversation does is to stop.
    Stop(&'a Conversation),
    /// The instructions of a conversation are found, for the wish with this number.
    InstructionsFound(&'a Conversation, u64, Found),
    /// A question of this number was answered with yes.
    Agreed(&'a Conversation, u64),
}
