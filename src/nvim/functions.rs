//! Lua functions that the core knows by number.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use mlua::Function;

use crate::tools::{Definition, Executor, LuaRef};

/// The functions of all definitions.
#[derive(Default)]
pub(super) struct Functions {
    kept: RefCell<HashMap<u64, Function>>,
    last: Cell<u64>,
}

impl Functions {
    /// Keeps a function.
    pub(super) fn keep(&self, function: Function) -> LuaRef {
        self.last.set(self.last.get() + 1);
        self.kept.borrow_mut().insert(self.last.get(), function);
        LuaRef(self.last.get())
    }

    /// The function of this number. Whoever runs it holds on to it, so that a call in flight is not disturbed by a
    /// definition that takes another's place.
    pub(super) fn get(&self, LuaRef(number): LuaRef) -> Option<Function> {
        self.kept.borrow().get(&number).cloned()
    }

    /// Lets go of a function.
    pub(super) fn release(&self, LuaRef(number): LuaRef) {
        self.kept.borrow_mut().remove(&number);
    }

    /// Lets go of a definition's functions.
    pub(super) fn release_all(&self, definition: &Definition) {
        if let Executor::Lua(function) = definition.executor {
            self.release(function);
        }
        if let Some(function) = definition.format_preview {
            self.release(function);
        }
    }
}
