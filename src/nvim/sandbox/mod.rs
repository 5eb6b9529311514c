//! Evaluates the Lua of models, in states of their own.
//!
//! Each program gets a new state of the editor's Lua on a thread of its own. The state has no module, no file, no process, no
//! `ffi` and no bytecode; `lua/flemma/evaluation.lua` builds what the program can reach. A hook looks at the clock, the allocator counts the
//! memory, and the functions that could work for long in a single instruction are those of `lua/flemma/bounded_library.lua`. Without the library
//! `jit`, nothing is compiled, so the hook is always called.

mod functions;
mod shared;
mod state;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use self::state::State;
use crate::tools::{LuaFault, LuaProgram, LuaResults, LuaSandbox, Printed};

/// The stack of the thread. Programs can nest calls from Lua to C and back as deeply as the state's own stack allows.
const STACK: usize = 64 * 1024 * 1024;

/// The Lua of this Neovim, for programs that must not reach the editor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NvimSandbox;

impl LuaSandbox for NvimSandbox {
    fn evaluate(&self, program: &LuaProgram<'_>) -> Result<LuaResults, LuaFault> {
        let failed = |message: &str| LuaFault::Failed { message: message.to_owned(), printed: Printed::default() };
        thread::scope(|scope| {
            let run = || catch_unwind(AssertUnwindSafe(|| State::evaluate(program)));
            let begun = thread::Builder::new().name("flemma-lua".into()).stack_size(STACK).spawn_scoped(scope, run);
            let Ok(running) = begun else {
                return Err(failed("the system could not start a thread; try again later"));
            };
            match running.join() {
                Ok(Ok(ended)) => ended,
                _ => Err(failed("the evaluation crashed. This is a bug in Flemma")),
            }
        })
    }
}
