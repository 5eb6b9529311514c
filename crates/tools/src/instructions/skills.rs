//! Skills: folders with a `SKILL.md`, which the model loads by name.
//!
//! The user's own are in their home folder, and a project's at its root. Of two with one name, the user's own counts.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{InstructionFile, Reader, entries, front_matter::FrontMatter};
use flemma_text::one_line;

/// The folders that hold skills, below the home folder and the root of a project.
const FOLDERS: [&str; 2] = [".agents/skills", ".claude/skills"];

/// The file in the folder of a skill.
const FILE: &str = "SKILL.md";

/// The most skills, and the most characters of a name and of a description.
const MOST: usize = 200;
const LENGTHS: (usize, usize) = (64, 1_024);

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is that of its folder.
    pub name: String,
    /// When it is to be used.
    pub description: String,
    /// Its file.
    pub file: InstructionFile,
    /// Whether only the user loads it.
    pub is_for_user: bool,
}

/// Where skills are looked for.
#[derive(Clone, Debug)]
pub struct SkillFolders(Vec<(PathBuf, bool)>);

impl SkillFolders {
    /// Those of the user and of a project, each with whether it is the project's.
    pub fn new(home: Option<&Path>, root: Option<&Path>) -> Self {
        let below = |base: Option<&Path>, of_project| {
            let base = base.map(Path::to_owned);
            FOLDERS.iter().filter_map(move |folder| Some((base.as_ref()?.join(folder), of_project)))
        };
        Self(below(home, false).chain(below(root, true)).collect())
    }

    /// The names of folders in them, which may be those of skills.
    pub fn names(&self) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        self.0.iter().flat_map(|(folder, _)| entries(folder)).filter_map(|path| name(&path)).collect()
    }

    /// The files in which a skill of this name may be, the one that counts first, each with whether it is the project's.
    pub fn files(&self, name: &str) -> Vec<(PathBuf, bool)> {
        if !is_name(name) {
            return Vec::new();
        }
        self.0.iter().map(|(folder, of_project)| (folder.join(name).join(FILE), *of_project)).collect()
    }
}

/// The skills of a conversation, by name.
pub(super) fn find(reader: &Reader<'_>, root: Option<&Path>, left_out: &mut Vec<(String, String)>) -> Vec<Skill> {
    let folders = SkillFolders::new(reader.search.home.as_deref(), root);
    let mut found: BTreeMap<String, Skill> = BTreeMap::new();
    for (folder, of_project) in &folders.0 {
        let within = if *of_project { root } else { reader.search.home.as_deref() };
        for path in entries(folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if found.contains_key(&name) || found.len() >= MOST {
                continue;
            }
            let Some(file) = within.and_then(|within| reader.read(&path.join(FILE), within, *of_project, left_out))
            else {
                continue;
            };
            match skill(name, file) {
                Ok(skill) => drop(found.insert(skill.name.clone(), skill)),
                Err(problem) => left_out.push(problem),
            }
        }
    }
    found.into_values().collect()
}

/// Reads a skill. If it is not one, says why.
fn skill(name: String, file: InstructionFile) -> Result<Skill, (String, String)> {
    if !is_name(&name) {
        let words = "the name of its folder is not of 1 to 64 lower-case letters, digits and `-`";
        return Err((file.name, words.to_owned()));
    }
    let matter = FrontMatter::read(&file.text);
    let Some(description) = matter.get("description") else {
        return Err((file.name, "it has no `description`".to_owned()));
    };
    let description = one_line(description, LENGTHS.1);
    let is_for_user = is_for_user(&file.text);
    Ok(Skill { name, description, is_for_user, file })
}

fn is_name(name: &str) -> bool {
    let is_of_name = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    (1..=LENGTHS.0).contains(&name.len()) && name.chars().all(is_of_name)
}

/// Whether only the user loads a skill with this text.
pub fn is_for_user(text: &str) -> bool {
    FrontMatter::read(text).is_true("disable-model-invocation")
}

/// The text of a skill without its front matter.
pub fn body(text: &str) -> &str {
    FrontMatter::read(text).body.trim()
}
