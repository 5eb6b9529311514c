//! The layers of `src`: every import is held against the table in `ARCHITECTURE.md`.
//!
//! A file is read as words and signs, so that comments, strings and the layout of a `use` do not matter. Every path that
//! begins with `crate`, `super` or `self` counts, in a `use` or in the middle of an expression, in tests too.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Imports that break the rule and are still there: file, and the path that it imports. Each says why. The list may only
/// shrink: an entry that is no longer needed fails the test.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// What `src/lib.rs` itself defines for everybody.
const ROOT_ITEMS: [&str; 1] = ["VERSION"];

/// One import: the line that it begins on, and the whole path from the root of the crate.
#[derive(Debug, PartialEq)]
struct Import {
    line: usize,
    path: Vec<String>,
    /// Whether the module offers it under a path of its own (`pub use`).
    is_public: bool,
}

impl Import {
    /// The path as one would write it.
    fn written(&self) -> String {
        format!("crate::{}", self.path.join("::"))
    }
}

/// Who may import from whom, from the top of the table to its bottom.
struct Table {
    rows: Vec<(String, BTreeSet<String>)>,
}

impl Table {
    /// Reads the rows of the table whose first cell is a name in backticks; the last cell has the names of layers.
    fn read(page: &str) -> Self {
        let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let rows = page.lines().filter(|line| line.starts_with("| `")).map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [layer, _, below] = cells[..] else { panic!("a row of three cells: {line}") };
            let [layer] = &names(layer)[..] else { panic!("one layer a row: {line}") };
            (layer.clone(), names(below).into_iter().collect())
        });
        Self { rows: rows.collect() }
    }

    fn below(&self, layer: &str) -> Option<&BTreeSet<String>> {
        self.rows.iter().find(|(name, _)| name == layer).map(|(_, below)| below)
    }

    /// Why a file of `layer` must not have this import; `None` if it may.
    fn problem(&self, layer: &str, import: &Import) -> Option<String> {
        let from = import.path.first().map_or("*", String::as_str);
        if from == layer || ROOT_ITEMS.contains(&from) {
            return None;
        }
        let Some(below) = self.below(layer) else { return Some(format!("`{layer}` is not in the table")) };
        if self.below(from).is_none() {
            return Some(format!("`{from}` is not in the table"));
        }
        if !below.contains(from) {
            return Some(format!("`{layer}` may not import from `{from}`"));
        }
        import.is_public.then(|| format!("`{layer}` gives what belongs to `{from}` a second path"))
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

/// The imports of a module, in the order in which they stand.
fn imports(module: &[String], source: &str) -> Vec<Import> {
    let tokens = tokens(source);
    let sign = |at: usize| tokens.get(at).map_or("", |(_, sign)| sign);
    let mut found = Vec::new();
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
            "crate" | "super" | "self" if is_separator(&tokens, at + 1) => {
                let path = module.iter().chain(inside.iter().map(|(name, _)| name)).cloned().collect();
                let is_public = at > 1 && sign(at - 1) == "use" && matches!(sign(at - 2), "pub" | ")");
                at = follow(Import { line: tokens[at].0, path, is_public }, &tokens, at, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whether `::` stands here.
fn is_separator(tokens: &[Token<'_>], at: usize) -> bool {
    matches!(tokens.get(at..at + 2), Some([(_, ":"), (_, ":")]))
}

/// Follows a path that goes on at `at`, into every branch of a group; returns where it ends.
fn follow(mut import: Import, tokens: &[Token<'_>], mut at: usize, found: &mut Vec<Import>) -> usize {
    loop {
        match tokens.get(at).map_or("", |(_, sign)| sign) {
            "crate" => import.path.clear(),
            "super" => drop(import.path.pop()),
            "self" => {}
            "{" => {
                at += 1;
                while let Some((line, sign)) = tokens.get(at)
                    && *sign != "}"
                {
                    let branch = Import { line: *line, path: import.path.clone(), ..import };
                    at = if *sign == "," { at + 1 } else { follow(branch, tokens, at, found) };
                }
                return at + 1;
            }
            name if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => import.path.push(name.to_owned()),
            // A glob or a generic argument: what it belongs to is what is imported.
            sign => {
                found.push(import);
                return if sign == "*" { at + 1 } else { at };
            }
        }
        at += 1;
        if !is_separator(tokens, at) {
            // Whatever name it has here.
            if tokens.get(at).is_some_and(|(_, sign)| *sign == "as") {
                at += 2;
            }
            found.push(import);
            return at;
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

fn source_files() -> BTreeMap<PathBuf, Vec<String>> {
    let mut found = BTreeMap::new();
    files(Path::new("src"), &mut found);
    found
}

fn architecture() -> Table {
    Table::read(include_str!("../../ARCHITECTURE.md"))
}

#[test]
fn no_module_imports_from_a_layer_above() {
    let table = architecture();
    let (mut problems, mut excused) = (Vec::new(), BTreeSet::new());
    for (file, module) in source_files() {
        let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap();
        for import in imports(&module, &source) {
            let Some(problem) = table.problem(&module[0], &import) else { continue };
            let written = import.written();
            match EXCEPTIONS.iter().find(|(excepted, path)| Path::new(excepted) == file && *path == written) {
                Some(exception) => drop(excused.insert(exception)),
                None => problems.push(format!("{}:{}: `{written}`: {problem}", file.display(), import.line)),
            }
        }
    }
    let gone = EXCEPTIONS.iter().filter(|exception| !excused.contains(exception));
    problems.extend(gone.map(|(file, path)| format!("{file} no longer imports `{path}`: remove the exception")));
    assert!(problems.is_empty(), "ARCHITECTURE.md says which layer may import from which:\n{}", problems.join("\n"));
}

#[test]
fn the_table_has_a_row_for_every_module() {
    let rows: BTreeSet<_> = architecture().rows.into_iter().map(|(layer, _)| layer).collect();
    let modules: BTreeSet<_> = source_files().into_values().map(|module| module[0].clone()).collect();
    assert_eq!(rows, modules);
}

#[test]
fn a_row_of_the_table_names_only_rows_below_it() {
    let table = architecture();
    for (at, (layer, below)) in table.rows.iter().enumerate() {
        let lower: BTreeSet<_> = table.rows[at + 1..].iter().map(|(name, _)| name.clone()).collect();
        assert!(below.is_subset(&lower), "{layer}: {:?}", below.difference(&lower).collect::<Vec<_>>());
    }
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

#[test]
fn an_import_from_above_or_from_an_unknown_module_is_a_problem() {
    let table = Table::read("| `tools` | … | `chat`, `text` |\n| `chat` | … | `text` |\n| `text` | … | nothing |");
    let problem = |layer: &str, source: &str| {
        let found = imports(&[layer.to_owned()], source);
        found.iter().find_map(|import| table.problem(layer, import)).unwrap_or_default()
    };
    assert_eq!(problem("tools", "use crate::{chat::read, text, tools::x, VERSION};"), "");
    assert_eq!(problem("chat", "use crate::{text::Fence, tools::x};"), "`chat` may not import from `tools`");
    assert_eq!(problem("text", "fn f() { super::chat::read() }"), "`text` may not import from `chat`");
    assert_eq!(problem("chat", "use crate::ports::Host;"), "`ports` is not in the table");
    assert_eq!(problem("chat", "use crate::*;"), "`*` is not in the table");
    assert_eq!(problem("ports", "use crate::chat;"), "`ports` is not in the table");
    assert_eq!(problem("chat", "pub use crate::text::Fence;"), "`chat` gives what belongs to `text` a second path");
}
