//! Neovim: the only code that knows the editor, and thin.
//!
//! `luaopen_flemma_native` builds the table of functions ([`exports`]) that the Lua shim calls. A call
//! finds its [`conversation`], feeds an input to the session, and the session's effects come back here
//! as calls of the shim's [`host`] functions. Tasks wake the main thread through [`waker`]; `drain`
//! feeds what they left. Every export goes through mlua, which turns a panic into a Lua error: no panic
//! unwinds into Neovim.
//!
//! State lives in one [`editor::Editor`] on the main thread, behind `RefCell`s that are borrowed for one
//! statement at a time: Lua that we call may call us back.

mod approvals;
mod buffer;
mod checks;
mod conversation;
mod convert;
mod editor;
mod exports;
mod files;
mod frontmatter;
mod functions;
mod holding;
mod host;
mod lua_answers;
mod lua_tools;
mod opt;
mod panics;
mod patterns;
mod policy;
mod queries;
mod saving;
mod shell;
mod standing;
mod status;
mod switch;
mod tasks;
mod trust;
mod usage;
mod waker;

use mlua::Lua;

/// The entry point, `luaopen_flemma_native`. Leaves the table of exports in `package.loaded.flemma_native`.
#[nvim_oxi::plugin]
fn flemma_native() -> nvim_oxi::Object {
    let opened = std::panic::catch_unwind(|| {
        // SAFETY: nvim-oxi's entry point has just stored the state that Neovim passed, which is its main
        // state (native.lua sees to that) and lives as long as the process.
        let lua = unsafe { nvim_oxi::lua::with_state(|state| Lua::get_or_init_from_ptr(state.cast())) };
        exports::open(lua)
    });
    if let Ok(Err(error)) = opened {
        nvim_oxi::api::err_writeln(&format!("Flemma: the native library does not start: {error}"));
    }
    nvim_oxi::Object::nil()
}
