//! What the user wants of a conversation passes here before it reaches the session: see [`crate::trust`].

use std::rc::Rc;

use crate::{
    Conversation, DriveEnd, HostEffect,
    approval::{FindEntries, lookups::Known},
    calls::{Standing, key::Keyed as _},
    components::{Accounting, Gatekeeper},
    event::LoopEvent,
    instructions::Found,
    ports::Question,
    trust::{Admission, FileSearch, FrontmatterCode, Wish},
};
use flemma_agent::{Choice, Input, Level, UndoStep, Verdict};
use flemma_chat::{self as chat, AwaitKind, LineRange, OpenCall, Severity, Tail, Uncaptured};
use flemma_model::{CallId, ToolInput, UserError};
use flemma_runtime::{ExternalFile, external_paths};
use flemma_tools::JsonFault;

/// The answer to what has to wait.
pub(crate) const BUSY: &str = "a reply or a tool is still running; Ctrl-C stops it";

impl Gatekeeper {
    /// The user wants something of a conversation that no other process holds. If its file has to be trusted for that,
    /// they are asked first, and this goes on with their answer.
    pub(crate) fn want(&self, conversation: &Conversation, wish: Wish) {
        // What is queued goes out with what the user is asked about, or not at all.
        if wish == Wish::Input(Input::Outbox) && conversation.gate.borrow().is_waiting() {
            return;
        }
        let lacks_instructions = match &wish {
            // What is queued is sent by itself where there is nothing else to send.
            Wish::Input(Input::Outbox) => {
                let tail = conversation.page.with_document(|document, text| Tail::of(document.messages(), text));
                tail == Tail::Nothing && self.instructions.are_lacking(conversation)
            }
            Wish::Input(Input::Advance | Input::CarryOn) => self.instructions.are_lacking(conversation),
            Wish::TakeInstructions => conversation.instructions.borrow().is_none(),
            _ => false,
        };
        let facts = self.frontmatter.facts(conversation, lacks_instructions);
        let next = conversation.gate.borrow_mut().want(wish, facts);
        self.pass(conversation, next);
    }

    /// Does what the gate says.
    pub(crate) fn pass(&self, conversation: &Conversation, next: Admission) {
        match next {
            Admission::Wait => {}
            // Comes back when it was read.
            Admission::ReadStore => self.trust.read_trust_store(),
            Admission::AskFrontmatter { language } => {
                self.ask(conversation, Question::Frontmatter { language });
            }
            Admission::Locate(search) => self.locate(conversation, search),
            Admission::AskFiles { files, references } => self.ask_about_files(conversation, &files, references),
            Admission::Vet { search, allowed, wish } => {
                let path = self.shared.place(conversation).file;
                conversation.page.files().allow(allowed.iter().map(|file| file.real.clone()));
                allowed.into_iter().for_each(|file| self.trust.keep_trusted_file(&path, file.real));
                conversation.page.files().vet(&search.files, &search.folder);
                conversation.page.files().allowed_references.extend(search.references);
                self.ownership.want_alone(conversation, wish);
            }
            Admission::FindInstructions { number } => {
                self.instructions.find(conversation, move |source, conversation, found| {
                    source.shared.tell(LoopEvent::InstructionsFound(conversation, number, found));
                });
            }
            Admission::AskInstructions { files } => {
                self.ask(conversation, Question::Instructions { instructions: files });
            }
            Admission::Again(wish) => self.ownership.want_alone(conversation, wish),
            // The file may have got another name, and with it another journal, while it was asked about.
            Admission::Go(wish @ Wish::Input(_)) if !conversation.is_known() => {
                self.ownership.want_alone(conversation, wish)
            }
            Admission::Go(Wish::Input(input)) if self.is_paid(conversation, &input) => {
                self.perform(conversation, input)
            }
            Admission::Go(Wish::Input(_)) => {}
            Admission::Go(Wish::Recorded(input)) => self.shared.feed(conversation, [input]),
            Admission::Go(Wish::AlwaysApprove(calls)) => self.always_approve(conversation, calls),
            Admission::Go(Wish::TakeInstructions) if conversation.is_busy() => {
                conversation.instructions.take();
                self.shared.host.notify(Level::Info, BUSY);
            }
            Admission::Go(Wish::TakeInstructions) => self.instructions.take_in(conversation),
        }
    }

    /// Asks the user.
    pub(crate) fn ask(&self, conversation: &Conversation, question: Question) {
        let number = conversation.questions.begin();
        if self.drives.drive_was_asked(conversation, number, &question) {
            return;
        }
        self.shared.host.perform(HostEffect::Ask { buffer: conversation.buffer, number, question });
    }

    fn locate(&self, conversation: &Conversation, search: FileSearch) {
        let (FileSearch { files, folder, .. }, id) = (search.clone(), conversation.id);
        let then = move |this: &Self, conversation: &Conversation, outside| {
            this.files_were_located(conversation, &search, outside);
        };
        self.background.run_for(id, move || external_paths(files, &folder), then);
    }

    fn files_were_located(&self, conversation: &Conversation, search: &FileSearch, outside: Vec<ExternalFile>) {
        let path = self.shared.place(conversation).file;
        let is_allowed = |file: &ExternalFile| self.trust.contains_file(&path, &file.real);
        let known = outside.iter().filter(|file| is_allowed(file)).map(|file| file.real.clone());
        conversation.page.files().allow(known);
        let next = conversation.gate.borrow_mut().files_were_located(search, outside, is_allowed);
        self.pass(conversation, next);
        self.ownership.lock_while_wanted(conversation);
    }

    fn ask_about_files(&self, conversation: &Conversation, asked: &[ExternalFile], references: Vec<String>) {
        let named = conversation.page.named_files();
        let first = named.iter().find(|place| asked.iter().any(|file| file.named == place.path));
        let is_meant = |reference: &&Uncaptured| references.contains(&reference.written);
        let first_reference = conversation.page.uncaptured().iter().find(is_meant).map(|reference| reference.line);
        let mut files: Vec<_> = asked.iter().map(|file| file.real.to_string_lossy().into_owned()).collect();
        files.dedup();
        // A file with lines in its name is meant only if it is there. The user knows it by the other one.
        let all = files.clone();
        files.retain(|file| !LineRange::split(file).is_some_and(|(of, _)| all.iter().any(|other| other == of)));
        let line = first.map(|place| place.line).into_iter().chain(first_reference).min().unwrap_or_default();
        self.ask(conversation, Question::Files { files, references, line });
    }

    /// The instructions are found.
    pub(crate) fn instructions_were_found(&self, conversation: &Conversation, number: u64, found: Found) {
        let untrusted = self.instructions.untrusted(&found);
        let next = conversation.gate.borrow_mut().instructions_were_found(number, untrusted);
        match next {
            Admission::Wait => {}
            // Until there is an answer, nothing of it is where it could be sent.
            Admission::AskInstructions { .. } => drop(conversation.asked_instructions.replace(Some(found))),
            _ => drop(conversation.instructions.replace(Some(found))),
        }
        self.pass(conversation, next);
        self.ownership.lock_while_wanted(conversation);
    }

    /// The user has answered whether the files of the project may instruct the model. The wish goes on without them, too.
    pub(crate) fn instructions_were_answered(&self, conversation: &Conversation, is_trusted: bool) -> bool {
        let Some(wish) = conversation.gate.borrow_mut().instructions_were_answered() else { return false };
        self.instructions.were_answered(conversation, is_trusted);
        self.ownership.want_alone(conversation, wish);
        true
    }

    /// The user has answered whether they trust the frontmatter.
    pub(crate) fn frontmatter_was_answered(&self, conversation: &Conversation, is_trusted: bool) {
        let answered = conversation.gate.borrow_mut().frontmatter_was_answered(is_trusted);
        let Some((asked, wish)) = answered else { return };
        // The text may have changed since the question. Then the user has not seen what stands there now.
        if conversation.page.frontmatter().is_some_and(|source| source == asked) {
            self.trust.adopt_frontmatter(conversation);
            self.trust.keep_frontmatter(conversation, self.shared.place(conversation).file);
        }
        self.ownership.want_alone(conversation, wish);
    }

    /// Carries out what the user wants, after it is recorded.
    pub(crate) fn perform(&self, conversation: &Conversation, input: Input) {
        match input {
            Input::Decide(calls, choice, step) => self.resolutions.decide(conversation, calls, &choice, step),
            Input::Execute(call) => self.execute_call(conversation, call),
            Input::Advance | Input::CarryOn => {
                self.instructions.look_again(conversation);
                self.drives.drop_cut_off(conversation);
                self.resolutions.go_on_as_written(conversation, input);
            }
            input => self.shared.feed(conversation, [input]),
        }
    }

    /// Whether the limits on money let a conversation go on. Where they do not, the user is told; where the disk is asked first, the
    /// input comes again.
    fn is_paid(&self, conversation: &Conversation, input: &Input) -> bool {
        if conversation.is_busy() || !matches!(input, Input::Advance | Input::CarryOn | Input::Outbox) {
            return true;
        }
        let config = Rc::clone(&self.frontmatter.of(conversation).config);
        let again = input.clone();
        let go_on = |usage: &Accounting, conversation: &Conversation| {
            usage.shared.tell(LoopEvent::WantAlone(conversation, again.into()));
        };
        if self.usage.reads_spending(conversation, &config, go_on) {
            return false;
        }
        let begun = self.usage.begin_turn(conversation, &config);
        begun.map_err(|problem| self.not_sent(conversation, problem)).is_ok()
    }

    /// Nothing is sent, because of this.
    fn not_sent(&self, conversation: &Conversation, problem: UserError) {
        if conversation.drive.is_on() {
            return self.drives.end_drive(conversation, DriveEnd::Failed(Some(problem.without_advice())));
        }
        self.shared.notify(conversation, Level::Warn, &problem.to_string());
        self.ownership.lock_while_wanted(conversation);
    }

    /// Runs the call under the cursor, or opens its form.
    fn execute_call(&self, conversation: &Conversation, id: CallId) {
        let Some(call) = &conversation.page.open_call(&id) else {
            return self.shared.feed(conversation, [Input::Execute(id)]);
        };
        if matches!(conversation.standing(call), Standing::Ended(_)) {
            // It was undone: its result is restored.
            return self.shared.feed(conversation, [Input::Recover(vec![id])]);
        }
        let has_text = !call.typed().is_empty();
        match (self.calls.effective_kind(conversation, call), call.awaiting()) {
            (AwaitKind::Elicitation, Some(awaiting)) if !has_text => {
                if awaiting.is_over(self.shared.host.now()) {
                    return self.resolutions.expire_by_key(conversation, call);
                }
                if let Err(error) = self.ownership.check_held(conversation) {
                    return self.shared.host.notify(Level::Info, &error.to_string());
                }
                if let ToolInput::Malformed(input) = &*call.input {
                    return self.explain_input(conversation, call, input);
                }
                self.shared.host.perform(HostEffect::OpenForm { buffer: conversation.buffer, call: &id });
            }
            (AwaitKind::ClientExec, Some(_)) => {
                self.shared
                    .host
                    .notify(Level::Info, "this call is being run by the editor; `:Flemma tool:reject` stops it");
            }
            _ => self.resolutions.go_on_as_written(conversation, Input::Execute(id)),
        }
    }

    /// Says why the question of a call cannot be asked: its input is not valid JSON any more.
    fn explain_input(&self, conversation: &Conversation, call: &OpenCall, input: &str) {
        let fault = match serde_json::from_str::<serde::de::IgnoredAny>(input) {
            Err(error) => JsonFault::of(input, &error),
            Ok(_) => return self.shared.host.notify(Level::Warn, "the input of this call is not a JSON object"),
        };
        let fence = conversation.page.with_document(|_, text| {
            let is_fence = |line: &usize| text.line(*line).trim_start().starts_with(['`', '~']);
            (call.line + 1..text.line_count()).find(is_fence).unwrap_or(call.line)
        });
        let message = format!(
            "{}: the question cannot be shown: line {}: {fault}. Correct the input of the call, or undo the change",
            call.name,
            fence + 1 + fault.line
        );
        self.shared.host.notify(Level::Warn, &message);
    }

    /// Approves calls, and all like them from now on: `:Flemma tool:approve always`. The file is trusted, and no other process holds it.
    ///
    /// What is approved is written into the frontmatter, so that the user sees it and can take it back. An entry that has no
    /// effect is taken out again: the calls have to be approved by it.
    pub(crate) fn always_approve(&self, conversation: &Conversation, calls: Vec<CallId>) {
        if conversation.is_busy() {
            self.shared.host.notify(Level::Info, BUSY);
            return;
        }
        let decide = |step| self.resolutions.decide(conversation, calls.clone(), &Choice::Approve, step);
        let is_at_fault = || conversation.page.diagnostics().iter().any(|found| found.severity == Severity::Error);
        if self.frontmatter.of(conversation).fault.is_some() || is_at_fault() {
            // Says what is wrong with the file.
            return decide(UndoStep::Own);
        }
        let mut chosen: Vec<OpenCall> = conversation.page.with_document(|document, text| document.calls().open(text));
        chosen.retain(|call| calls.contains(&call.id));
        let asked = chosen.clone();
        let cancellations = conversation.records.cancelled.get();
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            if this.is_still_meant(conversation, cancellations) {
                chosen.retain(|call| conversation.is_open(&call.key()));
                this.write_approvals(conversation, (calls, chosen), known);
            }
        };
        self.approval.look_up(&self.background, conversation, asked, then);
    }

    /// Writes what approves these calls into the frontmatter, if that approves them.
    fn write_approvals(
        &self,
        conversation: &Conversation,
        (calls, mut chosen): (Vec<CallId>, Vec<OpenCall>),
        known: &Known,
    ) {
        chosen.retain(|call| self.approval.verdict(conversation, call, known) == Verdict::Ask);
        let found = chosen.iter().map(|call| self.approval.entries_for(conversation, call, known));
        let found: Vec<FindEntries> = match found.collect() {
            Ok(found) => found,
            Err(problem) => return self.not_approved(&problem),
        };
        if found.is_empty() {
            return self.resolutions.decide(conversation, calls, &Choice::Approve, UndoStep::Own);
        }
        let cancellations = conversation.records.cancelled.get();
        let find = move || {
            let mut entries: Vec<String> = Vec::new();
            for find in found {
                let missing: Vec<String> = find()?.into_iter().filter(|entry| !entries.contains(entry)).collect();
                entries.extend(missing);
            }
            Ok(entries)
        };
        let then =
            move |this: &Self, conversation: &Conversation, entries: Result<Vec<String>, UserError>| match entries {
                _ if !this.is_still_meant(conversation, cancellations) => {}
                Ok(entries) => this.write_entries(conversation, (calls, chosen), entries),
                Err(problem) => this.not_approved(&problem),
            };
        self.background.run_for(conversation.id, find, then);
    }

    /// The same, now that it is known what approves them. The calls have to be approved by it.
    fn write_entries(
        &self,
        conversation: &Conversation,
        (calls, chosen): (Vec<CallId>, Vec<OpenCall>),
        entries: Vec<String>,
    ) {
        let (page, before) = (&conversation.page, conversation.page.frontmatter());
        let edits = page.with_document(|document, text| chat::approve_always(document, text, &entries));
        let edits = match edits {
            Ok(edits) => edits,
            Err(problem) => return self.not_approved(&problem),
        };
        page.undo_step();
        self.shared.write(conversation, &edits);
        // It says what the user has just asked for.
        self.trust.adopt_frontmatter(conversation);
        let (asked, written, cancellations) =
            (chosen.clone(), page.frontmatter(), conversation.records.cancelled.get());
        let then = move |this: &Self, conversation: &Conversation, known: &Known| {
            match this.still_asks(conversation, &chosen, known) {
                // The user has written something else.
                _ if conversation.page.frontmatter() != written => {}
                _ if !this.is_still_meant(conversation, cancellations) => {
                    this.restore_frontmatter(conversation, before.as_ref());
                }
                Some(problem) => {
                    this.restore_frontmatter(conversation, before.as_ref());
                    this.not_approved(&problem);
                }
                None => {
                    let message = format!("runs without asking from now on: {}", entries.join(", "));
                    this.shared.host.notify(Level::Info, &message);
                    // One undo takes back the rule and the approval.
                    this.resolutions.decide(conversation, calls, &Choice::Approve, UndoStep::Joined);
                }
            }
        };
        self.approval.look_up(&self.background, conversation, asked, then);
    }

    fn not_approved(&self, problem: &UserError) {
        self.shared.host.notify(Level::Warn, &format!("not approved: {problem}"));
    }

    /// Why what was written does not approve these calls.
    fn still_asks(&self, conversation: &Conversation, calls: &[OpenCall], known: &Known) -> Option<UserError> {
        if let Some(fault) = &self.frontmatter.of(conversation).fault {
            return Some(UserError::new(fault.diagnostic.message.clone()));
        }
        let call = calls.iter().find(|call| self.approval.verdict(conversation, call, known) != Verdict::Run)?;
        Some(UserError::new(format!(
            "another resolver decides about `{}`; require(\"flemma.tools.approval\").resolve shows which one",
            call.name
        )))
    }

    /// Takes back what was written.
    fn restore_frontmatter(&self, conversation: &Conversation, before: Option<&FrontmatterCode>) {
        let edits = conversation.page.with_document(|document, text| {
            let lines = document.frontmatter().map_or(0, |matter| matter.lines);
            chat::restore_frontmatter(text, lines, before.map(|source| source.code.as_str()))
        });
        self.shared.write(conversation, &edits);
    }

    /// Whether the user has not stopped everything since, and nothing else has begun. They are told of that.
    fn is_still_meant(&self, conversation: &Conversation, cancellations: u64) -> bool {
        let (is_cancelled, is_busy) = (conversation.records.cancelled.get() != cancellations, conversation.is_busy());
        if is_busy && !is_cancelled {
            self.shared.host.notify(Level::Info, BUSY);
        }
        !is_cancelled && !is_busy
    }
}
