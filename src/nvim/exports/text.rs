//! Plain text.

use mlua::{Lua, LuaString, Table};

use super::table::Exports;
use crate::text::{
    suggest,
    truncate::{self, Limit, Limits, Truncation},
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // nearest(word, words) -> the one of `words` that `word` may be a misspelling of, or nil
    exports.add("nearest", |_, _, (word, words): (String, Vec<String>)| {
        Ok(suggest::nearest(&word, words.iter().map(String::as_str)).map(str::to_owned))
    })?;
    exports.add("format_size", |_, _, bytes: f64| Ok(truncate::format_size(bytes.max(0.0) as u64)))?;
    // truncate("head" or "tail", text, lines or nil, bytes or nil) -> a table as in `flemma.Truncation`
    exports.add("truncate", |lua, _, args: (String, LuaString, Option<usize>, Option<usize>)| {
        let (end, text, lines, bytes) = args;
        let default = Limits::default();
        let limits = Limits { lines: lines.unwrap_or(default.lines), bytes: bytes.unwrap_or(default.bytes) };
        let text = text.as_bytes();
        let cut = if end == "tail" {
            truncate::truncate_tail(&*text, limits)
        } else {
            truncate::truncate_head(&*text, limits)
        };
        truncation(lua, &cut)
    })
}

fn truncation(lua: &Lua, cut: &Truncation<'_>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("content", &*cut.content)?;
    table.set("truncated", cut.truncated)?;
    table.set(
        "truncated_by",
        cut.truncated_by.map(|limit| match limit {
            Limit::Lines => "lines",
            Limit::Bytes => "bytes",
        }),
    )?;
    table.set("total_lines", cut.total_lines)?;
    table.set("total_bytes", cut.total_bytes)?;
    table.set("output_lines", cut.output_lines)?;
    table.set("output_bytes", cut.output_bytes)?;
    table.set("last_line_partial", cut.last_line_partial)?;
    table.set("first_line_exceeds_limit", cut.first_line_exceeds_limit)?;
    Ok(table)
}
