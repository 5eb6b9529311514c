//! Trust: what has to happen before the user's wish may reach the session.
//!
//! A file may come from a stranger, with code and policy in its frontmatter and with references to files of the user's.
//! The [`Gate`] is a pure state machine. It is given what the file brought, what the user did and what the store holds, and
//! answers with an [`Admission`]: go, ask about the frontmatter, ask about files, find out where files lead, or read the store.
//! The wish waits in the gate until the answer is there; a later wish takes its place.
//!
//! What the user wrote in this session is theirs ([`crate::chat::Provenance`]). Everything else is theirs if they said so
//! before ([`super::trust_store`]).

use std::path::PathBuf;

use crate::{agent::Input, runtime::ExternalFile};

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
}

/// Whether the user trusts a file's frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontmatterTrust {
    /// They do, or nothing in it needs trust.
    Settled,
    /// The store would have to say, and has not been read.
    Unread,
    /// They do not, and it needs trust. The language is the one that its fence names.
    Missing {
        /// The language.
        language: String,
    },
}

/// What happens to the user's wish.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// Nothing: the gate waits, or there is nothing that it waits for.
    Wait,
    /// Read the trust store, then call [`Gate::store_was_read`].
    ReadStore,
    /// Ask the user whether they trust the frontmatter, then call [`Gate::frontmatter_was_answered`].
    AskFrontmatter {
        /// The language.
        language: String,
    },
    /// Find out where these files lead, then call [`Gate::files_were_located`].
    Locate(Vec<PathBuf>),
    /// Ask the user whether the conversation may show these files, then call [`Gate::files_were_answered`].
    AskFiles(Vec<ExternalFile>),
    /// The wish goes to the session.
    Go {
        /// The wish.
        input: Input,
        /// Files that may be sent from now on.
        vetted: Vec<PathBuf>,
        /// Of those, the ones that the user has just allowed; the store keeps that.
        allowed: Vec<ExternalFile>,
    },
}

impl Admission {
    fn go(input: Input) -> Self {
        Self::Go { input, vetted: Vec::new(), allowed: Vec::new() }
    }
}

/// Holds back what the user wants until it may be done.
#[derive(Debug, Default)]
pub struct Gate {
    held: Option<HeldInput>,
}

/// A wish, and what it waits for.
#[derive(Debug)]
enum HeldInput {
    Store(Input),
    Frontmatter(Input),
    Places { input: Input, files: Vec<PathBuf> },
    Files { input: Input, files: Vec<PathBuf>, asked: Vec<ExternalFile> },
}

impl Gate {
    /// The user wants something.
    pub fn want(&mut self, input: Input, facts: GateFacts) -> Admission {
        self.held = None;
        match facts.frontmatter {
            FrontmatterTrust::Unread => return self.wait_for_store(input),
            FrontmatterTrust::Missing { language } if !facts.is_busy => {
                self.held = Some(HeldInput::Frontmatter(input));
                return Admission::AskFrontmatter { language };
            }
            FrontmatterTrust::Missing { .. } | FrontmatterTrust::Settled => {}
        }
        if facts.is_busy || facts.unvetted.is_empty() {
            return Admission::go(input);
        }
        if !facts.is_store_read {
            return self.wait_for_store(input);
        }
        self.held = Some(HeldInput::Places { input, files: facts.unvetted.clone() });
        Admission::Locate(facts.unvetted)
    }

    fn wait_for_store(&mut self, input: Input) -> Admission {
        self.held = Some(HeldInput::Store(input));
        Admission::ReadStore
    }

    /// The store has been read. Gives the wish that waited for it, to be wanted again.
    pub fn store_was_read(&mut self) -> Option<Input> {
        let Some(HeldInput::Store(_)) = &self.held else { return None };
        self.take()
    }

    /// The user has answered about the frontmatter. Gives the wish that waited for it if they trust it, to be wanted
    /// again.
    pub fn frontmatter_was_answered(&mut self, is_trusted: bool) -> Option<Input> {
        let Some(HeldInput::Frontmatter(_)) = &self.held else { return None };
        self.take().filter(|_| is_trusted)
    }

    /// It is known that of the files `located` these lead outside the conversation's folder. `is_allowed` says what the
    /// store holds about one. What was located for an earlier wish says nothing about this one.
    pub fn files_were_located(
        &mut self,
        located: &[PathBuf],
        outside: Vec<ExternalFile>,
        is_allowed: impl Fn(&ExternalFile) -> bool,
    ) -> Admission {
        let Some(HeldInput::Places { input, files }) = self.held.take_if(|held| held.waits_for(located)) else {
            return Admission::Wait;
        };
        let asked: Vec<_> = outside.into_iter().filter(|file| !is_allowed(file)).collect();
        if asked.is_empty() {
            return Admission::Go { input, vetted: files, allowed: Vec::new() };
        }
        self.held = Some(HeldInput::Files { input, files, asked: asked.clone() });
        Admission::AskFiles(asked)
    }

    /// The user has answered about files.
    pub fn files_were_answered(&mut self, is_allowed: bool) -> Admission {
        match self.held.take_if(|held| matches!(held, HeldInput::Files { .. })) {
            Some(HeldInput::Files { input, files, asked }) if is_allowed => {
                Admission::Go { input, vetted: files, allowed: asked }
            }
            _ => Admission::Wait,
        }
    }

    fn take(&mut self) -> Option<Input> {
        match self.held.take()? {
            HeldInput::Store(input)
            | HeldInput::Frontmatter(input)
            | HeldInput::Places { input, .. }
            | HeldInput::Files { input, .. } => Some(input),
        }
    }
}

impl HeldInput {
    /// Whether this wish waits to know where these files lead.
    fn waits_for(&self, located: &[PathBuf]) -> bool {
        matches!(self, Self::Places { files, .. } if files == located)
    }
}
