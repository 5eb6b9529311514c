//! A conversation that is open in another process as well: the user is told, and asked before this one sends or runs
//! anything. See [`crate::runtime::holder`].

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{Conversation, Workspace, holder::Holder, ports::Question, wish::Wish};
use crate::{
    agent::Level,
    runtime::holder::{Hold, hold},
};

impl Workspace {
    /// Tries to hold the conversation, whose file is `path` from now on.
    pub(super) fn hold(&self, conversation: &Conversation, path: &str) {
        let holding = conversation.holding();
        if *holding.path.borrow() == path && !matches!(*holding.holder.borrow(), Holder::Other) {
            return;
        }
        holding.set(Holder::Free);
        path.clone_into(&mut holding.path.borrow_mut());
        if path.is_empty() {
            return self.go_on(conversation);
        }
        let (folder, file, id) = (self.locks().folder.clone(), PathBuf::from(path), conversation.id());
        let path = path.to_owned();
        let then = move |workspace: &Self, hold: io::Result<Hold>| {
            if let Some(conversation) = workspace.conversations().by_id(id) {
                workspace.hold_was_tried(&conversation, &path, hold);
            }
        };
        let lock = move || hold(&folder, &file);
        match self.background().run(lock, then) {
            Ok(()) => holding.set(Holder::Unknown),
            Err(_) => self.go_on(conversation),
        }
    }

    /// It was found out who holds the conversation at `path`.
    fn hold_was_tried(&self, conversation: &Conversation, path: &str, hold: io::Result<Hold>) {
        let holding = conversation.holding();
        if *holding.path.borrow() != path {
            return;
        }
        let holder = match hold {
            Ok(Hold::Theirs(process)) if process != Some(std::process::id()) => {
                return self.is_held_elsewhere(conversation, path, process);
            }
            Ok(Hold::Ours(held)) => Holder::This { _held: held },
            // This very process holds it by another of its names.
            Ok(Hold::Theirs(_)) => Holder::Free,
            Err(error) => {
                self.log(Level::Warn, &format!("{path} cannot be locked: {error}"));
                Holder::Free
            }
        };
        holding.set(holder);
        self.go_on(conversation);
    }

    fn is_held_elsewhere(&self, conversation: &Conversation, path: &str, process: Option<u32>) {
        let holding = conversation.holding();
        holding.set(Holder::Other);
        if self.locks().told.borrow_mut().insert(path.to_owned()) {
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
            let number = process.map(|number| format!(" (process {number})")).unwrap_or_default();
            let message = format!(
                "{name} is also open in another Neovim{number}. Flemma asks before this one sends or runs anything."
            );
            self.host().notify(Level::Warn, &message);
        }
        if self.locks().is_shared(path) {
            self.go_on(conversation);
        } else if holding.wanted.borrow().is_some() {
            self.ask(conversation, Question::Holder { process });
        }
    }

    /// The wish that waited goes on.
    fn go_on(&self, conversation: &Conversation) {
        let wanted = conversation.holding().wanted.take();
        if let Some(wish) = wanted {
            self.want(conversation, wish);
        }
    }

    /// The user wants something of this conversation, which another process may have open as well. Then they are asked
    /// first, and this goes on with their answer.
    pub(super) fn want_alone(&self, conversation: &Conversation, wish: Wish) {
        let holding = conversation.holding();
        let path = holding.path.borrow().clone();
        if holding.is_free() || conversation.session().is_busy() || self.locks().is_shared(&path) {
            return self.want(conversation, wish);
        }
        *holding.wanted.borrow_mut() = Some(wish);
        // The other one may have left meanwhile.
        self.hold(conversation, &path);
    }

    /// The user has answered whether to go on with a conversation that another process has open.
    pub(super) fn holder_was_answered(&self, conversation: &Conversation, goes_on: bool) {
        if goes_on {
            self.locks().shared.borrow_mut().insert(conversation.holding().path.borrow().clone());
            self.go_on(conversation);
        } else {
            conversation.holding().wanted.take();
        }
    }
}
