//! Tools written in Lua that wait for a decision about what they want to write.
//!
//! A tool that runs proposes contents of files ([`Execution::propose_write`](crate::components::Execution::propose_write)). They are kept beside the journal, which records them
//! by their digests, and from then on the call is pending like any other: nothing is busy, and the same keys, commands and
//! deadlines decide about it. Its run is set aside ([`crate::tasks`]). When the call is approved, it is started once more, and what
//! starts is the writing of what was kept, not the tool. Then the run goes on, and hears of the outcome. A run that is gone, because
//! the editor was restarted, does not go on: the writing is all that is left of the call, and its result says so.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::{
    Conversation, HostEffect,
    approval::lookups::Known,
    calls::{Standing, key::Keyed as _},
    components::Execution,
    event::LoopEvent,
    resolutions::answers::with_writes_before,
};
use flemma_agent::{CallResult, Input, Verdict};
use flemma_chat::OpenCall;
use flemma_journal::{Before, Event, Proposed, ProposedContent, Role, Take};
use flemma_model::{CallId, Digest, ModelError, UserError};
use flemma_tools::{
    Commitment, Context, Judged, KeptContent, LuaRef, NativeTool, Outcome, Proposal,
    builtin::{PageRequest, StoredWrite, answer_page_request},
    take_written,
};

/// What the model is told where the tool did not go on after its change was written.
const NOT_RESUMED: &str = "The editor was restarted, or the conversation was closed, while the call waited for the user's decision \
     about this change. The tool did not continue afterwards.";

/// The same where the user cancelled the call in the moment in which the change was written.
const CANCELLED: &str =
    "The user cancelled the call while this change was being written. The tool did not continue afterwards.";

/// What a run hears that nobody waits for any more.
const OVER: &str = "the call is over; nothing was written";

/// What a tool wants a file to contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedWrite {
    /// The file, or the page of the notes, as the tool names it.
    pub name: String,
    /// Whether it is a page.
    pub is_page: bool,
    /// The content.
    pub content: Vec<u8>,
}

/// A run of a tool that wants to write something.
struct Wanting {
    call: OpenCall,
    run: u64,
    /// Hears of the decision.
    callback: LuaRef,
}

impl Execution {
    /// A tool that runs wants to write files. It hears of the outcome by `callback`, once somebody has decided, or at once where
    /// nothing has to be decided. Says whether somebody may have to decide.
    pub fn propose_write(
        &self,
        buffer: i32,
        call: &CallId,
        run: u64,
        files: Vec<WantedWrite>,
        callback: LuaRef,
    ) -> bool {
        let conversation = self.shared.conversation(buffer);
        let context =
            conversation.as_deref().and_then(|conversation| self.contexts.context_of_run(conversation, call, run));
        let call = conversation.as_deref().and_then(|conversation| conversation.page.open_call(call));
        let (Some(conversation), Some(context), Some(call)) = (conversation, context, call) else {
            let problem = "the call is over, or waits for a decision already; nothing was written";
            self.tell_problem(callback, problem);
            return false;
        };
        let path = |file: &WantedWrite| match file.is_page {
            true => self.frontmatter.page_file(&conversation, &file.name).ok(),
            false => Some(context.resolve(&file.name)),
        };
        let paths: Vec<PathBuf> = files.iter().filter_map(path).collect();
        let is_asked = self.may_be_asked(&conversation, &call, paths.clone())
            || files.iter().any(|file| may_be_unsaved(&context, file));
        let (wanting, asked) = (Wanting { call: call.clone(), run, callback }, vec![call]);
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            let verdict = this.approval.verdict_as(conversation, &wanting.call, &Standing::Proposed, known);
            let judge =
                (verdict == Verdict::Run).then(|| this.approval.judge_written(conversation, &wanting.call.id, paths));
            this.find_out(conversation, wanting, files, context, move || judge.and_then(|judge| judge()));
        };
        self.approval.look_up(&self.background, &conversation, asked, then);
        is_asked
    }

    /// Whether somebody may have to decide about files that a run wants to write, for a function that gives that back
    /// ([`Shared::wait_for_disk`](crate::shared::Shared)). What becomes of them is decided later.
    fn may_be_asked(&self, conversation: &Conversation, call: &OpenCall, paths: Vec<PathBuf>) -> bool {
        let known = self.approval.known_in_time(conversation, call);
        let verdict = self.approval.verdict_as(conversation, call, &Standing::Proposed, &known);
        let judge = self.approval.judge_written(conversation, &call.id, paths);
        verdict != Verdict::Run || !matches!(self.shared.wait_for_disk(Path::new(""), judge), Ok(Some(_)))
    }

    /// Finds out what the files would become, and has that written, or decided about. `judge` says what a policy approves.
    fn find_out(
        &self,
        conversation: &Conversation,
        wanting: Wanting,
        files: Vec<WantedWrite>,
        mut context: Context,
        judge: impl FnOnce() -> Option<Judged> + Send + 'static,
    ) {
        let backups = self.undo.backups.clone();
        let work = move || {
            let judged = judge().map(Arc::new);
            let is_decided = judged.is_some();
            context.judged = judged.or(context.judged);
            let found = propose(files, &context, is_decided, |bytes| backups.keep_edited(bytes))?;
            found.proposal.check_distinct()?;
            Ok((found, context, is_decided))
        };
        let then = move |this: &Self,
                         conversation: &Conversation,
                         found: Result<(FoundWrite, Context, bool), ModelError>| match found {
            Err(problem) => this.tell_problem(wanting.callback, &problem.to_string()),
            Ok((FoundWrite { proposal, .. }, ..)) if changes_nothing(&proposal) => {
                let files = proposal.files.iter().map(|file| json!({ "path": file.name, "written": false }));
                this.shared.scripts.answered(wanting.callback, Ok(json!({ "files": files.collect::<Vec<Value>>() })));
            }
            Ok((found, context, true)) if !has_concern(&found.proposal) => {
                this.write_now(conversation, wanting, found, context)
            }
            Ok((found, ..)) => this.await_decision(conversation, wanting, found.proposed),
        };
        self.background.run_for(conversation.id, work, then);
    }

    /// Tells a run why nothing is written of what it wants to write.
    fn tell_problem(&self, callback: LuaRef, problem: &str) {
        self.shared.scripts.answered(callback, Err(UserError::new(problem)));
    }

    /// Sets a run aside until somebody has decided about what it wants to write.
    fn await_decision(&self, conversation: &Conversation, wanting: Wanting, proposed: Proposed) {
        let Wanting { call, run, callback } = wanting;
        let key = call.key();
        // What a policy has approved was the call itself.
        conversation.tasks.forget_judged(&key);
        if !conversation.tasks.suspend(key, run, callback) {
            return self.tell_problem(callback, OVER);
        }
        let records = self.journaling.records_of(conversation, &call, Role::Tool, [Event::Proposed { proposed }]);
        self.journaling.commit((self, &self.background), conversation, records, move |this, conversation, written| {
            match written {
                Err(problem) => this.go_on(conversation, &call, Err(problem)),
                Ok(()) => {
                    let key = call.key();
                    conversation.proposals.begin_anew(&key);
                    // If it turns out to be impossible, nobody is asked.
                    conversation.proposals.arrived.borrow_mut().insert(key);
                    this.shared.feed(conversation, [Input::Proposed(call.id)]);
                    this.shared.tell(LoopEvent::Resolved(conversation));
                    this.reviews.look_for_proposals(conversation);
                }
            }
        });
    }

    /// Writes what the user's own policy approves, while the call goes on running.
    fn write_now(&self, conversation: &Conversation, wanting: Wanting, mut found: FoundWrite, mut context: Context) {
        let Wanting { call, run, callback } = wanting;
        let commitment = Commitment::default();
        context.commitment = commitment.clone();
        if !conversation.tasks.begin_write(&call.id, run, commitment.clone()) {
            return self.tell_problem(callback, OVER);
        }
        // The approval is for whatever the file has by then.
        found.proposed.files.iter_mut().for_each(|file| file.before = Before::Unknown);
        let names = names(&found.proposed);
        let tool = Arc::new(StoredWrite { proposed: found.proposed, contents: found.contents });
        let (mailbox, id) = (self.background.mailbox.clone(), conversation.id);
        let turn = conversation.tasks.next_write();
        let started = self.background.worker.spawn(async move {
            let done = turn.await;
            let outcome = tool.run(Value::Null, context).await;
            drop(done);
            mailbox.job_for(id, move |this, conversation| {
                this.wrote_now(conversation, (&call, run), &commitment, callback, (&outcome, &names));
            });
        });
        if started.is_err() {
            self.tell_problem(callback, "no thread could be started, so nothing was written");
        }
    }

    /// What the user's own policy approves was written, or could not be. If the run was stopped meanwhile, its call ends with that.
    fn wrote_now(
        &self,
        conversation: &Conversation,
        (call, run): (&OpenCall, u64),
        commitment: &Commitment,
        callback: LuaRef,
        (outcome, names): (&Outcome, &[String]),
    ) {
        self.files_were_written();
        if !conversation.tasks.is_run(&call.id, run) {
            return self.shared.scripts.forget(callback);
        }
        match conversation.tasks.end_write(&call.id, commitment, CANCELLED) {
            None => self.shared.scripts.answered(callback, told(outcome, names, &[])),
            Some(words) => {
                self.shared.scripts.forget(callback);
                self.stop_tool(conversation, &call.id);
                let answer = followed_by(outcome, &words);
                self.shared.feed(conversation, [Input::ToolFinished { call: call.id.clone(), answer }]);
            }
        }
    }

    /// What a call has proposed while it ran was written, or could not be. Its tool goes on if it still waits.
    pub(crate) fn write_ended(&self, conversation: &Conversation, call: &OpenCall, outcome: &Outcome) {
        if !conversation.session.is_working_on(&call.id) {
            // It was cancelled in the meantime, and has its result.
            return;
        }
        let key = call.key();
        let (names, takes) = conversation.records.with_ledger(|ledger| {
            let takes =
                ledger.binding(&key).map(|binding| binding.files.iter().map(|file| file.take.clone()).collect());
            (ledger.of(&key).proposed.as_ref().map(names).unwrap_or_default(), takes.unwrap_or_else(Vec::new))
        });
        let was_cancelled = conversation.tasks.is_hurried(&call.id);
        conversation.tasks.remove_tool(&call.id);
        if conversation.tasks.is_suspended(&key) && !was_cancelled {
            self.files_were_written();
            let (call, told) = (call.clone(), told(outcome, &names, &takes));
            // A tool that goes on and is killed must not be taken for one that still waits.
            let records = vec![self.journaling.record(conversation, key, Event::WentOn, Role::Tool)];
            return self.journaling.commit(
                (self, &self.background),
                conversation,
                records,
                move |this, conversation, _| {
                    this.go_on(conversation, &call, told);
                },
            );
        }
        let words = if was_cancelled { CANCELLED } else { NOT_RESUMED };
        let is_written = matches!(outcome, Outcome::Success(_));
        let before = if is_written { None } else { self.undo.written_before(conversation, call) };
        let answer = followed_by(outcome, &with_writes_before(words.to_owned(), before.as_deref()));
        self.shared.feed(conversation, [Input::ToolFinished { call: call.id.clone(), answer }]);
    }

    /// Calls may have written files: they are read again where they are open, and what other calls would write to them may be
    /// something else now.
    pub(crate) fn files_were_written(&self) {
        self.shared.host.perform(HostEffect::CheckFiles { written: &take_written() });
        self.reviews.check_proposals();
    }

    /// A run that waited goes on, and hears what became of what it wanted to write.
    fn go_on(&self, conversation: &Conversation, call: &OpenCall, outcome: Result<Value, UserError>) {
        let timeout = self.shared.toolbox.get(&call.name).map(|definition| self.contexts.timeout(&definition));
        let woken = conversation.tasks.wake(&call.id, |run| self.watch_time(conversation, &call.id, run, timeout?));
        match woken {
            None => {}
            Some((callback, false)) => self.shared.scripts.answered(callback, outcome),
            // It did not wait for what it hears now, and nothing else will end the call.
            Some((callback, true)) => {
                self.shared.scripts.forget(callback);
                let words = "answered while its change waited for the user's decision, so its answer is lost";
                let problem = outcome.err().map_or_else(String::new, |problem| format!(" {problem}"));
                let answer = CallResult::error(format!("The tool `{}` {words}.{problem}", call.name));
                self.shared.feed(conversation, [Input::ToolFinished { call: call.id.clone(), answer }]);
            }
        }
    }

    /// Tells a run that nothing is written of what it wanted to write, if that was decided. Says whether it was.
    pub(crate) fn refuse_write(&self, conversation: &Conversation, call: &OpenCall) -> bool {
        if conversation.records.has_proposed(&call.key()) {
            return false;
        }
        let Some(problem) = conversation.tasks.take_rejection(&call.id) else { return false };
        self.go_on(conversation, call, Err(UserError::new(problem)));
        true
    }

    /// Nothing comes any more of a run that waits for a decision: its call has its result.
    pub(crate) fn drop_suspended(&self, conversation: &Conversation, call: &CallId) {
        let Some((callback, stopped)) = conversation.tasks.drop_suspended(call) else { return };
        self.shared.scripts.forget(callback);
        self.tell_thrown(call, stopped);
    }

    /// Answers what a tool written in Lua asks of the notes in this run, off the main thread. `then` gets the answer, or why there is none.
    pub fn use_pages(
        &self,
        (buffer, call, run): (i32, &CallId, u64),
        request: PageRequest,
        then: impl FnOnce(&Self, Result<Value, UserError>) + Send + 'static,
    ) {
        let conversation = self.shared.conversation(buffer);
        let context = conversation.and_then(|conversation| self.contexts.context_of_run(&conversation, call, run));
        let Some(context) = context else { return then(self, Err(UserError::new("the call is over"))) };
        let work = move || answer_page_request(&request, &context);
        self.background.run(work, move |this: &Self, answer| {
            then(this, answer.map_err(|problem| UserError::new(problem.to_string())));
        });
    }
}

/// The result of a call whose tool did not go on after it has written.
fn followed_by(outcome: &Outcome, words: &str) -> CallResult {
    let mut answer = CallResult::from(outcome.render());
    answer.output = format!("{}\n\n{words}", answer.output.trim_end());
    answer
}

/// What was found out about what a run wants to write.
struct FoundWrite {
    proposed: Proposed,
    contents: KeptContent,
    proposal: Proposal,
}

/// Finds out what would be written, and keeps the contents, unless they are written at once.
fn propose(
    files: Vec<WantedWrite>,
    context: &Context,
    is_decided: bool,
    keep: impl Fn(&[u8]) -> io::Result<()>,
) -> Result<FoundWrite, ModelError> {
    let mut contents = HashMap::new();
    let files = files.into_iter().map(|WantedWrite { name, is_page, content }| {
        let digest = Digest::of(&content).as_str().to_owned();
        contents.insert(digest.clone(), content);
        ProposedContent { name, is_page, content: digest, before: Before::Unknown, seen: Before::Unknown }
    });
    let mut proposed = Proposed { files: files.collect() };
    let contents = Arc::new(contents);
    let by_digest = Arc::clone(&contents);
    let kept: KeptContent = Arc::new(move |digest| by_digest.get(digest.as_str()).cloned());
    let stored = StoredWrite { proposed: proposed.clone(), contents: Arc::clone(&kept) };
    let proposal = stored.proposal(context)?;
    let is_kept = !changes_nothing(&proposal) && (!is_decided || has_concern(&proposal));
    for content in contents.values().filter(|_| is_kept) {
        keep(content).map_err(|error| {
            ModelError::new(format!("Nothing was written, because the proposal could not be kept: {error}."))
        })?;
    }
    for (file, change) in proposed.files.iter_mut().zip(&proposal.files) {
        let digest = change.old.as_ref().map(|content| content.digest.as_str().to_owned());
        file.before = digest.map_or(Before::Absent, Before::Content);
        file.seen = context.seen.known(&change.path);
    }
    Ok(FoundWrite { proposed, contents: kept, proposal })
}

/// Whether the user has to know something before it is written, whatever their policy says.
fn has_concern(proposal: &Proposal) -> bool {
    proposal.files.iter().any(|file| file.concern().is_some())
}

/// Whether the editor has changes of a file of this name that are not saved.
fn may_be_unsaved(context: &Context, file: &WantedWrite) -> bool {
    let wanted = if file.is_page { format!("{}.md", file.name) } else { file.name.clone() };
    let name = Path::new(&wanted).file_name();
    context.unsaved.iter().any(|unsaved| unsaved.file_name() == name)
}

/// Whether all files have these contents already.
fn changes_nothing(proposal: &Proposal) -> bool {
    proposal.files.iter().all(|file| {
        file.moved_to.is_none()
            && file.old.as_ref().map(|content| &content.digest) == file.new.as_ref().map(|content| &content.digest)
    })
}

pub(crate) fn names(proposed: &Proposed) -> Vec<String> {
    proposed.files.iter().map(|file| file.name.clone()).collect()
}

/// What a tool is told of a write: the outcome, or why nothing was written. `takes` is what the user has taken of each file; all
/// of it where that is not known.
fn told(outcome: &Outcome, names: &[String], takes: &[Take]) -> Result<Value, UserError> {
    let text = outcome.render().text;
    let is_all_left = !takes.is_empty() && takes.iter().all(|take| *take == Take::Left);
    if is_all_left || !matches!(outcome, Outcome::Success(_)) {
        return Err(UserError::new(text));
    }
    let is_left = |at: usize| takes.get(at) == Some(&Take::Left);
    let files = names.iter().enumerate().map(|(at, name)| json!({ "path": name, "written": !is_left(at) }));
    let mut told = json!({ "files": files.collect::<Vec<Value>>() });
    if takes.iter().any(|take| *take != Take::Proposed) {
        told["note"] = text.into();
    }
    Ok(told)
}
