//! Whole sessions of random writes, and back.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use flemma_journal::changes::Wanted;
use proptest::prelude::*;

use super::{Bench, Everything, edit, write};

#[derive(Clone, Debug)]
enum Deed {
    Write(usize, String),
    Edit(usize, String),
    Undo,
    Redo,
}

/// Names in the project: files, files in folders that are not there, links, and a name that shares its file with another.
const NAMES: [&str; 9] =
    ["a.txt", "run.sh", "private", "link", "dangling", "new/b.txt", "new/deep/c.txt", "other/d.txt", "shared"];

fn deed() -> impl Strategy<Value = Deed> {
    let content = "[a-c\n]{0,12}";
    prop_oneof![
        6 => (0..NAMES.len(), content).prop_map(|(name, content)| Deed::Write(name, content)),
        4 => (0..NAMES.len(), content).prop_map(|(name, content)| Deed::Edit(name, content)),
        2 => Just(Deed::Undo),
        1 => Just(Deed::Redo),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "slow"]
    fn every_byte_and_mode_of_a_session_comes_back(deeds in proptest::collection::vec(deed(), 50), goal in 0usize..50) {
        let mut bench = Bench::new();
        for (name, mode) in [("a.txt", 0o644), ("run.sh", 0o755), ("private", 0o600), ("target", 0o640), ("shared", 0o664)] {
            let path = bench.shop.put(name, format!("{name}\u{feff}\r\n"));
            fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        symlink("target", bench.shop.path("link")).unwrap();
        symlink("gone/away", bench.shop.path("dangling")).unwrap();
        fs::create_dir(bench.shop.path("gone")).unwrap();
        fs::hard_link(bench.shop.path("shared"), bench.shop.path("same")).unwrap();
        let mut states = vec![bench.project()];
        // What undo and redo have to come to: the states before the calls that stand, and those that were undone.
        let (mut before, mut undone): (Vec<Everything>, Vec<Everything>) = (Vec::new(), Vec::new());
        for deed in deeds {
            let now = bench.project();
            let id = format!("c{}", bench.keys.len());
            match deed {
                Deed::Write(name, content) => bench.call(&id, "write", write(NAMES[name], &content)),
                Deed::Edit(name, content) => {
                    let old = fs::read_to_string(bench.shop.path(NAMES[name])).unwrap_or_default();
                    if old.is_empty() || old == content {
                        continue;
                    }
                    bench.call(&id, "edit", edit(NAMES[name], &old, &content));
                }
                Deed::Undo => {
                    if let Some(state) = before.pop() {
                        bench.back(&Wanted::Last);
                        prop_assert_eq!(bench.project(), state);
                        undone.push(now);
                    }
                    continue;
                }
                Deed::Redo => {
                    if let Some(state) = undone.pop() {
                        bench.back(&Wanted::Redo);
                        prop_assert_eq!(bench.project(), state);
                        before.push(now);
                    }
                    continue;
                }
            }
            if bench.project() == now {
                // It changed nothing.
                bench.keys.pop();
                continue;
            }
            before.push(now);
            // What was undone can be made again until something else is written.
            undone.clear();
            states.push(bench.project());
        }
        // Rollback to any message, and from there to the beginning.
        let goal = goal.min(states.len() - 1);
        let is_reached = before.len() == states.len() - 1;
        if is_reached && goal < before.len() {
            bench.back(&bench.after(goal));
            prop_assert_eq!(&bench.project(), &states[goal]);
        }
        if bench.propose(&bench.after(0)).is_ok() {
            bench.back(&bench.after(0));
        }
        prop_assert_eq!(&bench.project(), &states[0]);
    }
}
