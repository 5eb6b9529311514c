//! The tools that the editor's user interface answers. They are disabled by default.
//!
//! Only what a model and the rules see of them is here. The editor's function for a call is in
//! `lua/flemma/tools/client/`, in a file with the tool's name, which is loaded when the tool is first called.

use serde_json::{Value, json};

use crate::{DeclaredApproval, Definition, Executor, PathParams};

/// All of them.
pub(super) fn all() -> [Definition; 5] {
    [open_location(), pick_file(), get_selection(), get_diagnostics(), open_buffers()]
}

fn define(name: &str, description: &str, properties: Value, approval: DeclaredApproval) -> Definition {
    let mut definition = super::define_answered(name, description, properties, Executor::Client(None));
    definition.enabled = false;
    definition.approval = Some(approval);
    definition
}

/// The schema of a result with these properties (a JSON object of schemas), in this order; the model reads them in it.
fn result(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

/// Shows the model nothing that `grep` does not.
fn open_location() -> Definition {
    let mut definition = define(
        "open_location",
        "Show the user a place in a file: open it in their editor, in a window beside the conversation. Use it when the \
         user wants to see something, not to read a file yourself. The result has the path, the line and the column \
         that are shown.",
        json!({
            "path": { "type": "string", "description": "The file." },
            "line": { "type": ["integer", "null"], "description": "The line, from 1; null for the first." },
            "column": {
                "type": ["integer", "null"],
                "description": "The character of the line, from 1; null for the first.",
            },
            "pattern": {
                "type": ["string", "null"],
                "description": "Plain text to search for, from `line` on; the first match is shown. null for none.",
            },
        }),
        DeclaredApproval::Auto,
    );
    definition.idempotent = true;
    definition.read_path_param = Some("path".into());
    let place = json!({
        "path": { "type": "string" },
        "line": { "type": "integer" },
        "column": { "type": "integer" },
        "note": { "type": "string" },
    });
    definition.result_schema = Some(result(&place).into());
    definition
}

/// Needs no approval: nothing happens unless the user picks a file.
fn pick_file() -> Definition {
    let mut definition = define(
        "pick_file",
        "Let the user pick a file from a list. Use it when only the user knows which file is meant. The result has its \
         path. Hidden files and files in .gitignore are not in the list.",
        json!({
            "root": {
                "type": ["string", "null"],
                "description": "The folder whose files are listed; null for the conversation's folder.",
            },
            "prompt": { "type": ["string", "null"], "description": "What the file is for, in a few words." },
        }),
        DeclaredApproval::Auto,
    );
    definition.is_async = true;
    definition.idempotent = true;
    definition.read_path_param = Some("root".into());
    definition.leaves_out_denied = true;
    let file = json!({ "path": { "type": "string" }, "note": { "type": "string" } });
    definition.result_schema = Some(result(&file).into());
    definition
}

fn get_selection() -> Definition {
    let mut definition = define(
        "get_selection",
        "Get the text that the user last selected in their editor, outside of conversations, with its file and lines.",
        json!({}),
        DeclaredApproval::RequiresApproval,
    );
    // The editor asks about each file.
    definition.read_path_param = Some(PathParams::none());
    definition.idempotent = true;
    let selection = json!({
        "path": { "type": "string" },
        "kind": { "enum": ["characters", "lines", "block"] },
        "first_line": { "type": "integer" },
        "first_column": { "type": "integer" },
        "last_line": { "type": "integer" },
        "last_column": { "type": "integer" },
        "text": { "type": "string" },
        "modified": { "type": "boolean" },
        "note": { "type": "string" },
    });
    definition.result_schema = Some(result(&selection).into());
    definition
}

fn get_diagnostics() -> Definition {
    let mut definition = define(
        "get_diagnostics",
        "Get the diagnostics (errors and warnings of language servers and linters) of the files that are open in the \
         user's editor.",
        json!({
            "path": {
                "type": ["string", "null"],
                "description": "Only those of this file, or of the files in this folder; null for all open files.",
            },
            "severity": {
                "type": ["string", "null"],
                "enum": ["error", "warning", "info", "hint", null],
                "description": "Only those of this severity and above; null for all.",
            },
        }),
        DeclaredApproval::RequiresApproval,
    );
    definition.idempotent = true;
    definition.read_path_param = Some("path".into());
    definition.leaves_out_denied = true;
    let diagnostic = json!({
        "path": { "type": "string" },
        "line": { "type": "integer" },
        "column": { "type": "integer" },
        "severity": { "enum": ["error", "warning", "info", "hint"] },
        "message": { "type": "string" },
        "source": { "type": "string" },
        "code": { "type": "string" },
    });
    let diagnostics = json!({ "type": "array", "items": result(&diagnostic) });
    let all = json!({ "diagnostics": diagnostics, "note": { "type": "string" } });
    definition.result_schema = Some(result(&all).into());
    definition
}

fn open_buffers() -> Definition {
    let mut definition = define(
        "open_buffers",
        "List the files that are open in the user's editor: path, filetype, current line, and whether there are changes \
         that have not been written.",
        json!({}),
        DeclaredApproval::RequiresApproval,
    );
    // The editor asks about each file.
    definition.read_path_param = Some(PathParams::none());
    definition.idempotent = true;
    let buffer = json!({
        "path": { "type": "string" },
        "filetype": { "type": "string" },
        "line": { "type": "integer" },
        "modified": { "type": "boolean" },
        "visible": { "type": "boolean" },
    });
    let buffers = json!({ "type": "array", "items": result(&buffer) });
    let all = json!({ "buffers": buffers, "note": { "type": "string" } });
    definition.result_schema = Some(result(&all).into());
    definition
}
