//! The table of functions that Lua calls.
//!
//! Small values cross: numbers, names, a line and a text for each thing on the screen. Text itself is read
//! and written where it is needed, never passed through here.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    rc::Rc,
};

use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, LuaString, Table, Value};

use super::{
    approvals, checks, convert, editor::Editor, holding, lua_tools, panics, patterns, policy, queries, saving,
    standing, status, switch, trust::Answer, usage,
};
use crate::{
    agent::{Choice, Input, Level, UndoStep},
    chat::{Author, Change, LineKind, Speaker},
    model::CallId,
    text::{
        suggest,
        truncate::{self, Limits},
    },
    tools::{Definition, SourceEnd, SourceId},
};

/// With this variable in the environment there are more exports: see [`fill_faults`].
const FAULTS: &str = "FLEMMA_FAULTS";

/// Builds the table and leaves it in `package.loaded.flemma_native`. Only `init` and `version` are in it
/// until the shim has called `init`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn open(lua: &Lua) -> mlua::Result<()> {
    panics::keep_off_the_screen();
    let exports = lua.create_table()?;
    exports.set("version", crate::VERSION)?;
    let table = exports.clone();
    exports.set(
        "init",
        lua.create_function(move |lua, (host, state_dir): (Table, String)| {
            let editor = Rc::new(Editor::new(lua, host, PathBuf::from(state_dir))?);
            fill(&Exports { lua, table: &table, editor: &editor })
        })?,
    )?;
    let loaded: Table = lua.globals().get::<Table>("package")?.get("loaded")?;
    loaded.set("flemma_native", exports)
}

/// The table of functions while it is filled.
pub(super) struct Exports<'a> {
    lua: &'a Lua,
    table: &'a Table,
    editor: &'a Rc<Editor>,
}

impl Exports<'_> {
    /// Adds a function. What it panics with becomes a Lua error.
    pub(super) fn add<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        name: &str,
        function: impl Fn(&Lua, &Editor, A) -> mlua::Result<R> + 'static,
    ) -> mlua::Result<()> {
        let editor = Rc::clone(self.editor);
        let guarded = move |lua: &Lua, args: A| {
            // mlua would catch a panic as well, but with a backtrace for a message.
            catch_unwind(AssertUnwindSafe(|| function(lua, &editor, args)))
                .unwrap_or_else(|_| Err(mlua::Error::runtime(panics::last().unwrap_or_default())))
        };
        self.table.set(name, self.lua.create_function(guarded)?)
    }
}

fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    fill_lifecycle(exports)?;
    fill_keys(exports)?;
    fill_queries(exports)?;
    fill_tools(exports)?;
    approvals::fill(exports)?;
    switch::fill(exports)?;
    usage::fill(exports)?;
    checks::fill(exports)?;
    patterns::fill(exports)?;
    saving::fill(exports)?;
    holding::fill(exports)?;
    if std::env::var_os(FAULTS).is_some() { fill_faults(exports) } else { Ok(()) }
}

/// Options, and buffers that come, change and go.
fn fill_lifecycle(exports: &Exports<'_>) -> mlua::Result<()> {
    // setup(options) -> the effective options, warnings; or nil, problems
    exports.add("setup", |lua, editor, (options, log_dir): (Value, String)| {
        let decides = take_policy(&options)?;
        let configured = convert::to_json(lua, options)
            .map_err(|error| vec![format!("setup: {error}")])
            .and_then(|options| editor.configure(&options, decides, Path::new(&log_dir)));
        match configured {
            Ok(warnings) => Ok((convert::to_lua(lua, &*editor.config())?, warnings)),
            Err(problems) => Ok((Value::Nil, problems)),
        }
    })?;
    // attach(buffer) -> whether `parse_on` has more to do
    exports.add("attach", |_, editor, buffer: i32| Ok(editor.attach(buffer).parse_on()))?;
    exports.add("parse_on", |_, editor, buffer: i32| {
        Ok(editor.conversation(buffer).is_some_and(|conversation| conversation.parse_on()))
    })?;
    exports.add("index_on", |_, editor, buffer: i32| {
        Ok(editor.conversation(buffer).is_some_and(|conversation| conversation.index_on()))
    })?;
    // changed(buffer, first, old_last, new_last, step) -> the line up to which the text may look different now. `step` is
    // the number of the user's step of undo; nil where the text did not come from the user.
    exports.add("changed", |_, editor, args: (i32, usize, usize, usize, Option<u64>)| {
        let (buffer, first, old_last, new_last, step) = args;
        let change = Change { first, old_last, new_last };
        let author = step.map_or(Author::Stranger, |step| Author::User { step });
        Ok(editor.conversation(buffer).map(|conversation| conversation.changed(editor, change, author)))
    })?;
    // changed_lines(buffer, runs, step) -> as above. `runs` is a list of pairs: the first line and one past the last. Each
    // line was changed once, by itself, and has not changed since.
    exports.add("changed_lines", |_, editor, (buffer, runs, step): (i32, Vec<usize>, u64)| {
        let (runs, _) = runs.as_chunks();
        Ok(editor.conversation(buffer).map(|conversation| conversation.changed_lines(editor, runs, step)))
    })?;
    // missed(buffer, first, last): these lines changed again before `changed_lines` was told of them
    exports.add("missed", |_, editor, (buffer, first, last): (i32, usize, usize)| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.missed(first..last);
        }
        Ok(())
    })?;
    // undone(buffer): the changes that were just reported were undo or redo
    exports.add("undone", |_, editor, buffer: i32| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.undone();
        }
        Ok(())
    })?;
    // noticed(buffer): an edit of a tool's block is complete
    exports.add("noticed", |_, editor, buffer: i32| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.noticed(editor);
        }
        Ok(())
    })?;
    // options() -> the effective options
    exports.add("options", |lua, editor, ()| convert::to_lua(lua, &*editor.config()))?;
    // reloaded(buffer) -> whether `parse_on` has more to do
    exports.add("reloaded", |_, editor, buffer: i32| {
        Ok(editor.conversation(buffer).is_some_and(|conversation| conversation.reloaded(editor)))
    })?;
    // saved(buffer, path): what is trusted in it stays so
    exports.add("saved", |_, editor, (buffer, path): (i32, String)| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.keep_trust(editor, path.clone());
            conversation.hold(editor, &path);
            conversation.keep_files(editor, path);
        }
        Ok(())
    })?;
    // read_in(buffer, first, last): the lines first..last came from another file
    exports.add("read_in", |_, editor, (buffer, first, last): (i32, usize, usize)| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.read_in(first..last);
        }
        Ok(())
    })?;
    exports.add("forget_frontmatter", |_, editor, ()| {
        editor.touch();
        Ok(())
    })?;
    exports.add("detach", |_, editor, buffer: i32| {
        editor.detach(buffer);
        Ok(())
    })?;
    exports.add("drain", |_, editor, ()| {
        editor.drain();
        Ok(())
    })?;
    exports.add("shut_down", |_, editor, ()| {
        editor.shut_down();
        Ok(())
    })
}

/// `tools.auto_approve` where it is a function: that is no data, so it goes its own way.
fn take_policy(options: &Value) -> mlua::Result<Option<Function>> {
    let Some(Value::Table(tools)) = options.as_table().map(|table| table.get::<Value>("tools")).transpose()? else {
        return Ok(None);
    };
    match tools.get::<Value>("auto_approve")? {
        Value::Function(function) => {
            tools.set("auto_approve", Value::Nil)?;
            Ok(Some(function))
        }
        _ => Ok(None),
    }
}

/// What the user's keys do.
fn fill_keys(exports: &Exports<'_>) -> mlua::Result<()> {
    exports.add("advance", |_, editor, buffer: i32| {
        editor.want(buffer, Input::Advance);
        Ok(())
    })?;
    // trust(buffer, whether): the answer to `ask_trust`
    exports.add("trust", |_, editor, (buffer, trusted): (i32, bool)| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.answer_trust(editor, if trusted { Answer::Trust } else { Answer::Later });
        }
        Ok(())
    })?;
    // trust_files(buffer, whether): the answer to `ask_files`
    exports.add("trust_files", |_, editor, (buffer, trusted): (i32, bool)| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.answer_files(editor, if trusted { Answer::Trust } else { Answer::Later });
        }
        Ok(())
    })?;
    // decide(buffer, first, last, approve, message or nil, always): about the calls whose blocks these lines touch
    exports.add("decide", |_, editor, args: (i32, usize, usize, bool, Option<LuaString>, bool)| {
        let (buffer, first, last, approve, message, always) = args;
        let Some(conversation) = editor.conversation(buffer) else { return Ok(()) };
        let calls = conversation.calls_in(first..last + 1);
        if calls.is_empty() {
            editor.host.notify(
                Level::Info,
                "there is no tool call that waits here; put the cursor on its block, or select several",
            );
            return Ok(());
        }
        let choice = match approve {
            true => Choice::Approve,
            false => Choice::Reject(message.map(|message| message.to_string_lossy())),
        };
        if always {
            standing::approve(editor, &conversation, calls);
        } else {
            conversation.want_alone(editor, Input::Decide(calls, choice, UndoStep::Own));
        }
        Ok(())
    })?;
    exports.add("cancel", |_, editor, buffer: i32| {
        editor.feed(buffer, Input::Cancel);
        Ok(())
    })?;
    // execute(buffer, line): the call whose use or result the line belongs to
    exports.add("execute", |_, editor, (buffer, line): (i32, usize)| {
        let is_busy = || editor.conversation(buffer).is_some_and(|conversation| conversation.session.is_busy());
        match call_at(editor, buffer, line) {
            Some(call) => editor.want(buffer, Input::Execute(call)),
            None if is_busy() => editor.host.notify(Level::Info, standing::BUSY),
            None => editor.host.notify(
                Level::Info,
                "there is no tool call under the cursor; put it on a `**Tool Use:**` or `**Tool Result:**` block",
            ),
        }
        Ok(())
    })?;
    // cancel_tool(buffer, line): the call at the line, or the only one that runs
    exports.add("cancel_tool", |_, editor, (buffer, line): (i32, usize)| {
        let Some(conversation) = editor.conversation(buffer) else { return Ok(()) };
        let running = conversation.session.running();
        let at_cursor = call_at(editor, buffer, line).filter(|id| conversation.session.is_working_on(id));
        let only = || (running.len() == 1).then(|| running[0].id.clone());
        match at_cursor.or_else(only) {
            Some(call) => editor.feed(buffer, Input::CancelTool(call)),
            None if running.is_empty() => editor.host.notify(Level::Info, "no tool is running here"),
            None => editor.host.notify(
                Level::Info,
                &format!("{} tools are running; put the cursor on the one to stop", running.len()),
            ),
        }
        Ok(())
    })
}

fn call_at(editor: &Editor, buffer: i32, line: usize) -> Option<CallId> {
    editor.conversation(buffer)?.with_document(|document, _| document.call_at(line)).map(|call| call.id)
}

/// What the shim asks in order to draw.
fn fill_queries(exports: &Exports<'_>) -> mlua::Result<()> {
    exports.add("previews", |lua, editor, (buffer, width): (i32, usize)| {
        editor.conversation(buffer).map(|conversation| queries::previews(lua, editor, &conversation, width)).transpose()
    })?;
    exports.add("live", |lua, editor, (buffer, width): (i32, usize)| {
        editor.conversation(buffer).map(|conversation| queries::live(lua, &conversation, width)).transpose()
    })?;
    // decorations(buffer, first, last) -> { line, group } for each line of the screen that has a colour of ours, and
    // { line, group, from, to } (in bytes) for each reference to a file
    exports.add("decorations", |lua, editor, (buffer, first, last): (i32, usize, usize)| {
        let Some(conversation) = editor.conversation(buffer) else { return Ok(None) };
        let marks = conversation.decorations(first..last);
        let lines = marks.into_iter().map(|mark| {
            let item = lua.create_table()?;
            item.set("line", mark.line)?;
            item.set("group", group(mark.kind))?;
            Ok(item)
        });
        let references = conversation.references(first..last).into_iter().filter_map(|file| {
            let columns = file.columns?;
            Some(lua.create_table().and_then(|item| {
                item.set("line", file.line)?;
                item.set("group", "FlemmaReference")?;
                item.set("from", columns.start)?;
                item.set("to", columns.end)?;
                Ok(item)
            }))
        });
        lines.chain(references).collect::<mlua::Result<Vec<_>>>().map(Some)
    })?;
    exports.add("diagnose_again", |_, editor, buffer: i32| {
        if let Some(conversation) = editor.conversation(buffer) {
            conversation.diagnose_again(editor);
        }
        Ok(())
    })?;
    // passages(buffer, first, last) -> { first, last, fence? } for what is Markdown or code on the screen
    exports.add("passages", |lua, editor, (buffer, first, last): (i32, usize, usize)| {
        let Some(conversation) = editor.conversation(buffer) else { return Ok(None) };
        let items = conversation.regions(first..last).into_iter().map(|passage| {
            let item = lua.create_table()?;
            item.set("first", passage.lines.start)?;
            item.set("last", passage.lines.end)?;
            item.set("fence", passage.fence)?;
            Ok(item)
        });
        items.collect::<mlua::Result<Vec<_>>>().map(Some)
    })?;
    exports.add("open_calls", |_, editor, buffer: i32| {
        let calls = editor
            .conversation(buffer)
            .map(|conversation| conversation.with_document(|document, text| document.open_calls(text)));
        Ok(calls.unwrap_or_default().into_iter().map(|call| call.id.0).collect::<Vec<_>>())
    })?;
    // status(buffer, the cells that a line may take, or nil)
    exports.add("status", |_, editor, (buffer, width): (i32, Option<usize>)| {
        let width = width.unwrap_or(usize::MAX);
        Ok(editor.conversation(buffer).map(|conversation| status::lines(editor, &conversation, width)))
    })?;
    // waits_at(buffer, line) -> whether the line belongs to a call that waits for the user
    exports.add("waits_at", |_, editor, (buffer, line): (i32, usize)| {
        Ok(editor.conversation(buffer).is_some_and(|conversation| conversation.waits_at(line)))
    })?;
    // message_from(buffer, line, forward) -> the line of the next or previous message's marker
    exports.add("message_from", |_, editor, (buffer, line, forward): (i32, usize, bool)| {
        let Some(conversation) = editor.conversation(buffer) else { return Ok(None) };
        Ok(conversation.with_document(|document, _| {
            let mut starts = document.messages().iter().map(|message| message.start);
            if forward { starts.find(|start| *start > line) } else { starts.take_while(|start| *start < line).last() }
        }))
    })?;
    exports.add("nearest", |_, _, (word, words): (String, Vec<String>)| {
        Ok(suggest::nearest(&word, words.iter().map(String::as_str)).map(str::to_owned))
    })
}

/// The highlight group of a line.
fn group(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Frontmatter => "FlemmaFrontmatter",
        LineKind::Marker(Speaker::System) => "FlemmaRoleSystem",
        LineKind::Marker(Speaker::You) => "FlemmaRoleUser",
        LineKind::Marker(Speaker::Assistant) => "FlemmaRoleAssistant",
        LineKind::ThinkingOpen | LineKind::Thinking | LineKind::ThinkingClose => "FlemmaThinking",
        LineKind::ToolUse => "FlemmaToolUse",
        LineKind::ToolResult { is_error: false } => "FlemmaToolResult",
        LineKind::ToolResult { is_error: true } => "FlemmaToolError",
        LineKind::Status(_) => "FlemmaToolStatus",
        LineKind::Attachment => "FlemmaAttachment",
        LineKind::Aborted => "FlemmaAborted",
        LineKind::Stray => "FlemmaStray",
    }
}

/// The tools.
fn fill_tools(exports: &Exports<'_>) -> mlua::Result<()> {
    // register_tool(name or nil, definition) -> true and perhaps a warning; or false, problem
    exports.add("register_tool", |lua, editor, (name, definition): (Option<String>, Table)| {
        Ok(match lua_tools::register(editor, lua, name.as_deref(), &definition) {
            Ok(warning) => (true, warning),
            Err(problem) => (false, Some(problem)),
        })
    })?;
    exports.add("unregister_tool", |_, editor, name: String| {
        let removed = editor.registry.borrow_mut().unregister(&name);
        if let Some(definition) = &removed {
            editor.touch();
            editor.functions.release_all(definition);
        }
        Ok(removed.is_some())
    })?;
    exports.add("tool", |lua, editor, name: String| {
        let definition = editor.registry.borrow().get(&name).cloned();
        definition.map(|definition| lua_tools::describe(editor, lua, &definition)).transpose()
    })?;
    exports.add("tools", |lua, editor, disabled_too: bool| {
        let definitions: Vec<_> = editor.registry.borrow().all().cloned().collect();
        let offered = |definition: &Definition| editor.registry.borrow().is_enabled(definition);
        let wanted = definitions.iter().filter(|definition| disabled_too || offered(definition));
        wanted.map(|definition| lua_tools::describe(editor, lua, definition)).collect::<mlua::Result<Vec<_>>>()
    })?;
    exports.add("tool_count", |_, editor, ()| Ok(editor.registry.borrow().count()))?;
    exports.add("tools_ready", |_, editor, ()| Ok(editor.sources.borrow().is_ready()))?;
    exports.add("begin_source", |_, editor, label: LuaString| {
        Ok(editor.sources.borrow_mut().begin(label.to_string_lossy()).0)
    })?;
    // end_source(id, why or nil, seconds or nil): complete, failed, or out of time
    exports.add("end_source", |_, editor, (id, why, seconds): (u64, Option<LuaString>, Option<f64>)| {
        let how = match (why, seconds) {
            (Some(why), _) => SourceEnd::Failed(why.to_string_lossy()),
            (None, Some(seconds)) => SourceEnd::TimedOut(seconds),
            (None, None) => SourceEnd::Complete,
        };
        editor.end_source(SourceId(id), &how);
        Ok(())
    })?;
    exports.add("cancel_all_tools", |_, editor, buffer: i32| {
        editor.feed(buffer, Input::CancelTools);
        Ok(())
    })?;
    exports.add("tool_list", |_, editor, buffer: i32| {
        Ok(editor.conversation(buffer).map(|conversation| queries::tool_list(editor, &conversation)))
    })?;
    exports.add("is_writable", |_, editor, path: String| {
        let open: Vec<PathBuf> = editor.host.open_chats().into_iter().map(PathBuf::from).collect();
        Ok(policy::protected(Path::new(&path), &open, &editor.trust_store).is_none())
    })?;
    exports.add("format_size", |_, _, bytes: f64| Ok(truncate::format_size(bytes.max(0.0) as u64)))?;
    // truncate("head" or "tail", text, lines or nil, bytes or nil) -> a table as in `flemma.Truncation`
    exports.add("truncate", |lua, _, args: (String, LuaString, Option<usize>, Option<usize>)| {
        let (end, text, lines, bytes) = args;
        let default = Limits::default();
        let limits = Limits { lines: lines.unwrap_or(default.lines), bytes: bytes.unwrap_or(default.bytes) };
        let text = text.as_bytes();
        let cut = if end == "tail" {
            truncate::truncate_tail(&*text, limits)
        } else {
            truncate::truncate_head(&*text, limits)
        };
        lua_tools::truncation(lua, &cut)
    })
}

/// For tests: a panic on demand, and what nothing else tells.
fn fill_faults(exports: &Exports<'_>) -> mlua::Result<()> {
    // own_lines(buffer) -> for each line, whether the user wrote it in this session
    exports.add("own_lines", |_, editor, buffer: i32| {
        let Some(conversation) = editor.conversation(buffer) else { return Ok(Vec::new()) };
        let count = conversation.with_document(|_, text| text.line_count());
        let provenance = conversation.provenance.borrow();
        Ok((0..count).map(|line| provenance.is_by_user(line..line + 1)).collect::<Vec<_>>())
    })?;
    exports.add("fault", |_, editor, place: String| {
        if place == "drain" {
            editor.panic_in_next_drain();
            return Ok(());
        }
        panic!("a fault on demand, in an export")
    })
}
