//! What is known of a conversation, or of all of them, and what they have used.

use mlua::{IntoLuaMulti, Lua, MultiValue, Table};
use serde::Deserialize;
use serde_json::json;

use super::table::Exports;
use crate::nvim::{binding::Binding, convert};
use flemma_model::CallId;
use flemma_workspace::{DriveEnd, ports::Question};

/// What is asked of a conversation. One that is none answers nothing.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum State {
    // What a status line shows; of all conversations if none is named.
    StatusLine,
    Title,
    // "working" and what it is doing and for how long; or "done", "waits", "paused", "failed" or "cancelled", and that in words; nil if
    // it waits for the editor alone.
    Activity,
    // What goes on right now: `text`, and the tools that are `running`.
    Live { width: usize },
    // How many messages wait.
    Queued,
    // The lines below the text, each a list of { text, group }.
    Outbox,
    // The text that was being written in the input window and was not queued; empty if there is none.
    Draft,
    // Whether nothing is under way.
    AtRest,
    // Whether its calls can be resolved: its text and its journal are read.
    Settled,
    // Whether it is known which editor holds it.
    HolderKnown,
    // Whether it goes on by itself, as a sentence.
    Autopilot,
    // The ids of the calls that `:Flemma undo` may name, the latest first.
    WritingCalls,
    // The lines of `:Flemma status` ("short" or "all") or of `:Flemma tool:list` ("tools"), and the cells that a line may take.
    Page { page: Page, width: Option<usize> },
    // Why an answer of the form of a call is not taken.
    Unanswerable { call: CallId },
    // What a drive came to, as JSON; nil before its end.
    DriveResult,
    // Whether every source of tools has loaded.
    ToolsReady,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Page {
    Short,
    All,
    Tools,
}

/// What is asked about what was used.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Usage {
    // A table as in `flemma.Totals`, of one or of all conversations.
    Totals { buffer: Option<i32> },
    // Tables as in `flemma.Usage`.
    Requests,
    // The lines of `:Flemma usage`, and the cells that a line may take.
    Page { buffer: i32, width: usize },
}

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // state(buffer or nil, what, fields or nil) -> what `State` says of it
    exports.add("state", |lua, binding, (buffer, what, fields): (Option<i32>, String, Option<Table>)| {
        let what = convert::variant(lua, &what, fields)?;
        match (buffer, what) {
            (Some(buffer), what) => of_one(lua, binding, buffer, what),
            (None, State::StatusLine) => binding.workspace.views.overview().into_lua_multi(lua),
            (None, State::ToolsReady) => binding.workspace.shared.toolbox.is_ready().into_lua_multi(lua),
            (None, _) => Err(mlua::Error::runtime("the buffer is missing")),
        }
    })?;
    // usage(what, fields or nil) -> what `Usage` says of it
    exports.add("usage", |lua, binding, (what, fields): (String, Option<Table>)| {
        let workspace = &binding.workspace;
        match convert::variant(lua, &what, fields)? {
            Usage::Totals { buffer } => convert::to_lua(lua, &workspace.usage.totals(buffer))?.into_lua_multi(lua),
            Usage::Requests => convert::to_lua(lua, &workspace.usage.records())?.into_lua_multi(lua),
            Usage::Page { buffer, width } => workspace.usage.usage_lines(buffer, width).into_lua_multi(lua),
        }
    })
}

fn of_one(lua: &Lua, binding: &Binding, buffer: i32, what: State) -> mlua::Result<MultiValue> {
    let workspace = &binding.workspace;
    let Some(conversation) = workspace.conversation(buffer) else {
        return match what {
            State::AtRest => true.into_lua_multi(lua),
            State::Unanswerable { call } => workspace.calls.why_not_answerable(buffer, &call).into_lua_multi(lua),
            _ => Ok(MultiValue::new()),
        };
    };
    match what {
        State::StatusLine => workspace.views.status_line(buffer).into_lua_multi(lua),
        State::Title => workspace.lists.title(&conversation).into_lua_multi(lua),
        State::Activity if conversation.is_busy() => {
            ("working", workspace.views.doing(&conversation)).into_lua_multi(lua)
        }
        State::Activity => {
            let rest = workspace.calls.rest(&conversation);
            (rest.as_ref().map(|rest| rest.as_str()), rest.map(|rest| rest.words().to_owned())).into_lua_multi(lua)
        }
        State::Live { width } => convert::to_lua(lua, &conversation.live(width))?.into_lua_multi(lua),
        State::Queued => conversation.outbox.queued().len().into_lua_multi(lua),
        State::Outbox => convert::to_lua(lua, &workspace.queue.outbox_view(&conversation))?.into_lua_multi(lua),
        State::Draft => workspace.queue.draft(buffer).into_lua_multi(lua),
        State::AtRest => workspace.is_at_rest(buffer).into_lua_multi(lua),
        State::Settled => workspace.is_settled(buffer).into_lua_multi(lua),
        State::HolderKnown => workspace.ownership.holder(buffer).is_some().into_lua_multi(lua),
        State::Autopilot => workspace.views.autopilot(&conversation).into_lua_multi(lua),
        State::WritingCalls => workspace.undo.writing_calls(&conversation).into_lua_multi(lua),
        State::Page { page: Page::Tools, .. } => workspace.views.tool_list(&conversation).into_lua_multi(lua),
        State::Page { page, width } => {
            let status = workspace.views.status(&conversation);
            status.lines(width.unwrap_or(usize::MAX), matches!(page, Page::All)).into_lua_multi(lua)
        }
        State::Unanswerable { call } => workspace.calls.why_not_answerable(buffer, &call).into_lua_multi(lua),
        State::DriveResult => drive_result(binding, buffer).into_lua_multi(lua),
        State::ToolsReady => workspace.shared.toolbox.is_ready().into_lua_multi(lua),
    }
}

/// What the drive of a conversation came to, as JSON; `None` before its end.
fn drive_result(binding: &Binding, buffer: i32) -> Option<String> {
    let (end, requests) = binding.workspace.drives.drive_result(buffer)?;
    Some(end_of_drive(&end, requests).to_string())
}

/// The end of a drive, for the command line.
fn end_of_drive(end: &DriveEnd, requests: u32) -> serde_json::Value {
    let mut value = match end {
        DriveEnd::Done => json!({ "state": "done" }),
        // The command line finds the calls in the file and the journal.
        DriveEnd::Suspended => json!({ "state": "suspended", "waiting": [] }),
        DriveEnd::Untrusted(Question::Frontmatter { language }) => {
            json!({ "state": "suspended", "waiting": [{ "kind": "trust", "frontmatter": language, "line": 1 }] })
        }
        DriveEnd::Untrusted(Question::Files { files, references, line }) => {
            let files: Vec<&String> = files.iter().chain(references).collect();
            json!({ "state": "suspended", "waiting": [{ "kind": "trust", "files": files, "line": line + 1 }] })
        }
        DriveEnd::Untrusted(Question::Instructions { instructions }) => {
            let files: Vec<&String> = instructions.iter().map(|file| &file.name).collect();
            json!({ "state": "suspended", "waiting": [{ "kind": "trust", "instructions": files, "line": 1 }] })
        }
        DriveEnd::Held(owner) => json!({ "state": "held", "owner": owner }),
        DriveEnd::Failed(reason) => {
            json!({ "state": "failed", "error": reason.as_ref().map(ToString::to_string) })
        }
    };
    value["requests"] = requests.into();
    value
}
