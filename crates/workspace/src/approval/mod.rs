//! What a resolver sees of a call, and what happens to the call then.

pub(crate) mod always;
pub(crate) mod chain;
pub(crate) mod facts;
pub(crate) mod found_file;
pub(crate) mod hypothetical;
pub(crate) mod lookups;
pub(crate) mod patience;
pub(crate) mod permissions;
pub(crate) mod protected_files;
pub(crate) mod questions;

use std::{path::PathBuf, rc::Rc};

use serde_json::Value;

use crate::{
    Conversation,
    approval::{
        facts::ApprovalFacts,
        permissions::Permissions,
        questions::{DeclaredPaths, PathQuestions},
    },
    calls::{Standing, key::Keyed as _},
    execution::context::ToolContexts,
    options::{Frontmatter, effective::Effective},
    ports::Place,
    shared::Shared,
};
use flemma_agent::Verdict;
use flemma_chat::OpenCall;
use flemma_journal::{Binding, CallKey, Event};
use flemma_model::{CallId, ToolInput, UserError};
use flemma_tools::{
    Definition, FileClass, Judged, Linked, NamedBy, TurnTools,
    approval::{self, Decision},
    paths,
    rules::{self, Target},
};

/// What the user's policies say of a call.
pub struct Approval {
    pub(crate) shared: Rc<Shared>,
    pub(crate) frontmatter: Rc<Frontmatter>,
    pub(crate) permissions: Rc<Permissions>,
    pub(crate) contexts: Rc<ToolContexts>,
}

impl Approval {
    /// What happens to a call: whether it can run at all, and then what the approval chain decides.
    pub(crate) fn verdict(&self, conversation: &Conversation, call: &OpenCall) -> Verdict {
        self.verdict_as(conversation, call, conversation.standing(call))
    }

    /// The same for a call of which this is known from before.
    pub(crate) fn verdict_as(&self, conversation: &Conversation, call: &OpenCall, standing: Standing) -> Verdict {
        self.judge(conversation, call, standing, None)
    }

    /// Judges a call again that a policy has approved and that starts now: options, the file and links may have changed since. Gives
    /// which files were judged. They have to be the same as before: what a rule names may lead elsewhere as well.
    ///
    /// # Errors
    /// The verdict, if it is not that the call runs.
    pub(crate) fn judge_start(&self, conversation: &Conversation, call: &OpenCall) -> Result<Judged, Verdict> {
        let mut judged = Judged::default();
        match self.judge(conversation, call, Standing::New, Some(&mut judged)) {
            Verdict::Run
                if conversation.tasks.is_as_judged(&CallKey::of(&call.id, &call.name, &call.input), &judged) =>
            {
                Ok(judged)
            }
            Verdict::Run => Err(Verdict::Ask),
            verdict => Err(verdict),
        }
    }

    /// The verdict on a call. `starting` gets which files were judged, if the call starts.
    fn judge(
        &self,
        conversation: &Conversation,
        call: &OpenCall,
        standing: Standing,
        starting: Option<&mut Judged>,
    ) -> Verdict {
        let file = self.frontmatter.of(conversation);
        let turn = self.frontmatter.turn_tools_of(conversation, &file, call);
        let chosen = self.shared.toolbox.chosen(&file, &turn);
        let definition = match self.shared.toolbox.offered(&call.name, chosen.as_ref()) {
            Ok(definition) => definition,
            Err(problem) => return Verdict::Invalid(problem),
        };
        let input = match definition.check_input(&call.input) {
            Ok(input) => input,
            Err(problem) => return Verdict::Invalid(problem),
        };
        let input = &*input;
        let questions = self.questions_of(conversation, &definition, call, input);
        let disk = self.permissions.known_disk(&questions);
        let judged = questions.judged(&disk);
        let permitted = questions.check_paths(&disk);
        if let Some(silent) = disk.lacks() {
            return Verdict::Unclear(lookups::unanswered(&silent));
        }
        if let Err(problem) = permitted {
            self.permissions.log_not_permitted(&call.name, &problem);
            return Verdict::Invalid(problem);
        }
        let facts = questions.facts.clone().on(&disk);
        let buffer = i64::from(conversation.buffer());
        let verdict = self.shared.toolbox.chain().decide(&facts.call(&call.name, input, &call.id, buffer, Some(&file)));
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
        if let Some(silent) = disk.lacks() {
            return Verdict::Unclear(lookups::unanswered(&silent));
        }
        match starting {
            Some(starting) => *starting = judged,
            None if decision == Decision::Approve && standing == Standing::New => {
                conversation.tasks.note_judged(CallKey::of(&call.id, &call.name, &call.input), judged);
            }
            None => {}
        }
        match (decision, standing) {
            (Decision::Deny, _) => Verdict::Deny,
            // The tool says of itself that it may run. What it writes is the user's decision, or their policy's.
            (Decision::Approve, Standing::Proposed) if verdict.resolver.as_deref() == Some(approval::DECLARED) => {
                Verdict::Ask
            }
            // Nobody knows whether it happened. It may only happen again if that does no harm.
            (_, Standing::Interrupted) => {
                if definition.idempotent {
                    Verdict::Run
                } else {
                    Verdict::Ask
                }
            }
            (Decision::Approve, _) | (_, Standing::Approved(_)) => Verdict::Run,
            (Decision::RequireApproval, _) => Verdict::Ask,
        }
    }

    /// The facts about a call in a conversation at `place`: the paths in it start where the tool will start them. A tool that is not
    /// known (`definition` is `None`) has none. `file` is what is in effect for the conversation, as far as that is known.
    pub(crate) fn approval_facts(
        &self,
        place: &Place,
        file: Option<&Effective>,
        definition: Option<&Definition>,
        input: &Value,
    ) -> ApprovalFacts {
        let Some(definition) = definition else { return ApprovalFacts::unknown(place) };
        let options = self.shared.config().tools.options_of(&definition.name);
        let shell = options.get("shell").and_then(Value::as_str);
        let folder = self.permissions.working_directory(place, &definition.name);
        ApprovalFacts::new(
            place,
            definition,
            self.permissions.start_folder(place, file, definition),
            (folder, shell),
            input,
        )
    }

    /// What judging a call asks the disk.
    pub(crate) fn path_questions(
        &self,
        conversation: &Conversation,
        definition: &Definition,
        input: &Value,
    ) -> PathQuestions {
        let (file, place) = (self.frontmatter.of(conversation), self.shared.place(conversation));
        PathQuestions {
            tool: definition.name.clone(),
            input: input.clone(),
            facts: self.approval_facts(&place, Some(&*file), Some(definition), input),
            agents: self.permissions.agents_of(conversation),
            lists: [self.shared.toolbox.policy()].into_iter().chain(file.list().cloned()).collect(),
            paths: DeclaredPaths::new(definition, self.permissions.start_folder(&place, Some(&*file), definition)),
            guards_unread: definition.write_path_param.is_some() && self.shared.config().tools.require_approval,
            owner: self.permissions.owner(),
            proposed: None,
        }
    }

    /// The same of a call in the document, which may have proposed what it wants to write.
    pub(crate) fn questions_of(
        &self,
        conversation: &Conversation,
        definition: &Definition,
        call: &OpenCall,
        input: &Value,
    ) -> PathQuestions {
        let proposed = self.contexts.proposed_files(conversation, definition, &call.key());
        PathQuestions { proposed, ..self.path_questions(conversation, definition, input) }
    }

    /// What the approval of a call is for: what the user was shown, if anything was, and where the files are now that it names. `None`
    /// if that is nothing in particular.
    pub(crate) fn bound(&self, conversation: &Conversation, call: &OpenCall, shown: Option<Binding>) -> Option<Event> {
        let places = self.shared.toolbox.get(&call.name).and_then(|definition| {
            let input = definition.check_input(&call.input).ok()?;
            let questions = self.questions_of(conversation, &definition, call, &input);
            // Where the disk does not answer, it is for the path as it is written.
            Some(questions.judged(&self.permissions.known_disk(&questions)).places())
        });
        let binding = Binding { places: places.unwrap_or_default(), ..shown.unwrap_or_default() };
        (binding != Binding::default()).then_some(Event::Bound { shown: binding })
    }

    /// Where these files are, which a run of a call wants to write and a policy approves. `None` if the user has to look at it all the
    /// same: one of them asks every time, or they deny reading it, or it is not what the policy has judged when the call started. The
    /// paths are absolute.
    pub(crate) fn judge_written(
        &self,
        conversation: &Conversation,
        call: &CallId,
        paths: Vec<PathBuf>,
    ) -> Option<Judged> {
        let (denied, owner, before) =
            (self.permissions.denied(conversation), self.permissions.owner(), conversation.tasks.judged(call));
        let guards_unread = self.shared.config().tools.require_approval;
        let must_ask = move |path: &PathBuf| {
            owner.class_of(path) == FileClass::StartUp || (guards_unread && denied.covers_existing(path))
        };
        let first = paths.first()?.clone();
        let judge = move || {
            let mut judged = Judged::default();
            for path in &paths {
                let real = paths::real(path);
                let is_linked = Linked::at(&real).is_some();
                judged.add(path.clone(), real, is_linked);
            }
            let is_covered = before.is_none_or(|before| before.covers(&judged));
            (is_covered && !paths.iter().any(must_ask)).then_some(judged)
        };
        // Where the disk does not say, the user has to look at it.
        self.shared.promptly(&first, judge).ok().flatten()
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

    /// The entries of `auto_approve` that would let this call, and those like it, run without asking.
    ///
    /// # Errors
    /// When no entry can, or its tool is not there; for the user.
    pub(crate) fn entries_for(&self, conversation: &Conversation, call: &OpenCall) -> Result<Vec<String>, UserError> {
        let Some(definition) = self.shared.toolbox.get(&call.name) else {
            return Err(UserError::new(format!("there is no tool `{}`", call.name)));
        };
        if definition.always_asks {
            return Err(UserError::new(format!(
                "`{}` asks for approval every time; approve it without `always`",
                call.name
            )));
        }
        let ToolInput::Json(input) = &*call.input else {
            return Err(UserError::new(format!("the input of the call of `{}` is not valid JSON", call.name)));
        };
        if !Target::exists_for(&definition) {
            return Ok(vec![call.name.clone()]);
        }
        let file = self.frontmatter.of(conversation);
        let questions = self.path_questions(conversation, &definition, input);
        if questions.writes_start_up(&self.permissions.known_disk(&questions)) {
            return Err(UserError::new(
                "the call writes a file that a program reads when it starts, which asks every time; approve it without `always`",
            ));
        }
        let facts = self.approval_facts(&self.shared.place(conversation), Some(&*file), Some(&definition), input);
        let (tool, first) = (call.name.clone(), facts.path_base.folder.clone());
        let suggested =
            self.shared.promptly(&first, move || rules::suggest(&tool, &facts.target.subject(), &facts.path_base))?;
        suggested.ok_or_else(|| {
            UserError::new(format!("no rule can cover this call of `{}`; approve it without `always`", call.name))
        })
    }
}
