//! Files that tools have changed, and taking that back.

use mlua::{BString, Function};
use serde_json::{Value, json};

use crate::nvim::{binding::Binding, convert};
use flemma_workspace::TakeBack;

/// Finds out what taking something back would do.
pub(super) fn propose(binding: &Binding, buffer: i32, what: TakeBack, unsaved: Vec<BString>, callback: Function) {
    let callback = binding.functions.keep(callback);
    let unsaved = unsaved.into_iter().map(convert::path).collect();
    binding.workspace.undo.propose_taking_back(buffer, what, unsaved, move |undo, proposed| {
        let answer = proposed.map(|proposed| {
            let files = proposed.proposal.files.iter().map(|file| {
                json!({
                    "path": file.step.path.to_string_lossy(),
                    "changed": file.is_changed_since && file.problem.is_none(),
                    "problem": file.problem,
                })
            });
            let files: Vec<_> = files.collect();
            json!({ "number": proposed.number, "lines": proposed.lines, "files": files })
        });
        undo.shared.scripts.answered(callback, answer);
    });
}

/// Does what was proposed with this number.
pub(super) fn restore(
    binding: &Binding,
    buffer: i32,
    number: u64,
    overwrite: &[usize],
    unsaved: Vec<BString>,
    callback: Function,
) {
    let callback = binding.functions.keep(callback);
    let unsaved = unsaved.into_iter().map(convert::path).collect();
    binding.workspace.undo.restore_files(buffer, number, overwrite, unsaved, move |undo, restored| {
        let answer = restored.map(|files| {
            let files = files.into_iter();
            files
                .map(|file| {
                    let moved_to = file.moved_to.map(|path| path.to_string_lossy().into_owned());
                    json!({ "path": file.path.to_string_lossy(), "problem": file.problem, "moved_to": moved_to })
                })
                .collect()
        });
        undo.shared.scripts.answered(callback, answer);
    });
}

/// Calls back with a list of `flemma.WrittenFile`, or with nil and why there is none.
pub(super) fn list(binding: &Binding, buffer: i32, callback: Function) {
    let callback = binding.functions.keep(callback);
    binding.workspace.undo.changed_files(buffer, move |undo, files| {
        let answer = files.map(|files| {
            let files = files.into_iter().map(|file| {
                let text = file.before.map(String::from_utf8).transpose();
                let is_binary = !text.as_ref().is_ok_and(|text| !text.as_ref().is_some_and(|text| text.contains('\0')));
                let note = file.is_lost.then_some("not kept").or(is_binary.then_some("binary"));
                let before = text.ok().flatten().filter(|_| note.is_none());
                json!({ "path": file.path.to_string_lossy(), "before": before, "note": note })
            });
            files.collect::<Value>()
        });
        undo.shared.scripts.answered(callback, answer);
    });
}
