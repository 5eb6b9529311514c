//! What keys and commands want of a conversation, and the user's answers to questions.

use mlua::{FromLua, LuaString, Table};

use super::table::Exports;
use crate::{agent::Choice, workspace::Command};

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // dispatch(buffer, command, arguments or nil): the commands of `read`
    exports.add("dispatch", |_, binding, (buffer, name, arguments): (i32, String, Option<Table>)| {
        binding.workspace.dispatch(buffer, read(&name, arguments.as_ref())?);
        Ok(())
    })
}

/// The command of this name. Lines are counted from 0, and `last` is one of them.
fn read(name: &str, arguments: Option<&Table>) -> mlua::Result<Command> {
    Ok(match name {
        "advance" => Command::Advance,
        "cancel" => Command::Cancel,
        "cancel_tools" => Command::CancelTools,
        "cancel_tool" => Command::CancelTool { line: argument(arguments, "line")? },
        "execute" => Command::Execute { line: argument(arguments, "line")? },
        "approve" => Command::Decide { lines: lines(arguments)?, choice: Choice::Approve },
        "always_approve" => Command::AlwaysApprove { lines: lines(arguments)? },
        "reject" => {
            let message: Option<LuaString> = argument(arguments, "message")?;
            let choice = Choice::Reject(message.map(|message| message.to_string_lossy()));
            Command::Decide { lines: lines(arguments)?, choice }
        }
        "answer" => {
            Command::Answer { question: argument(arguments, "question")?, is_yes: argument(arguments, "is_yes")? }
        }
        other => return Err(mlua::Error::runtime(format!("there is no command `{other}`"))),
    })
}

fn lines(arguments: Option<&Table>) -> mlua::Result<std::ops::Range<usize>> {
    let (first, last): (usize, usize) = (argument(arguments, "first")?, argument(arguments, "last")?);
    Ok(first..last + 1)
}

fn argument<T: FromLua>(arguments: Option<&Table>, name: &str) -> mlua::Result<T> {
    let missing = || mlua::Error::runtime(format!("the argument `{name}` is missing"));
    arguments.ok_or_else(missing)?.get(name)
}
