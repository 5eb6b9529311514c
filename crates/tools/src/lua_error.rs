//! What goes wrong in Lua.

use thiserror::Error;

/// What a Lua function threw, or why what it returned is of no use. The author of the function has to act. The text may be
/// anything, so each audience is told whose function it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LuaError(String);

impl LuaError {
    /// An error with the words of the function, or with words about it.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}
