//! Neovim: the only code that knows the editor, and thin.
//!
//! `luaopen_flemma_native` builds the table of functions ([`exports`]) that the Lua code calls. Each of them is a call of the
//! [`flemma_workspace`], which calls back through its two ports. [`host`] shows and writes by way of `lua/flemma/host.lua`
//! ([`shim`]) and asks Neovim itself; [`scripts`] runs the Lua of users, plugins and files. Background work wakes the main thread
//! through [`waker`]; the export `drain` takes what it left. Every export goes through mlua, which turns a panic into
//! a Lua error: no panic unwinds into Neovim.

mod binding;
mod buffer;
mod convert;
mod exports;
mod functions;
mod host;
mod lua_tools;
mod opt;
mod policies;
mod review_table;
mod scripts;
mod shim;
mod waker;

use mlua::Lua;

/// The entry point, `luaopen_flemma_native`. Leaves the table of exports in `package.loaded.flemma_native`.
#[nvim_oxi::plugin]
fn flemma_native() -> nvim_oxi::Object {
    let opened = std::panic::catch_unwind(|| {
        // SAFETY: nvim-oxi's entry point has just stored the state that Neovim passed, which is its main
        // state (native.lua sees to that) and lives as long as the process.
        let lua = unsafe { nvim_oxi::lua::with_state(|state| Lua::get_or_init_from_ptr(state.cast())) };
        // Otherwise nearly every value that crosses over is pushed in a protected call of its own, which costs more than the value.
        // Neovim does not survive without memory either.
        lua.skip_memory_check(true);
        exports::open(lua)
    });
    if let Ok(Err(error)) = opened {
        nvim_oxi::api::err_writeln(&format!("Flemma: the native library does not start: {error}"));
    }
    nvim_oxi::Object::nil()
}
