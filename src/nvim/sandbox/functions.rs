//! The functions in Rust that the code of a state calls. They never throw: they return what is wrong.

use std::{
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
};

use mlua::ffi::{self, lua_State};
use serde_json::Value;

use super::shared::{Shared, shared, view};
use crate::{
    lua_pattern::{Capture, Match},
    nvim::patterns,
    tools::LuaError,
};

/// How many steps one search may take. The clock is looked at before each search.
const STEPS: u64 = 1_000_000;

/// `find(text, pattern, from, whether ^ anchors; nil for plain text)`: the positions and captures; nil; or false and what is wrong.
pub(super) unsafe extern "C-unwind" fn find(state: *mut lua_State) -> c_int {
    // SAFETY: called by the code of a state of `State::evaluate`, with four values at most on the stack.
    unsafe {
        ffi::lua_settop(state, 4);
        let (text, pattern) = (view(state, 1), view(state, 2));
        let from = (ffi::lua_tonumber(state, 3) as usize).saturating_sub(1);
        let anchors = (ffi::lua_type(state, 4) == ffi::LUA_TBOOLEAN).then(|| ffi::lua_toboolean(state, 4) != 0);
        let shared = shared(state);
        let found = match shared.is_over() {
            true => Err(LuaError::new("stopped")),
            false => caught(|| patterns::search(text, pattern, from, anchors, STEPS)),
        };
        shared.unlimited(|| push_match(state, text, found))
    }
}

unsafe fn push_match(state: *mut lua_State, text: &[u8], found: Result<Option<Match>, LuaError>) -> c_int {
    // SAFETY: there is room for what a match has at most, and memory is not limited.
    unsafe {
        ffi::lua_checkstack(state, 40);
        match found {
            Ok(Some(Match { range, captures })) => {
                ffi::lua_pushnumber(state, (range.start + 1) as f64);
                ffi::lua_pushnumber(state, range.end as f64);
                for capture in &captures {
                    match capture {
                        Capture::Text(range) => push_bytes(state, &text[range.clone()]),
                        Capture::Position(at) => ffi::lua_pushnumber(state, (at + 1) as f64),
                    }
                }
                c_int::try_from(captures.len() + 2).unwrap_or(2)
            }
            Ok(None) => {
                ffi::lua_pushnil(state);
                1
            }
            Err(problem) => {
                ffi::lua_pushboolean(state, 0);
                push_bytes(state, problem.to_string().as_bytes());
                2
            }
        }
    }
}

/// `ask(what, page)`: the answer; or nil and what is wrong.
pub(super) unsafe extern "C-unwind" fn ask(state: *mut lua_State) -> c_int {
    // SAFETY: called by the code of a state of `State::evaluate`, with two values at most on the stack.
    unsafe {
        ffi::lua_settop(state, 2);
        let what = String::from_utf8_lossy(view(state, 1));
        let is_about = ffi::lua_type(state, 2) == ffi::LUA_TSTRING;
        let about = str::from_utf8(view(state, 2));
        let shared = shared(state);
        let answer = match about {
            Err(_) => Err(LuaError::new("the name is not valid UTF-8")),
            Ok(about) => answer(shared, &what, is_about.then_some(about)),
        };
        shared.unlimited(|| {
            let pushed = answer.and_then(|value| push(state, &value));
            if let Err(problem) = &pushed {
                ffi::lua_settop(state, 2);
                ffi::lua_pushnil(state);
                push_bytes(state, problem.to_string().as_bytes());
            }
            if pushed.is_ok() { 1 } else { 2 }
        })
    }
}

fn answer(shared: &Shared<'_>, what: &str, about: Option<&str>) -> Result<Value, LuaError> {
    if shared.is_over() {
        return Err(LuaError::new("stopped"));
    }
    caught(|| (shared.program.ask)(what, about).map_err(|problem| LuaError::new(problem.to_string())))
}

/// A panic must not reach Lua.
fn caught<R>(work: impl FnOnce() -> Result<R, LuaError>) -> Result<R, LuaError> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(LuaError::new("this crashed, which is a bug in Flemma")))
}

unsafe fn push_bytes(state: *mut lua_State, text: &[u8]) {
    // SAFETY: the caller has made room on the stack, and memory is not limited.
    unsafe { ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len()) };
}

/// Puts a value on the stack. Null in a table is left out.
unsafe fn push(state: *mut lua_State, value: &Value) -> Result<(), LuaError> {
    // SAFETY: room on the stack is made before anything is put there, and memory is not limited.
    unsafe {
        if ffi::lua_checkstack(state, 8) == 0 {
            return Err(LuaError::new("the answer is nested too deeply"));
        }
        match value {
            Value::Null => ffi::lua_pushnil(state),
            Value::Bool(switch) => ffi::lua_pushboolean(state, (*switch).into()),
            Value::Number(number) => ffi::lua_pushnumber(state, number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => push_bytes(state, text.as_bytes()),
            Value::Array(list) => {
                ffi::lua_createtable(state, c_int::try_from(list.len()).unwrap_or(0), 0);
                for (at, value) in list.iter().enumerate() {
                    ffi::lua_pushnumber(state, (at + 1) as f64);
                    push(state, value)?;
                    ffi::lua_rawset(state, -3);
                }
            }
            Value::Object(fields) => {
                ffi::lua_createtable(state, 0, c_int::try_from(fields.len()).unwrap_or(0));
                for (name, value) in fields {
                    push_bytes(state, name.as_bytes());
                    push(state, value)?;
                    ffi::lua_rawset(state, -3);
                }
            }
        }
    }
    Ok(())
}
