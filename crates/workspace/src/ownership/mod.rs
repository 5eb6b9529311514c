//! A conversation is held by one process, for one buffer: see [`flemma_runtime::holder`]. Where it is held elsewhere, it
//! is only shown: the buffer is read-only, follows the file, and takes over when the other one is gone.
//!
//! [`Ownership::want_alone`](crate::components::Ownership::want_alone) is the one way for a wish to reach the trust gate and the session.

pub(crate) mod holder;

use std::{
    ops::ControlFlow,
    path::Path,
    rc::Rc,
    sync::{Arc, PoisonError},
    time::Duration,
};

use crate::{
    Conversation, HostEffect,
    background::done_within,
    components::Ownership,
    event::LoopEvent,
    ownership::holder::{Holder, OtherHolder},
    trust::Wish,
};
use flemma_agent::{Input, Level};
use flemma_model::UserError;
use flemma_runtime::{
    ConversationId, Fence, Owner, Taken,
    holder::{BufferLocks, Guard, Held, Hold, Ours, Sighting, Watch},
    save::Stamp,
};

/// How often the file of an observed conversation is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How often the locks of a held conversation are looked at.
const OWN_LOOK: Duration = Duration::from_secs(1);

/// How long a wish may wait without a word.
const SOON: Duration = Duration::from_secs(1);

/// How long the editor waits on exit for the lock files to go. One that stays does no harm.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a user is told whose changes are not in the file, which another process has changed.
const KEPT: &str = "Your changes are kept: `:write!` replaces the file with them, `:edit!` discards them.";

impl Ownership {
    /// Tries to hold the conversation, whose file is `path` from now on.
    pub(crate) fn hold(&self, conversation: &Conversation, path: &str) {
        let holding = &conversation.holding;
        if let Some(attempt) = holding.held_as(path) {
            return self.renew(conversation, attempt);
        }
        if holding.is_about(path) {
            return holding.is_written.set(true);
        }
        let (attempt, held) = holding.begin(path);
        self.locks.keep(held);
        self.let_go_later();
        if self.locks.was_told(conversation.buffer, Path::new(path)) {
            holding.is_told.set(true);
        }
        if !Path::new(path).is_absolute() {
            // No name, or one that another plugin gives a meaning to.
            return self.is_held_now(conversation, None);
        }
        self.with_locks(conversation, attempt, BufferLocks::hold, move |this, conversation, hold| {
            this.hold_was_tried(conversation, attempt, hold);
        });
    }

    /// Does something with the locks of a conversation, away from the main thread. `then` gets the conversation, unless it was closed
    /// or another attempt has begun.
    fn with_locks<R: Send + 'static>(
        &self,
        conversation: &Conversation,
        attempt: u64,
        work: impl FnOnce(&BufferLocks, &Path, &Path) -> R + Send + 'static,
        then: impl FnOnce(&Self, Option<&Conversation>, R) + Send + 'static,
    ) {
        let locks = self.locks.of(conversation.buffer, &*self.shared.host);
        let (folder, file, id) = (self.locks.folder.clone(), conversation.holding.path(), conversation.id);
        let then = move |this: &Self, found| then(this, this.latest(id, attempt).as_deref(), found);
        self.background.run(move || work(&locks, &folder, &file), then);
    }

    /// A conversation, if this is its latest attempt.
    fn latest(&self, id: ConversationId, attempt: u64) -> Option<Rc<Conversation>> {
        let conversation = self.shared.conversations.by_id(id);
        conversation.filter(|conversation| conversation.holding.attempts.is_current(attempt))
    }

    /// The file was written: the lock beside it may have been deleted, or there may be a folder for it only now.
    fn renew(&self, conversation: &Conversation, attempt: u64) {
        let (is_closing, guard) = (Arc::clone(&self.locks.is_closing), self.guard(conversation));
        let is_held = move || guard.as_ref().is_none_or(|guard| guard.check().is_ok());
        let renew = move |locks: &BufferLocks, folder: &Path, file: &Path| {
            let is_closing = is_closing.lock().unwrap_or_else(PoisonError::into_inner);
            // What was taken over is not made again.
            let renewed = (!*is_closing && is_held()).then(|| locks.hold(folder, file));
            renewed.filter(|_| is_held())
        };
        self.with_locks(conversation, attempt, renew, |this, conversation, renewed| match (conversation, renewed) {
            (_, None) => {}
            (Some(conversation), Some(Hold::Ours(Ours { held, .. }))) => {
                this.release(conversation.holding.set(Holder::This(held)));
            }
            (Some(conversation), Some(Hold::Theirs(_))) => this.was_taken(conversation),
            (None, Some(renewed)) => this.forget(renewed),
        });
    }

    /// It was found out who holds a conversation.
    fn hold_was_tried(&self, conversation: Option<&Conversation>, attempt: u64, hold: Hold) {
        let Some(conversation) = conversation else { return self.forget(hold) };
        match hold {
            Hold::Ours(ours) => {
                self.take_over(conversation, attempt, ours);
                let holding = &conversation.holding;
                if holding.attempts.is_current(attempt) && holding.is_written.take() {
                    self.renew(conversation, attempt);
                }
            }
            Hold::Theirs(owner) => self.is_held_elsewhere(conversation, attempt, owner),
        }
        // What is said of a call that runs.
        self.shared.host.perform(HostEffect::Refresh { buffer: conversation.buffer });
    }

    /// This process holds the conversation, or without locks need not.
    fn is_held_now(&self, conversation: &Conversation, ours: Option<Ours>) {
        let holding = &conversation.holding;
        let is_new = ours.as_ref().is_some_and(|ours| ours.is_new);
        let holder = ours.map_or(Holder::Free, |Ours { held, problems, .. }| {
            for problem in problems {
                self.shared
                    .log(Level::Info, &format!("{} is held without one of its locks: {problem}", holding.name()));
            }
            Holder::This(held)
        });
        self.release(holding.set(holder));
        holding.is_lost.set(false);
        self.watch_own(conversation);
        let buffer = conversation.buffer;
        let mut has_changes = false;
        let was_observed = holding.is_observed.take();
        if was_observed {
            self.shared.host.perform(HostEffect::Observe { buffer, is_observed: false });
            has_changes = self.shared.host.has_changes(buffer);
            self.shared.host.perform(HostEffect::Show { buffer, is_busy: conversation.is_busy(), is_other: false });
        }
        if holding.is_told.take() {
            let news = format!("{} can be edited here now: nobody else has it open.", holding.name());
            self.shared.host.notify(Level::Info, &if has_changes { format!("{news} {KEPT}") } else { news });
        }
        if was_observed || is_new && conversation.records.problem().is_none() {
            // Whoever held it before may have recorded more since the journal was read. One that could not be read is read
            // again with the next key.
            conversation.records.forget();
            let path = holding.path().to_string_lossy().into_owned();
            self.shared.tell(LoopEvent::ReadJournal(conversation, path));
        }
        self.shared.tell(LoopEvent::Recover(conversation));
    }

    fn is_held_elsewhere(&self, conversation: &Conversation, attempt: u64, owner: Option<Owner>) {
        let (holding, buffer) = (&conversation.holding, conversation.buffer);
        let other = OtherHolder(owner.clone());
        self.release(holding.set(Holder::Other(other.clone())));
        let was_lost = holding.is_lost.take();
        let has_changes = self.give_way(conversation);
        if !holding.is_told.replace(true) || has_changes {
            let advice = " Your changes are kept: `:saveas` writes them to another file, `:edit!` discards them.";
            let message =
                if was_lost { other.message_of_loss(&holding.name()) } else { other.message(&holding.name()) };
            let is_in_project = self.shared.project_of(Path::new(&holding.path())).is_some();
            let other_one = if is_in_project { " `:Flemma new` begins another one." } else { "" };
            let message = message + if has_changes { advice } else { other_one };
            self.shared.host.notify(Level::Warn, &message);
        }
        let locks = self.locks.of(buffer, &*self.shared.host);
        let mut watch = Watch::new(locks, self.locks.folder.clone(), holding.path(), owner);
        let id = conversation.id;
        let then = move |this: &Self, sighting| this.sighted(id, attempt, sighting);
        match self.background.watch(LOOK, move || watch.look(), then) {
            Ok(watch) => *holding.watch.borrow_mut() = Some(watch),
            Err(error) => self.shared.log(Level::Warn, &format!("{} is not followed: {error}", holding.name())),
        }
    }

    /// What is under way in a conversation ends, and its buffer is read-only. Says whether it has changes that its file
    /// lacks.
    fn give_way(&self, conversation: &Conversation) -> bool {
        conversation.holding.wanted.take();
        conversation.gate.borrow_mut().cancel();
        self.lock_while_wanted(conversation);
        if conversation.is_busy() {
            self.shared.feed(conversation, [Input::Cancel]);
        }
        conversation.holding.is_observed.set(true);
        let buffer = conversation.buffer;
        self.shared.host.perform(HostEffect::Observe { buffer, is_observed: true });
        let has_changes = self.shared.host.has_changes(buffer);
        self.shared.host.perform(HostEffect::Show { buffer, is_busy: conversation.is_busy(), is_other: false });
        has_changes
    }

    /// What records and writes of a conversation have to pass; `None` where it needs no lock.
    pub(crate) fn fence(&self, conversation: &Conversation) -> Option<Fence> {
        if conversation.holding.is_barred() {
            let owner = conversation.holding.other().and_then(|other| other.0);
            return Some(Arc::new(move || Err(Taken(owner.clone()))));
        }
        let guard = self.guard(conversation)?;
        Some(Arc::new(move || guard.check()))
    }

    fn guard(&self, conversation: &Conversation) -> Option<Guard> {
        let held = conversation.holding.held()?;
        let locks = self.locks.of(conversation.buffer, &*self.shared.host);
        let (file, mailbox, id) = (conversation.file.clone(), self.background.mailbox.clone(), conversation.id);
        let lost = move || {
            mailbox.job_for(id, |this: &Self, conversation| this.was_taken(conversation));
        };
        let path = conversation.holding.path();
        // Who takes a conversation over does not delete it.
        let is_current = move || file.is_current() || matches!(Stamp::of(&path), Ok(None));
        Some(Guard::new(held, locks, is_current, lost))
    }

    /// Looks at the locks of a conversation again and again, so that the user hears soon that it was taken over.
    fn watch_own(&self, conversation: &Conversation) {
        let Some(guard) = self.guard(conversation) else { return };
        let guard = guard.loosen();
        let look = move || match guard.check() {
            Some(Ok(())) => ControlFlow::Continue(None),
            Some(Err(_)) | None => ControlFlow::Break(()),
        };
        // The guard itself tells it.
        if let Ok(watch) = self.background.watch(OWN_LOOK, look, |_: &Self, _| {}) {
            *conversation.holding.watch.borrow_mut() = Some(watch);
        }
    }

    /// Another process has taken the conversation over. Nothing of it is recorded, written or run here any more, unless that
    /// process is gone: then it is read again, as it stands.
    fn was_taken(&self, conversation: &Conversation) {
        let holding = &conversation.holding;
        if holding.is_barred() || holding.held().is_none() {
            return;
        }
        self.shared.tell(LoopEvent::Taken(conversation));
        let path = holding.path();
        let (attempt, held) = holding.begin(&path.to_string_lossy());
        holding.is_lost.set(true);
        let has_changes = self.give_way(conversation);
        let hold = move |locks: &BufferLocks, folder: &Path, file: &Path| {
            // Those that are left are in the way.
            held.iter().for_each(Held::lose);
            locks.hold(folder, file)
        };
        self.with_locks(conversation, attempt, hold, move |this, conversation, hold| {
            if let (Some(conversation), Hold::Ours(_)) = (conversation, &hold) {
                let name = conversation.holding.name();
                let end = if has_changes { KEPT } else { "It is read again." };
                let news =
                    format!("the lock of {name} was gone, so another process may have changed it meanwhile. {end}");
                this.shared.host.notify(Level::Warn, &news);
            }
            this.hold_was_tried(conversation, attempt, hold);
        });
    }

    /// Takes the conversation of a buffer over from the process that holds it, which does not answer or is gone. The outcome
    /// is what [`Ownership::holder`](crate::components::Ownership::holder) says then.
    pub fn steal(&self, buffer: i32) {
        let Some(conversation) = self.shared.conversation(buffer) else { return };
        let holding = &conversation.holding;
        let (path, owner) = (holding.path(), holding.other().and_then(|other| other.0));
        let (attempt, held) = holding.begin(&path.to_string_lossy());
        self.locks.keep(held);
        self.with_locks(&conversation, attempt, BufferLocks::steal, move |this, conversation, stolen| {
            let hold = stolen.unwrap_or_else(|error| {
                let name = path.display();
                this.shared.host.notify(Level::Error, &format!("{name} cannot be taken over: {error}"));
                Hold::Theirs(owner)
            });
            this.hold_was_tried(conversation, attempt, hold);
        });
    }

    /// Something has happened to a conversation that was held elsewhere.
    fn sighted(&self, id: ConversationId, attempt: u64, sighting: Sighting) {
        match (self.latest(id, attempt), sighting) {
            (Some(conversation), Sighting::Changed) => {
                self.shared.host.read_again(conversation.buffer);
            }
            (Some(conversation), Sighting::Owner(owner)) => {
                conversation.holding.set(Holder::Other(OtherHolder(owner)));
            }
            (Some(conversation), Sighting::Ours(ours)) => self.take_over(&conversation, attempt, ours),
            (None, Sighting::Ours(ours)) => self.release([ours.held]),
            (None, Sighting::Changed | Sighting::Owner(_)) => {}
        }
    }

    /// The conversation is held here now. Somebody else may have held and written it between reading the file and locking it, so the
    /// two are compared before anything of the conversation can be changed, sent or run.
    fn take_over(&self, conversation: &Conversation, attempt: u64, ours: Ours) {
        let holding = &conversation.holding;
        let is_observed = holding.is_observed.get();
        if self.shared.host.read_again(conversation.buffer) && !is_observed {
            let name = holding.name();
            self.shared.host.notify(Level::Warn, &format!("{name} was changed while it was being opened here. {KEPT}"));
        }
        if holding.attempts.is_current(attempt) {
            self.is_held_now(conversation, Some(ours));
        } else {
            // The host has opened it anew, and that conversation gets the lock.
            self.release([ours.held]);
        }
    }

    /// Gives locks back, away from the main thread: deleting their files may take a while.
    pub(crate) fn release(&self, locks: impl IntoIterator<Item = Held>) {
        let locks: Vec<Held> = locks.into_iter().collect();
        if !locks.is_empty() {
            self.background.blocking(move || drop(locks));
        }
    }

    /// Nobody needs this result any more.
    fn forget(&self, hold: Hold) {
        if let Hold::Ours(ours) = hold {
            self.release([ours.held]);
        }
    }

    /// A conversation is closed. Its locks are given back when what happens now is over: it may be opened anew.
    pub(crate) fn leave(&self, conversation: &Conversation) {
        self.locks.leave(conversation.buffer, &conversation.holding);
        self.let_go_later();
    }

    /// Gives back what is kept, when what happens now is over.
    fn let_go_later(&self) {
        self.background.mailbox.job(|this: &Self| {
            let left = this.locks.left();
            this.release(left);
        });
    }

    /// The editor is about to exit: gives back the locks that are left, and waits for that, but not for ever.
    pub(crate) fn leave_all(&self) {
        // Also those that are being taken, or given back.
        let buffers: Vec<BufferLocks> = self.locks.buffers.borrow().values().cloned().collect();
        let locks = self.locks.left();
        if buffers.is_empty() && locks.is_empty() {
            return;
        }
        let is_closing = Arc::clone(&self.locks.is_closing);
        done_within(PATIENCE, "flemma-locks", move || {
            *is_closing.lock().unwrap_or_else(PoisonError::into_inner) = true;
            // Background work that is not heard of any more may have copies.
            locks.iter().for_each(Held::release);
            buffers.iter().for_each(BufferLocks::close);
        });
    }

    /// Whether the conversation is held elsewhere; then the user is told.
    pub(crate) fn is_refused(&self, conversation: &Conversation) -> bool {
        let Some(other) = conversation.holding.other() else { return false };
        self.shared.host.notify(Level::Warn, &other.message(&conversation.holding.name()));
        true
    }

    /// Who holds the conversation of a buffer: `Ok` for this process, `Err` for another one and who, if that is known; `None`
    /// while it is being found out, or without a conversation.
    pub fn holder(&self, buffer: i32) -> Option<Result<(), Option<Owner>>> {
        let conversation = self.shared.conversation(buffer)?;
        match conversation.holding.other() {
            Some(other) => Some(Err(other.0)),
            None => conversation.holding.is_here().then_some(Ok(())),
        }
    }

    /// Whether this process may resolve and run calls of a conversation.
    ///
    /// # Errors
    /// Who holds it.
    pub(crate) fn check_held(&self, conversation: &Conversation) -> Result<(), UserError> {
        let holding = &conversation.holding;
        match holding.other() {
            Some(other) => Err(UserError::new(other.message(&holding.name()))),
            None if conversation.holding.is_here() => Ok(()),
            None => Err(UserError::new("it is not known yet whether another process holds this conversation")),
        }
    }

    /// The user wants something of this conversation. It waits until it is known that nobody else holds it, and what the
    /// journal says of its calls, and then has to pass the trust gate.
    pub(crate) fn want_alone(&self, conversation: &Conversation, wish: Wish) {
        if self.is_refused(conversation) {
            return;
        }
        if conversation.holding.is_here() && conversation.is_known() {
            self.shared.tell(LoopEvent::Want(conversation, wish));
        } else {
            conversation.holding.wanted.replace(Some(wish));
            self.shared.tell(LoopEvent::NeedJournal(conversation));
            self.explain_waiting(conversation);
        }
        self.lock_while_wanted(conversation);
    }

    /// Keeps the user from changing the text from the key on, while what they want waits for the disk.
    pub(crate) fn lock_while_wanted(&self, conversation: &Conversation) {
        if !conversation.session.is_busy() {
            self.shared
                .host
                .perform(HostEffect::Lock { buffer: conversation.buffer, is_locked: conversation.is_wanted() });
        }
    }

    /// Tells the user what their wish waits for, if it still does in a moment.
    fn explain_waiting(&self, conversation: &Conversation) {
        self.background.later_for(conversation.id, SOON, |this, conversation| {
            if conversation.holding.wanted.borrow().is_some() && !conversation.records.is_read() {
                let message = "the journal of this conversation is still being read; your command runs after that. Ctrl-C takes it back";
                this.shared.host.notify(Level::Info, message);
            }
        });
    }
}
