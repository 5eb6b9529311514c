//! Shows the user the whole of what a call would write, and takes what they have made of it.

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use crate::{
    Conversation, Resolution, ResolveError,
    approval::lookups::Known,
    components::Reviews,
    event::LoopEvent,
    reviews::{
        made::MadeFile,
        ready::Ready,
        reviewed::{DrawnHunks, Reviewed, ReviewedFile, Taken},
    },
    undo::closed,
};
use flemma_agent::{Level, Verdict};
use flemma_chat::OpenCall;
use flemma_journal::{CallKey, Event, Role, Take};
use flemma_model::{CallId, Digest, UserError};
use flemma_text::{
    hunk_places::HunkPlace,
    hunk_rows::{HunkRoom, HunkRows},
    line_breaks,
};
use flemma_tools::{Content, LuaRef};

/// How long comparing a file may take.
const COMPARING: Duration = Duration::from_millis(500);

/// How long comparing what is drawn may take.
const DRAWING: Duration = Duration::from_millis(200);

/// Why nothing was approved.
const CHANGED: &str = "the file has changed since you were shown this change; look at it again";

/// The revision of what the user has made of a change while it would undo what another program has written. No change has it.
const CONFLICT: &str = "in conflict";

impl Reviews {
    /// Finds out what a call that waits would write, and gives the whole of it to `then`.
    pub fn review(
        &self,
        buffer: i32,
        call: &CallId,
        then: impl FnOnce(&Self, Result<Reviewed, UserError>) + Send + 'static,
    ) {
        let Some(conversation) = self.shared.conversation(buffer) else { return then(self, Err(closed())) };
        if let Err(unread) = self.journaling.check_known(&conversation) {
            // What the user has made of the change is in the journal.
            return then(self, Err(unread));
        }
        let calls = self.calls_to_survey(&conversation);
        let found = calls.iter().rfind(|(key, _)| key.id == *call && !conversation.session.is_working_on(call));
        let Some((key, call)) = found.cloned() else {
            let waiting = conversation.page.open_call(call).filter(|_| !conversation.session.is_working_on(call));
            let is_new = conversation.session.is_new(call);
            let state = if is_new { "is being judged" } else { "has no diff to show; its input is in its block" };
            let problem = waiting.map_or_else(
                || format!("there is no call `{call}` that waits and would change a file"),
                |open| format!("`{}` {state}", open.name),
            );
            return then(self, Err(UserError::new(problem)));
        };
        let (id, reviewed_key) = (conversation.id, key.clone());
        let reviewer = move |this: &Self, ready: Result<Arc<Ready>, UserError>| {
            let (key, ready) = match ready {
                Err(problem) => return then(this, Err(problem)),
                Ok(ready) => (reviewed_key, ready),
            };
            let change = this.shared.conversations.by_id(id).map_or(0, |conversation| {
                conversation.proposals.show(&key, conversation.records.made(&key).as_ref());
                conversation.proposals.change(&key)
            });
            let compared = move || reviewed(&key, &ready, change);
            this.background.run(compared, move |this: &Self, reviewed| then(this, Ok(reviewed)));
        };
        let asked = vec![call.clone()];
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            if this.may_ask(conversation, &call, known) {
                // It is told by a survey that begins after this. One that is under way may have read the files before.
                this.reviewers.borrow_mut().push((id, key, Box::new(reviewer)));
                return this.survey_again(conversation);
            }
            let why = match this.approval.verdict(conversation, &call, known) {
                Verdict::Unclear(why) => why,
                _ => "the conversation is not trusted, or a policy denies the call".to_owned(),
            };
            reviewer(this, Err(UserError::new(format!("the change of this call is not known yet: {why}"))));
        };
        self.approval.look_up(&self.background, &conversation, asked, then);
    }

    /// The user approves what they were shown as this revision, and takes this of each file. `then` hears of the end once it is on
    /// the disk and in the document.
    pub fn accept(
        &self,
        buffer: i32,
        call: &CallId,
        revision: &str,
        taken: Vec<Taken>,
        then: impl FnOnce(&Self, Result<(), UserError>) + Send + 'static,
    ) {
        let Some(conversation) = self.shared.conversation(buffer) else { return then(self, Err(closed())) };
        let Some((key, ready)) = self.proposing(&conversation, call, revision) else {
            self.check_proposals_of(&conversation);
            return then(self, Err(UserError::new(CHANGED)));
        };
        let Some((takes, edited)) = takes(&ready, taken) else {
            let problem = "the review has another number of files than the change; nothing was approved";
            return then(self, Err(UserError::new(problem)));
        };
        let (call, revision, id) = (call.clone(), revision.to_owned(), conversation.id);
        let approve = move |this: &Self, conversation: &Conversation, kept: io::Result<()>| {
            if let Err(error) = kept {
                let problem = format!("nothing was approved: your edit could not be kept ({error})");
                return then(this, Err(UserError::new(problem)));
            }
            let Some(ready) = current(conversation, &key, &revision) else {
                return then(this, Err(UserError::new(CHANGED)));
            };
            conversation.proposals.keep_first(&key, &ready);
            let resolution = Resolution::ApproveAs(ready.binding(takes));
            let reply = this.background.mailbox.addressed_with(|this, resolved: Result<(), ResolveError>| {
                then(this, resolved.map_err(|error| UserError::new(error.explained())));
            });
            this.shared.tell(LoopEvent::Resolve(conversation, &call, resolution, Role::User, reply));
        };
        if edited.is_empty() {
            return approve(self, &conversation, Ok(()));
        }
        // The approval names them, so they are on the disk before it.
        let backups = self.undo.backups.clone();
        let work = move || edited.iter().try_for_each(|bytes| backups.keep_edited(bytes));
        self.background.run_for(id, work, approve);
    }

    /// The user has made this of a revision, in a review in which they have decided nothing yet. From now on, this is what is shown of
    /// the call, and what an approval is for, wherever it comes from. `false` if the call does not propose this
    /// revision now, or if another editor has the conversation. `is_in_conflict` says that it would undo what another program has
    /// written: then it is kept, but only another review approves it.
    pub fn keep_made(
        &self,
        buffer: i32,
        call: &CallId,
        revision: &str,
        taken: Vec<Taken>,
        is_in_conflict: bool,
    ) -> bool {
        let Some(conversation) = self.shared.conversation(buffer) else { return false };
        if conversation.holding.elsewhere().is_some() {
            return false;
        }
        let Some((key, ready)) = self.proposing(&conversation, call, revision) else { return false };
        let Some((takes, edited)) = takes(&ready, taken) else { return false };
        let mut made = ready.binding(takes);
        if is_in_conflict && made.is_changed() {
            made.revision = CONFLICT.to_owned();
        }
        let before = conversation.records.made(&key);
        if before.as_ref() == Some(&made) || before.is_none() && !made.is_changed() {
            return true;
        }
        let contents: HashMap<Digest, Arc<Vec<u8>>> =
            edited.into_iter().map(|bytes| (Digest::of(&bytes), Arc::new(bytes))).collect();
        self.contexts.unsaved_edits.borrow_mut().extend(contents.clone());
        conversation.proposals.keep_made(&key, made.clone());
        let label = format!("{} ({call})", key.tool);
        let record = self.journaling.record(&conversation, key, Event::Made { shown: made }, Role::User);
        // It goes with the session, as the buffer of the review does, so the journal does not get it.
        conversation.records.apply(&[record]);
        let backups = self.undo.backups.clone();
        let work = move || {
            let kept = contents.values().try_for_each(|bytes| backups.keep_edited(bytes));
            (contents, kept)
        };
        let id = conversation.id;
        let then = move |this: &Self, (contents, kept): (HashMap<Digest, Arc<Vec<u8>>>, io::Result<()>)| {
            match kept {
                Ok(()) => this.contexts.unsaved_edits.borrow_mut().retain(|digest, _| !contents.contains_key(digest)),
                Err(error) => {
                    let problem = format!(
                        "{label}: your edit of this change could not be kept and is lost when you leave Neovim: {error}"
                    );
                    this.shared.host.notify(Level::Error, &problem);
                }
            }
            this.shared.with_conversation(id, |conversation| this.survey_again(conversation));
        };
        self.background.run(work, then);
        true
    }

    /// Finds out how hunks are drawn, and gives that to a Lua function. `places` are those of the hunks; if there are none, the
    /// contents are compared.
    pub fn draw_hunks(
        &self,
        [old, new]: [Vec<u8>; 2],
        places: Option<Vec<HunkPlace>>,
        room: HunkRoom,
        callback: LuaRef,
    ) {
        let work = move || {
            let places = places.unwrap_or_else(|| HunkPlace::between(&old, &new, DRAWING));
            DrawnHunks { rows: HunkRows::of(&old, &new, &places, room), places }
        };
        self.background.run(work, move |this: &Self, drawn| this.shared.scripts.drawn(callback, &drawn));
    }

    /// A call that waits, with what is known of it, if that still is this revision.
    fn proposing(&self, conversation: &Conversation, call: &CallId, revision: &str) -> Option<(CallKey, Arc<Ready>)> {
        let is_meant = |(key, _): &(CallKey, OpenCall)| key.id == *call && !conversation.session.is_working_on(call);
        let (key, _) = self.all_proposing(conversation).into_iter().rfind(is_meant)?;
        let ready = current(conversation, &key, revision)?;
        Some((key, ready))
    }
}

/// What is known of a call, if it still is this revision.
fn current(conversation: &Conversation, key: &CallKey, revision: &str) -> Option<Arc<Ready>> {
    let found = conversation.proposals.found(key)?.ok()?;
    (found.revision().as_str() == revision).then_some(found)
}

/// What an approval takes of each file, and the contents that it names; `None` if there are other files.
fn takes(ready: &Ready, taken: Vec<Taken>) -> Option<(Vec<Take>, Vec<Vec<u8>>)> {
    if taken.len() != ready.proposal.files.len() {
        return None;
    }
    let (mut takes, mut edited) = (Vec::new(), Vec::new());
    for (taken, file) in taken.into_iter().zip(&ready.proposal.files) {
        let is = |content: &Option<Content>, bytes: &[u8]| {
            content.as_ref().is_some_and(|content| content.digest == Digest::of(bytes))
        };
        takes.push(match taken {
            Taken::Proposed => Take::Proposed,
            Taken::Left => Take::Left,
            Taken::Content(bytes) if is(&file.new, &bytes) => Take::Proposed,
            Taken::Content(bytes) if is(&file.old, &bytes) && file.moved_to.is_none() => Take::Left,
            Taken::Content(bytes) => {
                let digest = Digest::of(&bytes).as_str().to_owned();
                // What it was made from brings it onto another content of the file, should that change.
                edited.extend(file.old.as_ref().and_then(|old| old.bytes.as_deref().cloned()));
                edited.push(bytes);
                Take::Edited(digest)
            }
        });
    }
    Some((takes, edited))
}

/// The whole of what a call would write. It takes as long as comparing the contents of each file.
fn reviewed(key: &CallKey, ready: &Ready, change: u64) -> Reviewed {
    let files =
        ready.proposal.files.iter().zip(ready.file_follows()).zip(&ready.made.files).map(|((file, after), made)| {
            let contents = [&file.old, &file.new];
            let has_zero =
                |content: &&Content| content.bytes.as_ref().is_some_and(|bytes| memchr::memchr(0, bytes).is_some());
            let note = if contents.into_iter().flatten().any(|content| content.bytes.is_none()) {
                Some("too large")
            } else {
                contents.into_iter().flatten().any(|content| has_zero(&content)).then_some("binary")
            };
            let bytes = |content: &Option<Content>| content.as_ref().filter(|_| note.is_none())?.bytes.clone();
            let (old, new) = (bytes(&file.old), bytes(&file.new));
            let [had, gets] = [&old, &new].map(|content| content.as_ref().map_or(&[][..], |bytes| bytes));
            ReviewedFile {
                path: file.path.to_string_lossy().into_owned(),
                name: file.name.clone(),
                hunks: HunkPlace::between(had, gets, COMPARING),
                line_breaks: line_breaks::change(had, gets),
                old,
                new,
                old_size: file.old.as_ref().map(|content| content.len),
                new_size: file.new.as_ref().map(|content| content.len),
                moved_to: file.moved_to.as_ref().map(|(_, name)| name.clone()),
                after,
                note,
                is_read_only: file.is_read_only,
                // Of what has no text, only whether it was left out.
                made: MadeFile { draft: made.draft.clone().filter(|_| note.is_none()), ..made.clone() },
            }
        });
    Reviewed {
        call: key.id.clone(),
        tool: key.tool.clone(),
        revision: ready.revision().to_string(),
        change,
        files: files.collect(),
    }
}
