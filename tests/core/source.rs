//! The files of `src`, and the paths that each of them names.
//!
//! A file is read as words and signs, so that comments, strings and the layout of a `use` do not matter. Every path
//! counts, in a `use` or in the middle of an expression, in tests too.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A path in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The line that it begins on.
    pub line: usize,
    /// The module of the file in which it stands, which may be one inside the file.
    pub module: Vec<String>,
    /// The whole path from the root of the crate if it is rooted; otherwise the path as it is written.
    pub path: Vec<String>,
    /// Whether it began with `crate`, `super` or `self`. Otherwise it may belong to another crate.
    pub is_rooted: bool,
    /// The name that a `use` gives it in the file; `None` in an expression.
    pub name: Option<String>,
    /// Whether the module offers it under a path of its own (`pub use`).
    pub is_public: bool,
}

impl Import {
    /// The path as one would write it.
    pub fn written(&self) -> String {
        format!("crate::{}", self.path.join("::"))
    }
}

/// A word or a sign of the source, and its line.
type Token<'a> = (usize, &'a str);

/// The words and signs of a source file, without comments, strings and characters in quotes.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.len() - rest.trim_start_matches(is_word).len();
        let length = match first {
            _ if word > 0 => {
                let marks = rest[word..].len() - rest[word..].trim_start_matches('#').len();
                let is_raw = matches!(&rest[..word], "r" | "br" | "cr") && rest[word + marks..].starts_with('"');
                if is_raw { past(rest, word + marks + 1, &format!("\"{}", "#".repeat(marks))) } else { word }
            }
            '/' if rest.starts_with("//") => past(rest, 0, "\n"),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            '\'' => match rest[1..].chars().next() {
                Some('\\') => past(rest, 3, "'"),
                // One character in quotes, or else a lifetime.
                Some(c) if rest[1 + c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
                _ => 1,
            },
            c => c.len_utf8(),
        };
        if word > 0 && length == word || !first.is_whitespace() && length == 1 && first != '\'' {
            found.push((line, &rest[..length]));
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Where `end` is over, looked for from `from` on.
fn past(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
}

/// The length of the string that begins here.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The length of the comment that begins here. Comments nest.
fn block_comment(text: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

/// The rooted paths of a module, in the order in which they stand.
pub fn imports(module: &[String], source: &str) -> Vec<Import> {
    Names::read(module, source).paths.into_iter().filter(|import| import.is_rooted).collect()
}

/// What a file names.
pub struct Names {
    /// All paths, in the order in which they stand.
    pub paths: Vec<Import>,
    /// The words that stand alone or begin a path, outside `use` and `mod`.
    pub words: BTreeSet<String>,
}

impl Names {
    pub fn read(module: &[String], source: &str) -> Self {
        let tokens = tokens(source);
        let sign = |at: usize| tokens.get(at).map_or("", |(_, sign)| sign);
        let continues = |at: usize| at > 1 && is_separator(&tokens, at - 2);
        let (mut found, mut words) = (Vec::new(), BTreeSet::new());
        // The modules inside the file that are open, each with the depth of the braces around it.
        let mut inside: Vec<(String, usize)> = Vec::new();
        let (mut at, mut depth) = (0, 0);
        while at < tokens.len() {
            match sign(at) {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inside.pop_if(|(_, around)| *around == depth);
                }
                "mod" if sign(at + 2) == "{" => inside.push((sign(at + 1).to_owned(), depth)),
                word if is_word(word) && is_separator(&tokens, at + 1) && !continues(at) => {
                    let module: Vec<_> = module.iter().chain(inside.iter().map(|(name, _)| name)).cloned().collect();
                    let is_rooted = matches!(word, "crate" | "super" | "self");
                    let is_use = at > 0 && sign(at - 1) == "use";
                    if !is_use {
                        words.insert(word.to_owned());
                    }
                    let import = Import {
                        line: tokens[at].0,
                        path: if is_rooted { module.clone() } else { Vec::new() },
                        module,
                        is_rooted,
                        name: is_use.then(String::new),
                        is_public: is_use && at > 1 && matches!(sign(at - 2), "pub" | ")"),
                    };
                    at = follow(import, &tokens, at, &mut found);
                    continue;
                }
                word if is_word(word) && !(at > 0 && sign(at - 1) == "mod") && !continues(at) => {
                    words.insert(word.to_owned());
                }
                _ => {}
            }
            at += 1;
        }
        Self { paths: found, words }
    }
}

/// Whether a token is a word, not a sign or a number.
fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Whether `::` stands here.
fn is_separator(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(tokens.get(at..at + 2), Some([(_, ":"), (_, ":")]))
}

/// Follows a path that goes on at `at`, into every branch of a group; returns where it ends.
fn follow(mut import: Import, tokens: &[Token<'_>], mut at: usize, found: &mut Vec<Import>) -> usize {
    let sign = |at: usize| tokens.get(at).map_or("", |(_, sign)| *sign);
    let mut end = |mut import: Import, name: Option<&str>| {
        let name = name.map(str::to_owned).or_else(|| import.path.last().cloned());
        import.name = import.name.and(name);
        found.push(import);
    };
    loop {
        match sign(at) {
            "crate" => import.path.clear(),
            "super" => drop(import.path.pop()),
            "self" => {}
            "{" => {
                at += 1;
                while at < tokens.len() && sign(at) != "}" {
                    let branch = Import { line: tokens[at].0, ..import.clone() };
                    at = if sign(at) == "," { at + 1 } else { follow(branch, tokens, at, found) };
                }
                return at + 1;
            }
            name if is_word(name) => import.path.push(name.to_owned()),
            "*" => {
                end(import, Some("*"));
                return at + 1;
            }
            // A generic argument: what it belongs to is what is imported.
            _ => {
                end(import, None);
                return at;
            }
        }
        at += 1;
        if !is_separator(tokens, at) {
            let renamed = sign(at) == "as";
            end(import, renamed.then(|| sign(at + 1)));
            return if renamed { at + 2 } else { at };
        }
        at += 2;
    }
}

/// The files below `dir` and the modules that they are: `src/a/mod.rs` is `a`, `src/a/b.rs` is `a::b`, and
/// `src/a/b_tests.rs`, which `src/a/b.rs` names, is `a::b::tests`.
fn files(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<String>>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join(dir)).unwrap() {
        let path = dir.join(entry.unwrap().file_name());
        if root.join(&path).is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && path != Path::new("src/lib.rs") {
            let mut module: Vec<_> =
                path.with_extension("").iter().skip(1).map(|name| name.to_str().unwrap().to_owned()).collect();
            let name = module.pop().unwrap();
            match name.strip_suffix("_tests") {
                Some(tested) => module.extend([tested.to_owned(), "tests".to_owned()]),
                None if name == "mod" => {}
                None => module.push(name),
            }
            found.insert(path, module);
        }
    }
}

/// Every file below `src` but `src/lib.rs`, and the module that it is.
pub fn source_files() -> BTreeMap<PathBuf, Vec<String>> {
    let mut found = BTreeMap::new();
    files(Path::new("src"), &mut found);
    found
}

/// The imports of `source` as text: the line and the path, with `pub` before one that is offered again.
fn read(module: &str, source: &str) -> Vec<String> {
    let module: Vec<_> = module.split("::").map(str::to_owned).collect();
    let written = |import: &Import| {
        format!("{}: {}{}", import.line, if import.is_public { "pub " } else { "" }, import.written())
    };
    imports(&module, source).iter().map(written).collect()
}

#[test]
fn imports_are_found_in_any_layout() {
    let source = "\
use crate::{
    chat::{self, Fence as Marks},
    tools::*,
};
use super::{super::config, sibling};
fn run() -> crate::agent::Input {
    let made = vec![crate::usage::Made::<crate::text::Fence>::new(super::call())];
}
pub(crate) use crate::model::Event;
pub use self::inner::Thing;
mod inner {
    use super::super::provider;
}
";
    assert_eq!(
        read("runtime::http", source),
        [
            "2: crate::chat",
            "2: crate::chat::Fence",
            "3: crate::tools",
            "5: crate::config",
            "5: crate::runtime::sibling",
            "6: crate::agent::Input",
            "7: crate::usage::Made",
            "7: crate::text::Fence",
            "7: crate::runtime::call",
            "9: pub crate::model::Event",
            "10: pub crate::runtime::http::inner::Thing",
            "12: crate::runtime::provider",
        ]
    );
}

#[test]
fn names_and_bare_paths_are_found() {
    let source = "\
pub use inner::{Thing as Other, self};
use super::plain;
fn run() -> plain::Token {
    inner::make(plain::Token::<u8>::of())
}
";
    let module: Vec<_> = ["tools".to_owned(), "rules".to_owned()].into();
    let names = Names::read(&module, source);
    let found: Vec<_> = names
        .paths
        .into_iter()
        .map(|import| format!("{} {}", import.path.join("::"), import.name.unwrap_or_default()))
        .collect();
    assert_eq!(
        found,
        ["inner::Thing Other", "inner inner", "tools::plain plain", "plain::Token ", "inner::make ", "plain::Token "]
    );
    for (word, is_used) in [("inner", true), ("plain", true), ("Thing", false), ("Other", false), ("of", false)] {
        assert_eq!(names.words.contains(word), is_used, "{word}");
    }
}

#[test]
fn comments_strings_and_visibility_are_no_imports() {
    let source = "\
//! See [`crate::nvim`].
/// Not `crate::chat::read`. // use crate::agent;
/* use crate::chat; /* use crate::config; */ use crate::tools; */
pub(crate) fn f<'a>(self_: &'a str) -> char {
    \"crate::agent::X \\\\\"; \"\\\" crate::usage::Y\";
    br##\"use crate::tools; \"# crate::chat::Z\"##; '\"'; '\\''; '\\\\';
    self_.crate_::<'a>()
}
";
    assert_eq!(read("model::part", source), [""; 0]);
}
