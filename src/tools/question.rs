//! What the input of a call asks the user: its question, the options to choose from, and the default.
//!
//! The names are those of `ask_user`. They mean the same in the input of every tool that the user answers.

use serde_json::Value;

/// The question in an input. Anything that does not have the expected type counts as absent: it is shown before it is
/// checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Question<'a> {
    /// `question`.
    pub(super) text: Option<&'a str>,
    /// `options`, each of them once.
    pub(super) options: Vec<&'a str>,
    /// `default`.
    pub(super) default: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// Reads an input.
    pub(super) fn of(input: &'a Value) -> Self {
        let text = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let mut options: Vec<&str> = Vec::new();
        for option in input.get("options").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !option.trim().is_empty() && !options.contains(&option) {
                options.push(option);
            }
        }
        Self { text: text("question"), options, default: text("default") }
    }

    /// The question and its options in one line; `None` if there is no question.
    pub(super) fn preview(&self) -> Option<String> {
        let numbered = self.options.iter().enumerate().map(|(at, option)| format!("{}: {option}", at + 1));
        let options = numbered.collect::<Vec<_>>().join(", ");
        let text = self.text?;
        Some(if options.is_empty() { text.to_owned() } else { format!("{text}  ({options})") })
    }
}
