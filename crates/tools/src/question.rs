//! What the input of a call asks the user: its question, the options to choose from, and the default.
//!
//! The names are those of `ask_user`. They mean the same in the input of every tool that the user answers.

use std::collections::HashSet;

use serde_json::Value;

/// The question in an input. Anything that does not have the expected type counts as absent: it is shown before it is
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

/// One of the options: a text, or a table with a `label` and a `description`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuestionOption<'a> {
    /// The answer.
    pub(super) label: &'a str,
    description: Option<&'a str>,
}

impl<'a> QuestionOption<'a> {
    fn of(option: &'a Value) -> Option<Self> {
        let text = |name| option.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let label = option.as_str().or_else(|| text("label")).filter(|label| !label.trim().is_empty())?;
        Some(Self { label, description: text("description") })
    }

    /// As it is shown to the user.
    pub(super) fn words(&self) -> String {
        self.description.map_or_else(|| self.label.to_owned(), |more| format!("{} - {more}", self.label))
    }
}

impl<'a> Question<'a> {
    /// Reads an input.
    pub(super) fn of(input: &'a Value) -> Self {
        let text = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let options = input.get("options").and_then(Value::as_array).into_iter().flatten();
        let mut known = HashSet::new();
        let options = options.filter_map(QuestionOption::of).filter(|option| known.insert(option.label)).collect();
        Self { text: text("question"), options, default: text("default") }
    }

    /// The question and its options in one line; `None` if there is no question.
    pub(super) fn preview(&self) -> Option<String> {
        let numbered = self.options.iter().enumerate().map(|(at, option)| format!("{}: {}", at + 1, option.words()));
        let options = numbered.collect::<Vec<_>>().join(", ");
        let text = self.text?;
        Some(if options.is_empty() { text.to_owned() } else { format!("{text}  ({options})") })
    }
}
