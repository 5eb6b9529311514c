//! Records what tools change in files, and takes it back when the user wants that.
//!
//! Everything that waits for the disk is done away from the main thread. The user is shown a [`Proposal`] first, which has a number:
//! [`Undo::restore_files`](crate::components::Undo::restore_files) does exactly what was shown, and nothing of a proposal that is not the latest.

pub(crate) mod interrupted;

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use serde::Deserialize;

use crate::{Conversation, calls::key::Keyed as _, components::Undo, undo::interrupted::effects};
use flemma_chat::{OpenCall, ParsedMessage, Speaker};
use flemma_config::BackupOptions;
use flemma_journal::{CallKey, changes::Wanted};
use flemma_model::{CallId, UserError};
use flemma_runtime::backups::{FileBefore, Limits, LogKey, Permit, Proposal, Restored};
use flemma_tools::Recorder;

/// How many calls `:Flemma undo` offers, at most.
const MAX_OFFERED: usize = 100;

/// What the user wants to take back.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakeBack {
    /// The last write that stands.
    Last,
    /// What a call has written.
    Call(CallId),
    /// What was taken back last: it is made again.
    Redo,
    /// All that was written after the message at this line, from 0.
    After(usize),
}

/// A proposal and its number.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// The number for [`Undo::restore_files`](crate::components::Undo::restore_files).
    pub number: u64,
    /// What would be done.
    pub proposal: Rc<Proposal>,
    /// The same as text to look at.
    pub lines: Vec<String>,
}

impl Undo {
    /// Records what a run of a call changes; `None` where the options say that nothing is kept.
    pub(crate) fn recorder(&self, conversation: &Conversation, call: &OpenCall) -> Option<Arc<dyn Recorder>> {
        let options = self.shared.config().tools.backups;
        let key = call.key();
        let (log, fence) = (self.log_key(conversation), self.ownership.fence(conversation));
        options.enabled.then(|| self.backups.recorder_of_call(&log, &key, limits(options), fence))
    }

    /// Finds out what taking changes back would do, and changes nothing. `unsaved` are the files with changes in the editor.
    /// `then` gets it, or why there is nothing to do.
    pub fn propose_taking_back(
        &self,
        buffer: i32,
        what: TakeBack,
        unsaved: Vec<PathBuf>,
        then: impl FnOnce(&Self, Result<Proposed, UserError>) + Send + 'static,
    ) {
        let wanted = self.may_take_back(buffer).and_then(|it| wanted(&it, what).map(|wanted| (it, wanted)));
        let (conversation, wanted) = match wanted {
            Ok(wanted) => wanted,
            Err(problem) => return then(self, Err(problem)),
        };
        let (backups, log) = (self.backups.clone(), self.log_key(&conversation));
        let (id, folder) = (conversation.id, self.shared.place(&conversation).folder());
        let work = move || backups.propose(&log, &wanted, &unsaved);
        self.background.run(work, move |this: &Self, proposed| {
            let Some(conversation) = this.shared.conversations.by_id(id) else {
                return then(this, Err(closed()));
            };
            let proposed = proposed.map(|proposal| {
                let mut kept = conversation.proposal.borrow_mut();
                let number = kept.as_ref().map_or(1, |(last, _)| last + 1);
                let (proposal, lines) = (Rc::new(proposal.clone()), proposal.lines(|path| name(path, &folder)));
                *kept = Some((number, Rc::clone(&proposal)));
                Proposed { number, proposal, lines }
            });
            then(this, proposed);
        });
    }

    /// Does what was proposed. `overwrite` are the places, from 0, of the files that others have changed, and that the user wants to
    /// go back all the same. `then` gets what became of each file, or why nothing was done.
    pub fn restore_files(
        &self,
        buffer: i32,
        number: u64,
        overwrite: &[usize],
        unsaved: Vec<PathBuf>,
        then: impl FnOnce(&Self, Result<Vec<Restored>, UserError>) + Send + 'static,
    ) {
        let conversation = match self.may_take_back(buffer) {
            Ok(conversation) => conversation,
            Err(problem) => return then(self, Err(problem)),
        };
        let taken = conversation.proposal.borrow_mut().take_if(|(latest, _)| *latest == number);
        let Some((_, proposal)) = taken else {
            let problem = "this is no longer current; give the command again";
            return then(self, Err(UserError::new(problem)));
        };
        let overwrite =
            overwrite.iter().filter_map(|place| Some(proposal.files.get(*place)?.step.path.clone())).collect();
        let permit = Permit {
            overwrite,
            unsaved,
            protected: self.permissions.protected(),
            limits: limits(self.shared.config().tools.backups),
            fence: self.ownership.fence(&conversation),
        };
        let (backups, log, proposal) = (self.backups.clone(), self.log_key(&conversation), (*proposal).clone());
        let id = conversation.id;
        // Files are about to change: nothing is known of the calls until somebody has looked again.
        let calls: Vec<CallKey> = conversation.interrupted.borrow().keys().cloned().collect();
        conversation.interrupted.borrow_mut().values_mut().for_each(|left| *left = None);
        let work = move || {
            let restored = backups.apply(&log, &proposal, &permit);
            (restored, effects(&backups, &log, calls))
        };
        self.background.run(work, move |this: &Self, (restored, effects)| {
            this.shared.with_conversation(id, |conversation| conversation.interrupted.borrow_mut().extend(effects));
            then(this, Ok(restored));
        });
    }

    /// Finds out which files the last turn has written. `then` gets each with what it was before that, or why it is not known.
    pub fn changed_files(
        &self,
        buffer: i32,
        then: impl FnOnce(&Self, Result<Vec<FileBefore>, UserError>) + Send + 'static,
    ) {
        let Some(conversation) = self.shared.conversation(buffer) else { return then(self, Err(closed())) };
        let (backups, log) = (self.backups.clone(), self.log_key(&conversation));
        let wanted = conversation.page.with_document(|document, text| {
            let calls = document.calls().all(text);
            let last = calls.last().map_or(0, |(of, _)| *of);
            let asks = |message: &ParsedMessage| message.role == Speaker::You && !message.has_only_results(text);
            split(calls, document.messages()[..last].iter().rposition(asks).unwrap_or(0))
        });
        self.background.run(move || backups.before(&log, &wanted), then);
    }

    /// The ids of calls of tools that change files, the latest first. Not all of them have changed one.
    pub fn writing_calls(&self, conversation: &Conversation) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let writes = |tool: &str| self.shared.toolbox.get(tool).is_some_and(|tool| tool.write_path_param.is_some());
        conversation.page.with_document(|document, _| {
            for id in document.calls().uses().rev().filter(|call| writes(&call.name)).map(|call| &call.id) {
                if !found.contains(&id.0) {
                    found.push(id.0.clone());
                }
                if found.len() == MAX_OFFERED {
                    break;
                }
            }
        });
        found
    }

    /// The conversation has another file from now on: its changes can still be taken back.
    pub(crate) fn carry_changes_over(&self, conversation: &Conversation, path: &str) {
        let from = self.log_key(conversation);
        let to = if path.is_empty() { return } else { LogKey::File(PathBuf::from(path)) };
        if from == to {
            return;
        }
        let backups = self.backups.clone();
        self.background.tidy("the list of changes could not be carried over", move || backups.carry_over(&from, &to));
    }

    /// Deletes old contents, away from the main thread.
    pub(crate) fn clean_backups(&self) {
        let (backups, limits) = (self.backups.clone(), limits(self.shared.config().tools.backups));
        self.background.tidy("old contents of files could not be deleted", move || backups.clean(limits));
    }

    /// The conversation of a buffer, if files may be changed for it now.
    fn may_take_back(&self, buffer: i32) -> Result<Rc<Conversation>, UserError> {
        let conversation = self.shared.conversation(buffer).ok_or_else(closed)?;
        self.ownership.check_held(&conversation)?;
        if conversation.is_busy() {
            let problem = "a reply or a tool is still running; wait until it ends";
            return Err(UserError::new(problem).with_advice("Ctrl-C ends it."));
        }
        if !conversation.page.is_complete.get() {
            return Err(UserError::new("the conversation is still being read; try again in a moment"));
        }
        Ok(conversation)
    }

    /// The log of a conversation.
    pub(crate) fn log_key(&self, conversation: &Conversation) -> LogKey {
        let unnamed = || LogKey::Unnamed(format!("{}-{}", self.session, conversation.buffer));
        conversation.records.path().map_or_else(unnamed, LogKey::File)
    }
}

pub(crate) fn closed() -> UserError {
    UserError::new("the conversation was closed")
}

fn limits(options: BackupOptions) -> Limits {
    Limits { max_bytes: options.max_bytes.into(), max_age: options.max_age.0 }
}

/// The name of a file for the user: from the folder of the conversation, if it is in there.
pub(crate) fn name(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

fn wanted(conversation: &Conversation, what: TakeBack) -> Result<Wanted, UserError> {
    let line = match what {
        TakeBack::Last => return Ok(Wanted::Last),
        TakeBack::Call(id) => return Ok(Wanted::Call(id)),
        TakeBack::Redo => return Ok(Wanted::Redo),
        TakeBack::After(line) => line,
    };
    conversation.page.with_document(|document, text| {
        let message = document
            .message_at(line)
            .ok_or_else(|| UserError::new("the cursor is not on a message; put it on the last message to keep"))?;
        Ok(split(document.calls().all(text), message))
    })
}

/// What was written after a message.
fn split(calls: Vec<(usize, OpenCall)>, message: usize) -> Wanted {
    let (before, after): (Vec<_>, Vec<_>) = calls.into_iter().partition(|(of, _)| *of <= message);
    let keys = |calls: Vec<(usize, OpenCall)>| calls.into_iter().map(|(_, call)| call.key()).collect();
    Wanted::After { before: keys(before), after: keys(after) }
}
