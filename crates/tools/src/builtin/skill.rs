//! `skill`: loads a skill by its name.
//!
//! It looks in the folders of the user and of the project, as the instructions of the conversation do
//! ([`crate::instructions`]), and gives the text as it is now.

use std::{env, path::Path};

use serde_json::Value;

use super::{deadline::Deadline, guard::Guard, text, tool::Looking};
use crate::{
    Bounds, Context, Outcome,
    instructions::{InstructionFile, SkillFolders, body, is_for_user},
    paths::real,
    project,
};
use flemma_model::{Digest, ModelError};
use flemma_text::escape_controls;

/// The most files of a skill that are named.
const MOST_FILES: usize = 50;

/// The tool.
pub(super) const TOOL: Looking = Looking { look: skill, preview };

fn preview(input: &Value) -> Option<String> {
    input.get("name")?.as_str().map(str::to_owned)
}

fn skill(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let name = text(input, "name")?;
    let deadline = Deadline::new(context);
    let base = context.chat_dir.as_ref().unwrap_or(&context.cwd);
    let home = env::home_dir();
    let root = project::root(base, home.as_deref());
    let files = SkillFolders::new(home.as_deref(), root.as_deref()).files(name);
    let Some((path, of_project)) = files.into_iter().find(|(path, _)| path.is_file()) else {
        bail!("There is no skill `{}`. The instructions list those that there are.", escape_controls(name));
    };
    let shown = path.to_string_lossy();
    let guard = Guard::new(context, Bounds::Readable);
    let (file, _) = guard.open_regular(&path, &shown)?;
    let whole = InstructionFile::read_from(file).map_err(|error| guard.problem(&path, &shown, &error))?;
    let found = real(&path);
    let is_own = !of_project && home.as_ref().is_some_and(|home| found.starts_with(real(home)));
    let is_trusted = || {
        let known = context.instructions.get(&*found.to_string_lossy());
        known.is_some_and(|known| *known == Digest::of(whole.as_bytes()).to_string())
    };
    ensure!(
        is_own || is_trusted(),
        "The user has not trusted the skill `{name}` of this project as it is now. Tell them: `:Flemma rules` asks them."
    );
    ensure!(!is_for_user(&whole), "Only the user may load the skill `{name}`.");
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut others: Vec<String> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if deadline.stopped().is_some() || others.len() >= MOST_FILES || context.hides(&path) {
                continue;
            } else if kind.is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if let Ok(below) = path.strip_prefix(folder)
                && below != Path::new("SKILL.md")
            {
                others.push(escape_controls(&below.to_string_lossy()).into_owned());
            }
        }
    }
    others.sort();
    let files = if others.is_empty() { String::new() } else { format!("\nIts files: {}", others.join(", ")) };
    let head =
        format!("Skill `{name}`, in {}. Paths in it start there.{files}", escape_controls(&folder.to_string_lossy()));
    Ok(Outcome::text(format!("{head}\n\n{}", body(&whole))))
}
