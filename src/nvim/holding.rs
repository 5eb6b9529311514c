//! A conversation that is open in another Neovim as well: the user is told, and asked before this one sends or runs
//! anything. See [`crate::runtime::holder`].

use std::{cell::RefCell, path::Path, rc::Rc, sync::Arc};

use super::{conversation::Conversation, editor::Editor, exports::Exports};
use crate::{
    agent::{Input, Level},
    runtime::{
        Notice, Report,
        holder::{Held, Hold, hold},
    },
};

/// Who holds a conversation, as far as this process knows.
#[derive(Debug, Default)]
enum Standing {
    /// Nobody has to: it has no file, or there are no locks on this system.
    #[default]
    Free,
    /// It is being found out.
    Looking,
    /// This process, as long as this value lives.
    Ours { _held: Held },
    /// Another process.
    Theirs,
}

/// Who holds a conversation, and what waits for the answer.
#[derive(Debug, Default)]
pub(super) struct Holding {
    standing: RefCell<Standing>,
    /// The conversation's file.
    path: RefCell<String>,
    wanted: RefCell<Option<Input>>,
}

impl Conversation {
    /// Tries to hold the conversation, whose file is `path` from now on.
    pub(super) fn hold(&self, editor: &Editor, path: &str) {
        let holding = &self.holding;
        if *holding.path.borrow() == path && !matches!(*holding.standing.borrow(), Standing::Theirs) {
            return;
        }
        *holding.standing.borrow_mut() = Standing::Free;
        path.clone_into(&mut holding.path.borrow_mut());
        if path.is_empty() {
            return;
        }
        let (folder, path) = (editor.locks.clone(), path.to_owned());
        let (id, queue) = (self.id, Arc::clone(editor.worker.queue()));
        if let Ok(threads) = editor.worker.handle() {
            *holding.standing.borrow_mut() = Standing::Looking;
            threads.spawn_blocking(move || {
                let hold = hold(&folder, Path::new(&path)).map_err(|error| error.to_string());
                queue.push(Notice { conversation: id, report: Report::Hold { path, hold } });
            });
        }
    }

    /// It was found out who holds the conversation at `path`.
    pub(super) fn hold_was_tried(self: &Rc<Self>, editor: &Editor, path: &str, hold: Result<Hold, String>) {
        let holding = &self.holding;
        if *holding.path.borrow() != path {
            return;
        }
        let wanted = holding.wanted.take();
        let holder = match hold {
            Ok(Hold::Theirs(holder)) if holder != Some(std::process::id()) => holder,
            Ok(Hold::Ours(held)) => {
                *holding.standing.borrow_mut() = Standing::Ours { _held: held };
                return self.go_on(editor, wanted);
            }
            // This very process holds it by another name of its.
            Ok(Hold::Theirs(_)) => {
                *holding.standing.borrow_mut() = Standing::Free;
                return self.go_on(editor, wanted);
            }
            Err(error) => {
                editor.log(Level::Warn, &format!("{path} cannot be locked: {error}"));
                *holding.standing.borrow_mut() = Standing::Free;
                return self.go_on(editor, wanted);
            }
        };
        *holding.standing.borrow_mut() = Standing::Theirs;
        if editor.told_shared.borrow_mut().insert(path.to_owned()) {
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
            let number = holder.map(|number| format!(" (process {number})")).unwrap_or_default();
            let message = format!(
                "{name} is open in another Neovim as well{number}. You are asked before this one sends or runs anything."
            );
            editor.host.notify(Level::Warn, &message);
        }
        if let Some(input) = wanted {
            if editor.shared.borrow().contains(path) {
                self.want(editor, input);
            } else {
                *holding.wanted.borrow_mut() = Some(input);
                editor.host.ask_holder(self.buffer, holder);
            }
        }
    }

    fn go_on(self: &Rc<Self>, editor: &Editor, wanted: Option<Input>) {
        if let Some(input) = wanted {
            self.want(editor, input);
        }
    }

    /// The user wants something of this conversation, which another Neovim may have open as well. Then they are asked
    /// first, and this goes on with their answer.
    pub(super) fn want_alone(self: &Rc<Self>, editor: &Editor, input: Input) {
        let holding = &self.holding;
        let path = holding.path.borrow().clone();
        let is_free = matches!(*holding.standing.borrow(), Standing::Free | Standing::Ours { .. });
        if is_free || self.session.is_busy() || editor.shared.borrow().contains(&path) {
            return self.want(editor, input);
        }
        *holding.wanted.borrow_mut() = Some(input);
        // The other one may have left meanwhile.
        self.hold(editor, &path);
        if matches!(*holding.standing.borrow(), Standing::Free) {
            let wanted = holding.wanted.take();
            self.go_on(editor, wanted);
        }
    }

    /// The user has answered.
    fn answer_holder(self: &Rc<Self>, editor: &Editor, goes_on: bool) {
        let wanted = self.holding.wanted.take();
        if goes_on {
            editor.shared.borrow_mut().insert(self.holding.path.borrow().clone());
            self.go_on(editor, wanted);
        }
    }
}

/// The function that Lua calls.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // share(buffer, whether): the answer to `ask_holder`
    exports.add("share", |_, editor, (buffer, goes_on): (i32, bool)| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.answer_holder(editor, goes_on);
        }
        Ok(())
    })
}
