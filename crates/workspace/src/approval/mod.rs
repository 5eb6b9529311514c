//! What a resolver sees of a call, and what happens to the call then.

pub(crate) mod chain;
pub(crate) mod hypothetical;
pub(crate) mod lookups;
pub(crate) mod permissions;
pub(crate) mod questions;

use std::{
    path::{Path, PathBuf},
    slice,
    sync::Arc,
};

use serde_json::Value;

use crate::{
    Conversation,
    approval::{
        lookups::{Known, unanswered},
        questions::{PathQuestions, path_base},
    },
    background::{Background, WhenKnown},
    calls::{Standing, key::Keyed as _},
    components::Approval,
    event::LoopEvent,
    options::effective::Effective,
    ports::Place,
};
use flemma_agent::Verdict;
use flemma_chat::OpenCall;
use flemma_journal::{Binding, Event};
use flemma_model::{CallId, ToolInput, UserError};
use flemma_tools::{
    Agents, Definition, Executor, FileClass, Judged, Linked, NamedBy, TurnTools,
    approval::{self, Decision},
    paths,
    rules::{self, CommandShell, PathBase, Target},
};

/// Looking at the disk before a judgement.
impl Approval {
    /// Finds out what judging these calls has to know of the disk, and goes on then: at once if that is nothing. What has come to
    /// matter by then, because options have changed, is looked up as well.
    pub(crate) fn look_up<C>(
        &self,
        background: &Background<C>,
        conversation: &Conversation,
        calls: Vec<OpenCall>,
        then: impl FnOnce(&C, &Conversation, &Known) + Send + 'static,
    ) {
        self.look_up_more(conversation, calls, Known::default(), background.mailbox.addressed_known(then));
    }

    /// The same for calls that are approved or start, in the order in which that was wanted: one after the other.
    pub(crate) fn look_up_in_order<C>(
        &self,
        background: &Background<C>,
        conversation: &Conversation,
        calls: Vec<OpenCall>,
        then: impl FnOnce(&C, &Conversation, &Known) + Send + 'static,
    ) {
        let then = background.mailbox.addressed_known(then);
        if calls.is_empty() {
            return self.look_up_more(conversation, calls, Known::default(), then);
        }
        conversation.lookups.borrow_mut().push_back(Some((calls, then)));
        if conversation.lookups.borrow().len() == 1 {
            self.look_up_next(conversation);
        }
    }

    fn look_up_next(&self, conversation: &Conversation) {
        let next = conversation.lookups.borrow_mut().front_mut().and_then(Option::take);
        let Some((calls, then)) = next else { return };
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            conversation.lookups.borrow_mut().pop_front();
            if !conversation.lookups.borrow().is_empty() {
                this.background.post_for(conversation.id, Self::look_up_next);
            }
            this.shared.tell(LoopEvent::Known(conversation, known, then));
        };
        self.look_up(&self.background, conversation, calls, then);
    }

    fn look_up_more(&self, conversation: &Conversation, calls: Vec<OpenCall>, known: Known, then: WhenKnown) {
        let asked = self.unknown(conversation, &calls, &known);
        if asked.is_empty() {
            return self.shared.tell(LoopEvent::Known(conversation, &known, then));
        }
        let lookups = self.lookups.clone();
        self.background.run_for(
            conversation.id,
            move || lookups.answer(asked),
            move |this: &Self, conversation, found| this.look_up_more(conversation, calls, known.with(found), then),
        );
    }

    /// What the disk says about a call, for a function that gives back what becomes of it: see [`Shared::wait_for_disk`].
    pub(crate) fn known_in_time(&self, conversation: &Conversation, call: &OpenCall) -> Known {
        let asked = self.unknown(conversation, slice::from_ref(call), &Known::default());
        if asked.is_empty() { Known::default() } else { self.answered_in_time(asked) }
    }

    /// The answers to these questions, for such a function. Where they do not come, the disk is silent.
    pub(crate) fn answered_in_time(&self, asked: Vec<(CallId, PathQuestions)>) -> Known {
        let lookups = self.lookups.clone();
        self.shared.wait_for_disk(Path::new(""), move || lookups.answer(asked)).unwrap_or_default()
    }

    /// What has to be asked about calls that is not known.
    fn unknown(&self, conversation: &Conversation, calls: &[OpenCall], known: &Known) -> Vec<(CallId, PathQuestions)> {
        let questions = calls.iter().filter_map(|call| {
            let definition = self.shared.toolbox.get(&call.name)?;
            let input = definition.check_input(&call.input).ok()?;
            let questions = self.questions_of(conversation, &definition, call, &input);
            (!known.covers(&call.id, &questions)).then(|| (call.id.clone(), questions))
        });
        questions.collect()
    }
}

impl Approval {
    /// What happens to a call: whether it can run at all, and then what the approval chain decides.
    pub(crate) fn verdict(&self, conversation: &Conversation, call: &OpenCall, known: &Known) -> Verdict {
        self.verdict_as(conversation, call, &conversation.standing(call), known)
    }

    /// The same for a call of which this is known from before.
    pub(crate) fn verdict_as(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        standing: &Standing,
        known: &Known,
    ) -> Verdict {
        match self.judge(conversation, call, standing, known) {
            Ok(judged) => {
                if *standing == Standing::New {
                    conversation.tasks.note_judged(call.key(), judged);
                }
                Verdict::Run
            }
            Err(verdict) => verdict,
        }
    }

    /// Judges a call again that a policy has approved and that starts now: options, the file and links may have changed since. Gives
    /// which files were judged. They have to be the same as before: what a rule names may lead elsewhere as well.
    ///
    /// # Errors
    /// The verdict, if it is not that the call runs.
    pub(crate) fn judge_start(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        known: &Known,
    ) -> Result<Judged, Verdict> {
        let judged = self.judge(conversation, call, &Standing::New, known)?;
        if conversation.tasks.is_as_judged(&call.key(), &judged) { Ok(judged) } else { Err(Verdict::Ask) }
    }

    /// The verdict on a call. Where it runs, gives which files were judged.
    fn judge(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        standing: &Standing,
        known: &Known,
    ) -> Result<Judged, Verdict> {
        let file = self.frontmatter.of(conversation);
        let turn = self.frontmatter.turn_tools_of(conversation, &file, call);
        let chosen = self.shared.toolbox.chosen(&file, &turn);
        let definition = self.shared.toolbox.offered(&call.name, chosen.as_ref()).map_err(Verdict::Invalid)?;
        let input = definition.check_input(&call.input).map_err(Verdict::Invalid)?;
        let questions = self.questions_of(conversation, &definition, call, &input);
        let disk = known.disk(&call.id);
        let is_known = || disk.lacks().map_or(Ok(()), |silent| Err(Verdict::Unclear(unanswered(&silent))));
        let (judged, permitted) = (questions.judged(&disk), questions.check_paths(&disk));
        is_known()?;
        permitted.map_err(|problem| {
            self.permissions.log_not_permitted(&call.name, &problem);
            Verdict::Invalid(problem)
        })?;
        let (path_base, buffer) = (questions.path_base_on(&disk), i64::from(conversation.buffer));
        let seen = questions.call(&path_base, &call.id, buffer, Some(&file));
        let verdict = self.shared.toolbox.chain().decide(&seen);
        self.log_failures(&verdict);
        let decision = match verdict.decision {
            // Only the user's own decision about this call counts.
            Decision::Approve if definition.always_asks => Decision::RequireApproval,
            Decision::Approve if questions.overwrites_unread(&disk) || questions.writes_start_up(&disk) => {
                Decision::RequireApproval
            }
            // A policy knows nothing of what the user has left out or edited.
            Decision::Approve if conversation.records.made(&call.key()).is_some() => Decision::RequireApproval,
            // Whoever wrote the file may have named the tool, and must not choose what runs without asking. The user trusts
            // what the file itself approves.
            Decision::Approve
                if verdict.resolver.as_deref() != Some(approval::FRONTMATTER)
                    && !self.is_offered_by_user(&file, &turn, &call.name) =>
            {
                Decision::RequireApproval
            }
            decision => decision,
        };
        is_known()?;
        match (decision, standing) {
            (Decision::Deny, _) => Err(Verdict::Deny),
            // The tool says of itself that it may run. What it writes is the user's decision, or their policy's.
            (Decision::Approve, Standing::Proposed) if verdict.resolver.as_deref() == Some(approval::DECLARED) => {
                Err(Verdict::Ask)
            }
            // Nobody knows whether it happened. It may only happen again if that does no harm.
            (_, Standing::Interrupted) if !definition.idempotent => Err(Verdict::Ask),
            (_, Standing::Interrupted | Standing::Approved(_)) | (Decision::Approve, _) => Ok(judged),
            (Decision::RequireApproval, _) => Err(Verdict::Ask),
        }
    }

    /// What judging a call asks the disk, in a conversation at `place`, of a tool that may not be known. `file` is what is in effect for the conversation, as
    /// far as that is known.
    pub(crate) fn questions_at(
        &self,
        place: &Place,
        file: Option<&Effective>,
        (tool, definition): (&str, Option<&Arc<Definition>>),
        input: &Value,
    ) -> PathQuestions {
        let mut questions = PathQuestions {
            tool: tool.to_owned(),
            input: input.clone(),
            path_base: path_base(place),
            target: Target::Other,
            read: None,
            agents: file.map_or_else(Agents::default, |file| self.permissions.agents_at(file, place)),
            lists: [self.shared.toolbox.policy()].into_iter().chain(file.and_then(Effective::list).cloned()).collect(),
            definition: definition.cloned(),
            folder: PathBuf::new(),
            guards_unread: false,
            owner: self.permissions.owner(),
            proposed: None,
        };
        let Some(definition) = definition else { return questions };
        let config = self.shared.config();
        // The paths in it start where the tool will start them.
        let folder = self.permissions.start_folder(place, file, definition);
        let start = PathBase { folder: folder.clone(), ..questions.path_base.clone() };
        questions.target = Target::of(definition, input, &start);
        questions.read = Target::of_reading(definition, input, &start);
        if matches!(questions.target, Target::Command(_)) {
            let options = config.tools.options_of(tool);
            let shell = options.get("shell").and_then(Value::as_str).map(str::to_owned);
            questions.path_base.folder = self.permissions.working_directory(place, tool);
            questions.path_base.shell = CommandShell::Asked(shell);
        }
        questions.guards_unread = definition.write_path_param.is_some() && config.tools.require_approval;
        questions.folder = folder;
        questions
    }

    /// The same of a call in the document, which may have proposed what it wants to write.
    pub(crate) fn questions_of(
        &self,
        conversation: &Conversation,
        definition: &Arc<Definition>,
        call: &OpenCall,
        input: &Value,
    ) -> PathQuestions {
        let proposed = self.contexts.proposed_files(conversation, definition, &call.key());
        let (file, place) = (self.frontmatter.of(conversation), self.shared.place(conversation));
        let questions = self.questions_at(&place, Some(&*file), (&definition.name, Some(definition)), input);
        PathQuestions { proposed, ..questions }
    }

    /// What the approval of a call is for: what the user was shown, if anything was, and where the files are now that it names. `None`
    /// if that is nothing in particular.
    pub(crate) fn bound(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        shown: Option<Binding>,
        known: &Known,
    ) -> Option<Event> {
        let places = self.shared.toolbox.get(&call.name).and_then(|definition| {
            let input = definition.check_input(&call.input).ok()?;
            let questions = self.questions_of(conversation, &definition, call, &input);
            // Where the disk does not answer, it is for the path as it is written.
            Some(questions.judged(&known.disk(&call.id)).places())
        });
        let binding = Binding { places: places.unwrap_or_default(), ..shown.unwrap_or_default() };
        (binding != Binding::default()).then_some(Event::Bound { shown: binding })
    }

    /// Where these files are, which a run of a call wants to write and a policy approves. `None` if the user has to look at it all the
    /// same: one of them asks every time, or they deny reading it, or it is not what the policy has judged when the call started. The
    /// paths are absolute. What it gives says so, and blocks.
    pub(crate) fn judge_written(
        &self,
        conversation: &Conversation,
        call: &CallId,
        paths: Vec<PathBuf>,
    ) -> impl FnOnce() -> Option<Judged> + Send + 'static {
        let (denied, owner, before) =
            (self.permissions.denied(conversation), self.permissions.owner(), conversation.tasks.judged(call));
        let guards_unread = self.shared.config().tools.require_approval;
        let must_ask = move |path: &PathBuf| {
            owner.class_of(path) == FileClass::StartUp || (guards_unread && denied.covers_existing(path))
        };
        move || {
            let mut judged = Judged::default();
            for path in &paths {
                let real = paths::real(path);
                let is_linked = Linked::at(&real).is_some();
                judged.add(path.clone(), real, is_linked);
            }
            let is_covered = before.is_none_or(|before| before.covers(&judged));
            (is_covered && !paths.is_empty() && !paths.iter().any(must_ask)).then_some(judged)
        }
    }

    /// Whether a tool would be offered without the names in text that may be anybody's.
    fn is_offered_by_user(&self, file: &Effective, turn: &TurnTools, tool: &str) -> bool {
        if turn.named.get(tool) != Some(&NamedBy::File) {
            return true;
        }
        let chosen = self.shared.toolbox.chosen(file, &turn.by_user());
        self.shared.toolbox.offered(tool, chosen.as_ref()).is_ok()
    }

    /// Logs the resolvers that failed.
    pub(crate) fn log_failures(&self, verdict: &approval::Resolution) {
        for failure in &verdict.failures {
            let line =
                format!("the approval resolver `{}` failed and was skipped: {}", failure.resolver, failure.error);
            self.shared.log(flemma_agent::Level::Warn, &line);
        }
    }

    /// Finds the entries of `auto_approve` that would let this call, and those like it, run without asking: what it gives does that, and
    /// blocks.
    ///
    /// # Errors
    /// When no entry can, or its tool is not there; for the user.
    pub(crate) fn entries_for(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        known: &Known,
    ) -> Result<FindEntries, UserError> {
        let name = call.name.clone();
        let Some(definition) = self.shared.toolbox.get(&name) else {
            return Err(UserError::new(format!("there is no tool `{name}`")));
        };
        if matches!(definition.executor, Executor::Human) {
            return Err(UserError::new(format!("`{name}` asks you a question; press Alt-Enter to answer it")));
        }
        if definition.always_asks {
            return Err(UserError::new(format!("`{name}` asks for approval every time; approve it without `always`")));
        }
        let ToolInput::Json(input) = &*call.input else {
            return Err(UserError::new(format!("the input of the call of `{name}` is not valid JSON")));
        };
        if !Target::exists_for(&definition) {
            return Ok(Box::new(|| Ok(vec![name])));
        }
        let questions = self.questions_of(conversation, &definition, call, input);
        if questions.writes_start_up(&known.disk(&call.id)) {
            return Err(UserError::new(
                "approve it without `always`: it writes a file that a program reads when it starts, which asks every time",
            ));
        }
        let lookups = self.lookups.clone();
        Ok(Box::new(move || {
            let path_base = questions.path_base_on(&lookups.disk());
            rules::suggest(&name, &questions.target.subject(), &path_base).ok_or_else(|| {
                UserError::new(format!("no rule can cover this call of `{name}`; approve it without `always`"))
            })
        }))
    }
}

/// Finds entries of `auto_approve`.
pub(crate) type FindEntries = Box<dyn FnOnce() -> Result<Vec<String>, UserError> + Send>;
