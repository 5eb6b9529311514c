//! Files that tools have changed, and taking that back.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use mlua::{BString, Function};
use serde_json::json;

use super::table::Exports;
use crate::{model::CallId, workspace::TakeBack};

/// What `propose_taking_back` takes.
type Proposing = (i32, String, Option<String>, Vec<BString>, Function);

/// What `restore_files` takes.
type Restoring = (i32, u64, Vec<usize>, Vec<BString>, Function);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // propose_taking_back(buffer, what, about, unsaved, callback): `what` is "last", "call" (about its id), "redo" or "after" (about a line, from
    // 0). `unsaved` are the files with changes in buffers. Calls back with a table as in `flemma.Proposed`, or with nil and why there is nothing
    // to do.
    exports.add("propose_taking_back", |_, binding, (buffer, what, about, unsaved, callback): Proposing| {
        let about = about.unwrap_or_default();
        let what = match what.as_str() {
            "call" => TakeBack::Call(CallId(about)),
            "redo" => TakeBack::Redo,
            "after" => TakeBack::After(about.parse().unwrap_or(0)),
            _ => TakeBack::Last,
        };
        let callback = binding.functions.keep(callback);
        binding.workspace.propose_taking_back(buffer, what, paths(&unsaved), move |workspace, proposed| {
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
            workspace.give_answer(callback, answer);
        });
        Ok(())
    })?;
    // restore_files(buffer, number, overwrite, unsaved, callback): does what was proposed with this number. `overwrite` are the places, from 1, of
    // files that others have changed. Calls back with a table of `path`, `problem` and `moved_to` for each file, or with nil and why nothing was done.
    exports.add("restore_files", |_, binding, (buffer, number, overwrite, unsaved, callback): Restoring| {
        let overwrite: Vec<usize> = overwrite.into_iter().filter_map(|place| place.checked_sub(1)).collect();
        let callback = binding.functions.keep(callback);
        binding.workspace.restore_files(buffer, number, &overwrite, paths(&unsaved), move |workspace, restored| {
            let answer = restored.map(|files| {
                let files = files.into_iter();
                files
                    .map(|file| {
                        let moved_to = file.moved_to.map(|path| path.to_string_lossy().into_owned());
                        json!({ "path": file.path.to_string_lossy(), "problem": file.problem, "moved_to": moved_to })
                    })
                    .collect()
            });
            workspace.give_answer(callback, answer);
        });
        Ok(())
    })?;
    // changed_files(buffer, callback): calls back with a list of `flemma.WrittenFile`, or with nil and why there is none
    exports.add("changed_files", |_, binding, (buffer, callback): (i32, Function)| {
        let callback = binding.functions.keep(callback);
        binding.workspace.changed_files(buffer, move |workspace, files| {
            let answer = files.map(|files| {
                let files = files.into_iter().map(|file| {
                    let text = file.before.map(String::from_utf8).transpose();
                    let is_binary =
                        !text.as_ref().is_ok_and(|text| !text.as_ref().is_some_and(|text| text.contains('\0')));
                    let note = file.is_lost.then_some("not kept").or(is_binary.then_some("binary"));
                    let before = text.ok().flatten().filter(|_| note.is_none());
                    json!({ "path": file.path.to_string_lossy(), "before": before, "note": note })
                });
                files.collect()
            });
            workspace.give_answer(callback, answer);
        });
        Ok(())
    })
}

fn paths(names: &[BString]) -> Vec<PathBuf> {
    names.iter().map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}
