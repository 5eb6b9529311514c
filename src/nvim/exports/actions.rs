//! What the user wants: of a conversation, or of all of them. A key or a command says it.

use mlua::{BString, Function, IntoLuaMulti, Lua, MultiValue, Table, Value};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{options, table::Exports};
use crate::nvim::{binding::Binding, convert};
use flemma_agent::Choice;
use flemma_chat::LineRange;
use flemma_model::CallId;
use flemma_workspace::{Asked, AskedAbout, Command, DriveOptions, Proposed, TakeBack, Taken, Toggle, Urgency};

/// What the user wants of a conversation. Lines are counted from 0, and `last` is one of them. Texts need not be valid UTF-8.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Action {
    Advance,
    Cancel,
    // Takes in the rules and skills of the project as they are now.
    TakeInstructions,
    CancelTools,
    CancelTool { line: usize },
    Execute { line: usize },
    Decide { decision: Decision, first: usize, last: usize, message: Option<BString> },
    // Answers a question about trust.
    Answer { question: u64, is_yes: bool },
    // A question about instructions has no answer.
    Dismiss { question: u64 },
    // -> whether it was queued. What `steers` goes out before the next request.
    Queue { text: BString, steers: bool },
    // Everything that is queued goes out before the next request.
    Steer,
    // -> the text of the message that was taken back
    Unqueue { place: Option<usize> },
    // This is being written in the input window; it is kept, and not sent.
    KeepDraft { text: BString },
    // Asks about lines of the file at `path`, or about `lines`. -> the line, from 0, and the column, in bytes, where the user goes on
    // typing; or the text for a message that is queued, because the conversation is at work; or nil and why nothing was written
    Ask(Question),
    // Finds out what taking something back would do. `unsaved` are the files with changes in buffers. Calls back with a table as in
    // `flemma.Proposed`, or with nil and why there is nothing to do.
    Propose { what: TakeBack, unsaved: Vec<BString> },
    // Does what was proposed with this number. `overwrite` are the places, from 1, of files that others have changed. Calls back with a
    // table of `path`, `problem` and `moved_to` for each file, or with nil and why nothing was done.
    Restore { number: u64, overwrite: Vec<usize>, unsaved: Vec<BString> },
    // Approves what a call would write. Calls back with nothing, or with why nothing was approved.
    Accept { call: CallId, revision: BString, contents: Vec<Content> },
    // The user has made this of it. -> whether that is kept
    KeepReview { call: CallId, revision: BString, contents: Vec<Content>, has_conflict: bool },
    // Carries it on without a user.
    Drive(DriveOptions),
    // -> whether it is driven
    StopDriving,
    // Finds out what the next request would say. Calls back with its lines, or with nil and why there is none.
    Preview,
    // Writes a new conversation with the messages up to the one at this line. Calls back with its path, or with nil and why not.
    Fork { line: usize },
    // Puts a prompt of the user's or of the project's into their message. Calls back with true, or with nil and why not.
    Prompt { name: BString, arguments: BString },
    // Estimates what a request would use. -> whether it has to be called again
    Estimate,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    AlwaysApprove,
    Reject,
}

/// A question about lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    words: BString,
    path: Option<BString>,
    first: usize,
    last: usize,
    name: BString,
    language: BString,
    lines: Option<Vec<BString>>,
}

/// What the user wants of all conversations.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum GeneralAction {
    // -> the effective options, what is in effect now; or nil, problem; or nil, nil, a provider without a model
    Switch { words: Vec<String> },
    // -> the effective options, what is in effect now; or nil, problem
    Set { option: String, enabled: bool },
    ResetUsage,
}

/// What a file gets of a proposal: its content, true (as proposed) or false (left as it is).
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Whole(bool),
    Text(BString),
}

impl From<Content> for Taken {
    fn from(content: Content) -> Self {
        match content {
            Content::Whole(true) => Self::Proposed,
            Content::Whole(false) => Self::Left,
            Content::Text(text) => Self::Content(text.into()),
        }
    }
}

/// What `dispatch` takes.
type Wish = (Option<i32>, String, Option<Table>, Option<Function>);

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // dispatch(buffer, what, fields or nil, callback or nil): an `Action`; or a `GeneralAction` without a buffer
    exports.add("dispatch", |lua, binding, (buffer, what, fields, callback): Wish| {
        let Some(buffer) = buffer else { return general(lua, binding, convert::variant(lua, &what, fields)?) };
        let action = convert::variant(lua, &what, fields)?;
        let Some(callback) = callback else { return at_once(lua, binding, buffer, action) };
        later(binding, buffer, action, callback)?;
        Ok(MultiValue::new())
    })
}

fn general(lua: &Lua, binding: &Binding, action: GeneralAction) -> mlua::Result<MultiValue> {
    match action {
        GeneralAction::Switch { words } => options::switch(lua, binding, &words),
        GeneralAction::Set { option, enabled } => {
            let toggle = Toggle::of(&option).ok_or_else(|| format!("`{option}` cannot be set at run time"));
            let switches = &binding.workspace.switches;
            let set = toggle.and_then(|toggle| switches.set(toggle, enabled).map_err(|problem| problem.to_string()));
            match set {
                Ok(message) => (options::effective(lua, binding)?, message).into_lua_multi(lua),
                Err(problem) => (Value::Nil, problem).into_lua_multi(lua),
            }
        }
        GeneralAction::ResetUsage => {
            binding.workspace.usage.reset_usage();
            Ok(MultiValue::new())
        }
    }
}

/// What is done when this returns, or goes on by itself.
fn at_once(lua: &Lua, binding: &Binding, buffer: i32, action: Action) -> mlua::Result<MultiValue> {
    let workspace = &binding.workspace;
    let command = match action {
        Action::Advance => Command::Advance,
        Action::Cancel => Command::Cancel,
        Action::TakeInstructions => Command::TakeInstructions,
        Action::CancelTools => Command::CancelTools,
        Action::CancelTool { line } => Command::CancelTool { line },
        Action::Execute { line } => Command::Execute { line },
        Action::Decide { decision: Decision::AlwaysApprove, first, last, .. } => {
            Command::AlwaysApprove { lines: first..last + 1 }
        }
        Action::Decide { decision, first, last, message } => {
            let reason = message.map(|message| message.to_string());
            let is_approved = matches!(decision, Decision::Approve);
            let choice = if is_approved { Choice::Approve } else { Choice::Reject(reason) };
            Command::Decide { lines: first..last + 1, choice }
        }
        Action::Answer { question, is_yes } => Command::Answer { question, is_yes },
        Action::Dismiss { question } => Command::Dismiss { question },
        Action::Queue { text, steers } => {
            let urgency = if steers { Urgency::NextRequest } else { Urgency::NextTurn };
            return workspace.queue.queue(buffer, &text.to_string(), urgency).into_lua_multi(lua);
        }
        Action::Unqueue { place } => {
            return workspace.queue.unqueue(buffer, place).map(|message| message.kept.text).into_lua_multi(lua);
        }
        Action::Steer => {
            workspace.queue.steer_with_queued(buffer);
            return Ok(MultiValue::new());
        }
        Action::KeepDraft { text } => {
            workspace.queue.keep_draft(buffer, &text.to_string());
            return Ok(MultiValue::new());
        }
        Action::Ask(Question { words, path, first, last, name, language, lines }) => {
            let about = match lines {
                Some(lines) => AskedAbout::Text {
                    name: name.to_string(),
                    language: language.to_string(),
                    lines: lines.iter().map(ToString::to_string).collect(),
                },
                None => AskedAbout::Lines {
                    path: path.map(convert::path).unwrap_or_default(),
                    lines: LineRange { first, last },
                },
            };
            return match workspace.references.ask_about(buffer, &about, &words.to_string()) {
                Ok(Asked::Added { line, column }) => (line, column).into_lua_multi(lua),
                Ok(Asked::Later(text)) => text.into_lua_multi(lua),
                Err(problem) => (Value::Nil, problem.to_string()).into_lua_multi(lua),
            };
        }
        Action::KeepReview { call, revision, contents, has_conflict } => {
            let taken = contents.into_iter().map(Taken::from).collect();
            return workspace
                .reviews
                .keep_made(buffer, &call, &revision.to_string(), taken, has_conflict)
                .into_lua_multi(lua);
        }
        Action::Drive(options) => {
            workspace.drives.drive(buffer, options);
            return true.into_lua_multi(lua);
        }
        Action::StopDriving => return workspace.drives.stop_driving(buffer).into_lua_multi(lua),
        Action::Estimate => return workspace.usage.estimate(buffer).into_lua_multi(lua),
        Action::Propose { .. }
        | Action::Restore { .. }
        | Action::Accept { .. }
        | Action::Preview
        | Action::Fork { .. }
        | Action::Prompt { .. } => {
            return Err(mlua::Error::runtime("the callback is missing"));
        }
    };
    workspace.dispatch(buffer, command);
    Ok(MultiValue::new())
}

/// What calls back with an answer.
fn later(binding: &Binding, buffer: i32, action: Action, callback: Function) -> mlua::Result<()> {
    let keep = || binding.functions.keep(callback);
    let paths = |names: Vec<BString>| names.into_iter().map(convert::path).collect();
    match action {
        Action::Propose { what, unsaved } => {
            let callback = keep();
            binding.workspace.undo.propose_taking_back(buffer, what, paths(unsaved), move |undo, proposed| {
                undo.shared.scripts.answered(callback, proposed.map(|proposed| describe(&proposed)));
            });
        }
        Action::Restore { number, overwrite, unsaved } => {
            let (callback, unsaved) = (keep(), paths(unsaved));
            let overwrite: Vec<_> = overwrite.into_iter().filter_map(|place| place.checked_sub(1)).collect();
            binding.workspace.undo.restore_files(buffer, number, &overwrite, unsaved, move |undo, restored| {
                let answer = restored.map(|files| {
                    let files = files.into_iter().map(|file| {
                        let moved_to = file.moved_to.map(|path| path.to_string_lossy().into_owned());
                        json!({ "path": file.path.to_string_lossy(), "problem": file.problem, "moved_to": moved_to })
                    });
                    files.collect()
                });
                undo.shared.scripts.answered(callback, answer);
            });
        }
        Action::Accept { call, revision, contents } => {
            let taken = contents.into_iter().map(Taken::from).collect();
            let callback = keep();
            binding.workspace.reviews.accept(buffer, &call, &revision.to_string(), taken, move |reviews, accepted| {
                let problem = accepted.err().map_or(Json::Null, |problem| problem.to_string().into());
                reviews.shared.scripts.answered(callback, Ok(problem));
            });
        }
        Action::Preview => {
            let callback = keep();
            binding.workspace.instructions.preview(buffer, move |source, lines| {
                source.shared.scripts.answered(callback, lines.map(Json::from));
            });
        }
        Action::Prompt { name, arguments } => {
            let callback = keep();
            let named = (name.to_string(), arguments.to_string());
            binding.workspace.insert_prompt(buffer, named, move |source, written| {
                source.shared.scripts.answered(callback, written.map(|()| Json::Bool(true)));
            });
        }
        Action::Fork { line } => {
            let callback = keep();
            binding.workspace.saving.fork(buffer, line, move |saving, path| {
                saving.shared.scripts.answered(callback, path.map(|path| path.to_string_lossy().into()));
            });
        }
        _ => return Err(mlua::Error::runtime("this does not call back")),
    }
    Ok(())
}

/// What taking something back would do.
fn describe(proposed: &Proposed) -> Json {
    let files = proposed.proposal.files.iter().map(|file| {
        let loses = file.is_changed_since && file.problem.is_none();
        json!({
            "path": file.step.path.to_string_lossy(),
            "changed": loses.then(|| file.step.target.digest().map_or("delete", |_| "overwrite")),
            "problem": file.problem,
        })
    });
    let files: Vec<_> = files.collect();
    json!({ "number": proposed.number, "lines": proposed.lines, "files": files })
}
