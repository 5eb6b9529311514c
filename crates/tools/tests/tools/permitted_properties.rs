//! Generated trees with links, and calls on them, against a model of a file system that knows nothing of the implementation.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink, path::Path, sync::Arc};

use flemma_tools::Access;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::permitted::agent;
use crate::workshop::Workshop;

/// Names that are easily confused.
const NAMES: [&str; 10] = ["a", "A", "aa", "a ", "a.", "\u{e4}", "a\u{308}", "b", "a.md", ".a"];

/// An entry of a folder of the model.
#[derive(Clone, Debug)]
enum Node {
    Folder(Vec<(String, usize)>),
    File,
    Link(Vec<String>),
}

/// A file system: nodes with their parents. Node 0 is its root.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Vec<(Node, usize)>,
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leads {
    /// To this node.
    To(usize),
    /// To nothing, in this folder or below it.
    New(usize),
    /// Nowhere: no file can be there.
    Nowhere,
}

impl Tree {
    fn grow(plan: &[(usize, usize, u8, Vec<usize>)]) -> Self {
        let mut tree = Self { nodes: vec![(Node::Folder(Vec::new()), 0)] };
        for (at, name, kind, target) in plan {
            let folders: Vec<usize> =
                (0..tree.nodes.len()).filter(|&node| matches!(tree.nodes[node].0, Node::Folder(_))).collect();
            let folder = folders[at % folders.len()];
            let name = NAMES[name % NAMES.len()].to_owned();
            let (new, Node::Folder(entries)) = (tree.nodes.len(), &mut tree.nodes[folder].0) else { continue };
            if entries.iter().any(|(known, _)| *known == name) {
                continue;
            }
            entries.push((name, new));
            let node = match kind % 4 {
                0 | 1 => Node::Folder(Vec::new()),
                2 => Node::File,
                _ => Node::Link(steps(target)),
            };
            tree.nodes.push((node, folder));
        }
        tree
    }

    fn build(&self, node: usize, at: &Path) {
        match &self.nodes[node].0 {
            Node::File => fs::write(at, format!("content-{node}-\n")).unwrap(),
            Node::Link(target) => symlink(target.join("/"), at).unwrap(),
            Node::Folder(entries) => {
                fs::create_dir_all(at).unwrap();
                for (name, child) in entries {
                    self.build(*child, &at.join(name));
                }
            }
        }
    }

    /// Follows a path as POSIX says, one step after the other. As in Rust's paths, `file/` and `file/.` are the file.
    fn walk(&self, from: usize, path: &[String], budget: &mut usize) -> Leads {
        let mut at = from;
        for (place, step) in path.iter().enumerate() {
            if path[place..].iter().all(|step| matches!(step.as_str(), "" | ".")) {
                break;
            }
            let Node::Folder(entries) = &self.nodes[at].0 else { return Leads::Nowhere };
            at = match step.as_str() {
                "" | "." => at,
                // What is above the root is outside of everything.
                ".." if at == 0 => return Leads::Nowhere,
                ".." => self.nodes[at].1,
                name => match entries.iter().find(|(known, _)| known == name) {
                    None => {
                        let rest = &path[place + 1..];
                        return if rest.iter().any(|step| step == "..") { Leads::Nowhere } else { Leads::New(at) };
                    }
                    Some((_, child)) => match &self.nodes[*child].0 {
                        Node::Link(target) => {
                            if *budget == 0 {
                                return Leads::Nowhere;
                            }
                            *budget -= 1;
                            let rest: Vec<String> = target.iter().chain(&path[place + 1..]).cloned().collect();
                            return self.walk(at, &rest, budget);
                        }
                        _ => *child,
                    },
                },
            };
        }
        Leads::To(at)
    }

    fn leads(&self, path: &[String]) -> Leads {
        self.walk(0, path, &mut 30)
    }

    fn is_below(&self, node: usize, above: usize) -> bool {
        let mut at = node;
        loop {
            match at {
                at if at == above => return true,
                0 => return false,
                _ => at = self.nodes[at].1,
            }
        }
    }
}

/// Parts of a path.
fn steps(choices: &[usize]) -> Vec<String> {
    let words: Vec<&str> = NAMES.iter().copied().chain(["..", "..", ".", ""]).collect();
    let steps: Vec<String> = choices.iter().map(|choice| words[choice % words.len()].to_owned()).collect();
    // A path that begins with nothing would be absolute.
    if steps.iter().all(|step| step.is_empty()) || steps[0].is_empty() { vec![".".to_owned()] } else { steps }
}

/// A call of a tool with this path.
fn call(tool: &str, path: &str) -> Value {
    match tool {
        "read" => json!({ "label": null, "path": path, "offset": null, "limit": null }),
        "ls" => json!({ "label": null, "path": path, "limit": null }),
        "find" => json!({ "label": null, "pattern": "**", "path": path, "kind": null, "limit": null, "all": true }),
        "grep" => json!({ "label": null, "pattern": "content", "path": path, "glob": null, "case": null,
            "fixed_strings": null, "context": null, "limit": null, "all": true }),
        "write" => json!({ "label": null, "path": path, "content": "content-written-\n" }),
        _ => json!({ "label": null, "path": path, "old_text": "content", "new_text": "changed" }),
    }
}

/// The files in a real folder, each with its content; links are not followed.
fn contents(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() {
            contents(&path, found);
        } else if kind.is_file() {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_call_sees_or_changes_a_file_outside(
        plan in vec((0..20usize, 0..10usize, 0..4u8, vec(0..14usize, 1..5)), 4..30),
        entry in vec(0..10usize, 1..3),
        calls in vec((select(vec!["read", "ls", "find", "grep", "write", "edit"]), vec(0..14usize, 1..6)), 1..12),
    ) {
        let tree = Tree::grow(&plan);
        let mut workshop = Workshop::new();
        let root = workshop.context.cwd.clone();
        tree.build(0, &root);
        let entry = steps(&entry).join("/");
        // With a dot, so that it is not a page as well.
        let entry = format!("./{entry}");
        // `..` in the configuration is taken as text, and a link there counts for nothing.
        let mut entry_steps: Vec<String> = Vec::new();
        let mut is_above = false;
        for step in entry.split('/').filter(|step| !matches!(*step, "" | ".")) {
            match step {
                ".." => is_above |= entry_steps.pop().is_none(),
                step => entry_steps.push(step.to_owned()),
            }
        }
        prop_assume!(!is_above);
        let options = json!({ "allowed_read_paths": [entry] });
        workshop.context.permitted = Arc::new(agent(options, &root, &root));
        let allowed = tree.walk(0, &entry_steps, &mut 0);
        let is_allowed = |leads: Leads| match (allowed, leads) {
            (Leads::To(above), Leads::To(node) | Leads::New(node)) => tree.is_below(node, above),
            _ => false,
        };
        let mut before = Vec::new();
        contents(&root, &mut before);
        let readable: BTreeSet<String> = (0..tree.nodes.len())
            .filter(|&node| matches!(tree.nodes[node].0, Node::File) && is_allowed(Leads::To(node)))
            .map(|node| format!("content-{node}-"))
            .collect();
        for (tool, path) in calls {
            let path = steps(&path);
            let (leads, text) = (tree.leads(&path), path.join("/"));
            // The judgement itself, where the model knows what is right.
            let judged = workshop.context.permitted.allows(Access::Read, &workshop.context.resolve(&text));
            match (allowed, leads) {
                (Leads::To(_), Leads::To(_)) => prop_assert_eq!(judged, is_allowed(leads), "{} in {:?}", text, entry),
                (Leads::To(above), Leads::New(folder)) if judged => prop_assert!(tree.is_below(folder, above), "{}", text),
                _ => {}
            }
            let rendered = workshop.render(tool, call(tool, &text));
            let result = rendered.text;
            for node in 0..tree.nodes.len() {
                let token = format!("content-{node}-");
                prop_assert!(!result.contains(&token) || readable.contains(&token), "{tool} {text} in {entry}: {result}");
            }
            // `write` makes the folders that are missing, also before a `..`. Where its file is counts, see below.
            let may_become_allowed = tool == "write" && leads == Leads::Nowhere;
            if matches!(allowed, Leads::To(_)) && !is_allowed(leads) && !may_become_allowed {
                prop_assert!(rendered.is_error, "{tool} {text}: {result}");
            }
        }
        let mut after = Vec::new();
        contents(&root, &mut after);
        if matches!(allowed, Leads::To(_)) {
            let above = root.join(entry_steps.join("/")).canonicalize().unwrap();
            for (path, _) in after.iter().filter(|(path, _)| !before.iter().any(|(known, _)| known == path)) {
                prop_assert!(Path::new(path).canonicalize().unwrap().starts_with(&above), "{path} was created");
            }
        }
        for (path, content) in before {
            let is_readable = content.split_whitespace().any(|token| readable.contains(token));
            let now = after.iter().find(|(other, _)| *other == path);
            prop_assert!(is_readable || allowed_new(allowed) || now.is_some_and(|(_, now)| *now == content), "{path} was changed");
        }
    }
}

/// Whether the agent's path leads to nothing yet: a call may have created what it then may change.
fn allowed_new(allowed: Leads) -> bool {
    !matches!(allowed, Leads::To(_))
}
