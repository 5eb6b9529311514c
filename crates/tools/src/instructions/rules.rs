//! Rules: `AGENTS.md`, and what other programs call it.
//!
//! Of each folder from the project's root down to the conversation's, the first of [`NAMES`] counts; below come the folders of rules
//! that apply to everything. What `@path` in a rule names is read, too. The rules of folders below, and rules for some files, are only
//! named: the model reads them when it works there.

use std::path::{Component, Path, PathBuf};

use super::{
    InstructionFile, Instructions, MOST_ENTRIES, Reader, entries, folders_down, front_matter::FrontMatter, is_text,
};
use crate::{
    ignore_files::{GitRules, IgnoreFiles},
    paths::{plain, real, resolve},
};
use flemma_text::{escape_controls, one_line};

/// The names of a file with rules, the first that is there counts.
const NAMES: [&str; 9] = [
    "AGENTS.md",
    "CLAUDE.md",
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".goosehints",
    ".github/copilot-instructions.md",
    "GEMINI.md",
];

/// The folders with more rules, each with the end of their names, the key that says for which files one is, and the value of
/// another key that makes it one for all.
const FOLDERS: [(&str, &str, &str, &str); 4] = [
    (".cursor/rules", ".mdc", "globs", "alwaysApply"),
    (".github/instructions", ".instructions.md", "applyTo", ""),
    (".clinerules", ".md", "paths", ""),
    (".claude/rules", ".md", "paths", ""),
];

/// What the rules that are only named are called together.
const MORE: &str = "more rules";

/// How deep imports may be, how deep folders are searched for rules of their own, and how many are named.
const DEPTHS: (usize, usize) = (5, 3);
const MOST_NAMED: usize = 50;

/// The most characters of what is said of one.
const LONGEST: usize = 200;

/// Finds the rules of a conversation.
pub(super) fn find(reader: &Reader<'_>, found: &mut Instructions) {
    let search = reader.search;
    let own = [
        search.config.as_ref().map(|config| config.join("flemma/AGENTS.md")),
        search.config.as_ref().map(|config| config.join("AGENTS.md")),
        search.home.as_ref().map(|home| home.join(".claude/CLAUDE.md")),
    ];
    // The first of the user's own counts, too: people link them to each other.
    for path in own.into_iter().flatten() {
        let folder = path.parent().unwrap_or(&path).to_owned();
        let within = search.home.clone().filter(|home| path.starts_with(home)).unwrap_or(folder);
        if add(reader, found, &path, &within, false, 0) {
            break;
        }
    }
    let Some(root) = found.root.clone() else { return };
    let mut nested = Vec::new();
    for folder in folders_down(&root, &search.folder) {
        for name in NAMES {
            if add(reader, found, &folder.join(name), &root, true, 0) {
                break;
            }
        }
        for (below, end, globs, always) in FOLDERS {
            add_folder(reader, found, &mut nested, (&folder.join(below), &root), (end, globs, always));
        }
    }
    name_nested(found, &mut nested, &root);
    if !nested.is_empty() {
        let lines =
            nested.iter().map(|(file, about)| format!("- {}: {}", one_line(file, LONGEST), one_line(about, LONGEST)));
        let head = "Read these before you work on what they are about:";
        let text = [head.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
        let (path, name) = (root.join(MORE), MORE.to_owned());
        found.nested = Some(InstructionFile { path, name, whole: text.clone(), text, cut: None, of_project: true });
    }
}

/// Adds a file, and what it imports. Says whether it is there.
fn add(
    reader: &Reader<'_>,
    found: &mut Instructions,
    path: &Path,
    within: &Path,
    of_project: bool,
    depth: usize,
) -> bool {
    let Some(mut file) = reader.read(path, within, of_project, &mut found.left_out) else { return false };
    file.text = FrontMatter::read(&file.text).body.trim().to_owned();
    if file.text.is_empty() {
        return false;
    }
    if found.rules.iter().any(|other| other.path == file.path || other.text == file.text) {
        return true;
    }
    let folder = path.parent().unwrap_or(path).to_owned();
    let imports = if depth < DEPTHS.0 { imports(&file.text, &folder) } else { Vec::new() };
    found.rules.push(file);
    for import in imports.into_iter().filter(|import| plain(import).starts_with(within)) {
        add(reader, found, &import, within, of_project, depth + 1);
    }
    true
}

/// The files that lines of rules name by `@path`: those in code are none.
fn imports(text: &str, folder: &Path) -> Vec<PathBuf> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let prose = line.split('`').step_by(2).filter(|_| !is_code);
        let words = prose.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('@'));
        let files = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', ')']));
        // Anything else may be a secret of the user's that the project wants to have sent.
        let is_import = |file: &&str| is_text(Path::new(file)) && !file.starts_with('.') && !file.contains("/.");
        found.extend(
            files
                .map(|file| file.trim_start_matches("./"))
                .filter(is_import)
                .map(|file| resolve(folder, Path::new(file))),
        );
    }
    found
}

/// Adds the rules of a folder that apply to everything, and names the others.
fn add_folder(
    reader: &Reader<'_>,
    found: &mut Instructions,
    nested: &mut Vec<(String, String)>,
    (folder, root): (&Path, &Path),
    (end, globs, always): (&str, &str, &str),
) {
    for path in entries(folder).into_iter().filter(|path| path.to_string_lossy().ends_with(end)) {
        let Some(file) = reader.read(&path, root, true, &mut found.left_out) else { continue };
        let matter = FrontMatter::read(&file.text);
        let of =
            matter.get(globs).map(|of| of.trim_matches(['[', ']'])).filter(|of| !matches!(*of, "**" | "*" | "**/*"));
        if matter.is_true(always) || (of.is_none() && always.is_empty()) {
            add(reader, found, &path, root, true, 0);
        } else {
            let about = of.or(matter.get("description")).unwrap_or("when the user names it");
            nested.push((file.name, about.to_owned()));
        }
    }
}

/// Names the rules of folders below the root that are not above the conversation.
fn name_nested(found: &Instructions, nested: &mut Vec<(String, String)>, root: &Path) {
    let ignored = IgnoreFiles::new(root, GitRules::InRepositories);
    let mut folders = vec![(root.to_owned(), 0)];
    let mut left = MOST_ENTRIES;
    while let Some((folder, depth)) = folders.pop() {
        for path in entries(&folder) {
            if left == 0 || nested.len() >= MOST_NAMED {
                return;
            }
            left -= 1;
            let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            let is_folder = path.symlink_metadata().is_ok_and(|entry| entry.is_dir());
            if !is_folder || is_hidden || depth > DEPTHS.1 || ignored.ignores(&path, true) == Some(true) {
                continue;
            }
            let rules = NAMES.iter().filter(|name| !name.starts_with('.')).map(|name| path.join(name));
            let new = |rules: &PathBuf| rules.is_file() && !found.rules.iter().any(|file| file.path == real(rules));
            if let Some(rules) = rules.into_iter().find(new) {
                let name = |path: &Path| {
                    let below = path.strip_prefix(root).unwrap_or(path);
                    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
                    is_plain.then(|| escape_controls(&below.to_string_lossy()).into_owned())
                };
                if let (Some(rules), Some(folder)) = (name(&rules), name(&path)) {
                    nested.push((rules, format!("{folder}/**")));
                }
            }
            folders.push((path, depth + 1));
        }
    }
}
