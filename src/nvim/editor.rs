//! What Neovim says of itself. Its texts are asked for by way of its Lua: nvim-oxi, which cannot tell whose a text is, never frees
//! one.

use std::{
    collections::HashMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use mlua::{BString, FromLuaMulti, Function, IntoLuaMulti, Lua, Table};
use nvim_oxi::api;

/// Neovim, asked by the functions of `vim.api` and `vim.fn`.
pub(super) struct Editor {
    vim: Table,
    api: Table,
    functions: Table,
}

impl Editor {
    pub(super) fn new(lua: &Lua) -> mlua::Result<Self> {
        let vim: Table = lua.globals().get("vim")?;
        Ok(Self { api: vim.get("api")?, functions: vim.get("fn")?, vim })
    }

    /// `:help nvim_get_current_buf()`.
    pub(super) fn current_buffer() -> i32 {
        api::get_current_buf().handle()
    }

    /// The full name of a buffer; empty for one that has none or is gone: `:help nvim_buf_get_name()`.
    fn name(&self, buffer: i32) -> BString {
        call(&self.api, "nvim_buf_get_name", buffer).unwrap_or_default()
    }

    /// An option of a buffer: `:help nvim_get_option_value()`.
    fn option<R: FromLuaMulti + Default>(&self, buffer: i32, name: &str) -> R {
        call(&self.api, "nvim_get_option_value", (name, HashMap::from([("buf", buffer)]))).unwrap_or_default()
    }

    /// Whether a buffer is loaded and has changes that are not saved: `:help 'modified'`.
    pub(super) fn is_modified(&self, buffer: i32) -> bool {
        api::Buffer::from(buffer).is_loaded() && self.option(buffer, "modified")
    }

    /// The file of a buffer, empty where it has none, and the working directory of its tools: the window's that shows it, since the
    /// windows of other buffers may have folders of their own. `:help getcwd()`.
    pub(super) fn place(&self, buffer: i32) -> (String, PathBuf) {
        let window = || -> mlua::Result<(i64, i64)> {
            let windows: Vec<i64> = call(&self.functions, "win_findbuf", buffer)?;
            let place: [i64; 2] = call(&self.functions, "win_id2tabwin", windows.first().copied().unwrap_or_default())?;
            Ok((place[0], place[1]))
        };
        let folder_of = match window() {
            Ok((tab, window)) if window > 0 => (window, tab),
            _ => (-1, -1),
        };
        let folder: BString = call(&self.functions, "getcwd", folder_of).unwrap_or_default();
        (String::from_utf8(self.name(buffer).into()).unwrap_or_default(), path(&folder))
    }

    /// The files of the buffers with this file type: `:help nvim_list_bufs()`.
    pub(super) fn files_of_type(&self, wanted: &str) -> Vec<PathBuf> {
        let loaded = api::list_bufs().filter(api::Buffer::is_loaded).map(|buffer| buffer.handle());
        let wanted = loaded.filter(|buffer| self.option::<String>(*buffer, "filetype") == wanted);
        wanted.map(|buffer| path(&self.name(buffer))).filter(|path| !path.as_os_str().is_empty()).collect()
    }

    /// `:help nvim_list_runtime_paths()`. It gives those of 'packpath' as well, and leaves relative ones as they are.
    pub(super) fn runtime_folders(&self, here: &Path) -> Vec<PathBuf> {
        let folders: Vec<BString> = call(&self.api, "nvim_list_runtime_paths", ()).unwrap_or_default();
        folders.iter().map(|folder| here.join(path(folder))).collect()
    }

    /// `:help strftime()`: in the time zone of the system or of $TZ.
    pub(super) fn local_time(&self, at: Timestamp) -> String {
        call(&self.functions, "strftime", ("%Y-%m-%d %H:%M", at.as_second())).unwrap_or_default()
    }

    /// `:help nvim_list_uis()`.
    pub(super) fn has_ui(&self) -> bool {
        call::<Table>(&self.api, "nvim_list_uis", ()).is_ok_and(|all| !all.is_empty())
    }

    /// Whether the user is in this buffer, in Insert, Replace or Select mode: `:help mode()`.
    pub(super) fn is_typing(&self, buffer: i32) -> bool {
        let mode = || call::<Table>(&self.api, "nvim_get_mode", ())?.get::<String>("mode");
        let mode = if Self::current_buffer() == buffer { mode().unwrap_or_default() } else { String::new() };
        // For one command, as after Ctrl-O.
        mode.strip_prefix('n').unwrap_or(&mode).starts_with(['i', 'R', 's', 'S', '\u{13}'])
    }

    /// `:help v:servername`.
    pub(super) fn server(&self) -> Option<String> {
        let address = self.vim.get::<Table>("v").and_then(|variables| variables.get::<String>("servername"));
        address.ok().filter(|address| !address.is_empty())
    }

    /// Calls a function when no function of the library is on the stack: `:help vim.schedule()`.
    ///
    /// # Errors
    /// When Lua is out of memory.
    pub(super) fn schedule(&self, function: Function) -> mlua::Result<()> {
        self.vim.get::<Function>("schedule")?.call(function)
    }
}

fn path(bytes: &BString) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn call<R: FromLuaMulti>(module: &Table, name: &str, args: impl IntoLuaMulti) -> mlua::Result<R> {
    module.get::<Function>(name)?.call(args)
}
