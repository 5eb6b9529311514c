//! Changes of files by tools, and taking them back: with real files and real processes.

mod edited;
mod kills;
mod notes;
mod refusals;
mod renames;
mod sessions;
mod store;
mod taking_back;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use flemma_journal::CallKey;
use flemma_journal::changes::Wanted;
use flemma_model::{CallId, ToolInput};
use flemma_runtime::backups::{Backups, Limits, LogKey, Permit, Proposal, Restored};
use flemma_tools::FileClass;
use serde_json::{Value, json};

use crate::workshop::Workshop;

const LIMITS: Limits = Limits { max_bytes: 1 << 30, max_age: None };

/// A project, the store beside it, and a conversation that changes the project's files.
struct Bench {
    shop: Workshop,
    backups: Backups,
    log: LogKey,
    keys: Vec<CallKey>,
}

fn write(path: &str, content: &str) -> Value {
    json!({ "label": null, "path": path, "content": content })
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "label": null, "path": path, "old_text": old, "new_text": new })
}

/// Everything below a folder: what a file has and its mode, where a link leads, that there is a folder.
type Everything = BTreeMap<PathBuf, String>;

fn look(folder: &Path) -> Everything {
    let mut found = Everything::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let what = if metadata.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            found.extend(look(&path));
            "folder".to_owned()
        } else {
            format!("{:o} {:?}", metadata.mode() & 0o7777, fs::read(&path).unwrap())
        };
        found.insert(path, what);
    }
    found
}

impl Bench {
    fn new() -> Self {
        let shop = Workshop::new();
        let state = shop.context.overflow_dir.parent().unwrap().to_owned();
        let backups = Backups::new(state.join("changes"), state.join("locks"));
        let log = LogKey::File(shop.path("notes.chat"));
        Self { shop, backups, log, keys: Vec::new() }
    }

    fn state(&self) -> PathBuf {
        self.shop.context.overflow_dir.parent().unwrap().join("changes")
    }

    fn log_file(&self) -> PathBuf {
        fs::read_dir(self.state().join("logs")).unwrap().next().unwrap().unwrap().path()
    }

    fn limited(&mut self, id: &str, tool: &str, input: Value, limits: Limits) -> String {
        let key = CallKey::of(&CallId::from(id), tool, &ToolInput::Json(input.clone()));
        self.shop.context.recorder = Some(self.backups.recorder_of_call(&self.log, &key, limits, None));
        // The user has approved it.
        self.shop.context.is_decided = true;
        self.keys.push(key);
        self.shop.render(tool, input).text
    }

    fn call(&mut self, id: &str, tool: &str, input: Value) {
        let text = self.limited(id, tool, input, LIMITS);
        assert!(["Created", "Replaced", "Edited"].iter().any(|word| text.starts_with(word)), "{text}");
    }

    fn propose(&self, wanted: &Wanted) -> Result<Proposal, String> {
        self.backups.propose(&self.log, wanted, &[]).map_err(|error| error.to_string())
    }

    fn permit(&self) -> Permit {
        Permit {
            overwrite: Vec::new(),
            unsaved: Vec::new(),
            protected: Arc::new(|_| FileClass::Ordinary),
            limits: LIMITS,
            fence: None,
        }
    }

    fn apply(&self, proposal: &Proposal) -> Vec<Option<String>> {
        let restored = self.backups.apply(&self.log, proposal, &self.permit());
        restored.into_iter().map(|Restored { problem, .. }| problem).collect()
    }

    /// Takes changes back; all of them.
    fn back(&self, wanted: &Wanted) {
        let proposal = self.propose(wanted).unwrap();
        assert!(proposal.files.iter().all(|file| file.problem.is_none() && !file.is_changed_since), "{proposal:#?}");
        let problems = self.apply(&proposal);
        assert!(problems.iter().all(Option::is_none), "{problems:?}");
    }

    /// What is wanted to get back to where only the first calls were made.
    fn after(&self, calls: usize) -> Wanted {
        Wanted::After { before: self.keys[..calls].to_vec(), after: self.keys[calls..].to_vec() }
    }

    fn project(&self) -> Everything {
        look(&self.shop.context.cwd)
    }
}
