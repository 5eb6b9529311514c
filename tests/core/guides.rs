//! The guides for contributors name files, folders and targets that exist.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::exports::sources;

/// The guides, and the text that they are.
const GUIDES: [(&str, &str); 2] = [
    ("ARCHITECTURE.md", include_str!("../../ARCHITECTURE.md")),
    ("CONTRIBUTING.md", include_str!("../../CONTRIBUTING.md")),
];

/// What stands between backticks, outside of code blocks.
fn quoted(text: &str) -> BTreeSet<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect()
}

/// Whether a quoted word is meant as a path of the repository: one with a slash or an extension of ours.
fn is_path(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    let ours = extension.is_some_and(|extension| ["rs", "lua", "md", "txt", "toml"].contains(&extension));
    ours || (word.contains('/') && !word.contains(char::is_whitespace))
}

/// The names of the targets in the Makefile.
fn targets() -> BTreeSet<&'static str> {
    let lines = include_str!("../../Makefile").lines();
    lines.filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect()
}

#[test]
fn every_file_that_a_guide_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A guide names a file by its crate: `chat/fold.rs` is `crates/chat/src/fold.rs`.
    let sources: Vec<_> = sources("crates", "rs").into_iter().map(|(file, _)| file.replace("/src/", "/")).collect();
    let mut checked = 0;
    for (guide, text) in GUIDES {
        for path in quoted(text).into_iter().filter(|word| is_path(word)) {
            // The text around the name of a source file may say which folder it is in.
            let exists = ["", "src"].iter().any(|folder| root.join(folder).join(path).exists())
                || sources
                    .iter()
                    .any(|file| Path::new(file).ends_with(path) || path.ends_with('/') && file.contains(path));
            assert!(exists, "{guide} names `{path}`, which does not exist");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} paths were found");
}

#[test]
fn every_make_target_that_a_guide_names_exists() {
    let named = GUIDES.iter().flat_map(|(_, text)| quoted(text)).filter_map(|word| word.strip_prefix("make "));
    let named: BTreeSet<_> = named.collect();
    assert!(named.is_subset(&targets()), "{:?}", named.difference(&targets()).collect::<Vec<_>>());
    assert!(named.contains("lint"));
}

/// What stands in for Ray: it says which options each conversation would be run with.
const RAY: &str = "
class exceptions:
    RayError = Exception
class Task:
    def options(self, **options):
        print(options)
        return self
    def remote(self, file, options):
        print(file, options)
        return 1
def remote(**options):
    return lambda function: Task()
def init(**options):
    print(options.get('num_cpus'))
def wait(tasks, timeout):
    return tasks, []
def get(task):
    return 0, {}
";

#[test]
fn the_ray_example_takes_its_arguments_as_on_its_page() {
    let fleet = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ray/fleet.py");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ray.py"), RAY).unwrap();
    fs::write(folder.path().join("a.chat"), "").unwrap();
    let table: [(&[&str], &str, &str); 4] = [
        (&["--attempts", "3", "--cpus", "1", "--", "--timeout", "3600"], "1.0", "['--timeout', '3600']"),
        (&["--", "--timeout", "3600"], "0.25", "['--timeout', '3600']"),
        (&["--local", "4", "--", "--", "-x"], "0.25", "['--', '-x']"),
        (&[], "0.25", "[]"),
    ];
    for (arguments, cpus, options) in table {
        let mut python = Command::new("python3");
        let ran =
            python.arg(&fleet).arg(folder.path()).args(arguments).env("PYTHONPATH", folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains(&format!("a.chat {options}")) && said.contains(cpus), "{arguments:?}: {said}{errors}");
        assert!(ran.status.success() && said.contains("1 done"), "{arguments:?}: {said}{errors}");
    }
}
