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
#[rustfmt::skip]
pub const FIELDS: [&str; 21] = [
    "name", "description", "input_schema", "strict", "async", "enabled", "execute", "format_preview", "format_rejection",
    "executor", "approval", "streaming", "timeout", "approval_timeout", "result_schema", "idempotent", "retention",
    "read_path_param", "write_path_param", "path_kind", "system_prompt",
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
    /// A table with something in it that no definition can have, and why.
    Unreadable(String),
}

impl Field {
    fn value(&self) -> Option<&Value> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    fn function(&self) -> Option<LuaRef> {
        if let Self::Function(function) = self { Some(*function) } else { None }
    }
}

/// Reads a definition.
///
/// `name` is the name under which it is registered, if it is given separately.
///
/// # Errors
/// The first field that is invalid: unknown, of the wrong type, illegal (see [`Definition::check`]), or an `execute` that is
/// missing or that the executor has no use for.
pub fn declare(name: Option<&str>, fields: Vec<(String, Field)>) -> Result<Definition, DefinitionError> {
    let definition = read(name, fields, None)?;
    definition.check()?;
    Ok(definition)
}

/// The same, but does not check whether the fields go together. A built-in tool has its `executor` already.
pub(super) fn read(
    name: Option<&str>,
    fields: Vec<(String, Field)>,
    executor: Option<Executor>,
) -> Result<Definition, DefinitionError> {
    let mut reader = FieldReader { tool: String::new(), fields };
    let own = reader.text("name")?;
    reader.tool = name.or(own.as_deref()).unwrap_or("(unnamed)").to_owned();
    match (name, own) {
        (None, None) => return reader.refuse("name", "is missing: give the tool a name"),
        (Some(given), Some(own)) if given != own => {
            let problem = format!("is \"{own}\", but it is registered as `{given}`: make them the same");
            return reader.refuse("name", problem);
        }
        _ => {}
    }
    reader.refuse_unknown()?;
    let Some(description) = reader.text("description")? else {
        let problem = "is missing: say in a sentence what the tool does and when to use it";
        return reader.refuse("description", problem);
    };
    let Some(schema) = reader.table("input_schema")? else {
        let problem = "is missing: give a JSON Schema, at least { type = \"object\", properties = {} }";
        return reader.refuse("input_schema", problem);
    };
    let executor = executor.map_or_else(|| reader.executor(), Ok)?;
    let mut definition = Definition::new(&reader.tool.clone(), &description, fix_empty_tables(schema), executor);
    definition.format_preview = reader.function("format_preview")?;
    definition.format_rejection = reader.function("format_rejection")?;
    definition.strict = reader.switch("strict")?.unwrap_or(false);
    definition.is_async = reader.switch("async")?.unwrap_or(false);
    definition.enabled_by = reader.take_function("enabled");
    definition.enabled = reader.switch("enabled")?.unwrap_or(true);
    definition.streaming = reader.switch("streaming")?.unwrap_or(false);
    definition.idempotent = reader.switch("idempotent")?.unwrap_or(false);
    definition.timeout = reader.seconds("timeout", definition.executor.longest())?;
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
    Ok(definition)
}

struct FieldReader {
    tool: String,
    fields: Vec<(String, Field)>,
}

impl FieldReader {
    fn refuse<T>(&self, field: &str, problem: impl ToString) -> Result<T, DefinitionError> {
        Err(DefinitionError { tool: self.tool.clone(), field: field.to_owned(), problem: problem.to_string() })
    }

    fn refuse_unknown(&self) -> Result<(), DefinitionError> {
        let unknown = self.fields.iter().map(|(name, _)| name.as_str()).filter(|name| !FIELDS.contains(name)).min();
        let Some(unknown) = unknown else { return Ok(()) };
        self.refuse(unknown, format!("is not a field of a definition{}", field_hint(unknown, &FIELDS)))
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
        let at = self.fields.iter().position(|(field, value)| field == name && value.function().is_some())?;
        self.fields.swap_remove(at).1.function()
    }

    /// Takes a field that must be `expected`.
    fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Field) -> Option<T>,
    ) -> Result<Option<T>, DefinitionError> {
        let Some(field) = self.take(name) else { return Ok(None) };
        if let Some(value) = read(&field) {
            return Ok(Some(value));
        }
        let found = match field {
            Field::Value(value) => {
                let text = value.to_string();
                if text.chars().count() > 60 { "a table".to_owned() } else { text }
            }
            Field::Function(_) => "a function".to_owned(),
            Field::Other(what) => what,
            Field::Unreadable(why) => return self.refuse(name, format!("cannot be read: {why}")),
        };
        self.refuse(name, format!("must be {expected}, not {found}"))
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, DefinitionError> {
        self.read(name, "a string", |field| field.value()?.as_str().map(str::to_owned))
    }

    /// A name, or a list of names. An empty Lua table is both an empty object and an empty list.
    fn path_params(&mut self, name: &str) -> Result<Option<PathParams>, DefinitionError> {
        let names = |field: &Field| match field.value()? {
            Value::String(name) => Some(vec![name.clone()]),
            Value::Array(list) => list.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
            Value::Object(table) if table.is_empty() => Some(Vec::new()),
            _ => None,
        };
        Ok(self.read(name, "a string or a list of strings", names)?.map(Into::into))
    }

    fn switch(&mut self, name: &str) -> Result<Option<bool>, DefinitionError> {
        self.read(name, "true or false", |field| field.value()?.as_bool())
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
                "has no use: the executor is \"human\", so the user's answer is the result. Remove one of the two",
            ),
            ("provider", _) => {
                self.refuse("executor", "cannot be \"provider\": only tools that Flemma knows are run by a provider")
            }
            (_, Some(function)) => Ok(Executor::Server(Runner::Lua(function))),
            (_, None) => self.refuse("execute", "is missing: give the function that runs a call"),
        }
    }

    fn table(&mut self, name: &str) -> Result<Option<Map<String, Value>>, DefinitionError> {
        self.read(name, "a table", |field| field.value()?.as_object().cloned())
    }

    fn function(&mut self, name: &str) -> Result<Option<LuaRef>, DefinitionError> {
        self.read(name, "a function", Field::function)
    }

    fn seconds(&mut self, name: &str, longest: Duration) -> Result<Option<Duration>, DefinitionError> {
        let Some(number) = self.read(name, "a number of seconds", |field| field.value()?.as_f64())? else {
            return Ok(None);
        };
        seconds::at_most(longest, number).map(Some).or_else(|problem| self.refuse(name, problem))
    }

    fn retention(&mut self) -> Result<Option<Retention>, DefinitionError> {
        let Some(table) = self.table("retention")? else { return Ok(None) };
        Retention::read(&Value::Object(table)).or_else(|error| {
            let problems: Vec<_> = error.problems.iter().map(ToString::to_string).collect();
            self.refuse("retention", format!("is wrong: {}", problems.join(", ")))
        })
    }

    fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, DefinitionError> {
        let words: Vec<String> = choices.iter().map(|(known, _)| format!("\"{known}\"")).collect();
        self.read(name, &format!("one of {}", words.join(", ")), |field| {
            let word = field.value()?.as_str()?;
            choices.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice)
        })
    }
}

/// The end of a message about a field that is none of these.
pub(super) fn field_hint(unknown: &str, fields: &[&str]) -> String {
    nearest(unknown, fields.iter().copied())
        .map_or_else(|| format!("; the fields are {}", fields.join(", ")), |near| format!("; did you mean `{near}`?"))
}

/// Keywords of JSON Schema whose value is a list.
const LISTS: [&str; 7] = ["required", "enum", "anyOf", "oneOf", "allOf", "prefixItems", "examples"];

/// An empty Lua table is both an empty object and an empty list. In a schema, the keyword decides which.
fn fix_empty_tables(schema: Map<String, Value>) -> Value {
    let inner = |item: Value| if let Value::Object(table) = item { fix_empty_tables(table) } else { item };
    let fixed = schema.into_iter().map(|(key, value)| {
        let is_list = LISTS.contains(&key.as_str());
        let value = match value {
            Value::Object(table) if table.is_empty() && is_list => Value::Array(Vec::new()),
            Value::Array(list) if list.is_empty() && !is_list => Value::Object(Map::new()),
            Value::Array(list) => list.into_iter().map(inner).collect(),
            value => inner(value),
        };
        (key, value)
    });
    Value::Object(fixed.collect())
}

/// A definition as data, for the list of registered tools. Functions are left out.
pub fn describe(definition: &Definition) -> Value {
    let seconds = |limit: Option<Duration>| limit.map(|limit| Value::from(limit.as_secs_f64()));
    let params = |params: &Option<PathParams>| params.as_ref().map(PathParams::to_json);
    let path_kind = Some(definition.path_kind).filter(|kind| *kind != PathKind::default());
    let fields: [(&str, Option<Value>); 17] = [
        ("name", Some(definition.name.clone().into())),
        ("description", Some(definition.description.clone().into())),
        ("input_schema", Some(Value::clone(&definition.input_schema))),
        ("strict", Some(definition.strict.into())),
        ("async", Some(definition.is_async.into())),
        ("enabled", Some(definition.enabled.into())),
        ("streaming", Some(definition.streaming.into())),
        ("idempotent", Some(definition.idempotent.into())),
        ("executor", Some(definition.executor.as_str().into())),
        ("approval", definition.approval.and_then(DeclaredApproval::word).map(Value::from)),
        ("timeout", seconds(definition.timeout)),
        ("approval_timeout", seconds(definition.approval_timeout)),
        ("result_schema", definition.result_schema.as_deref().cloned()),
        ("retention", definition.retention.map(|retention| retention.to_json())),
        ("read_path_param", params(&definition.read_path_param)),
        ("write_path_param", params(&definition.write_path_param)),
        ("path_kind", path_kind.map(|kind| kind.word().into())),
    ];
    Value::Object(fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}
