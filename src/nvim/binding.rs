//! What the exports act on: the workspace, and the Lua functions that it knows by number.

use std::{path::Path, rc::Rc};

use mlua::{Lua, Table};

use super::{functions::Functions, scripts::LuaScripts, shim::Shim};
use flemma_tools::Executor;
use flemma_workspace::Workspace;

/// The one state of the plugin, on the main thread.
pub(super) struct Binding {
    pub(super) shim: Rc<Shim>,
    pub(super) functions: Rc<Functions>,
    pub(super) workspace: Rc<Workspace>,
}

impl Binding {
    /// Wires a workspace to Neovim's loop. `shim` is the table of `lua/flemma/host.lua`; `state_dir` is the folder for what
    /// is kept between sessions.
    ///
    /// # Errors
    /// When the shim is not of this version, or Neovim's loop takes no handle.
    pub(super) fn new(lua: &Lua, shim: Table, state_dir: &Path) -> mlua::Result<Self> {
        let shim = Rc::new(Shim::new(lua, shim)?);
        let functions = Rc::<Functions>::default();
        let scripts = Rc::new(LuaScripts::new(&shim, &functions));
        let (host, waker) = (Rc::<Shim>::clone(&shim), shim.waker.clone());
        let workspace = Workspace::new(host, scripts, state_dir, move || waker.wake());
        for (tool, _) in workspace.shared.toolbox.all() {
            if matches!(tool.executor, Executor::Client(None)) {
                workspace
                    .shared
                    .toolbox
                    .answer_with(&tool.name, functions.keep(shim.ask("client_tool", tool.name.as_str())?));
            }
        }
        Ok(Self { shim, functions, workspace })
    }
}
