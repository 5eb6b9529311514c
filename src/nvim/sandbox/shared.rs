//! What the functions of a state know, and reading from its stack.

use std::{
    cell::{Cell, RefCell},
    ffi::{c_int, c_void},
    ptr, slice,
};

use mlua::ffi::{self, lua_State};

use crate::tools::LuaProgram;

/// What the functions of a state know. It is reached through the state's allocator.
pub(super) struct Shared<'a> {
    pub(super) program: &'a LuaProgram<'a>,
    /// The state's own allocator.
    pub(super) inner: (ffi::lua_Alloc, *mut c_void),
    pub(super) used: Cell<usize>,
    pub(super) limit: Cell<usize>,
    /// Whether memory was denied.
    pub(super) is_full: Cell<bool>,
    /// Whether the program was told to stop.
    pub(super) is_stopped: Cell<bool>,
    pub(super) ended: RefCell<Option<Ended>>,
}

/// What the code returned.
#[derive(Default)]
pub(super) struct Ended {
    pub(super) is_ok: bool,
    /// The values as JSON, or what went wrong.
    pub(super) text: Vec<u8>,
    pub(super) printed: Vec<u8>,
    pub(super) is_printed_cut: bool,
    pub(super) is_cut: bool,
}

impl Shared<'_> {
    /// Whether the program has to stop.
    pub(super) fn is_over(&self) -> bool {
        if !self.is_stopped.get() && (self.program.is_over)() {
            self.is_stopped.set(true);
        }
        self.is_stopped.get()
    }

    /// Allows any amount of memory while something is handed to the program: it must not throw through Rust.
    pub(super) fn unlimited<R>(&self, work: impl FnOnce() -> R) -> R {
        let limit = self.limit.replace(usize::MAX);
        let result = work();
        self.limit.set(limit);
        result
    }
}

/// What the functions of a state know.
///
/// # Safety
/// The state is one of [`State::evaluate`](super::state::State::evaluate), and still open; the result is used no longer than that.
pub(super) unsafe fn shared<'a>(state: *mut lua_State) -> &'a Shared<'a> {
    let mut data = ptr::null_mut();
    // SAFETY: `State::evaluate` has set the allocator of this state, with a `Shared` as its data.
    unsafe {
        ffi::lua_getallocf(state, &raw mut data);
        &*data.cast::<Shared<'a>>()
    }
}

/// The bytes of a string on the stack; none if there is no string.
///
/// # Safety
/// The state is open, there is something at this place, and it stays there as long as the result is used.
pub(super) unsafe fn view<'a>(state: *mut lua_State, at: c_int) -> &'a [u8] {
    // SAFETY: as above. A string is not converted, so that nothing is allocated; Lua does not move strings.
    unsafe {
        if ffi::lua_type(state, at) != ffi::LUA_TSTRING {
            return &[];
        }
        let mut length = 0;
        let start = ffi::lua_tolstring(state, at, &raw mut length);
        slice::from_raw_parts(start.cast::<u8>(), length)
    }
}
