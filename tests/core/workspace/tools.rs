//! The tools of a test: their definitions, what is decided about their calls, and who answers these.

use flemma_journal::Role;
use flemma_tools::{LuaRef, approval::Decision, declare::Field};
use flemma_workspace::{HypotheticalCall, Resolution, StopTool, ToolAnswer};
use serde_json::{Value, json};

use super::{harness::Harness, scripts::text};

impl Harness {
    /// What the chain decides about a call in the current buffer, and which resolver did.
    pub fn decision(&self, tool: &str, input: Value) -> (Decision, Option<String>) {
        let buffer = i64::from(self.current());
        self.workspace.approval.resolve(&HypotheticalCall { tool: tool.to_owned(), input, id: "".into(), buffer })
    }

    /// Registers a tool from these fields besides a description and a schema that takes anything.
    pub fn define(&self, name: &str, more: Value) {
        let mut fields = vec![
            ("description".to_owned(), Field::Value(json!("A tool."))),
            ("input_schema".to_owned(), Field::Value(json!({ "type": "object" }))),
        ];
        let more = more.as_object().cloned().unwrap_or_default();
        fields.extend(more.into_iter().map(|(name, value)| (name, Field::Value(value))));
        self.workspace.tools.register_tool(Some(name), fields).unwrap();
    }

    /// Registers a tool with functions besides `execute`. A call of it returns `done`.
    pub fn register_hooks(&self, name: &str, more: Value, hooks: &[(&str, LuaRef)]) {
        let execute = self.scripts.keep(|_, answer| {
            answer.finish(text("done"));
            None
        });
        self.define_hooks(name, more, &[&[("execute", execute)], hooks].concat());
    }

    /// The same, without `execute`.
    pub fn define_hooks(&self, name: &str, more: Value, hooks: &[(&str, LuaRef)]) {
        let mut fields = vec![
            ("description".to_owned(), Field::Value(json!("A tool."))),
            ("input_schema".to_owned(), Field::Value(json!({ "type": "object" }))),
        ];
        let more = more.as_object().cloned().unwrap_or_default();
        fields.extend(more.into_iter().map(|(name, value)| (name, Field::Value(value))));
        fields.extend(hooks.iter().map(|(name, function)| ((*name).to_owned(), Field::Function(*function))));
        self.workspace.tools.register_tool(Some(name), fields).unwrap();
    }

    /// `require("flemma.tools").resolve` in the current buffer.
    pub fn resolve(&self, call: &str, resolution: Resolution) -> Result<(), String> {
        let resolved = self.workspace.resolutions.resolve_now(self.current(), &call.into(), resolution, Role::Script);
        self.settle();
        resolved.map_err(|error| error.to_string())
    }

    /// The ids of the calls that wait, each with what it waits for.
    pub fn waiting(&self) -> Vec<String> {
        let calls = self.workspace.calls.pending_calls(Some(self.current()));
        calls.into_iter().map(|call| format!("{} {}", call.id, call.kind)).collect()
    }

    /// Registers a tool that takes no input.
    pub fn register(&self, name: &str, tool: impl Fn(&Value, ToolAnswer) -> Option<StopTool> + 'static) {
        self.register_with(name, json!({}), tool);
    }

    /// The same, with more fields.
    pub fn register_with(
        &self,
        name: &str,
        more: Value,
        tool: impl Fn(&Value, ToolAnswer) -> Option<StopTool> + 'static,
    ) {
        let mut fields = vec![
            ("description".to_owned(), Field::Value(json!("A tool."))),
            ("input_schema".to_owned(), Field::Value(json!({ "type": "object" }))),
            ("execute".to_owned(), Field::Function(self.scripts.keep(tool))),
        ];
        let more = more.as_object().cloned().unwrap_or_default();
        fields.retain(|(name, _)| !more.contains_key(name));
        fields.extend(more.into_iter().map(|(name, value)| (name, Field::Value(value))));
        self.workspace.tools.register_tool(Some(name), fields).unwrap();
    }
}
