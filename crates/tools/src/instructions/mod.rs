//! Instructions: what people keep in their folders for agents, as it is found on the disk.
//!
//! Rules (`rules`) are sent whole. Of skills (`skills`), the model gets the names and descriptions, and loads one with the tool
//! `skill`. What the user may not show, or what leads out of its project, is left out, and said. Everything here blocks on the disk.

mod front_matter;
mod prompts;
mod rules;
mod skills;

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

pub use self::{
    prompts::Prompts,
    skills::{Skill, SkillFolders, body, is_for_user},
};
use crate::{
    builtin::{Readable, Unread},
    file_class::git_directory,
    paths::{plain, real},
};
use flemma_model::UserError;
use flemma_text::{
    escape_controls,
    truncate::{Limits, truncate_head},
};

/// The most bytes of one file, and of all rules together.
const LIMITS: (usize, usize) = (32 * 1024, 96 * 1024);

/// The most bytes of a file that are read: with one more than there is room for, it is known that there are more.
const MOST_BYTES: u64 = LIMITS.1 as u64 + 1;

/// The most entries of folders that are looked at.
const MOST_ENTRIES: usize = 5_000;

/// The longest name of a branch that is told.
const LONGEST_BRANCH: usize = 60;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// Where relative paths of the conversation start; absolute.
    pub folder: PathBuf,
    /// The root of its project, with links resolved; `None` if it has none.
    pub root: Option<PathBuf>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The folder of the user's configuration, `~/.config`.
    pub config: Option<PathBuf>,
    /// Whether files with rules are read.
    pub rules: bool,
    /// Whether skills are looked for.
    pub skills: bool,
}

/// A file with instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// Where it is, with links resolved.
    pub path: PathBuf,
    /// Its name as users know it: below the project, or with `~`.
    pub name: String,
    /// What is in the file, up to a limit: this is what users trust.
    pub whole: String,
    /// What of it is for the model, as far as there is room.
    pub text: String,
    /// How much of it is there, if not all: `512 of 3000 lines`.
    pub cut: Option<String>,
    /// Whether it belongs to the project, whose files anybody may have written.
    pub of_project: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The root of the project; `None` for a conversation outside of one.
    pub root: Option<PathBuf>,
    /// The branch that is checked out there, or the beginning of the commit.
    pub branch: Option<String>,
    /// The rules, the more general ones first.
    pub rules: Vec<InstructionFile>,
    /// Rules for a part of the project, which the model reads when it works there: each with what it is about.
    pub nested: Option<InstructionFile>,
    /// The skills, by name.
    pub skills: Vec<Skill>,
    /// What was left out: each a name, and why.
    pub left_out: Vec<(String, String)>,
}

impl Instructions {
    /// Looks for the instructions of a conversation. A file is read if it may be shown in it.
    pub fn find(search: &Search, readable: &Readable) -> Self {
        let root = search.root.clone();
        let mut found = Self { branch: root.as_deref().and_then(branch), root, ..Self::default() };
        let reader = Reader { search, readable };
        if search.rules {
            rules::find(&reader, &mut found);
        }
        if search.skills {
            found.skills = skills::find(&reader, found.root.as_deref(), &mut found.left_out);
        }
        let mut room = LIMITS.1;
        found.rules.retain_mut(|file| {
            let is_room = room > 0;
            if is_room {
                file.cut_to(room.min(LIMITS.0));
                room = room.saturating_sub(file.text.len());
            } else {
                found.left_out.push((file.name.clone(), "there is no room for it".to_owned()));
            }
            is_room
        });
        found
    }

    /// The files of the project, which the user has to trust.
    pub fn of_project(&self) -> impl Iterator<Item = &InstructionFile> {
        let skills = self.skills.iter().map(|skill| &skill.file);
        self.rules.iter().chain(&self.nested).chain(skills).filter(|file| file.of_project)
    }

    /// Leaves out what the project says.
    pub fn leave_out_project(&mut self) {
        self.rules.retain(|file| !file.of_project);
        self.skills.retain(|skill| !skill.file.of_project);
        self.nested = None;
    }
}

impl InstructionFile {
    /// What is in the file at a path, as [`whole`](Self::whole) has it; `None` if it cannot be read.
    pub fn read_whole(path: &Path) -> Option<String> {
        Self::read_from(fs::File::open(path).ok()?).ok()
    }

    pub(crate) fn read_from(file: fs::File) -> io::Result<String> {
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn cut_to(&mut self, bytes: usize) {
        let cut = truncate_head(&self.text, Limits { bytes, lines: usize::MAX });
        if cut.truncated {
            self.cut = Some(format!("{} of {} lines", cut.output_lines, cut.total_lines));
            self.text = cut.content.into_owned();
        }
    }
}

/// Reads the files of a search.
struct Reader<'a> {
    search: &'a Search,
    readable: &'a Readable,
}

impl Reader<'_> {
    /// Reads a file that may be there. It must not lead out of `within`. `None` where there is no such file; what may not be read is
    /// noted.
    fn read(
        &self,
        path: &Path,
        within: &Path,
        of_project: bool,
        left_out: &mut Vec<(String, String)>,
    ) -> Option<InstructionFile> {
        if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        let name = self.name(path, within, of_project);
        match self.read_judged(path, within) {
            Ok((path, whole)) => {
                let text = whole.strip_prefix('\u{feff}').unwrap_or(&whole).to_owned();
                Some(InstructionFile { path, name, whole, text, cut: None, of_project })
            }
            Err(why) => {
                left_out.push((name, why.to_string()));
                None
            }
        }
    }

    /// Where a file is that may be read, and what is in it; or why it may not. The file that was opened is judged.
    fn read_judged(&self, path: &Path, within: &Path) -> Result<(PathBuf, String), UserError> {
        let (file, found) = self.readable.open_judged(path, path).map_err(|problem| match problem {
            Unread::Refused(problem) => problem,
            Unread::Failed(error) => UserError::new(error.to_string()),
        })?;
        let within = real(within);
        if !found.starts_with(&within) {
            let words = format!("it leads to {}, outside of {}", found.display(), within.display());
            return Err(UserError::new(words));
        }
        let is_hidden = |found: &Path| {
            let below = found.strip_prefix(&within).unwrap_or(found);
            below.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        };
        // A link must lead to what such a file is usually called.
        let own = real(path.parent().unwrap_or(path)).join(path.file_name().unwrap_or_default());
        if found != own && (is_hidden(&found) && !is_hidden(&own) || !is_text(&found) && is_text(path)) {
            return Err(UserError::new(format!("it leads to {}, which has no rules by its name", found.display())));
        }
        Ok((found, InstructionFile::read_from(file).map_err(|error| UserError::new(error.to_string()))?))
    }

    fn name(&self, path: &Path, within: &Path, of_project: bool) -> String {
        let below = |folder: &Path| path.strip_prefix(folder).map(|below| below.to_string_lossy().into_owned()).ok();
        let path = &*plain(path);
        let name = match (of_project, &self.search.home) {
            (true, _) => below(within),
            (false, Some(home)) => below(home).map(|below| format!("~/{below}")),
            (false, None) => None,
        };
        escape_controls(&name.unwrap_or_else(|| path.to_string_lossy().into_owned())).into_owned()
    }
}

/// The folders from the root of a project down to one in it.
fn folders_down(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let folder = real(folder);
    let mut found: Vec<PathBuf> =
        folder.ancestors().take_while(|above| above.starts_with(root)).map(Path::to_owned).collect();
    found.reverse();
    if found.is_empty() {
        found.push(root.to_owned());
    }
    found
}

/// The entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = read.take(MOST_ENTRIES).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Whether a file has text for people, by its name.
fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["md", "mdc", "txt"].iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// The branch that is checked out in a repository of git, or the beginning of the commit. Nobody has to trust it, so it is not more
/// than a name.
fn branch(root: &Path) -> Option<String> {
    let head = git_directory(root).unwrap_or_else(|| root.join(".git")).join("HEAD");
    // A pipe would wait for a writer, and a link could lead anywhere.
    head.symlink_metadata().ok().filter(|found| found.is_file())?;
    let mut text = String::new();
    fs::File::open(head).ok()?.take(256).read_to_string(&mut text).ok()?;
    let text = text.trim();
    let is_commit = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = text.strip_prefix("ref: refs/heads/").or_else(|| text.get(..8).filter(|_| is_commit))?;
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || "._/-".contains(char);
    ((1..=LONGEST_BRANCH).contains(&name.len()) && name.chars().all(is_of_name)).then(|| name.to_owned())
}
