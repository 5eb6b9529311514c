//! The effect of denials for `read` on other tools that read.
//!
//! `!read(~/.ssh/**)` applies to files and not only to one tool: a file that the user does not want to be read must not be
//! searched, listed or edited either. A call with such a file, or with a folder in which everything is denied, is denied. A
//! tool that is given a folder above it leaves it out, if it can ([`DeniedPaths`]); otherwise the user is asked. `!read`
//! without a pattern only applies to the tool.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::{PathBase, Rule, Subject, files::PathPattern, pattern::Likeness, rule::strictest};
use crate::{
    Decision, Disk,
    linked::{FilesBelow, Linked},
    paths::{self, plain},
};

/// The tool whose denials apply to all tools that read.
const READ: &str = "read";

/// The target that a call of a tool reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTarget<'a> {
    /// The file or folder that it reads.
    pub subject: Subject<'a>,
    /// Whether it leaves out the paths in [`DeniedPaths`].
    pub leaves_out_denied: bool,
}

/// The denials for `read` among rules.
fn denials(rules: &[Rule]) -> impl Iterator<Item = &Rule> {
    // With a pattern, it applies to paths, even if the pattern is `**`.
    rules.iter().filter(|rule| rule.denies && rule.tool == READ && rule.entry.contains('('))
}

/// The decision of denials for `read` about a call of another tool; `None` if they do not apply.
pub fn decide(rules: &[Rule], tool: &str, reading: Option<&ReadTarget<'_>>, path_base: &PathBase) -> Option<Decision> {
    let ReadTarget { subject, leaves_out_denied } = *reading.filter(|_| tool != READ)?;
    if let Subject::Paths(paths) = subject
        && paths.len() != 1
    {
        let one = |path| ReadTarget { subject: Subject::Paths(path), leaves_out_denied };
        let decisions = paths.chunks(1).map(|path| decide(rules, tool, Some(&one(path)), path_base));
        // Denials approve nothing: what they do not apply to is left to other rules.
        return strictest(decisions).flatten();
    }
    let mut found = Likeness::No;
    for rule in denials(rules) {
        let pattern = rule.pattern.as_ref().map(|pattern| pattern.path.as_ref());
        found = found.max(match (pattern, subject) {
            (None, _) => Likeness::Yes,
            (Some(Some(pattern)), Subject::Paths([path])) => match pattern.is_like(path, path_base) {
                // Paths that the tool leaves out need no question, as long as their location is known.
                Likeness::Maybe if leaves_out_denied && pattern.base(path_base).is_some() => Likeness::No,
                likeness => likeness,
            },
            (Some(_), _) => Likeness::Maybe,
        });
    }
    found.decision()
}

/// Whether a name is a URL, as Neovim sees it: `scheme://…`.
pub fn is_url(name: &Path) -> bool {
    let name = name.to_string_lossy();
    name.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// The paths that must not be read, for tools that encounter them.
#[derive(Clone, Debug, Default)]
pub struct DeniedPaths {
    /// The rule that denies everything.
    all: Option<String>,
    patterns: Vec<Denial>,
    disk: Disk,
    /// The files below the folders of the patterns, once somebody has asked for the names of a file.
    files: OnceLock<FilesBelow>,
}

/// What the rules say of the names of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names<'a> {
    /// None of them is denied.
    Allowed,
    /// One is denied.
    Denied {
        /// The rule.
        rule: &'a str,
        /// The name.
        name: PathBuf,
    },
    /// There are too many files in the folder of a rule to find out.
    Unknown {
        /// The rule.
        rule: &'a str,
    },
}

/// A rule with a pattern for paths.
#[derive(Clone, Debug)]
struct Denial {
    /// The rule, as the user wrote it.
    entry: String,
    pattern: PathPattern,
    /// The folder of the pattern as it is written.
    base: PathBuf,
    /// The same without `..`.
    plain: PathBuf,
    /// The same with links resolved, once somebody has asked for it.
    real: OnceLock<PathBuf>,
}

impl Denial {
    /// The folder of the pattern with links resolved.
    fn real(&self, disk: &Disk) -> &PathBuf {
        self.real.get_or_init(|| disk.real(&self.base))
    }
}

impl DeniedPaths {
    /// The paths that these rules deny. Where they lead is looked up when the first path is judged.
    pub fn new<'a>(rules: impl IntoIterator<Item = &'a [Rule]>, path_base: &PathBase) -> Self {
        let mut denied = Self { disk: path_base.disk.clone(), ..Self::default() };
        for rule in rules.into_iter().flat_map(denials) {
            let Some(pattern) = &rule.pattern else {
                denied.all.get_or_insert_with(|| rule.entry.clone());
                continue;
            };
            if let Some(pattern) = &pattern.path
                && let Some(base) = pattern.base(path_base)
            {
                let (entry, pattern) = (rule.entry.clone(), pattern.clone());
                let plain = plain(&base);
                denied.patterns.push(Denial { entry, pattern, base, plain, real: OnceLock::new() });
            }
        }
        denied
    }

    /// Whether nothing is denied.
    pub fn is_empty(&self) -> bool {
        self.all.is_none() && self.patterns.is_empty()
    }

    /// Whether a path is denied, as written or, for a link, by its target. `path` is absolute.
    pub fn contains(&self, path: &Path) -> bool {
        !self.is_empty()
            && (self.rule_about(path).is_some()
                || (self.disk.is_link(path) && self.rule_about(&self.disk.real(path)).is_some()))
    }

    /// The rule that denies a path as it is written. `path` is absolute.
    pub fn rule_about(&self, path: &Path) -> Option<&str> {
        let path = plain(path);
        let means = |denial: &Denial| {
            let bases = [&denial.plain, denial.real(&self.disk)];
            bases.iter().any(|base| denial.pattern.compare(&path, base, &self.disk) == Likeness::Yes)
        };
        self.all.as_deref().or_else(|| self.patterns.iter().find(|denial| means(denial)).map(|denial| &*denial.entry))
    }

    /// The rules with patterns, each with the folder of its pattern, or the file that it means.
    fn folders(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.patterns.iter().map(|denial| (&*denial.entry, denial.real(&self.disk).as_path()))
    }

    /// What the rules say of the names of a file, which is `None` for one that has no other name. This reads the disk when it is asked
    /// about the first file with several names.
    pub fn judge_names(&self, file: Option<Linked>) -> Names<'_> {
        let Some(file) = file.filter(|_| !self.is_empty()) else { return Names::Allowed };
        let below = self.files.get_or_init(|| FilesBelow::find(self.folders().map(|(_, folder)| folder)));
        let rule = |at: usize| self.folders().nth(at).map_or("", |(rule, _)| rule);
        let mut names = below.names_of(file);
        if let Some((at, name)) = names.find(|(at, name)| self.rule_about(name) == Some(rule(*at))) {
            return Names::Denied { rule: rule(at), name: name.to_owned() };
        }
        below.partial.map_or(Names::Allowed, |at| Names::Unknown { rule: rule(at) })
    }

    /// Whether there is something at a path, and it is denied, as written or by where its links lead, or may be, because it has several
    /// names. `path` is absolute. This reads the disk, unless nothing is denied.
    pub fn covers_existing(&self, path: &Path) -> bool {
        if self.is_empty() || !self.disk.is_there(path) {
            return false;
        }
        let is_linked = self.disk.is_linked(path);
        self.contains(path) || self.contains(&self.disk.real(path)) || is_linked
    }

    /// Whether a model may be told about something that has this name in the editor: the path of a file, or the name of a
    /// buffer. A relative path starts at `base`.
    ///
    /// A path is judged as written and by where its links lead. An empty name belongs to no file. Where a URL leads
    /// (`oil://…`) is not known, so it may be told only if nothing is denied. This reads the disk, unless nothing is denied.
    pub fn allows(&self, base: &Path, name: &Path) -> bool {
        if self.is_empty() || name.as_os_str().is_empty() {
            return true;
        }
        let path = paths::resolve(base, name);
        !is_url(name) && !self.contains(&path) && !self.contains(&self.disk.real(&path))
    }
}
