//! A Lua state for one program.

use std::{
    cell::{Cell, RefCell},
    ffi::{CStr, c_int, c_void},
    ptr,
};

use mlua::ffi::{self, lua_State};

use super::{
    functions,
    shared::{Ended, Shared, shared, view},
};
use crate::tools::{LuaFault, LuaProgram, LuaResults, Printed};

/// The most memory that a program may use, in MB.
const MEMORY: usize = 64;

/// The number of instructions between two looks at the clock.
const STEP: c_int = 100;

/// The Lua code that evaluates.
const EVALUATION: &str = include_str!("../../../lua/flemma/evaluation.lua");
const BOUNDED: &str = include_str!("../../../lua/flemma/bounded_library.lua");

/// A state. It is closed when this is dropped.
pub(super) struct State(*mut lua_State);

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the state was opened by this, and nothing else refers to it.
        unsafe { ffi::lua_close(self.0) };
    }
}

impl State {
    /// Evaluates a program in a new state.
    pub(super) fn evaluate(program: &LuaProgram<'_>) -> Result<LuaResults, LuaFault> {
        let failed = |message: String| LuaFault::Failed { message, printed: Printed::default() };
        // SAFETY: a new state has an allocator, which is called as before, with a count around it. `shared` lives longer than the state,
        // which is dropped first: it is declared last. The state never leaves this thread. What may throw runs inside `lua_cpcall`.
        let (words, ended, is_stopped, is_full) = unsafe {
            let state = ffi::luaL_newstate();
            if state.is_null() {
                return Err(failed("there is not enough memory for a Lua state".into()));
            }
            let mut data = ptr::null_mut();
            let alloc = ffi::lua_getallocf(state, &raw mut data);
            let used = usize::try_from(ffi::lua_gc(state, ffi::LUA_GCCOUNT, 0)).unwrap_or(0) * 1024;
            let shared = Shared {
                program,
                inner: (alloc, data),
                used: Cell::new(used),
                limit: Cell::new(MEMORY * 1024 * 1024),
                is_full: Cell::default(),
                is_stopped: Cell::default(),
                ended: RefCell::default(),
            };
            let state = State(state);
            ffi::lua_setallocf(state.0, allocate, (&raw const shared).cast_mut().cast());
            let status = ffi::lua_cpcall(state.0, enter, ptr::null_mut());
            let words = if status == 0 { Vec::new() } else { view(state.0, -1).to_vec() };
            // The allocator must not look at the limit while the state closes.
            shared.limit.set(usize::MAX);
            drop(state);
            (words, shared.ended.take(), shared.is_stopped.get(), shared.is_full.get())
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if is_stopped {
            return Err(LuaFault::Stopped);
        }
        let Ended { is_ok, text: words, printed, is_printed_cut, is_cut } =
            ended.unwrap_or_else(|| Ended { text: words, ..Ended::default() });
        let printed = Printed { text: text(&printed), is_cut: is_printed_cut };
        if is_full {
            return Err(LuaFault::Memory(MEMORY));
        }
        if is_ok {
            let values = serde_json::from_str(&text(&words));
            return match values {
                Ok(values) => Ok(LuaResults { values, printed, is_cut }),
                Err(error) => Err(failed(format!("the result could not be read: {error}. This is a bug in Flemma"))),
            };
        }
        let message = text(&words);
        Err(LuaFault::Failed { message, printed })
    }
}

/// Allocates as the state's own allocator does, within the limit.
unsafe extern "C" fn allocate(data: *mut c_void, block: *mut c_void, old: usize, new: usize) -> *mut c_void {
    // SAFETY: the data is the `Shared` of this state, see `State::evaluate`.
    let shared = unsafe { &*data.cast::<Shared<'_>>() };
    let old = if block.is_null() { 0 } else { old };
    let used = shared.used.get().saturating_sub(old).saturating_add(new);
    if new > old && used > shared.limit.get() {
        shared.is_full.set(true);
        return ptr::null_mut();
    }
    // SAFETY: these are the arguments of Lua for its own allocator.
    let result = unsafe { (shared.inner.0)(shared.inner.1, block, old, new) };
    if !result.is_null() || new == 0 {
        shared.used.set(used);
    }
    result
}

/// Stops a program that has to stop, or has used all of its memory: it throws at every instruction from then on, so that no `pcall` catches it for long.
unsafe extern "C-unwind" fn watch(state: *mut lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: the hook is only set on states of `State::evaluate`. Nothing here needs to be dropped when `lua_error` leaves.
    unsafe {
        if shared(state).is_full.get() || shared(state).is_over() {
            ffi::lua_sethook(state, Some(watch), ffi::LUA_MASKCOUNT, 1);
            ffi::lua_pushlstring(state, c"stopped".as_ptr(), 7);
            ffi::lua_error(state);
        }
    }
}

/// The same, for the code that catches errors.
unsafe extern "C-unwind" fn check(state: *mut lua_State) -> c_int {
    // SAFETY: this is only given to states of `State::evaluate`.
    unsafe { watch(state, ptr::null_mut()) };
    0
}

/// Opens a library of Lua.
unsafe fn open(state: *mut lua_State, library: ffi::lua_CFunction, name: &CStr) {
    // SAFETY: called inside `lua_cpcall`, with room on the stack. Nothing here needs to be dropped.
    unsafe {
        ffi::lua_pushcfunction(state, library);
        ffi::lua_pushlstring(state, name.as_ptr(), name.count_bytes());
        ffi::lua_call(state, 1, 0);
    }
}

/// Loads our own code and runs it with what is on the stack above it.
unsafe fn load(state: *mut lua_State, code: &str, name: &CStr) {
    // SAFETY: called inside `lua_cpcall`, with room on the stack. Nothing here needs to be dropped.
    unsafe {
        if ffi::luaL_loadbuffer(state, code.as_ptr().cast(), code.len(), name.as_ptr()) != 0 {
            ffi::lua_error(state);
        }
    }
}

/// Does all that may throw.
unsafe extern "C-unwind" fn enter(state: *mut lua_State) -> c_int {
    // SAFETY: called by `lua_cpcall` on a state of `State::evaluate`. What needs to be dropped exists only where nothing throws.
    unsafe {
        open(state, ffi::luaopen_base, c"");
        open(state, ffi::luaopen_string, c"string");
        open(state, ffi::luaopen_table, c"table");
        open(state, ffi::luaopen_math, c"math");
        open(state, ffi::luaopen_os, c"os");
        open(state, ffi::luaopen_debug, c"debug");
        load(state, EVALUATION, c"=evaluation");
        ffi::lua_pushcfunction(state, functions::find);
        ffi::lua_pushcfunction(state, functions::ask);
        ffi::lua_pushcfunction(state, check);
        load(state, BOUNDED, c"=bounded");
        ffi::lua_call(state, 0, 1);
        ffi::lua_call(state, 4, 1);
        let program = shared(state).program;
        ffi::lua_pushlstring(state, program.source.as_ptr().cast(), program.source.len());
        ffi::lua_pushboolean(state, program.strict.into());
        ffi::lua_sethook(state, Some(watch), ffi::LUA_MASKCOUNT, STEP);
        ffi::lua_call(state, 2, 5);
        ffi::lua_sethook(state, None, 0, 0);
        let ended = Ended {
            is_ok: ffi::lua_toboolean(state, -5) != 0,
            text: view(state, -4).to_vec(),
            printed: view(state, -3).to_vec(),
            is_printed_cut: ffi::lua_toboolean(state, -2) != 0,
            is_cut: ffi::lua_toboolean(state, -1) != 0,
        };
        *shared(state).ended.borrow_mut() = Some(ended);
    }
    0
}
