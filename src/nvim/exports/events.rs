//! What the editor reports: buffers that come, change and go, and what happens in Neovim as a whole; and the files that it wants
//! written (`lua/flemma/buffer/saving.lua`).

use std::path::PathBuf;

use mlua::{BString, Table, Value};
use nvim_oxi::api::Buffer;
use serde::Deserialize;

use super::table::Exports;
use crate::nvim::{binding::Binding, convert};
use flemma_chat::{Author, Change};
use flemma_config::LevelFilter;
use flemma_tools::{SourceEnd, SourceId};
use flemma_workspace::{FileLayout, Redraw};

/// What has happened to the buffer of a conversation. Lines are counted from 0, and `last` is behind the last of them.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum BufferEvent {
    Attached,
    Detached,
    Reloaded,
    // Its file has another name.
    Renamed,
    // The changes that were just reported were undo or redo.
    Undone,
    // The changes that were reported so far are complete, and were not undo.
    Settled,
    // An edit of the user's is complete.
    Edited,
    // These lines changed again before `changed_lines` was told of them.
    Missed { first: usize, last: usize },
    // These lines came from another file.
    ReadIn { first: usize, last: usize },
    // Neovim has written it to this file: what is trusted in it stays so.
    Saved { path: String },
    // Neovim has read or written the file of this name, which has the buffer's text.
    OnDisk { path: BString },
    // The user looks at it while this is the working directory, or, if not `is_entered`, it was written.
    Used { path: BString, cwd: BString, is_entered: bool },
    // What a diagnostic is about may be gone.
    Diagnosed,
}

/// What has happened in Neovim.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum EditorEvent {
    // A user interface is attached, so that client tools can run in it.
    UiAttached,
    // Files may have changed.
    FilesChanged,
    // There are other parsers for the frontmatter.
    ParsersChanged,
    // Neovim is about to exit: nothing starts any more.
    Leaving,
    // The files are written after this, and then Neovim exits.
    Closing,
    Left,
    // The user has written a file.
    Written { path: BString },
    // A source of tools is complete, has failed, or is out of time.
    SourceEnded { source: u64, why: Option<BString>, seconds: Option<f64> },
    // Another plugin's tool says something for the log.
    Logged { level: LevelFilter, line: BString },
}

/// When the file is written.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum When {
    // In the background; `saved` of the shim hears of its end. `tick` is the buffer's count of changes.
    Later { tick: i64 },
    // Before this returns. If `is_forced`, also over the changes of others.
    Now { is_forced: bool },
}

/// What `save` takes.
type Saving = (i32, PathBuf, Table, Option<bool>, String, Table);

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // event(buffer, what, fields or nil): a `BufferEvent`. After "attached" and "reloaded" it says whether `parse_on` has more to do
    exports.add("event", |lua, binding, (buffer, what, fields): (i32, String, Option<Table>)| {
        Ok(take(binding, buffer, convert::variant(lua, &what, fields)?))
    })?;
    // editor_event(what, fields or nil): an `EditorEvent`
    exports.add("editor_event", |lua, binding, (what, fields): (String, Option<Table>)| {
        let workspace = &binding.workspace;
        match convert::variant(lua, &what, fields)? {
            EditorEvent::UiAttached => workspace.ui_attached(),
            EditorEvent::FilesChanged => workspace.reviews.check_proposals(),
            EditorEvent::ParsersChanged => workspace.shared.toolbox.touch(),
            EditorEvent::Leaving => workspace.begin_to_leave(),
            EditorEvent::Closing => workspace.wind_up(),
            EditorEvent::Left => workspace.shut_down(),
            EditorEvent::Written { path } => workspace.instructions.was_written(path.to_string().into()),
            EditorEvent::SourceEnded { source, why, seconds } => {
                let how = match (why, seconds) {
                    (Some(why), _) => SourceEnd::Failed(why.to_string()),
                    (None, Some(seconds)) => SourceEnd::TimedOut(seconds),
                    (None, None) => SourceEnd::Complete,
                };
                workspace.tools.end_source(SourceId(source), &how);
            }
            EditorEvent::Logged { level, line } => workspace.shared.log_line(level, &line.to_string()),
        }
        Ok(())
    })?;
    // parse_on(buffer) -> whether there is more to parse
    exports.add("parse_on", |_, binding, buffer: i32| Ok(binding.workspace.parse_on(buffer)))?;
    // changed(buffer, first, old_last, new_last, step, means) -> the lines first..last that may look different now,
    // whether they are code, and such lines above them. `step` is the number of the user's step of undo; nil where the text did not come from the user. `means` is "typing"
    // for text that was typed in Insert mode, "part" for a command that changed a part of each line, and nil otherwise.
    exports.add("changed", |_, binding, args: (i32, usize, usize, usize, Option<u64>, Option<String>)| {
        let (buffer, first, old_last, new_last, step, means) = args;
        let author = match (step, means.as_deref()) {
            (None, _) => Author::Stranger,
            (Some(step), Some("typing")) => Author::User { step },
            (Some(step), Some("part")) => Author::Substitution { step },
            (Some(step), _) => Author::Command { step },
        };
        Ok(redraw(binding.workspace.changed(buffer, Change { first, old_last, new_last }, author)))
    })?;
    // changed_lines(buffer, runs, step) -> as above. `runs` is a list of pairs: the first line and one past the last. Each
    // line was changed once, by itself, and has not changed since.
    exports.add("changed_lines", |_, binding, (buffer, runs, step): (i32, Vec<usize>, u64)| {
        let (runs, _) = runs.as_chunks();
        Ok(redraw(binding.workspace.changed_lines(buffer, runs, step)))
    })?;
    exports.add("drain", |_, binding, ()| {
        binding.workspace.drain();
        Ok(())
    })?;
    // save(buffer, path, layout, is_known, when, fields) -> what went wrong, or nil. `is_known`: Neovim knows the file as it is now.
    exports.add("save", |lua, binding, (buffer, path, layout, is_known, when, fields): Saving| {
        let (name, workspace) = (path.file_name().unwrap_or_default().display().to_string(), &binding.workspace);
        if !Buffer::from(buffer).is_loaded() {
            return Ok(Some(format!("{name} was not written: its buffer is not loaded")));
        }
        if is_known == Some(true) {
            workspace.saving.file_is_known(buffer, &path);
        }
        let layout: FileLayout = convert::read_as(Value::Table(layout)).map_err(mlua::Error::external)?;
        Ok(match convert::variant(lua, &when, Some(fields))? {
            When::Later { tick } => {
                let is_begun = workspace.saving.save(buffer, path, layout, tick);
                (!is_begun).then(|| format!("{name} was not written: the system could not start a thread."))
            }
            When::Now { is_forced } => {
                workspace.saving.save_now(buffer, path, layout, is_forced).err().map(|error| error.to_string())
            }
        })
    })
}

fn take(binding: &Binding, buffer: i32, event: BufferEvent) -> Option<bool> {
    let workspace = &binding.workspace;
    let conversation = || workspace.conversation(buffer);
    match event {
        BufferEvent::Attached => {
            workspace.attach(buffer);
            return Some(workspace.parse_on(buffer));
        }
        BufferEvent::Reloaded => return Some(workspace.reloaded(buffer)),
        BufferEvent::Detached => workspace.detach(buffer),
        BufferEvent::Renamed => workspace.renamed(buffer),
        BufferEvent::Edited => workspace.noticed(buffer),
        BufferEvent::Saved { path } => workspace.saving.saved(buffer, path),
        BufferEvent::OnDisk { path } => workspace.saving.on_disk(buffer, &convert::path(path)),
        BufferEvent::Used { path, cwd, is_entered } => {
            let path = convert::path(path);
            if path.is_absolute() {
                workspace.projects.conversation_used(&path, &convert::path(cwd), is_entered);
            }
        }
        BufferEvent::Diagnosed => workspace.diagnose_again(buffer),
        BufferEvent::Undone => conversation()?.page.undone(),
        BufferEvent::Settled => conversation()?.page.settle(),
        BufferEvent::Missed { first, last } => conversation()?.page.missed(first..last),
        BufferEvent::ReadIn { first, last } => conversation()?.read_in(first..last),
    }
    None
}

fn redraw(redraw: Option<Redraw>) -> (Option<usize>, Option<usize>, Vec<usize>) {
    match redraw {
        Some(Redraw { lines, heads, .. }) => (Some(lines.start), Some(lines.end), heads),
        None => (None, None, Vec::new()),
    }
}
