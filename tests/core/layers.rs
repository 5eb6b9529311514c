//! The layers of `src`: every import is held against the table in `ARCHITECTURE.md`.
//!
//! Every path that begins with `crate`, `super` or `self` counts, in a `use` or in the middle of an expression, in tests
//! too. `circles.rs` does the same for the files inside a layer.

use std::{collections::BTreeSet, fs, path::Path};

use crate::source::{Import, imports, source_files};

/// Imports that break the rule and are still there: file, and the path that it imports. Each says why. The list may only
/// shrink: an entry that is no longer needed fails the test.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// What `src/lib.rs` itself defines for everybody.
const ROOT_ITEMS: [&str; 1] = ["VERSION"];

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
