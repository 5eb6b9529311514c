//! `flemma.opt`, from Lua: the functions behind the tables that a file's code sees.
//!
//! The tables themselves are made in `lua/flemma/frontmatter/opt.lua`, which can say in which line of the file a mistake stands.
//! What they mean is in [`flemma_config::buffer`].

use std::{cell::RefCell, rc::Rc};

use mlua::{Function, IntoLuaMulti, Lua, Table, UserData, UserDataMethods, Value};

use serde_json::Map;

use super::convert;
use flemma_config::{
    ListOption, Node,
    buffer::{AUTO_APPROVE, BufferOptions},
};
use flemma_model::UserError;

/// What is said to code that touches `flemma.opt` after the evaluation.
const OVER: &str = "`flemma.opt` can only be used while the file is read, not in a function that is called later";

/// The options of one file, while its code runs.
#[derive(Clone)]
pub(super) struct Evaluation {
    options: Rc<RefCell<Option<BufferOptions>>>,
    /// The function that was assigned last to `tools.auto_approve`. Whether it counts is for the options to say.
    function: Rc<RefCell<Option<Function>>>,
}

/// A list that the code has in its hands.
struct List(ListOption);

impl UserData for List {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        // items() -> a Lua list
        methods.add_method("items", |_, list, ()| Ok(list.0.items().to_vec()));
        // changed(operation, names) -> another list
        methods.add_method("changed", |_, list, (operation, names): (String, Vec<String>)| {
            let mut list = list.0.clone();
            list.change(&operation, names);
            Ok(List(list))
        });
    }
}

impl Evaluation {
    pub(super) fn new(options: BufferOptions) -> Self {
        Self { options: Rc::new(RefCell::new(Some(options))), function: Rc::default() }
    }

    /// Ends it: the options, and `tools.auto_approve` where that is a function.
    pub(super) fn finish(&self) -> (Option<BufferOptions>, Option<Function>) {
        let (options, function) = (self.options.take(), self.function.take());
        let decides = options.as_ref().is_some_and(BufferOptions::decides);
        (options, function.filter(|_| decides))
    }

    /// The functions that `opt.lua` calls. Each gives `nil` and what is wrong, or what it says.
    ///
    /// # Errors
    /// When Lua is out of memory.
    pub(super) fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        // node(path) -> "value", the value; or "table"; or "list", the list, or nil and why there is none
        let session = self.clone();
        let node = move |lua: &Lua, path: String| {
            let found = session.with(|options| {
                Ok(match options.node(&path)? {
                    Node::Value => convert::from_json(lua, &options.get(&path))
                        .and_then(|value| ("value", value).into_lua_multi(lua)),
                    Node::Table => "table".into_lua_multi(lua),
                    Node::List => match options.list(&path) {
                        Ok(list) => ("list", List(list)).into_lua_multi(lua),
                        Err(problem) => ("list", Value::Nil, problem.to_string()).into_lua_multi(lua),
                    },
                })
            });
            found.unwrap_or_else(|problem| (Value::Nil, problem.to_string()).into_lua_multi(lua))
        };
        table.set("node", lua.create_function(node)?)?;
        // set(path, value) -> nil, or a problem
        let session = self.clone();
        let set = move |lua: &Lua, (path, value): (String, Value)| {
            Ok(session.set(lua, &path, value).err().map(|error| error.to_string()))
        };
        table.set("set", lua.create_function(set)?)?;
        // change(path, operation, names) -> nil, or a problem: changes the list where it is
        let session = self.clone();
        let change = move |_: &Lua, (path, operation, names): (String, String, Vec<String>)| {
            Ok(session.with(|options| options.change(&path, &operation, names)).err().map(|error| error.to_string()))
        };
        table.set("change", lua.create_function(change)?)?;
        Ok(table)
    }

    fn with<R>(&self, work: impl FnOnce(&mut BufferOptions) -> Result<R, UserError>) -> Result<R, UserError> {
        self.options.borrow_mut().as_mut().map_or_else(|| Err(UserError::new(OVER)), work)
    }

    fn set(&self, lua: &Lua, path: &str, value: Value) -> Result<(), UserError> {
        if let Value::UserData(list) = &value {
            let list = list.borrow::<List>().map_err(|error| UserError::new(convert::words(&error)))?;
            return self.with(|options| match options.node(path)? {
                Node::List => options.set_list(path, list.0.clone()),
                Node::Value | Node::Table => options.set(path, &list.0.items().into()),
            });
        }
        if let (Value::Function(function), AUTO_APPROVE) = (&value, path) {
            return self.with(|options| {
                options.set_function();
                *self.function.borrow_mut() = Some(function.clone());
                Ok(())
            });
        }
        let value = convert::to_json(lua, value).map_err(|error| {
            UserError::new(format!("`flemma.opt.{path}` cannot be set to this: {}", convert::words(&error)))
        })?;
        let no_names = serde_json::Value::Array(Vec::new());
        self.with(|options| {
            // Lua writes an empty list and an empty table alike.
            let empty = options.node(path)? == Node::List && value.as_object().is_some_and(Map::is_empty);
            options.set(path, if empty { &no_names } else { &value })
        })
    }
}
