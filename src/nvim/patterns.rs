//! Searches with Lua's patterns that end soon, whatever the pattern is.

use crate::{
    lua_pattern::{self, Match, PatternError},
    tools::LuaError,
};

/// Finds the first match from byte `from`, in so many steps at most. `anchors` says whether `^` anchors; `None` is for plain text.
///
/// # Errors
/// In words for whoever wrote the pattern.
pub(super) fn search(
    text: &[u8],
    pattern: &[u8],
    from: usize,
    anchors: Option<bool>,
    steps: u64,
) -> Result<Option<Match>, LuaError> {
    let Some(anchors) = anchors else {
        return Ok(text.get(from..).and_then(|rest| memchr::memmem::find(rest, pattern)).map(|at| {
            let start = from + at;
            Match { range: start..start + pattern.len(), captures: Vec::new() }
        }));
    };
    lua_pattern::find(text, pattern, from, anchors, steps).map_err(|problem| match problem {
        PatternError::TooManySteps => {
            LuaError::new(format!("the pattern takes too many steps for a text of {} bytes", text.len()))
        }
        PatternError::Malformed(words) => LuaError::new(words),
    })
}
