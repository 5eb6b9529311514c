//! Forms: what the user is asked by a call of a tool whose executor is `human`, and how their answer becomes a result.
//!
//! [`Form::of`] reads the input of the call and the tool's `result_schema`. A schema of an object becomes a field for each
//! property, any other schema a single field. The editor asks field by field and passes what was chosen or typed to
//! [`Form::answer`], also when only some of the fields have been asked. What the user wrote into the status block goes to
//! [`Form::answer_from_text`].
//!
//! ```
//! use flemma_tools::{Definition, Executor, form::{Form, Given}};
//! use serde_json::json;
//!
//! let schema = json!({ "type": "object", "properties": { "question": { "type": "string" } } });
//! let tool = Definition::new("ask", "Ask the user.", schema, Executor::Human);
//! let form = Form::of(&tool, &json!({ "question": "Which one?", "options": ["red", "green"] }));
//! assert_eq!(form.question, "Which one?");
//! assert_eq!(form.fields[0].labels(), ["red", "green", "something else…"]);
//! assert_eq!(form.answer(&[Given::Chosen(1)]), Ok(json!("green")));
//! assert_eq!(form.answer_from_text("2"), Ok(json!("green")));
//! assert_eq!(form.answer_from_text("blue"), Ok(json!("blue")));
//! ```

use std::{collections::HashSet, sync::Arc};

use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    Definition,
    field::{FieldKind, follow, kind_of, on_its_own, properties},
    json_fault::JsonFault,
    native::json_text,
    preview,
    schema::CompiledSchema,
};

/// The last entry of a list of choices that also allows any other text.
const OTHER: &str = "something else…";

/// The entry of a list of choices that gives no answer.
const NOTHING: &str = "(no answer)";

/// The same, where the answer is an object that then lacks this property.
const LEAVE_OUT: &str = "(leave out)";

/// The first whole number that a number with a fraction cannot tell from the next one.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// How wide a question or a label is, in display cells.
const WIDTH: usize = 400;

/// What a call asks the user.
#[derive(Clone, Debug)]
pub struct Form {
    /// The question, on one line.
    pub question: String,
    /// What the user is asked, one after the other. Never empty.
    pub fields: Vec<FormField>,
    /// Whether the answer is an object with a property for each field.
    is_object: bool,
    /// What the whole answer must match.
    schema: Option<CompiledSchema>,
}

/// One field of a form.
#[derive(Clone, Debug)]
pub struct FormField {
    /// The property of the answer; `None` if the field is the whole answer.
    pub name: Option<String>,
    /// What is asked, on one line; empty if the question of the form says it all.
    pub label: String,
    /// The text that the user starts with, if there is one.
    pub default: Option<String>,
    /// Whether the field must be answered.
    pub is_required: bool,
    kind: FieldKind,
    /// Whether a choice may be something else as well.
    or_text: bool,
    /// Whether no answer is written as null.
    is_nullable: bool,
    schema: Option<CompiledSchema>,
}

/// What the user did with a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// They chose an entry of [`FormField::labels`], counted from 0.
    Chosen(usize),
    /// They typed this.
    Typed(String),
    /// They left it out.
    Nothing,
}

/// What is wrong with an answer. The user reads it, and answers again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FormMistake {
    /// The field, counted from 0; `None` if it is the answer as a whole.
    pub field: Option<usize>,
    /// The line of the text that is not valid JSON, from 1; `None` for any other mistake.
    pub line: Option<usize>,
    /// What is wrong, and how to write it.
    pub message: String,
}

impl Form {
    /// What a call with this input asks.
    pub fn of(definition: &Definition, input: &Value) -> Self {
        let asked = Question::of(input);
        let question = asked.text.map(str::to_owned).unwrap_or_else(|| {
            let arguments = preview::generic(input, WIDTH);
            if arguments.is_empty() { definition.description.clone() } else { arguments }
        });
        let compile = |schema: &Arc<Value>| CompiledSchema::compile(schema).ok();
        let (is_object, fields) = match &definition.result_schema {
            None => (false, vec![FormField::free(&asked)]),
            Some(schema) => match properties(schema) {
                Some(properties) => {
                    let field = |(name, own, is_required)| FormField::of(Some(name), own, schema, is_required);
                    (true, properties.into_iter().map(field).collect())
                }
                None => (false, vec![FormField::of(None, schema, schema, true)]),
            },
        };
        Self {
            question: preview::clip(question.trim(), WIDTH),
            fields,
            is_object,
            schema: definition.result_schema.as_ref().and_then(compile),
        }
    }

    /// Puts the answer together. `given` has an item for each field that was asked so far.
    ///
    /// # Errors
    /// The first field that is wrong, or that has not been asked and must be answered.
    pub fn answer(&self, given: &[Given]) -> Result<Value, FormMistake> {
        let mut object = Map::new();
        for (at, field) in self.fields.iter().enumerate() {
            let value = field.value(given.get(at)).map_err(|FormMistake { line, message, .. }| {
                let message = if field.label.is_empty() { message } else { format!("{}: {message}", field.label) };
                FormMistake { field: Some(at), line, message }
            })?;
            match (value, &field.name) {
                (value, None) => return Ok(value.unwrap_or_default()),
                (Some(value), Some(name)) => drop(object.insert(name.clone(), value)),
                (None, Some(_)) => {}
            }
        }
        self.check(Value::Object(object))
    }

    /// Reads the answer that the user wrote as one text: a JSON object if the form has a field for each of its
    /// properties, and otherwise what they would have chosen or typed.
    ///
    /// # Errors
    /// What is wrong, and how to write it.
    pub fn answer_from_text(&self, text: &str) -> Result<Value, FormMistake> {
        if !self.is_object {
            return self.answer(&[Given::Typed(text.trim_end_matches('\n').to_owned())]);
        }
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => self.check(value),
            Ok(_) => Err(FormMistake::new(format!("write a JSON object: {}", self.example()))),
            Err(error) => {
                let fault = JsonFault::of(text, &error);
                let message = format!("{fault}. Write a JSON object: {}", self.example());
                Err(FormMistake { field: None, line: Some(fault.line), message })
            }
        }
    }

    /// The result of the call, as the model sees it: text as it is, anything else as JSON.
    pub fn result_text(answer: &Value) -> String {
        match answer {
            Value::String(text) => text.clone(),
            other => json_text(other),
        }
    }

    fn check(&self, answer: Value) -> Result<Value, FormMistake> {
        match self.schema.as_ref().map_or(Ok(()), |schema| schema.check("the answer", &answer)) {
            Ok(()) => Ok(answer),
            Err(mistakes) => Err(FormMistake::new(mistakes.sentence())),
        }
    }

    /// The answer with a placeholder for each value.
    fn example(&self) -> String {
        let fields = self.fields.iter().filter_map(|field| {
            let value = match &field.kind {
                FieldKind::Choice(choices) => {
                    choices.first().map_or_else(|| "null".to_owned(), |(_, value)| value.to_string())
                }
                FieldKind::Number | FieldKind::Integer => "0".to_owned(),
                FieldKind::Text => "\"…\"".to_owned(),
                FieldKind::Json => "…".to_owned(),
            };
            Some(format!("{}: {value}", Value::from(field.name.as_deref()?)))
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
    }
}

impl FormField {
    /// The only field of a form without a schema.
    fn free(asked: &Question<'_>) -> Self {
        let choices: Vec<_> = asked.options.iter().map(|option| (option.words(), Value::from(option.label))).collect();
        Self {
            name: None,
            label: String::new(),
            default: asked.default.map(str::to_owned),
            is_required: true,
            or_text: !choices.is_empty(),
            kind: if choices.is_empty() { FieldKind::Text } else { FieldKind::Choice(choices) },
            is_nullable: false,
            schema: None,
        }
    }

    /// The field for a property, or for the whole answer.
    fn of(name: Option<&str>, schema: &Value, root: &Value, is_required: bool) -> Self {
        let found = follow(schema, root);
        let own = |key: &str| schema.get(key).or_else(|| found.get(key));
        let text = |key: &str| own(key)?.as_str().filter(|text| !text.trim().is_empty());
        let (kind, is_nullable) = kind_of(found, root);
        let words = [text("title").or(name), text("description")];
        let label = words.into_iter().flatten().collect::<Vec<_>>().join(" - ");
        Self {
            name: name.map(str::to_owned),
            label: preview::clip(label.trim(), WIDTH),
            default: own("default").filter(|value| !value.is_null()).map(Form::result_text),
            is_required: is_required && !is_nullable,
            kind,
            or_text: false,
            is_nullable: is_nullable && is_required,
            schema: CompiledSchema::compile(&Arc::new(on_its_own(schema, root))).ok(),
        }
    }

    /// The entries to choose from, each on one line; empty if the field takes text.
    pub fn labels(&self) -> Vec<String> {
        let FieldKind::Choice(choices) = &self.kind else { return Vec::new() };
        let words = choices.iter().map(|choice| {
            let is_default = self.default.as_deref().is_some_and(|default| means(choice, default));
            let label = if is_default { format!("{} (default)", choice.0) } else { choice.0.clone() };
            preview::clip(&label, WIDTH)
        });
        let more = [(self.or_text, OTHER), (!self.is_required, self.nothing_label())];
        words.chain(more.into_iter().filter(|(is_there, _)| *is_there).map(|(_, label)| label.to_owned())).collect()
    }

    /// The entry of [`FormField::labels`] that gives no answer.
    fn nothing_label(&self) -> &'static str {
        if self.name.is_some() && !self.is_nullable { LEAVE_OUT } else { NOTHING }
    }

    /// The entry of [`FormField::labels`] that asks for text, counted from 0.
    pub fn other(&self) -> Option<usize> {
        let FieldKind::Choice(choices) = &self.kind else { return None };
        self.or_text.then_some(choices.len())
    }

    /// The text that the user starts with when they type an answer.
    pub fn text_default(&self) -> Option<&str> {
        let default = self.default.as_deref()?;
        let FieldKind::Choice(choices) = &self.kind else { return Some(default) };
        (!choices.iter().any(|choice| means(choice, default))).then_some(default)
    }

    /// What was given; `None` for nothing.
    fn value(&self, given: Option<&Given>) -> Result<Option<Value>, FormMistake> {
        let got = |expected: &str, text: &str| {
            FormMistake::new(format!("expected {expected}, got `{}`", preview::clip(text.trim(), 60)))
        };
        let value = match (given, &self.kind) {
            (None | Some(Given::Nothing), _) => return self.nothing(),
            (Some(Given::Chosen(at)), FieldKind::Choice(choices)) => match choices.get(*at) {
                Some((_, value)) => value.clone(),
                None if !self.is_required && *at < self.labels().len() => return self.nothing(),
                None => return Err(self.missing()),
            },
            (Some(Given::Chosen(_)), _) => return Err(self.missing()),
            (Some(Given::Typed(text)), FieldKind::Choice(choices)) => match self.chosen(choices, text)? {
                Some(value) => value,
                None => return self.nothing(),
            },
            (Some(Given::Typed(text)), _) if text.trim().is_empty() => return self.nothing(),
            (Some(Given::Typed(text)), FieldKind::Text) => Value::from(text.as_str()),
            (Some(Given::Typed(text)), FieldKind::Number) => {
                number(text.trim()).ok_or_else(|| got("a number like 3 or 0.5", text))?
            }
            (Some(Given::Typed(text)), FieldKind::Integer) => {
                integer(text.trim()).ok_or_else(|| got("a whole number, like 3", text))?
            }
            (Some(Given::Typed(text)), FieldKind::Json) => match serde_json::from_str(text) {
                Ok(value) if self.mistake(&value).is_none() => value,
                // Plain text does not need quotes where text is allowed.
                _ if self.mistake(&Value::from(text.as_str())).is_none() => Value::from(text.as_str()),
                Ok(value) => value,
                Err(error) => {
                    let fault = JsonFault::of(text, &error);
                    let message = format!("{fault}. Write JSON, like \"text\", 3, [1, 2] or {{\"key\": true}}");
                    return Err(FormMistake { field: None, line: Some(fault.line), message });
                }
            },
        };
        self.mistake(&value).map_or(Ok(Some(value)), |mistake| Err(FormMistake::new(mistake)))
    }

    fn nothing(&self) -> Result<Option<Value>, FormMistake> {
        if self.is_required { Err(self.missing()) } else { Ok(self.is_nullable.then_some(Value::Null)) }
    }

    /// That there has to be another answer.
    fn missing(&self) -> FormMistake {
        match self.labels() {
            labels if labels.is_empty() => FormMistake::new("write an answer".to_owned()),
            labels => FormMistake::new(format!("choose one of: {}", labels.join(", "))),
        }
    }

    /// The choice that a text means: its words, or its number from 1. `None` for the entry that gives no answer.
    fn chosen(&self, choices: &[(String, Value)], text: &str) -> Result<Option<Value>, FormMistake> {
        let typed = text.trim();
        let exactly = choices.iter().find(|choice| means(choice, typed));
        let lower = typed.to_lowercase();
        let loosely = || {
            let is_value = |value: &Value| value.as_str().is_some_and(|value| value.trim().to_lowercase() == lower);
            choices.iter().find(|(label, value)| label.trim().to_lowercase() == lower || is_value(value))
        };
        let numbered = || choices.get(typed.parse::<usize>().ok()?.checked_sub(1)?);
        match exactly.or_else(loosely).or_else(numbered) {
            Some((_, value)) => Ok(Some(value.clone())),
            None if self.or_text && !typed.is_empty() => Ok(Some(Value::from(text))),
            None if !self.is_required && (typed.is_empty() || typed == self.nothing_label()) => Ok(None),
            None => Err(self.missing()),
        }
    }

    fn mistake(&self, value: &Value) -> Option<String> {
        let mistakes = self.schema.as_ref()?.check("", value).err()?;
        let lines = mistakes.0.iter().map(|line| line.trim_start_matches(": "));
        Some(lines.collect::<Vec<_>>().join("; "))
    }
}

/// Whether a text means a choice, by its words or by its value.
fn means((label, value): &(String, Value), text: &str) -> bool {
    [Some(label.as_str()), value.as_str()].into_iter().flatten().any(|word| word.trim() == text.trim())
}

impl FormMistake {
    const fn new(message: String) -> Self {
        Self { field: None, line: None, message }
    }
}

fn number(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().map(Value::from).ok().or_else(|| text.parse::<u64>().map(Value::from).ok());
    whole.or_else(|| serde_json::Number::from_f64(text.parse().ok()?).map(Value::Number))
}

/// `3.0` and `1e3` are whole numbers as well. Beyond [`MAX_WHOLE`], not every whole number has a value of its own.
fn integer(text: &str) -> Option<Value> {
    let value = number(text)?;
    let Some(float) = value.as_f64().filter(|_| value.is_f64()) else { return Some(value) };
    (float.fract() == 0.0 && float.abs() < MAX_WHOLE).then(|| Value::from(float as i64))
}

/// The question in an input. The names are those of `ask_user`; they mean the same in the input of every tool that the user answers. Anything that does not have the expected type counts as absent: it is shown before it is
/// checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Question<'a> {
    /// `question`.
    pub(super) text: Option<&'a str>,
    /// `options`, each of them once.
    pub(super) options: Vec<QuestionOption<'a>>,
    /// `default`.
    pub(super) default: Option<&'a str>,
}

/// A text that there is something in.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// One of the options: a text, or a table with a `label` and a `description`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuestionOption<'a> {
    /// The answer.
    pub(super) label: &'a str,
    description: Option<&'a str>,
}

impl<'a> QuestionOption<'a> {
    fn of(option: &'a Value) -> Option<Self> {
        let label = option.as_str().filter(|label| !label.trim().is_empty()).or_else(|| text(option, "label"))?;
        Some(Self { label, description: text(option, "description") })
    }

    /// As it is shown to the user.
    pub(super) fn words(&self) -> String {
        self.description.map_or_else(|| self.label.to_owned(), |more| format!("{} - {more}", self.label))
    }
}

impl<'a> Question<'a> {
    /// Reads an input.
    pub(super) fn of(input: &'a Value) -> Self {
        let options = input.get("options").and_then(Value::as_array).into_iter().flatten();
        let mut known = HashSet::new();
        let options = options.filter_map(QuestionOption::of).filter(|option| known.insert(option.label)).collect();
        Self { text: text(input, "question"), options, default: text(input, "default") }
    }

    /// The question and its options in one line; `None` if there is no question.
    pub(super) fn preview(&self) -> Option<String> {
        let numbered = self.options.iter().enumerate().map(|(at, option)| format!("{}: {}", at + 1, option.words()));
        let options = numbered.collect::<Vec<_>>().join(", ");
        let text = self.text?;
        Some(if options.is_empty() { text.to_owned() } else { format!("{text}  ({options})") })
    }
}
