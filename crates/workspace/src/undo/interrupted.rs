//! What calls that were interrupted have done to files, as far as that is recorded. It is found out away from the main thread when a
//! conversation is opened, and again when the user takes changes back. The user is told once, and the model with the rejection.
//! The model is told the same of a call whose latest change is not written: it may have written others before.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    Conversation,
    calls::{Standing, key::Keyed as _},
    components::Undo,
    reviews::native,
    undo::name,
};
use flemma_agent::UNKNOWN_EFFECT;
use flemma_chat::OpenCall;
use flemma_journal::{
    CallKey,
    changes::{FileState, History},
};
use flemma_runtime::backups::{Backups, LogKey};

/// How many files the user is told of by name, and how many the model.
const FOR_USER: usize = 4;
const FOR_MODEL: usize = 40;

/// What a call has left in files: each path, and whether there is a file now.
pub(crate) type Left = Vec<(PathBuf, bool)>;

/// Calls, each with what it has left in files; `None` while that is not known.
pub(crate) type Effects = BTreeMap<CallKey, Option<Left>>;

/// What these calls have left in files, as far as the log says it. It blocks on the disk.
pub(crate) fn effects(backups: &Backups, log: &LogKey, calls: Vec<CallKey>) -> Effects {
    let history = backups.history(log).ok().map(|(history, _)| history);
    calls.into_iter().map(|key| (key.clone(), history.as_ref().map(|history| left(history, &key)))).collect()
}

/// What stands of what a call has done.
pub(crate) fn left(history: &History, key: &CallKey) -> Left {
    let left = history.left_by_call(key).into_iter();
    left.map(|(path, state)| (path, state != FileState::Absent)).collect()
}

impl Undo {
    /// Finds out what calls that were interrupted have done to files, and tells the user.
    pub(crate) fn look_at_interrupted(&self, conversation: &Conversation, calls: &[OpenCall]) {
        if !self.shared.host.carries_on() {
            return;
        }
        let key = |call: &OpenCall| call.key();
        let is_new = |call: &&OpenCall| {
            // It may be being judged whether it runs again by itself. No tool of these does.
            conversation.standing_before(call) == Standing::Interrupted
                // Everything that it does to files is recorded.
                && self.shared.toolbox.get(&call.name).as_deref().and_then(native).is_some_and(|tool| tool.is_proposing())
                && !conversation.interrupted.borrow().contains_key(&key(call))
        };
        let found: Vec<CallKey> = calls.iter().filter(is_new).map(key).collect();
        conversation.interrupted.borrow_mut().extend(found.iter().map(|key| (key.clone(), None)));
        if found.is_empty() {
            return;
        }
        let (backups, log) = (self.backups.clone(), self.log_key(conversation));
        let work = move || effects(&backups, &log, found);
        let then = move |this: &Self, conversation: &Conversation, found: Effects| {
            let folder = this.shared.place(conversation).folder();
            for (key, left) in &found {
                if let Some(left) = left.as_ref().filter(|left| !left.is_empty()) {
                    this.shared.warn(&format!(
                        "{} ({}) had changed {} when it was interrupted. Its block shows what running it again would do, \
                         and `:Flemma undo {}` takes back what was done",
                        key.tool,
                        key.id,
                        listed(left, &folder, FOR_USER),
                        key.id,
                    ));
                }
            }
            conversation.interrupted.borrow_mut().extend(found);
        };
        self.background.run_for(conversation.id, work, then);
    }

    /// What is known of the effect of a call that was interrupted, for the model: the end of a sentence.
    pub(crate) fn effect_of_interrupted(&self, conversation: &Conversation, call: &OpenCall) -> String {
        match conversation.interrupted.borrow().get(&call.key()).and_then(Option::as_ref) {
            None => UNKNOWN_EFFECT.to_owned(),
            Some(left) if left.is_empty() => "no recorded change by it is left in a file".to_owned(),
            Some(left) => {
                format!("by then it had changed {}", listed(left, &self.shared.place(conversation).folder(), FOR_MODEL))
            }
        }
    }

    /// What a call has written whose latest change is not written, for the model: a sentence. `None` if that is nothing.
    pub(crate) fn written_before(&self, conversation: &Conversation, call: &OpenCall) -> Option<String> {
        if !self.shared.config().tools.backups.enabled {
            return Some("Earlier writes of this call are not recorded.".to_owned());
        }
        let (backups, log) = (self.backups.clone(), self.log_key(conversation));
        let key = call.key();
        let folder = self.shared.place(conversation).folder();
        let look = move || backups.history(&log).ok().map(|(history, _)| left(&history, &key));
        match self.shared.wait_for_disk(&folder, look).ok().flatten() {
            None => Some("It is not known whether this call had written something before.".to_owned()),
            Some(left) if left.is_empty() => None,
            Some(left) => {
                let files = listed(&left, &folder, FOR_MODEL);
                Some(format!("Before that, this call changed {files}. Those changes were not taken back."))
            }
        }
    }
}

/// The number of files, with the names of the first ones.
fn listed(left: &Left, folder: &Path, max: usize) -> String {
    let named = left.iter().take(max).map(|(path, is_there)| {
        let path = name(path, folder);
        if *is_there { format!("`{path}`") } else { format!("`{path}` (gone)") }
    });
    let more = match left.len().saturating_sub(max) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.collect::<Vec<_>>().join(", ");
    let files = if left.len() == 1 { "file" } else { "files" };
    format!("{} {files} ({named}{more})", left.len())
}
