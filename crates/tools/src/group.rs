//! Groups of tools: one name for several, which the user's message offers together.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    declare::field_hint,
    definition::{MAX_NAME, is_name},
};
use flemma_model::UserError;

/// The fields that a group may have.
pub const GROUP_FIELDS: [&str; 3] = ["description", "tools", "system_prompt"];

/// Several tools with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name: what goes for the names of tools goes for it.
    pub name: String,
    /// What it is for, for the user.
    pub description: Option<String>,
    /// The names of its tools. They may be registered later.
    pub tools: Vec<String>,
    /// What a request adds to its system prompt while the group is offered.
    pub system_prompt: Option<Arc<str>>,
}

impl Group {
    /// Reads a group from its fields.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn read(name: &str, fields: &Map<String, Value>) -> Result<Self, UserError> {
        let wrong = |field: &str, problem: String| UserError::new(format!("group `{name}`: `{field}` {problem}"));
        if !is_name(name) {
            return Err(wrong("name", format!("must be 1 to {MAX_NAME} letters, digits, `_` or `-`")));
        }
        if let Some(unknown) = fields.keys().find(|key| !GROUP_FIELDS.contains(&key.as_str())) {
            return Err(wrong(unknown, format!("is not a field of a group{}", field_hint(unknown, &GROUP_FIELDS))));
        }
        let text = |field: &str| match fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(field, "must be a string".to_owned())),
        };
        let listed = fields.get("tools").and_then(Value::as_array);
        let tools: Option<Vec<String>> =
            listed.and_then(|list| list.iter().map(|tool| tool.as_str().map(str::to_owned)).collect());
        let Some(tools) = tools.filter(|tools| !tools.is_empty()) else {
            return Err(wrong("tools", "must be a list with the names of tools".to_owned()));
        };
        let prompt = text("system_prompt")?.filter(|prompt| !prompt.trim().is_empty());
        Ok(Self {
            name: name.to_owned(),
            description: text("description")?,
            tools,
            system_prompt: prompt.map(Arc::from),
        })
    }

    /// Its fields, with its name.
    pub fn describe(&self) -> Value {
        let mut table = json!({ "name": self.name, "tools": self.tools });
        let texts = [("description", self.description.as_deref()), ("system_prompt", self.system_prompt.as_deref())];
        texts.into_iter().filter_map(|(key, text)| Some((key, text?))).for_each(|(key, text)| table[key] = text.into());
        table
    }
}
