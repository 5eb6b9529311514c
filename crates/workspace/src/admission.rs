//! What the user wants of a conversation passes here before it reaches the session: see [`super::trust`].

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    Conversation, HostEffect, Workspace,
    effective::Source,
    ports::Question,
    trust::{Admission, FileSearch, FrontmatterCode, FrontmatterTrust, GateFacts},
    wish::Wish,
};
use flemma_agent::Level;
use flemma_chat::{LineRange, Uncaptured};
use flemma_runtime::{
    ExternalFile, external_paths,
    trust::{self, Trusted},
};

impl Workspace {
    /// The user wants something of a conversation that no other process holds. If its file has to be trusted for that,
    /// they are asked first, and this goes on with their answer.
    pub(super) fn want(&self, conversation: &Conversation, wish: Wish) {
        let facts = self.facts(conversation);
        let next = conversation.gate().want(wish, facts);
        self.pass(conversation, next);
    }

    /// Does what the gate says.
    pub(super) fn pass(&self, conversation: &Conversation, next: Admission) {
        match next {
            Admission::Wait => {}
            // Comes back when it was read.
            Admission::ReadStore => self.read_trust_store(),
            Admission::AskFrontmatter { language } => {
                self.ask(conversation, Question::Frontmatter { language });
            }
            Admission::Locate(search) => self.locate(conversation, search),
            Admission::AskFiles { files, references } => self.ask_about_files(conversation, &files, references),
            Admission::Vet { search, allowed, wish } => {
                let path = self.place(conversation).file;
                conversation.page().files().allow(allowed.iter().map(|file| file.real.clone()));
                allowed.into_iter().for_each(|file| self.keep_trusted_file(&path, file.real));
                conversation.page().files().vet(&search.files, &search.folder);
                conversation.page().files().allow_references(&search.references);
                self.want_alone(conversation, wish);
            }
            // The file may have got another name, and with it another journal, while it was asked about.
            Admission::Go(wish @ Wish::Input(_)) if !conversation.is_known() => self.want_alone(conversation, wish),
            Admission::Go(Wish::Input(input)) => self.perform(conversation, input),
            Admission::Go(Wish::Recorded(input)) => self.feed(conversation, [input]),
            Admission::Go(Wish::AlwaysApprove(calls)) => self.always_approve(conversation, calls),
        }
    }

    /// Asks the user.
    pub(super) fn ask(&self, conversation: &Conversation, question: Question) {
        let number = conversation.questions().begin(&question);
        if self.drive_was_asked(conversation, number, &question) {
            return;
        }
        self.host().perform(HostEffect::Ask { buffer: conversation.buffer(), number, question });
    }

    fn locate(&self, conversation: &Conversation, search: FileSearch) {
        let (FileSearch { files, folder, .. }, id) = (search.clone(), conversation.id());
        let then = move |workspace: &Self, conversation: &Conversation, outside| {
            workspace.files_were_located(conversation, &search, outside);
        };
        if let Err(error) = self.run_for(id, move || external_paths(files, &folder), then) {
            conversation.gate().cancel();
            self.lock_while_wanted(conversation);
            self.warn(&format!(
                "nothing was sent or run: the files that the conversation names could not be located ({error})"
            ));
        }
    }

    fn files_were_located(&self, conversation: &Conversation, search: &FileSearch, outside: Vec<ExternalFile>) {
        let path = self.place(conversation).file;
        let is_allowed = |file: &ExternalFile| self.trust_store().contains_file(&path, &file.real);
        let known = outside.iter().filter(|file| is_allowed(file)).map(|file| file.real.clone());
        conversation.page().files().allow(known);
        let next = conversation.gate().files_were_located(search, outside, is_allowed);
        self.pass(conversation, next);
        self.lock_while_wanted(conversation);
    }

    fn ask_about_files(&self, conversation: &Conversation, asked: &[ExternalFile], references: Vec<String>) {
        let named = conversation.page().named_files();
        let first = named.iter().find(|place| asked.iter().any(|file| file.named == place.path));
        let is_meant = |reference: &&Uncaptured| references.contains(&reference.written);
        let first_reference = conversation.page().uncaptured().iter().find(is_meant).map(|reference| reference.line);
        let mut files: Vec<_> = asked.iter().map(|file| file.real.to_string_lossy().into_owned()).collect();
        files.dedup();
        // A file with lines in its name is meant only if it is there. The user knows it by the other one.
        let all = files.clone();
        files.retain(|file| !LineRange::split(file).is_some_and(|(of, _)| all.iter().any(|other| other == of)));
        let line = first.map(|place| place.line).into_iter().chain(first_reference).min().unwrap_or_default();
        self.ask(conversation, Question::Files { files, references, line });
    }

    /// Whether the user trusts this frontmatter: they wrote all of it in this session, or they said so before.
    pub(super) fn trusts(&self, conversation: &Conversation, source: &Source) -> bool {
        if conversation.page().is_by_user(source.lines()) {
            return true;
        }
        let is_trusted = self.trust_store().contains(&self.place(conversation).file, &source.code);
        if is_trusted {
            // From here on it is the user's to change.
            conversation.page().adopt(source.lines());
        }
        is_trusted
    }

    /// What the gate needs to know before the user's wish may reach the session.
    pub(super) fn facts(&self, conversation: &Conversation) -> GateFacts {
        let is_busy = conversation.session().is_busy();
        let folder = self.place(conversation).folder();
        let is_store_read = self.trust_store().is_read();
        let frontmatter = match conversation.page().frontmatter() {
            Some(source) if !self.trusts(conversation, &source) => {
                if !is_store_read {
                    FrontmatterTrust::Unread
                } else if self.frontmatter(conversation).fault.as_ref().is_some_and(|fault| fault.lacks_trust) {
                    FrontmatterTrust::Missing(source.into())
                } else {
                    FrontmatterTrust::Settled
                }
            }
            _ => FrontmatterTrust::Settled,
        };
        let unvetted = if is_busy { Vec::new() } else { conversation.page().unvetted(&folder) };
        let references = if is_busy { Vec::new() } else { self.unvetted_references(conversation) };
        let references = references.into_iter().map(|(_, reference)| reference).collect();
        GateFacts { is_busy, is_store_read, frontmatter, unvetted, references, folder }
    }

    /// The user has answered whether they trust the frontmatter.
    pub(super) fn frontmatter_was_answered(&self, conversation: &Conversation, is_trusted: bool) {
        let answered = conversation.gate().frontmatter_was_answered(is_trusted);
        let Some((asked, wish)) = answered else { return };
        // The text may have changed since the question. Then the user has not seen what stands there now.
        if conversation.page().frontmatter().is_some_and(|source| FrontmatterCode::from(source) == asked) {
            self.adopt_frontmatter(conversation);
            self.keep_frontmatter(conversation, self.place(conversation).file);
        }
        self.want_alone(conversation, wish);
    }

    /// The user takes the frontmatter as their own.
    pub(super) fn adopt_frontmatter(&self, conversation: &Conversation) {
        if let Some(source) = conversation.page().frontmatter() {
            conversation.page().adopt(source.lines());
        }
    }

    /// What is trusted here stays so, for the file of this name: it was saved there, or the user just said so.
    pub(super) fn keep_frontmatter(&self, conversation: &Conversation, path: String) {
        let Some(source) = conversation.page().frontmatter() else { return };
        if !path.is_empty() && self.trusts(conversation, &source) {
            self.keep_trusted(path, source.code);
        }
    }

    /// Reads the store, away from the main thread, once. The wishes that wait for it go on then.
    pub(super) fn read_trust_store(&self) {
        let store = self.trust_store();
        if !store.begin_reading() {
            return;
        }
        let path = store.path().to_owned();
        // A store that cannot be read trusts nothing.
        let read = move || Trusted::read(&path).unwrap_or_default();
        if self.background().run(read, Self::trust_store_was_read).is_err() {
            self.trust_store_was_read(Trusted::default());
        }
    }

    fn trust_store_was_read(&self, trusted: Trusted) {
        self.trust_store().take(trusted);
        for conversation in self.conversations().all() {
            let wanted = conversation.gate().store_was_read();
            if let Some(wish) = wanted {
                self.want_alone(&conversation, wish);
            }
        }
    }

    /// Trusts the frontmatter of the conversation at `path` from now on, in later sessions too.
    pub(super) fn keep_trusted(&self, path: String, code: String) {
        if self.trust_store().insert(|trusted| trusted.insert(&path, &code)) {
            self.write_trust_store(move |store| trust::append(store, &path, &code));
        }
    }

    /// Lets the conversation at `path` show a file from now on, in later sessions too.
    pub(super) fn keep_trusted_file(&self, path: &str, file: PathBuf) {
        let is_news = self.trust_store().insert(|trusted| trusted.insert_file(path, &file));
        if is_news && !path.is_empty() {
            let path = path.to_owned();
            self.write_trust_store(move |store| trust::append_file(store, &path, &file));
        }
    }

    fn write_trust_store(&self, write: impl FnOnce(&Path) -> io::Result<()> + Send + 'static) {
        let store = self.trust_store().path().to_owned();
        let write = move || write(&store);
        let then = |workspace: &Self, written: io::Result<()>| {
            if let Err(error) = written {
                workspace.trust_was_not_kept(&error);
            }
        };
        if let Err(error) = self.background().run(write, then) {
            self.trust_was_not_kept(&error);
        }
    }

    /// Tells the user that the trust store could not be written; the log has every case.
    fn trust_was_not_kept(&self, error: &io::Error) {
        let store = self.trust_store().path().display();
        let message = format!("what you trust could not be saved in {store} ({error}); the next session asks again");
        self.log(Level::Warn, &message);
        if self.trust_store().begin_telling() {
            self.host().notify(Level::Warn, &message);
        }
    }
}

impl From<Source> for FrontmatterCode {
    fn from(Source { language, code }: Source) -> Self {
        Self { language, code }
    }
}
