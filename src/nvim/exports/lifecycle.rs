//! Buffers that come, change and go.

use super::table::Exports;
use crate::{
    chat::{Author, Change},
    workspace::Redraw,
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // attach(buffer) -> whether `parse_on` has more to do
    exports.add("attach", |_, binding, buffer: i32| {
        binding.workspace.attach(buffer);
        Ok(binding.workspace.parse_on(buffer))
    })?;
    exports.add("parse_on", |_, binding, buffer: i32| Ok(binding.workspace.parse_on(buffer)))?;
    exports.add("index_on", |_, binding, buffer: i32| {
        Ok(binding.workspace.conversation(buffer).is_some_and(|conversation| conversation.index_on()))
    })?;
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
    // missed(buffer, first, last): these lines changed again before `changed_lines` was told of them
    exports.add("missed", |_, binding, (buffer, first, last): (i32, usize, usize)| {
        if let Some(conversation) = binding.workspace.conversation(buffer) {
            conversation.missed(first..last);
        }
        Ok(())
    })?;
    // undone(buffer): the changes that were just reported were undo or redo
    exports.add("undone", |_, binding, buffer: i32| {
        if let Some(conversation) = binding.workspace.conversation(buffer) {
            conversation.undone();
        }
        Ok(())
    })?;
    // noticed(buffer): an edit of the user's is complete
    exports.add("noticed", |_, binding, buffer: i32| {
        binding.workspace.noticed(buffer);
        Ok(())
    })?;
    // settle(buffer): the changes that were reported so far are complete, and were not undo
    exports.add("settle", |_, binding, buffer: i32| {
        if let Some(conversation) = binding.workspace.conversation(buffer) {
            conversation.settle();
        }
        Ok(())
    })?;
    // reloaded(buffer) -> whether `parse_on` has more to do
    exports.add("reloaded", |_, binding, buffer: i32| Ok(binding.workspace.reloaded(buffer)))?;
    // read_in(buffer, first, last): the lines first..last came from another file
    exports.add("read_in", |_, binding, (buffer, first, last): (i32, usize, usize)| {
        if let Some(conversation) = binding.workspace.conversation(buffer) {
            conversation.read_in(first..last);
        }
        Ok(())
    })?;
    // ui_attached(): a user interface is attached, so that client tools can run in it
    exports.add("ui_attached", |_, binding, ()| {
        binding.workspace.ui_attached();
        Ok(())
    })?;
    exports.add("detach", |_, binding, buffer: i32| {
        binding.workspace.detach(buffer);
        Ok(())
    })?;
    // renamed(buffer): its file has another name
    exports.add("renamed", |_, binding, buffer: i32| {
        binding.workspace.renamed(buffer);
        Ok(())
    })?;
    exports.add("drain", |_, binding, ()| {
        binding.workspace.drain();
        Ok(())
    })?;
    // begin_to_leave(): Neovim is about to exit: nothing starts any more
    exports.add("begin_to_leave", |_, binding, ()| {
        binding.workspace.begin_to_leave();
        Ok(())
    })?;
    // wind_up(): the files are written after this, and then Neovim exits
    exports.add("wind_up", |_, binding, ()| {
        binding.workspace.wind_up();
        Ok(())
    })?;
    exports.add("shut_down", |_, binding, ()| {
        binding.workspace.shut_down();
        Ok(())
    })
}

fn redraw(redraw: Option<Redraw>) -> (Option<usize>, Option<usize>, Vec<usize>) {
    match redraw {
        Some(Redraw { lines, heads }) => (Some(lines.start), Some(lines.end), heads),
        None => (None, None, Vec::new()),
    }
}
