//! Reads a user's definition of a tool: a table of fields, checked field by field.
//!
//! The owner of the table (currently Lua) passes it as [`Field`]s. Functions stay where they are and are identified by
//! number. Every error names the tool, the field and the fix.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::{DeclaredApproval, Definition, DefinitionError, Executor, LuaRef, PathKind, PathParams, Runner, seconds};
use flemma_config::Retention;
use flemma_text::suggest::nearest;

/// The fields that a definition may have.
pub const FIELDS: [&str; 21] = [
    "name",
    "description",
    "input_schema",
    "strict",
    "async",
    "enabled",
    "execute",
    "format_preview",
    "format_rejection",
    "executor",
    "approval",
    "streaming",
    "timeout",
    "approval_timeout",
    "result_schema",
    "idempotent",
    "retention",
    "read_path_param",
    "write_path_param",
    "path_kind",
    "system_prompt",
];

/// The value of one field.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Data.
    Value(Value),
    /// A function, by its number.
    Function(LuaRef),
    /// Something else, with a description.
    Other(String),
}

/// Reads a definition.
///
/// `name` is the name under which it is registered, if it is given separately.
///
/// # Errors
/// The first field that is invalid: unknown, of the wrong type, illegal (see [`Definition::check`]), or an `execute` that is
/// missing or that the executor has no use for.
pub fn declare(name: Option<&str>, fields: Vec<(String, Field)>) -> Result<Definition, DefinitionError> {
    let mut reader = FieldReader { tool: String::new(), fields };
    let own = reader.text("name")?;
    reader.tool = match (name, own) {
        (Some(given), Some(own)) if given != own => {
            reader.tool = given.to_owned();
            return reader
                .refuse("name", format!("is \"{own}\", but it is registered as `{given}`: make them the same"));
        }
        (Some(name), _) => name.to_owned(),
        (None, Some(own)) => own,
        (None, None) => {
            reader.tool = "(unnamed)".to_owned();
            return reader.refuse("name", "is missing: give the tool a name".to_owned());
        }
    };
    reader.refuse_unknown()?;
    let Some(description) = reader.text("description")? else {
        return reader
            .refuse("description", "is missing: say in a sentence what the tool does and when to use it".to_owned());
    };
    let Some(schema) = reader.table("input_schema")? else {
        return reader.refuse(
            "input_schema",
            "is missing: give a JSON Schema, at least { type = \"object\", properties = {} }".to_owned(),
        );
    };
    let executor = reader.executor()?;
    let mut definition = Definition::new(&reader.tool.clone(), &description, fix_empty_tables(schema), executor);
    definition.format_preview = reader.function("format_preview")?;
    definition.format_rejection = reader.function("format_rejection")?;
    definition.strict = reader.switch("strict")?.unwrap_or(false);
    definition.is_async = reader.switch("async")?.unwrap_or(false);
    definition.enabled_by = reader.take_function("enabled");
    definition.enabled = reader.switch("enabled")?.unwrap_or(true);
    definition.streaming = reader.switch("streaming")?.unwrap_or(false);
    definition.idempotent = reader.switch("idempotent")?.unwrap_or(false);
    let longest = if definition.executor.is_answered() { seconds::LONGEST_WAIT } else { seconds::LONGEST };
    definition.timeout = reader.seconds("timeout", longest)?;
    definition.approval_timeout = reader.seconds("approval_timeout", seconds::LONGEST_WAIT)?;
    definition.result_schema = reader.table("result_schema")?.map(|schema| Arc::new(fix_empty_tables(schema)));
    definition.system_prompt = reader.text("system_prompt")?.map(Into::into);
    definition.read_path_param = reader.path_params("read_path_param")?;
    definition.write_path_param = reader.path_params("write_path_param")?;
    definition.path_kind = reader.choice("path_kind", &PathKind::WORDS)?.unwrap_or_default();
    definition.retention = reader.retention()?;
    definition.approval = match reader.take_function("approval") {
        Some(function) => Some(DeclaredApproval::Function(function)),
        None => reader.choice("approval", &DeclaredApproval::WORDS)?,
    };
    definition.check()?;
    Ok(definition)
}

struct FieldReader {
    tool: String,
    fields: Vec<(String, Field)>,
}

impl FieldReader {
    fn refuse<T>(&self, field: &str, problem: String) -> Result<T, DefinitionError> {
        Err(DefinitionError { tool: self.tool.clone(), field: field.to_owned(), problem })
    }

    fn refuse_unknown(&self) -> Result<(), DefinitionError> {
        let unknown = self.fields.iter().map(|(name, _)| name.as_str()).filter(|name| !FIELDS.contains(name)).min();
        let Some(unknown) = unknown else { return Ok(()) };
        let hint = nearest(unknown, FIELDS).map_or_else(
            || format!("; the fields are {}", FIELDS.join(", ")),
            |near| format!("; did you mean `{near}`?"),
        );
        self.refuse(unknown, format!("is not a field of a definition{hint}"))
    }

    fn take(&mut self, name: &str) -> Option<Field> {
        let at = self.fields.iter().position(|(field, _)| field == name)?;
        match self.fields.swap_remove(at).1 {
            Field::Value(Value::Null) => None,
            field => Some(field),
        }
    }

    /// Takes a field that may be a function, if it is one.
    fn take_function(&mut self, name: &str) -> Option<LuaRef> {
        let at = self.fields.iter().position(|(field, value)| field == name && matches!(value, Field::Function(_)))?;
        match self.fields.swap_remove(at).1 {
            Field::Function(function) => Some(function),
            Field::Value(_) | Field::Other(_) => None,
        }
    }

    fn wrong<T>(&self, name: &str, expected: &str, found: &Field) -> Result<T, DefinitionError> {
        let found = match found {
            Field::Value(value) => {
                let text = value.to_string();
                if text.chars().count() > 60 { "a table".to_owned() } else { text }
            }
            Field::Function(_) => "a function".to_owned(),
            Field::Other(what) => what.clone(),
        };
        self.refuse(name, format!("must be {expected}, not {found}"))
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, DefinitionError> {
        match self.take(name) {
            None => Ok(None),
            Some(Field::Value(Value::String(text))) => Ok(Some(text)),
            Some(other) => self.wrong(name, "a string", &other),
        }
    }

    /// A name, or a list of names. An empty Lua table is both an empty object and an empty list.
    fn path_params(&mut self, name: &str) -> Result<Option<PathParams>, DefinitionError> {
        let Some(field) = self.take(name) else { return Ok(None) };
        let names = match &field {
            Field::Value(Value::String(name)) => Some(vec![name.clone()]),
            Field::Value(Value::Array(list)) => {
                list.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
            }
            Field::Value(Value::Object(table)) if table.is_empty() => Some(Vec::new()),
            _ => None,
        };
        match names {
            Some(names) => Ok(Some(names.into())),
            None => self.wrong(name, "a string or a list of strings", &field),
        }
    }

    fn switch(&mut self, name: &str) -> Result<Option<bool>, DefinitionError> {
        match self.take(name) {
            None => Ok(None),
            Some(Field::Value(Value::Bool(switch))) => Ok(Some(switch)),
            Some(other) => self.wrong(name, "true or false", &other),
        }
    }

    fn executor(&mut self) -> Result<Executor, DefinitionError> {
        let words = ["server", "human", "client", "provider"];
        let word = self.choice("executor", &words.map(|word| (word, word)))?.unwrap_or("server");
        let function = self.function("execute")?;
        match (word, function) {
            ("human", None) => Ok(Executor::Human),
            ("client", function) => Ok(Executor::Client(function)),
            ("human", Some(_)) => self.refuse(
                "execute",
                "has no use: the executor is \"human\", so the user's answer is the result. Remove one of the two"
                    .into(),
            ),
            ("provider", _) => self.refuse(
                "executor",
                "cannot be \"provider\": only tools that Flemma knows are run by a provider".into(),
            ),
            (_, Some(function)) => Ok(Executor::Server(Runner::Lua(function))),
            (_, None) => self.refuse("execute", "is missing: give the function that runs a call".into()),
        }
    }

    fn table(&mut self, name: &str) -> Result<Option<Map<String, Value>>, DefinitionError> {
        match self.take(name) {
            None => Ok(None),
            Some(Field::Value(Value::Object(table))) => Ok(Some(table)),
            Some(other) => self.wrong(name, "a table", &other),
        }
    }

    fn function(&mut self, name: &str) -> Result<Option<LuaRef>, DefinitionError> {
        match self.take(name) {
            None => Ok(None),
            Some(Field::Function(function)) => Ok(Some(function)),
            Some(other) => self.wrong(name, "a function", &other),
        }
    }

    fn seconds(&mut self, name: &str, longest: Duration) -> Result<Option<Duration>, DefinitionError> {
        let Some(field) = self.take(name) else { return Ok(None) };
        match &field {
            Field::Value(Value::Number(number)) => {
                match seconds::at_most(longest, number.as_f64().unwrap_or(f64::NAN)) {
                    Ok(limit) => Ok(Some(limit)),
                    Err(problem) => self.refuse(name, problem.to_string()),
                }
            }
            field => self.wrong(name, "a number of seconds", field),
        }
    }

    fn retention(&mut self) -> Result<Option<Retention>, DefinitionError> {
        let Some(table) = self.table("retention")? else { return Ok(None) };
        Retention::read(&Value::Object(table)).or_else(|error| {
            let problems: Vec<_> = error.problems.iter().map(ToString::to_string).collect();
            self.refuse("retention", format!("is wrong: {}", problems.join(", ")))
        })
    }

    fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, DefinitionError> {
        let Some(field) = self.take(name) else { return Ok(None) };
        let word = match &field {
            Field::Value(Value::String(word)) => Some(word.as_str()),
            _ => None,
        };
        if let Some((_, choice)) = choices.iter().find(|(known, _)| Some(*known) == word) {
            return Ok(Some(*choice));
        }
        let words: Vec<String> = choices.iter().map(|(known, _)| format!("\"{known}\"")).collect();
        self.wrong(name, &format!("one of {}", words.join(", ")), &field)
    }
}

/// Keywords of JSON Schema whose value is a list.
const LISTS: [&str; 7] = ["required", "enum", "anyOf", "oneOf", "allOf", "prefixItems", "examples"];

/// An empty Lua table is both an empty object and an empty list. In a schema, the keyword decides which.
fn fix_empty_tables(schema: Map<String, Value>) -> Value {
    let fixed = schema.into_iter().map(|(key, value)| {
        let value = match value {
            Value::Object(table) if table.is_empty() && LISTS.contains(&key.as_str()) => Value::Array(Vec::new()),
            Value::Array(list) if list.is_empty() && !LISTS.contains(&key.as_str()) => Value::Object(Map::new()),
            Value::Object(table) => fix_empty_tables(table),
            Value::Array(list) => Value::Array(
                list.into_iter()
                    .map(|item| match item {
                        Value::Object(table) => fix_empty_tables(table),
                        item => item,
                    })
                    .collect(),
            ),
            value => value,
        };
        (key, value)
    });
    Value::Object(fixed.collect())
}

/// A definition as data, for the list of registered tools. Functions are left out.
#[must_use]
pub fn describe(definition: &Definition) -> Value {
    let mut table = Map::new();
    let mut put = |key: &str, value: Value| table.insert(key.to_owned(), value);
    put("name", definition.name.clone().into());
    put("description", definition.description.clone().into());
    put("input_schema", Value::clone(&Arc::clone(&definition.input_schema)));
    put("strict", definition.strict.into());
    put("async", definition.is_async.into());
    put("enabled", definition.enabled.into());
    put("streaming", definition.streaming.into());
    put("idempotent", definition.idempotent.into());
    put("executor", definition.executor.as_str().into());
    if let Some(word) = definition.approval.and_then(DeclaredApproval::word) {
        put("approval", word.into());
    }
    for (key, limit) in [("timeout", definition.timeout), ("approval_timeout", definition.approval_timeout)] {
        if let Some(limit) = limit {
            put(key, limit.as_secs_f64().into());
        }
    }
    if let Some(schema) = &definition.result_schema {
        put("result_schema", Value::clone(schema));
    }
    if let Some(retention) = definition.retention {
        put("retention", retention.to_json());
    }
    for (key, param) in
        [("read_path_param", &definition.read_path_param), ("write_path_param", &definition.write_path_param)]
    {
        if let Some(param) = param {
            put(key, param.to_json());
        }
    }
    if definition.path_kind != PathKind::default() {
        put("path_kind", definition.path_kind.word().into());
    }
    Value::Object(table)
}
