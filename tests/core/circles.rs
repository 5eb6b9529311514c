//! The files of `src` import each other in no circle.
//!
//! A file imports another one if it names something that the other one defines, wherever it gets it from: a re-export in
//! a `mod.rs` leads to the file that defines the item, and only what the `mod.rs` itself defines belongs to that. So a
//! `mod.rs` may re-export its children and be imported by nobody, or define what they share and not use them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::source::{Import, Names, source_files};

/// Two files that are one thing and import each other, with the reason. The list may only shrink: a pair that is no
/// longer needed fails the test.
const PAIRS: [(&str, &str, &str); 1] = [(
    "src/config/options.rs",
    "src/config/switch.rs",
    "a preset is a switch that the options hold, and a switch takes what the options take",
)];

/// How many `use` lines may lead from a name to what it stands for.
const MAX_STEPS: usize = 16;

type Module = Vec<String>;

/// The modules that are files, and what their `use` lines call by which name.
#[derive(Default)]
struct Tree {
    files: BTreeMap<Module, PathBuf>,
    names: BTreeMap<Module, BTreeMap<String, Import>>,
    imports: Vec<(PathBuf, Import)>,
}

impl Tree {
    fn read<'a>(sources: impl IntoIterator<Item = (&'a Path, &'a Module, &'a str)>) -> Self {
        let mut tree = Self::default();
        for (file, module, source) in sources {
            tree.files.insert(module.clone(), file.to_owned());
            let Names { paths, words } = Names::read(module, source);
            for import in paths {
                if let Some(name) = import.name.as_ref().filter(|_| import.module == *module) {
                    tree.names.entry(module.clone()).or_default().insert(name.clone(), import.clone());
                }
                // What a file only passes on, it does not use.
                if !import.is_public || import.name.as_ref().is_some_and(|name| words.contains(name)) {
                    tree.imports.push((file.to_owned(), import));
                }
            }
        }
        tree
    }

    /// The path from the root of the crate; `None` if it leads to another crate.
    fn rooted(&self, import: &Import, steps: usize) -> Option<Module> {
        if import.is_rooted {
            return Some(import.path.clone());
        }
        let first = import.path.first()?;
        let child: Module = import.module.iter().chain([first]).cloned().collect();
        let start = if self.files.contains_key(&child) {
            child
        } else {
            let named = self.names.get(&import.module)?.get(first).filter(|named| named.path != import.path)?;
            self.rooted(named, steps.checked_sub(1)?)?
        };
        Some(start.into_iter().chain(import.path[1..].iter().cloned()).collect())
    }

    /// The file that defines what a path from the root of the crate names; `None` for a module.
    fn definer(&self, path: &[String], steps: usize) -> Option<&Path> {
        let steps = steps.checked_sub(1)?;
        let depth = (0..=path.len()).rev().find(|depth| self.files.contains_key(&path[..*depth]))?;
        // A module and an item may have the same name. What is named as a whole is the item.
        let depth = if depth == path.len() { depth.checked_sub(1)? } else { depth };
        let (module, names) = path.split_at(depth);
        let Some(import) = self.names.get(module).and_then(|known| known.get(&names[0])) else {
            return if self.files.contains_key(&path[..=depth]) {
                None
            } else {
                self.files.get(module).map(PathBuf::as_path)
            };
        };
        let mut target = self.rooted(import, MAX_STEPS)?;
        target.extend_from_slice(&names[1..]);
        if target == path { None } else { self.definer(&target, steps) }
    }

    /// Which file imports which other, and by which path on which line.
    fn edges(&self) -> BTreeMap<(&Path, &Path), String> {
        let mut edges = BTreeMap::new();
        for (file, import) in &self.imports {
            let Some(path) = self.rooted(import, MAX_STEPS) else { continue };
            let target = match import.name.as_deref() {
                Some("*") => self.files.get(&path).map(PathBuf::as_path),
                _ => self.definer(&path, MAX_STEPS),
            };
            if let Some(target) = target.filter(|target| target != file) {
                edges.entry((file.as_path(), target)).or_insert_with(|| format!("line {}", import.line));
            }
        }
        edges
    }

    /// The circles, each with the imports in it: files that lead to each other.
    fn circles(&self) -> Vec<(BTreeSet<&Path>, Vec<String>)> {
        let edges = self.edges();
        let mut next: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
        edges.keys().for_each(|(from, to)| next.entry(from).or_default().push(to));
        let reach: BTreeMap<&Path, BTreeSet<&Path>> = self
            .files
            .values()
            .map(|from| {
                let (mut reached, mut open) = (BTreeSet::new(), vec![from.as_path()]);
                while let Some(at) = open.pop() {
                    open.extend(next.get(at).into_iter().flatten().filter(|to| reached.insert(**to)));
                }
                (from.as_path(), reached)
            })
            .collect();
        let circle_of = |file: &Path| -> BTreeSet<&Path> {
            reach[file].iter().copied().filter(|other| reach[*other].contains(file)).collect()
        };
        let circles: BTreeSet<_> = reach.keys().map(|file| circle_of(file)).filter(|files| files.len() > 1).collect();
        let described = |files: &BTreeSet<&Path>| {
            let inside = edges.iter().filter(|((from, to), _)| files.contains(from) && files.contains(to));
            inside.map(|((from, to), why)| format!("  {} -> {}: {why}", from.display(), to.display())).collect()
        };
        circles.into_iter().map(|files| (files.clone(), described(&files))).collect()
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: Vec<_> = source_files()
        .into_iter()
        .map(|(file, module)| (fs::read_to_string(root.join(&file)).unwrap(), file, module))
        .collect();
    let tree = Tree::read(sources.iter().map(|(source, file, module)| (file.as_path(), module, source.as_str())));
    let mut problems = Vec::new();
    let mut excused = BTreeSet::new();
    for (files, imports) in tree.circles() {
        match PAIRS.iter().find(|(one, two, _)| files == BTreeSet::from([Path::new(one), Path::new(two)])) {
            Some(pair) => drop(excused.insert(pair)),
            None => problems.push(format!("a circle of {} files:\n{}", files.len(), imports.join("\n"))),
        }
    }
    let gone = PAIRS.iter().filter(|pair| !excused.contains(pair));
    problems.extend(gone.map(|(one, two, _)| format!("{one} and {two} no longer import each other: remove the pair")));
    let advice = "Move what they share to the file that owns it";
    assert!(problems.is_empty(), "{advice}:\n{}", problems.join("\n"));
}

/// The circles of files that are given as module and source.
fn circles(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
    let files: Vec<_> = sources
        .iter()
        .map(|(module, source)| {
            let module: Module = module.split("::").map(str::to_owned).collect();
            (PathBuf::from(module.join("::")), module, *source)
        })
        .collect();
    let tree = Tree::read(files.iter().map(|(file, module, source)| (file.as_path(), module, *source)));
    let names = |files: &BTreeSet<&Path>| files.iter().map(|file| file.display().to_string()).collect();
    tree.circles().iter().map(|(files, _)| names(files)).collect()
}

#[test]
fn a_reexport_leads_to_the_file_that_defines_the_item() {
    let apart = [
        ("a", "mod one; mod two; pub use one::One; pub use self::two::Two as Other;"),
        ("a::one", "pub struct One;"),
        ("a::two", "use super::One; pub struct Two(One);"),
        ("b", "use crate::a::{self, Other}; fn f() -> a::One { Other::of() }"),
    ];
    assert_eq!(circles(&apart), [[""; 0]; 0]);
    let together = [apart[0], ("a::one", "use crate::a; pub struct One(a::Other);"), apart[2], apart[3]];
    assert_eq!(circles(&together), [["a::one", "a::two"]]);
}

#[test]
fn a_mod_file_that_uses_a_child_must_not_be_used_by_it() {
    let owner = "mod child; use child::Child; pub struct Owner(Child);";
    assert_eq!(circles(&[("a", owner), ("a::child", "use super::Owner; struct Child;")]), [["a", "a::child"]]);
    assert_eq!(circles(&[("a", owner), ("a::child", "struct Child;")]), [[""; 0]; 0]);
    let bare = "mod child; pub struct Owner; fn f() { child::run() }";
    assert_eq!(circles(&[("a", bare), ("a::child", "fn run() -> super::Owner {}")]), [["a", "a::child"]]);
    let shares = "mod child; pub struct Owner;";
    assert_eq!(circles(&[("a", shares), ("a::child", "use super::*;")]), [[""; 0]; 0]);
    let glob = "mod child; use child::*;";
    assert_eq!(circles(&[("a", glob), ("a::child", "use super::*;")]), [["a", "a::child"]]);
}

#[test]
fn a_long_circle_is_found_through_other_layers() {
    let long = [
        ("a", "use crate::b::B;"),
        ("b", "pub use c::C as B; mod c;"),
        ("b::c", "fn f() -> crate::d::D {} mod tests { use super::*; }"),
        ("d", "use crate::a::make;"),
        ("e", "use crate::{a::make, d::D}; use std::fmt; fn f() -> fmt::Result { serde::of() }"),
    ];
    assert_eq!(circles(&long), [["a", "b::c", "d"]]);
}

#[test]
fn a_mod_file_that_uses_what_it_reexports_imports_it() {
    let child = ("a::child", "use super::Owner; pub struct Child(Owner);");
    assert_eq!(circles(&[("a", "mod child; pub use child::Child; pub struct Owner;"), child]), [[""; 0]; 0]);
    let used = "mod child; pub use child::Child; pub struct Owner(Box<Child>);";
    assert_eq!(circles(&[("a", used), child]), [["a", "a::child"]]);
}

#[test]
fn an_item_and_a_module_may_share_a_name() {
    let same = [
        ("a", "mod run; pub use run::run; pub use run::Way;"),
        ("a::run", "use crate::b::B; pub fn run() {} pub struct Way;"),
        ("b", "use crate::a::run; use crate::a::run::Way;"),
    ];
    assert_eq!(circles(&same), [["a::run", "b"]]);
}
