//! Trust: what has to happen before the user's wish may reach the session.
//!
//! A file may come from a stranger, with code and policy in its frontmatter and with references to files of the user's and to what
//! their editor shows.
//! The [`Gate`] is a pure state machine. It is given what the file brought, what the user did and what the store holds, and
//! answers with an [`Admission`]: go, ask about the frontmatter, ask about files and references, find out where files lead, or read the store.
//! The wish waits in the gate until the answer is there; a later wish takes its place.
//!
//! Only [`Gate::want`] lets a wish through, by the [`GateFacts`] of that moment. Every answer therefore leads back to it: while
//! the user thinks about a question, the text may change.
//!
//! What the user wrote in this session is theirs ([`flemma_chat::Provenance`]). Everything else is theirs if they said so
//! before (`trust_store`).

pub(crate) mod gatekeeper;
pub(crate) mod store;

use std::{ops::Range, path::PathBuf};

use crate::ports::AskedFile;
use flemma_agent::Input;
use flemma_chat::{Document, Text};
use flemma_model::CallId;
use flemma_runtime::ExternalFile;

/// What the user wants of a conversation. It may have to wait until it is known who holds the conversation
/// (`holding`), and whether its file is trusted.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// Something for the session.
    Input(Input),
    /// Something that was recorded, and only has to be carried out.
    Recorded(Input),
    /// Approve these calls, and all like them from now on.
    AlwaysApprove(Vec<CallId>),
    /// Take in the rules and skills of the project as they are now.
    TakeInstructions,
}

impl Wish {
    /// Whether it decides about one of these calls.
    pub(crate) fn decides_about(&self, calls: &[CallId]) -> bool {
        match self {
            Self::Input(Input::Decide(ids, ..)) | Self::AlwaysApprove(ids) => ids.iter().any(|id| calls.contains(id)),
            Self::Input(Input::Execute(id)) => calls.contains(id),
            Self::Input(_) | Self::Recorded(_) | Self::TakeInstructions => false,
        }
    }
}

impl From<Input> for Wish {
    fn from(input: Input) -> Self {
        Self::Input(input)
    }
}

/// What is known when the user wants something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateFacts {
    /// Whether a reply or a tool is at work: a wish then is about that, and nothing new is sent for it.
    pub is_busy: bool,
    /// Whether the trust store has been read.
    pub is_store_read: bool,
    /// Whether the frontmatter is trusted.
    pub frontmatter: FrontmatterTrust,
    /// The files that the text names and that may not be the user's to show.
    pub unvetted: Vec<PathBuf>,
    /// The references to what the editor shows that may not be the user's, as they are written.
    pub references: Vec<String>,
    /// Where relative paths start.
    pub folder: PathBuf,
    /// Whether instructions have to be found first.
    pub lacks_instructions: bool,
}

impl GateFacts {
    /// Whether a wish would go to the session at once.
    pub fn is_free(&self) -> bool {
        let is_vetted = self.unvetted.is_empty() && self.references.is_empty();
        self.frontmatter == FrontmatterTrust::Settled && is_vetted
    }
}

/// Whether the user trusts a file's frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontmatterTrust {
    /// They do, or nothing in it needs trust.
    Settled,
    /// The store would have to say, and has not been read.
    Unread,
    /// They do not, and it needs trust.
    Missing(FrontmatterCode),
}

/// Frontmatter as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontmatterCode {
    /// The language, as its fence names it.
    pub language: String,
    /// What stands between the fences.
    pub code: String,
}

impl FrontmatterCode {
    /// The frontmatter of a document, if it has any that is complete.
    pub(crate) fn of(document: &Document, text: &dyn Text) -> Option<Self> {
        let matter = document.frontmatter().filter(|matter| matter.closed)?;
        let mut code = String::new();
        text.read(1..matter.lines - 1, &mut |line: &str| {
            code.push_str(line);
            code.push('\n');
        });
        Some(Self { language: matter.language.clone(), code })
    }

    /// The lines between the fences.
    pub(crate) fn lines(&self) -> Range<usize> {
        1..1 + self.code.lines().count()
    }
}

/// Files to be located for one wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSearch {
    /// Tells this search from every other one of the same gate.
    pub number: u64,
    /// The files.
    pub files: Vec<PathBuf>,
    /// References to what the editor shows, which have no place: the user is asked about all of them.
    pub references: Vec<String>,
    /// Where relative paths start.
    pub folder: PathBuf,
}

/// What happens to the user's wish.
#[expect(missing_docs, reason = "what is said of an admission says what its fields are")]
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// Nothing: the gate waits, or there is nothing that it waits for.
    Wait,
    /// Read the trust store, then call [`Gate::store_was_read`].
    ReadStore,
    /// Ask the user whether they trust the frontmatter in this language, then call [`Gate::frontmatter_was_answered`].
    AskFrontmatter { language: String },
    /// Find out where these files lead, then call [`Gate::files_were_located`].
    Locate(FileSearch),
    /// Ask the user whether the conversation may show these files and what the editor shows by these references, then call
    /// [`Gate::files_were_answered`].
    AskFiles { files: Vec<ExternalFile>, references: Vec<String> },
    /// Find the instructions, then call [`Gate::instructions_were_found`] with this number.
    FindInstructions { number: u64 },
    /// Ask the user whether these files may instruct the model, then call [`Gate::instructions_were_answered`].
    AskInstructions { files: Vec<AskedFile> },
    /// The wish is wanted again.
    Again(Wish),
    /// The files of a search may be sent from now on; of those that the user has just allowed, the store keeps that. Then the wish is
    /// wanted again.
    Vet { search: FileSearch, allowed: Vec<ExternalFile>, wish: Wish },
    /// The wish goes to the session.
    Go(Wish),
}

/// Holds back what the user wants until it may be done.
#[derive(Debug, Default)]
pub struct Gate {
    held: Option<HeldWish>,
    searches: u64,
}

/// A wish, and what it waits for.
#[derive(Debug)]
enum HeldWish {
    Store(Wish),
    Frontmatter { wish: Wish, code: FrontmatterCode },
    Places { wish: Wish, search: FileSearch },
    Files { wish: Wish, search: FileSearch, asked: Vec<ExternalFile> },
    Instructions { wish: Wish, number: u64 },
    AskedInstructions(Wish),
}

impl Gate {
    /// The user wants something.
    pub fn want(&mut self, wish: Wish, facts: GateFacts) -> Admission {
        self.held = None;
        match facts.frontmatter {
            FrontmatterTrust::Unread => return self.wait_for_store(wish),
            FrontmatterTrust::Missing(code) if !facts.is_busy => {
                let language = code.language.clone();
                self.held = Some(HeldWish::Frontmatter { wish, code });
                return Admission::AskFrontmatter { language };
            }
            FrontmatterTrust::Missing(_) | FrontmatterTrust::Settled => {}
        }
        let is_vetted = facts.unvetted.is_empty() && facts.references.is_empty();
        if facts.is_busy || (is_vetted && !facts.lacks_instructions) {
            return Admission::Go(wish);
        }
        if !facts.is_store_read {
            return self.wait_for_store(wish);
        }
        self.searches += 1;
        if is_vetted {
            let number = self.searches;
            self.held = Some(HeldWish::Instructions { wish, number });
            return Admission::FindInstructions { number };
        }
        let GateFacts { unvetted: files, references, folder, .. } = facts;
        let search = FileSearch { number: self.searches, files, references, folder };
        self.held = Some(HeldWish::Places { wish, search: search.clone() });
        Admission::Locate(search)
    }

    fn wait_for_store(&mut self, wish: Wish) -> Admission {
        self.held = Some(HeldWish::Store(wish));
        Admission::ReadStore
    }

    /// The user takes back what they wanted. Says whether something waited.
    pub fn cancel(&mut self) -> bool {
        self.held.take().is_some()
    }

    /// Whether something waits for the disk, and goes on without the user.
    pub fn is_reading(&self) -> bool {
        matches!(self.held, Some(HeldWish::Store(_) | HeldWish::Places { .. } | HeldWish::Instructions { .. }))
    }

    /// Whether something waits.
    pub fn is_waiting(&self) -> bool {
        self.held.is_some()
    }

    /// Whether the user is asked about instructions.
    pub(crate) fn asks_about_instructions(&self) -> bool {
        matches!(self.held, Some(HeldWish::AskedInstructions(_)))
    }

    /// Whether the user is asked about files.
    pub(crate) fn asks_about_files(&self) -> bool {
        matches!(self.held, Some(HeldWish::Files { .. }))
    }

    /// The store has been read. Gives the wish that waited for it, to be wanted again.
    pub fn store_was_read(&mut self) -> Option<Wish> {
        match self.held.take_if(|held| matches!(held, HeldWish::Store(_))) {
            Some(HeldWish::Store(wish)) => Some(wish),
            _ => None,
        }
    }

    /// The user has answered about the frontmatter. If they trust it, gives what they were asked about, which alone is
    /// trusted, and the wish that waited for it, to be wanted again.
    pub fn frontmatter_was_answered(&mut self, is_trusted: bool) -> Option<(FrontmatterCode, Wish)> {
        match self.held.take_if(|held| matches!(held, HeldWish::Frontmatter { .. })) {
            Some(HeldWish::Frontmatter { wish, code }) if is_trusted => Some((code, wish)),
            _ => None,
        }
    }

    /// It is known that of the files of `search` these lead outside the conversation's folder. `is_allowed` says what the
    /// store holds about one. What was located for an earlier wish says nothing about this one.
    pub fn files_were_located(
        &mut self,
        search: &FileSearch,
        outside: Vec<ExternalFile>,
        is_allowed: impl Fn(&ExternalFile) -> bool,
    ) -> Admission {
        let is_meant =
            |held: &mut HeldWish| matches!(held, HeldWish::Places { search: of, .. } if of.number == search.number);
        let Some(HeldWish::Places { wish, search }) = self.held.take_if(is_meant) else { return Admission::Wait };
        let asked: Vec<_> = outside.into_iter().filter(|file| !is_allowed(file)).collect();
        if asked.is_empty() && search.references.is_empty() {
            return Admission::Vet { search, allowed: Vec::new(), wish };
        }
        let references = search.references.clone();
        self.held = Some(HeldWish::Files { wish, search, asked: asked.clone() });
        Admission::AskFiles { files: asked, references }
    }

    /// The instructions are found for the wish with this number. The user does not trust these files of them yet.
    pub fn instructions_were_found(&mut self, number: u64, files: Vec<AskedFile>) -> Admission {
        let is_meant = |held: &mut HeldWish| matches!(held, HeldWish::Instructions { number: of, .. } if *of == number);
        let Some(HeldWish::Instructions { wish, .. }) = self.held.take_if(is_meant) else { return Admission::Wait };
        if files.is_empty() {
            return Admission::Again(wish);
        }
        self.held = Some(HeldWish::AskedInstructions(wish));
        Admission::AskInstructions { files }
    }

    /// The user has answered about instructions: gives the wish that waited for it, to be wanted again.
    pub fn instructions_were_answered(&mut self) -> Option<Wish> {
        match self.held.take_if(|held| matches!(held, HeldWish::AskedInstructions(_))) {
            Some(HeldWish::AskedInstructions(wish)) => Some(wish),
            _ => None,
        }
    }

    /// The user has answered about files.
    pub fn files_were_answered(&mut self, is_allowed: bool) -> Admission {
        match self.held.take_if(|held| matches!(held, HeldWish::Files { .. })) {
            Some(HeldWish::Files { wish, search, asked }) if is_allowed => {
                Admission::Vet { search, allowed: asked, wish }
            }
            _ => Admission::Wait,
        }
    }
}
