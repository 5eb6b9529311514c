//! What a host does for the workspace without an answer.

use std::time::Duration;

use crate::references::editor_view::LookedUp;
use flemma_agent::{CursorTarget, Level, LifecycleEvent};
use flemma_chat::Diagnostic;
use flemma_model::{CallId, UserError};
use flemma_provider::usage::Record;
use flemma_tools::Written;

/// Something to show, to tell or to ask ([`crate::Host::perform`]).
#[expect(missing_docs, reason = "what is said of an effect says what its fields are")]
#[derive(Debug)]
pub enum HostEffect<'a> {
    /// Keeps the user from changing the buffer, or lets them again.
    Lock { buffer: i32, is_locked: bool },
    /// Makes a buffer read-only whose file is held elsewhere, or lets the user change it again.
    Observe { buffer: i32, is_observed: bool },
    /// Shows whether the conversation is busy, and whether it does something else now than before.
    Show { buffer: i32, is_busy: bool, is_other: bool },
    /// The status blocks have changed, which has to be noticed ([`crate::Workspace::noticed`]).
    Refresh { buffer: i32 },
    /// What is drawn over the text of a buffer has changed.
    Redraw { buffer: i32 },
    /// The user's edit has to be settled when it is complete: before the next key, which may be undo
    /// (`conversation.page.settle()`), and at the latest when nothing else is to be done
    /// ([`crate::Workspace::noticed`]).
    Unsettled { buffer: i32 },
    /// Shows diagnostics in place of those before.
    Diagnose { buffer: i32, diagnostics: &'a [Diagnostic] },
    /// Moves the cursor of the windows that follow the conversation.
    Cursor { buffer: i32, target: CursorTarget },
    /// Puts the cursor at the end in those windows.
    Follow { buffer: i32 },
    /// The user has to look at a line: opens the folds that it is in, in all windows.
    Unfold { buffer: i32, line: usize },
    /// Calls of a buffer are about to be approved: what the user has made of their changes in reviews that are open has to be known
    /// ([`Reviews::keep_made`](crate::components::Reviews::keep_made)).
    NoteReviews { buffer: i32 },
    /// What calls in a buffer would write may be something else now.
    ProposalsChanged { buffer: i32 },
    /// A turn is over.
    TurnOver { buffer: i32 },
    /// A write of a buffer's file has ended.
    Saved { buffer: i32, saved: Saved },
    /// A drive has ended ([`Drives::drive_result`](crate::components::Drives::drive_result)).
    Driven { buffer: i32 },
    /// A tool may have changed files that are open. These were written for certain; their links are resolved.
    CheckFiles { written: &'a Written },
    /// Tells the user something.
    Notify { level: Level, message: &'a str },
    /// The user's answer came when its call had ended: tells them, and keeps the text that they typed.
    RefuseLate { buffer: i32, tool: &'a str, call: &'a str, text: &'a [u8] },
    /// Tells other plugins what happened; when a request is over, also what it has used, if the provider has counted that.
    Announce { buffer: i32, moment: LifecycleEvent<'a>, usage: Option<Record> },
    /// Asks the user. The answer comes back as [`crate::Command::Answer`] with this number; the answer to an earlier question
    /// has no effect any more.
    Ask { buffer: i32, number: u64, question: Question },
    /// Opens the form of a call that asks the user a question. The answer comes back as a resolution of the call.
    OpenForm { buffer: i32, call: &'a CallId },
    /// Looks up what the editor shows, for references in a conversation. The answers, in the same order, come back by
    /// [`References::looked`](crate::components::References::looked) with this number.
    Look { buffer: i32, number: u64, references: &'a [LookedUp] },
    /// Comes back to [`crate::Workspace::drain`] soon.
    Wake,
    /// Comes back to [`crate::Workspace::drain`] after a pause, once; a pause that is not over begins anew.
    WakeAfter { pause: Duration },
}

/// A question for the user, which is answered with yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether they trust the code or the policy in the file's frontmatter.
    Frontmatter {
        /// The language, as the fence names it.
        language: String,
    },
    /// Whether the conversation may show files outside its folder, and what the editor shows.
    Files {
        /// Where they really are.
        files: Vec<String>,
        /// The references to what the editor shows, as they are written.
        references: Vec<String>,
        /// The line, from 0, that names the first of them.
        line: usize,
    },
}

/// How a write of a file has ended.
#[derive(Debug)]
pub struct Saved {
    /// What came with the text.
    pub tick: i64,
    /// What went wrong.
    pub problem: Option<UserError>,
    /// Whether nothing else has changed the file since.
    pub is_current: bool,
    /// Whether a reply is arriving, so that the text ends with an incomplete one.
    pub is_replying: bool,
}
