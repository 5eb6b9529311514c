//! Lua that a model has written, and what evaluates it.

use serde_json::Value;
use thiserror::Error;

use crate::model::ModelError;

/// Evaluates Lua in a state of its own, without access to anything but what the program is given.
pub trait LuaSandbox: Send + Sync {
    /// Evaluates a program; blocks until it has ended or has to stop.
    ///
    /// # Errors
    /// If it fails, has to stop, or uses too much memory.
    fn evaluate(&self, program: &LuaProgram<'_>) -> Result<LuaResults, LuaFault>;
}

/// Answers a function of `space`, which is called with the name of a page; and `names`, the values of more global names.
pub type AskNotes<'a> = dyn Fn(&str, Option<&str>) -> Result<Value, ModelError> + Sync + 'a;

/// A program.
pub struct LuaProgram<'a> {
    /// An expression; or, unless it is `strict`, a chunk that returns something.
    pub source: &'a str,
    /// Whether every result must be JSON. Otherwise what is not JSON is described by a text in its place.
    pub strict: bool,
    /// Answers what it asks for.
    pub ask: &'a AskNotes<'a>,
    /// Whether the program has to stop.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

/// What a program came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LuaResults {
    /// What it returned.
    pub values: Vec<Value>,
    /// What it printed.
    pub printed: Printed,
    /// Whether the values are not whole, because there is too much.
    pub is_cut: bool,
}

/// What a program printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text, or the beginning of it.
    pub text: String,
    /// Whether it printed more.
    pub is_cut: bool,
}

/// Why a program came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LuaFault {
    /// It was stopped.
    #[error("the program was stopped")]
    Stopped,
    /// It needs too much memory.
    #[error("the program used more than {0} MB of memory and was stopped")]
    Memory(usize),
    /// It failed, or is not Lua.
    #[error("{message}")]
    Failed {
        /// What went wrong, and in which line.
        message: String,
        /// What it had printed.
        printed: Printed,
    },
}
