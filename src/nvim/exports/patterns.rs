//! Lua's patterns for the code of a file, which must not hold up the editor.

use mlua::{IntoLua, Lua, LuaString, MultiValue, Value};

use super::table::Exports;
use crate::{
    lua_pattern::{Capture, Match},
    nvim::patterns::search,
};

/// How many steps one search may take: some hundredths of a second.
const STEPS: u64 = 5_000_000;

/// Adds `match_pattern`.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // match_pattern(text, pattern, from, whether ^ anchors; nil for plain text) -> first, last, captures…; or nil; or
    // false and what is wrong. Places are from 1.
    exports.add("match_pattern", |lua, _, args: (LuaString, LuaString, usize, Option<bool>)| {
        let (text, pattern, from, anchors) = args;
        let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
        match search(&text, &pattern, from.saturating_sub(1), anchors, STEPS) {
            Ok(Some(found)) => values(lua, &text, found),
            Ok(None) => Ok(MultiValue::from_vec(vec![Value::Nil])),
            Err(problem) => Ok(MultiValue::from_vec(vec![Value::Boolean(false), problem.to_string().into_lua(lua)?])),
        }
    })
}

fn values(lua: &Lua, text: &[u8], found: Match) -> mlua::Result<MultiValue> {
    let mut values = vec![(found.range.start + 1).into_lua(lua)?, found.range.end.into_lua(lua)?];
    for capture in found.captures {
        values.push(match capture {
            Capture::Text(range) => lua.create_string(&text[range])?.into_lua(lua)?,
            Capture::Position(at) => (at + 1).into_lua(lua)?,
        });
    }
    Ok(MultiValue::from_vec(values))
}
