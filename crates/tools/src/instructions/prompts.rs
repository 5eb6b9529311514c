//! Prompts: texts that people keep as command files, and put into a message by name. A skill is one as well.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{Reader, Search, SkillFolders, entries, front_matter::FrontMatter};
use crate::builtin::Readable;
use flemma_model::UserError;
use flemma_text::suggest::nearest;

/// The folders of command files, below the root of a project and below the home folder, and how the names of their files end.
const FOLDERS: [(&str, &str); 5] = [
    (".agents/commands", ".md"),
    (".claude/commands", ".md"),
    (".opencode/commands", ".md"),
    (".config/opencode/commands", ".md"),
    (".github/prompts", ".prompt.md"),
];

/// The prompts of a conversation.
pub struct Prompts {
    /// The file of each, by its name, and the folder that it must not lead out of.
    files: BTreeMap<String, (PathBuf, PathBuf)>,
}

impl Prompts {
    /// Finds them. Of two with one name, the user's own counts.
    pub fn find(search: &Search) -> Self {
        let mut files = BTreeMap::new();
        for base in [&search.home, &search.root].into_iter().flatten() {
            for (folder, end) in FOLDERS {
                add(&mut files, &base.join(folder), "", end, base);
            }
            let skills = SkillFolders::new(Some(base), None);
            for name in skills.names() {
                if let Some((file, _)) = skills.files(&name).into_iter().find(|(file, _)| file.is_file()) {
                    files.entry(name).or_insert((file, base.clone()));
                }
            }
        }
        Self { files }
    }

    /// Their names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The text of a prompt with these arguments in it.
    ///
    /// # Errors
    /// When there is no such prompt, or it may not be shown.
    pub fn expand(
        &self,
        name: &str,
        arguments: &str,
        search: &Search,
        readable: &Readable,
    ) -> Result<String, UserError> {
        let Some((path, within)) = self.files.get(name) else {
            let near = nearest(name, self.names()).map(|near| format!("; did you mean `{near}`?"));
            return Err(UserError::new(format!("there is no prompt `{name}`{}", near.unwrap_or_default())));
        };
        let mut left_out = Vec::new();
        let file = Reader { search, readable }.read(path, within, true, &mut left_out).ok_or_else(|| {
            let why = left_out.into_iter().next().map_or_else(|| "it is gone".to_owned(), |(_, why)| why);
            UserError::new(format!("the prompt `{name}` cannot be read: {why}"))
        })?;
        Ok(fill(FrontMatter::read(&file.text).body.trim(), arguments))
    }
}

/// Adds the command files of a folder, and those of the folders in it, as `folder:name`.
fn add(files: &mut BTreeMap<String, (PathBuf, PathBuf)>, folder: &Path, lead: &str, end: &str, base: &Path) {
    for path in entries(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(end).filter(|_| path.is_file()) {
            files.entry(format!("{lead}{name}")).or_insert((path.clone(), base.to_owned()));
        } else if lead.is_empty() && path.is_dir() {
            add(files, &path, &format!("{name}:"), end, base);
        }
    }
}

/// Puts arguments into a text: all of them for `$ARGUMENTS`, one for `$1`. A text that takes none has them at its end. What an argument
/// says is not looked at again.
fn fill(text: &str, arguments: &str) -> String {
    let words = words(arguments);
    let mut filled = String::with_capacity(text.len());
    let mut takes = false;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digit = rest.chars().next().and_then(|digit| digit.to_digit(10)).filter(|digit| *digit > 0);
        if let Some(behind) = rest.strip_prefix("ARGUMENTS") {
            (takes, rest) = (true, behind);
            filled.push_str(arguments.trim());
        } else if let Some(digit) = digit {
            (takes, rest) = (true, &rest[1..]);
            filled.push_str(words.get(digit as usize - 1).map_or("", String::as_str));
        } else {
            filled.push('$');
        }
    }
    filled.push_str(rest);
    if !takes && !arguments.trim().is_empty() {
        filled.push_str(&format!("\n\nArguments: {}", arguments.trim()));
    }
    filled
}

/// The words of arguments; quotes keep spaces in one.
fn words(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for char in arguments.chars() {
        match quote {
            Some(open) if char == open => quote = None,
            None if matches!(char, '"' | '\'') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            None if char.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn arguments_are_put_where_a_prompt_has_them() {
        let cases = [
            ("Fix $1 in $2.", "'a b' c", "Fix a b in c."),
            ("Do $ARGUMENTS now", " x  y ", "Do x  y now"),
            ("$1 and $3 cost $5.00 or $", "$2 b", "$2 and  cost .00 or $"),
            ("No place", "here", "No place\n\nArguments: here"),
            ("No place", " ", "No place"),
        ];
        for (text, arguments, filled) in cases {
            assert_eq!(fill(text, arguments), filled);
        }
    }
}
