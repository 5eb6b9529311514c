//! Lua functions that the core knows by number.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use mlua::Function;

use flemma_tools::LuaRef;

/// The functions of all definitions, and those that wait to be called back.
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

    /// The function of this number. A call in flight holds on to it, so that it is not disturbed by a definition that takes
    /// another's place.
    pub(super) fn get(&self, LuaRef(number): LuaRef) -> Option<Function> {
        self.kept.borrow().get(&number).cloned()
    }

    /// Lets go of a function.
    pub(super) fn release(&self, LuaRef(number): LuaRef) {
        self.kept.borrow_mut().remove(&number);
    }
}
