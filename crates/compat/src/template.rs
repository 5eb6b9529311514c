//! Values in commands: `${name}` in a text stands for the value of that name.
//!
//! An argument of a program takes a value as it is. A script for a shell must not: a value may hold anything, and a model may
//! have written it. So the value goes into an environment variable, and the script refers to that. A shell never reads the
//! value of a variable as code again, except where the script says so; [`Context`] knows those places, and what stands
//! between which quotes. Where it is wrong about the quotes, because a script is stranger than it knows, the reference still
//! is one: it can come out as text or be split into words.

use std::collections::BTreeMap;

use super::{context::Context, indirect, nested};
use flemma_model::ModelError;

/// The values, by name.
type Values = BTreeMap<Vec<u8>, Vec<u8>>;

/// How the variables are named: this and a number.
const VARIABLE: &str = "FLEMMA_VALUE_";

/// A text that was filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled<T> {
    /// The text.
    pub text: T,
    /// The variables that it needs in its environment.
    pub env: Vec<(String, Vec<u8>)>,
}

/// Fills a text that is no code. A name without a value stays as it is.
pub fn fill_words(text: &[u8], values: &Values) -> Vec<u8> {
    pieces(text, values).flat_map(|(text, value)| value.unwrap_or(text)).copied().collect()
}

/// Fills a script for a shell, so that the shell reads no value as code. A name without a value stays as it is.
///
/// # Errors
/// When the shell could read a value as code there, or could not be given it at all. The message names it.
pub fn fill_script(text: &[u8], values: &Values) -> Result<Filled<Vec<u8>>, ModelError> {
    let mut variables = Variables::default();
    let text = variables.fill(text, values)?;
    Ok(Filled { text, env: variables.env() })
}

/// Fills the arguments of a program. What a shell among them is to run is filled as a script.
///
/// # Errors
/// As [`fill_script`].
pub fn fill_arguments(argv: &[Vec<u8>], values: &Values) -> Result<Filled<Vec<Vec<u8>>>, ModelError> {
    let mut variables = Variables::default();
    let mut filled: Vec<Vec<u8>> = Vec::new();
    let mut is_script_over = false;
    let makes_code = indirect::makes_code(&masked(&argv.join(&b' '), values));
    for word in argv {
        let script = nested::script(&filled, word.first().copied().unwrap_or_default()).filter(|_| !is_script_over);
        let is_shell_script = script.is_some_and(|script| script.sees_environment);
        let text = if is_shell_script { variables.fill(word, values)? } else { fill_words(word, values) };
        let used = pieces(word, values).filter_map(|(name, value)| Some((name, value?)));
        for (name, value) in used {
            let is_code = match script {
                Some(script) => !is_shell_script && !script.takes(value),
                None => {
                    nested::is_split(&filled, &text) || text == value && nested::is_option_with_code(&filled, value)
                }
            };
            if is_code || makes_code && !nested::is_plain(value) {
                return Err(nested::unreachable(name));
            }
        }
        is_script_over |= is_shell_script;
        filled.push(text);
    }
    Ok(Filled { text: filled, env: variables.env() })
}

/// A template with a letter for each value.
fn masked(text: &[u8], values: &Values) -> Vec<u8> {
    pieces(text, values).flat_map(|(text, value)| if value.is_some() { b"V" } else { text }).copied().collect()
}

/// The variables that a script needs.
#[derive(Default)]
struct Variables {
    /// The names of their values, in the order of their numbers, and the values.
    used: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Variables {
    fn fill(&mut self, text: &[u8], values: &Values) -> Result<Vec<u8>, ModelError> {
        let mut context = Context::of(text);
        let makes_code = indirect::makes_code(&masked(text, values));
        let mut script = Vec::new();
        for (text, value) in pieces(text, values) {
            let Some(value) = value else {
                text.iter().for_each(|byte| context.read(*byte));
                script.extend(text);
                continue;
            };
            if value.contains(&0) {
                let name = String::from_utf8_lossy(text);
                return Err(ModelError::new(format!(
                    "The value of `{name}` has a NUL byte, which no command can be given."
                )));
            }
            let mut reference = context.refer(&self.variable(text, value), text, value)?;
            if makes_code {
                if !nested::is_plain(value) {
                    return Err(nested::unreachable(text));
                }
                value.clone_into(&mut reference.text);
            }
            script.truncate(script.len().saturating_sub(reference.replaces));
            script.extend(reference.text);
        }
        Ok(script)
    }

    /// The variable of a value.
    fn variable(&mut self, name: &[u8], value: &[u8]) -> String {
        let known = self.used.iter().position(|(used, _)| used == name);
        let at = known.unwrap_or_else(|| {
            self.used.push((name.to_owned(), value.to_owned()));
            self.used.len() - 1
        });
        format!("{VARIABLE}{}", at + 1)
    }

    fn env(self) -> Vec<(String, Vec<u8>)> {
        let values = self.used.into_iter().enumerate();
        values.map(|(at, (_, value))| (format!("{VARIABLE}{}", at + 1), value)).collect()
    }
}

/// The pieces of a template, in their order: each byte, and each name that there is a value for, with that.
fn pieces<'a>(text: &'a [u8], values: &'a Values) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if let Some(inside) = rest.strip_prefix(b"${")
            && let Some(end) = memchr::memchr(b'}', inside)
            && let Some(value) = values.get(&inside[..end])
        {
            rest = &inside[end + 1..];
            return Some((&inside[..end], Some(value.as_slice())));
        }
        let (byte, behind) = rest.split_at_checked(1)?;
        rest = behind;
        Some((byte, None))
    })
}
