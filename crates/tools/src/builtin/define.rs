//! The definitions of the built-in tools, which are data in `definitions.json`, and what runs their calls.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{bash, calculator, edit, find, grep, ls, notes, read, write};
use crate::{DeclaredApproval, Definition, Executor, NativeTool, PathKind, Runner};

/// An entry of `definitions.json`. What it leaves out is as in [`Definition::new`].
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    name: String,
    /// Lines, which are joined.
    description: Vec<String>,
    /// The word for who answers a call, if it is not this process.
    executor: String,
    icon: Option<char>,
    /// The word for it.
    approval: Option<String>,
    /// Whether it is not offered by default.
    disabled: bool,
    is_async: bool,
    streaming: bool,
    idempotent: bool,
    leaves_out_denied: bool,
    always_asks: bool,
    /// Whether the first property is a `label`.
    labelled: bool,
    /// In seconds.
    timeout: Option<u64>,
    read_path: Option<Vec<String>>,
    write_path: Option<Vec<String>>,
    path_kind: PathKind,
    /// The properties that are required, if others than these are allowed as well. Otherwise the schema is strict.
    required: Option<Vec<String>>,
    properties: Map<String, Value>,
    /// The properties of the answer, in the order in which the model reads them.
    result: Option<Map<String, Value>>,
}

/// All built-in tools. A mistake in the data, which the tests would find, is a panic.
pub(super) fn all() -> Vec<Definition> {
    let entries: Vec<Entry> = serde_json::from_str(include_str!("definitions.json"))
        .unwrap_or_else(|error| panic!("a definition of a built-in tool is not valid: {error}"));
    entries.into_iter().map(Entry::definition).collect()
}

/// What runs the calls of a tool.
fn tool(name: &str) -> Arc<dyn NativeTool> {
    match name {
        "bash" => Arc::new(bash::Bash),
        "calculator" => Arc::new(calculator::TOOL),
        "calculator_async" => Arc::new(calculator::CalculatorAsync),
        "edit" => Arc::new(edit::TOOL),
        "find" => Arc::new(find::TOOL),
        "grep" => Arc::new(grep::TOOL),
        "ls" => Arc::new(ls::TOOL),
        "read" => Arc::new(read::Read),
        "write" => Arc::new(write::TOOL),
        note => notes::tool(note),
    }
}

impl Entry {
    fn definition(self) -> Definition {
        let mut properties = Map::new();
        if self.labelled {
            let description = "What this call is for, in a few words. Shown to the user.";
            properties.insert("label".into(), json!({ "type": ["string", "null"], "description": description }));
        }
        properties.extend(self.properties);
        let strict = self.required.is_none();
        let schema = json!({
            "type": "object",
            "required": self.required.unwrap_or_else(|| properties.keys().cloned().collect()),
            "properties": properties,
            "additionalProperties": !strict,
        });
        let executor = match self.executor.as_str() {
            "human" => Executor::Human,
            // The editor's function for a call is in `lua/flemma/tools/client/`, in a file with the tool's name.
            "client" => Executor::Client(None),
            _ => Executor::Server(Runner::Native(tool(&self.name))),
        };
        let approval = |(word, _): &&(&str, DeclaredApproval)| self.approval.as_deref() == Some(*word);
        let mut definition = Definition::new(&self.name, &self.description.join(" "), schema, executor);
        definition.strict = strict;
        definition.icon = self.icon;
        definition.approval = DeclaredApproval::WORDS.iter().find(approval).map(|(_, approval)| *approval);
        definition.enabled = !self.disabled;
        definition.is_async = self.is_async;
        definition.streaming = self.streaming;
        definition.idempotent = self.idempotent;
        definition.leaves_out_denied = self.leaves_out_denied;
        definition.always_asks = self.always_asks;
        definition.timeout = self.timeout.map(Duration::from_secs);
        definition.read_path_param = self.read_path.map(Into::into);
        definition.write_path_param = self.write_path.map(Into::into);
        definition.path_kind = self.path_kind;
        let result = |properties: Map<String, Value>| Arc::new(json!({ "type": "object", "properties": properties }));
        definition.result_schema = self.result.map(result);
        definition
    }
}
