//! What the options mean, in words: read from `lua/flemma/types.lua`, which describes them for the language server as well.
//!
//! A class of that file is a table of options, and each of its fields is an option: `---@field name? type description`.
//! `crates/config/tests/config/documentation.rs` compares the words of each type with what the readers of the options take.

use std::collections::HashMap;

use once_cell::sync::Lazy;

/// The class of all options.
const ROOT: &str = "flemma.Options";
/// The class of the lists that a file can set.
const LISTS: &str = "flemma.FileLists";

/// The classes of the file, by name.
static CLASSES: Lazy<HashMap<&str, Class>> = Lazy::new(|| read(include_str!("../../../lua/flemma/types.lua")));

/// What an option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionDocumentation {
    /// What values it takes, in the notation of lua-language-server: `false|integer|"low"`.
    pub takes: &'static str,
    /// What it does, in a few words; empty where its name says it all.
    pub text: &'static str,
}

/// A class, with its fields.
#[derive(Default)]
struct Class {
    parent: Option<&'static str>,
    fields: Vec<(&'static str, OptionDocumentation)>,
}

impl OptionDocumentation {
    /// What is written of the option at a path of [`Config::paths`](super::Config::paths).
    pub fn of(path: &str) -> Option<Self> {
        let (mut class, mut found) = (ROOT, None);
        for key in path.split('.') {
            let field = field(class, key)?;
            class = classes_in(field.takes).next().unwrap_or_default();
            found = Some(field);
        }
        found
    }

    /// What is written of one of the lists that a file can set.
    pub(super) fn of_list(name: &str) -> Option<Self> {
        field(LISTS, name)
    }

    /// The strings that it takes, without their quotes.
    pub fn strings(&self) -> impl Iterator<Item = &'static str> + use<> {
        alternatives(self.takes).filter_map(|word| word.strip_prefix('"')?.strip_suffix('"'))
    }

    /// The other words that it takes: `true` and `false`.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        alternatives(self.takes)
            .flat_map(|word| match word {
                "boolean" => &["true", "false"][..],
                "true" => &["true"],
                "false" => &["false"],
                _ => &[],
            })
            .copied()
    }
}

/// The field of a class, or of one that it inherits from.
fn field(class: &str, key: &str) -> Option<OptionDocumentation> {
    let mut class = CLASSES.get(class)?;
    loop {
        if let Some((_, field)) = class.fields.iter().find(|(name, _)| *name == key) {
            return Some(*field);
        }
        class = CLASSES.get(class.parent?)?;
    }
}

/// The alternatives of a type that are not inside another one, up to a function, whose result may have alternatives as well.
fn alternatives(takes: &'static str) -> impl Iterator<Item = &'static str> {
    let bars = outside_brackets(takes).filter(|(_, c)| *c == '|').map(|(at, _)| at);
    let mut start = 0;
    let words = bars.chain([takes.len()]).map(move |at| &takes[std::mem::replace(&mut start, at + 1)..at]);
    words.take_while(|word| !word.starts_with("fun("))
}

/// The classes of Flemma's that a type names.
fn classes_in(takes: &'static str) -> impl Iterator<Item = &'static str> {
    alternatives(takes).filter(|word| word.starts_with("flemma."))
}

/// Reads the classes of a file.
fn read(source: &'static str) -> HashMap<&'static str, Class> {
    let mut classes: HashMap<&str, Class> = HashMap::new();
    let alias = |line: &'static str| line.strip_prefix("---@alias ")?.split_once(' ');
    let aliases: HashMap<&str, &str> = source.lines().filter_map(alias).collect();
    let mut current = "";
    for line in source.lines() {
        if let Some(class) = line.strip_prefix("---@class ") {
            let (name, parent) = class.split_once(": ").map_or((class, None), |(name, parent)| (name, Some(parent)));
            classes.insert(name, Class { parent, fields: Vec::new() });
            current = name;
        } else if let Some((name, rest)) = line.strip_prefix("---@field ").and_then(|field| field.split_once(' ')) {
            let (takes, text) = rest.split_at(end_of_type(rest));
            let takes = aliases.get(takes).copied().unwrap_or(takes);
            let documentation = OptionDocumentation { takes, text: text.trim() };
            let fields = classes.get_mut(current).map(|class| &mut class.fields);
            fields.into_iter().for_each(|fields| fields.push((name.trim_end_matches('?'), documentation)));
        }
    }
    classes
}

/// Where a type ends that stands at the beginning of a text: at the first blank that is neither in brackets nor behind the colon
/// of a function's result.
fn end_of_type(text: &str) -> usize {
    let end = outside_brackets(text).find(|(at, c)| *c == ' ' && !text[..*at].ends_with(':'));
    end.map_or(text.len(), |(at, _)| at)
}

/// The characters that are not in brackets, with their places.
fn outside_brackets(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut depth = 0_usize;
    text.char_indices().filter(move |(_, c)| {
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}
