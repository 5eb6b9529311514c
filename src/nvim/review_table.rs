//! What a call would write, as a Lua table. The contents of files are bytes.

use std::{ops::Range, sync::Arc};

use mlua::{Lua, Table};

use super::convert::{self, table};
use flemma_text::hunk_places::HunkPlace;
use flemma_workspace::{DrawnHunks, Reviewed, ReviewedFile};

/// The table that `review` calls back with.
pub(super) fn review(lua: &Lua, reviewed: &Reviewed) -> mlua::Result<Table> {
    Ok(table!(
        lua,
        call_id: reviewed.call.0.as_str(),
        tool: reviewed.tool.as_str(),
        revision: reviewed.revision.as_str(),
        change: reviewed.change,
        files: convert::list(lua, reviewed.files.iter().map(|reviewed| file(lua, reviewed)))?,
    ))
}

fn file(lua: &Lua, file: &ReviewedFile) -> mlua::Result<Table> {
    let content = |bytes: &Option<Arc<Vec<u8>>>| bytes.as_ref().map(|bytes| lua.create_string(&**bytes)).transpose();
    let draft = file.made.draft.as_ref().map(|made| {
        let (text, base) = (lua.create_string(&*made.text)?, lua.create_string(&*made.base)?);
        Ok::<_, mlua::Error>(table!(lua, text: text, base: base))
    });
    let hunks = file.note.is_none().then(|| places(lua, &file.hunks));
    Ok(table!(
        lua,
        path: file.path.as_str(),
        name: file.name.as_str(),
        old: content(&file.old)?,
        new: content(&file.new)?,
        old_size: file.old_size,
        new_size: file.new_size,
        moved_to: file.moved_to.as_deref(),
        after: file.after.as_deref(),
        note: file.note,
        is_read_only: file.is_read_only,
        line_breaks: file.line_breaks.as_deref(),
        is_left: file.made.is_left,
        draft: draft.transpose()?,
        hunks: hunks.transpose()?,
    ))
}

/// Where contents differ: eight numbers for each place, as in `flemma.Hunk`. One list is made faster than a table for each.
fn places(lua: &Lua, places: &[HunkPlace]) -> mlua::Result<Table> {
    // As a diff names them: the lines from 1, or the one before them if there are none; the bytes from 0, the end not included.
    let lines = |lines: &Range<usize>| [lines.start + usize::from(!lines.is_empty()), lines.len()];
    let bytes = |bytes: &Range<usize>| [bytes.start, bytes.end];
    let numbers = places
        .iter()
        .flat_map(|place| [lines(&place.old), lines(&place.new), bytes(&place.old_bytes), bytes(&place.new_bytes)]);
    lua.create_sequence_from(numbers.flatten())
}

/// The places that a list says.
pub(super) fn read_places(numbers: &[usize]) -> Vec<HunkPlace> {
    let lines = |[first, count]: [usize; 2]| {
        let start = first.saturating_sub(usize::from(count > 0));
        start..start.saturating_add(count)
    };
    let place = |numbers: &[usize; 8]| {
        let &[old_first, old_count, new_first, new_count, old_from, old_to, new_from, new_to] = numbers;
        HunkPlace {
            old: lines([old_first, old_count]),
            new: lines([new_first, new_count]),
            old_bytes: old_from..old_to,
            new_bytes: new_from..new_to,
        }
    };
    numbers.as_chunks().0.iter().map(place).collect()
}

/// The table that `hunk_rows` calls back with.
pub(super) fn drawn(lua: &Lua, drawn: &DrawnHunks) -> mlua::Result<Table> {
    Ok(table!(lua, hunks: places(lua, &drawn.places)?, rows: convert::to_lua(lua, &drawn.rows)?))
}
