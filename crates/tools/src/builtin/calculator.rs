//! `calculator` and `calculator_async`: calculate an expression, the latter after a delay.
//!
//! The former is enabled by default. The latter is disabled, and is meant for testing tools that can be watched and
//! cancelled. Both need approval unless a policy names them.
//!
//! An expression is parsed strictly and evaluated with `fend`.
//!
//! fend computes with exact fractions of any size, so that `0.1 + 0.2` is `0.3` and `2^100` has all its digits. But it is a
//! calculator for people and makes guesses: it reads `min(1, 2)` as twelve minutes and `cos(1)^2` as the cosine of 1². So
//! the expression is first parsed here with a strict grammar, and written again with every call in parentheses:
//!
//! ```text
//! expression = term { ("+" | "-" | "*" | "/" | "%" | "mod" | "^" | "**") term }
//! term       = { "+" | "-" } ( number | constant | function "(" expression ")" | "(" expression ")" ) { "!" }
//! ```
//!
//! `^` binds tighter than the sign (`-2^2` is -4) and is right-associative; `%` is the remainder.

use std::{io, sync::Arc, thread, time::Duration};

use fend_core::{Context as Fend, Interrupt};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{
    deadline::{Deadline, Stopped},
    tool::Looking,
};
use crate::{Context, NativeTool, Outcome};
use flemma_model::ModelError;
use flemma_text::suggest::nearest;

/// How long an expression may take. One that takes longer contains a tower of powers and will never end.
const MOST: Duration = Duration::from_secs(10);

/// The advice for an expression that takes too long.
const SMALLER: &str = "The numbers are too large for this calculation: use smaller ones, or calculate the logarithm.";

/// What is said of a result that is no number.
const NO_NUMBER: &str = "The result is not a real number.";

/// The longest expression, in parts (numbers, names, operators): fend's recursion is as deep as an expression is long.
const MAX_PARTS: usize = 1000;

/// The stack size for that, in bytes. Only the used part takes memory.
const STACK: usize = 128 << 20;

/// The maximum number of digits of a result.
const MAX_DIGITS: usize = 10_000;

/// The constants.
const CONSTANTS: [&str; 3] = ["e", "pi", "tau"];

/// The functions, which take one argument.
const FUNCTIONS: [&str; 22] = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "exp", "floor", "ln",
    "log", "log10", "log2", "round", "sin", "sinh", "sqrt", "tan",
];

/// `calculator`.
pub(super) const TOOL: Looking = Looking { look: calculate, preview: expression };

/// `calculator_async`.
pub(super) struct CalculatorAsync;

fn expression(input: &Value) -> Option<String> {
    input.get("expression")?.as_str().map(str::to_owned)
}

impl NativeTool for CalculatorAsync {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        async move {
            let delay = match super::count(&input, "delay") {
                Ok(delay) => Duration::from_millis(delay.unwrap_or(0)),
                Err(error) => return Outcome::failure(error),
            };
            let stopped = tokio::select! {
                biased;
                () = context.cancel.cancelled() => Some(Stopped::Cancelled),
                () = tokio::time::sleep(delay) => None,
                () = tokio::time::sleep(context.timeout) => Some(Stopped::TimedOut(context.timeout)),
            };
            if let Some(stopped) = stopped {
                return stopped.outcome(String::new(), "Ask for a shorter `delay`.");
            }
            Arc::new(TOOL).run(input, context).await
        }
        .boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let expression = expression(input)?;
        let delay = input.get("delay").filter(|delay| delay.is_number());
        Some(delay.map_or(expression.clone(), |delay| format!("{expression}  # {delay}ms")))
    }
}

fn calculate(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let deadline = Deadline::new(context).at_most(MOST);
    evaluate(super::text(input, "expression")?, &deadline).map(Outcome::text)
}

/// Evaluates `expression`. An exact result has all its digits; any other has 15 significant digits.
///
/// # Errors
/// If it is not a valid expression, has no real value, or is not finished by the deadline.
fn evaluate(expression: &str, deadline: &Deadline) -> Result<String, ModelError> {
    let strict = rewrite(expression)?;
    let broken = |error: io::Error| ModelError::new(format!("The calculation failed: {error}."));
    let result = thread::scope(|scope| {
        let work = || work_out(&strict, deadline);
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).map_err(broken)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let digits = result.len();
    ensure!(digits <= MAX_DIGITS, "The result has {digits} digits; the limit is {MAX_DIGITS}.");
    Ok(result)
}

struct Interrupted<'a>(&'a Deadline);

impl Interrupt for Interrupted<'_> {
    fn should_interrupt(&self) -> bool {
        self.0.stopped().is_some()
    }
}

/// Evaluates the output of [`rewrite`] with fend.
fn work_out(strict: &str, deadline: &Deadline) -> Result<String, ModelError> {
    let ask = |question: &str| {
        let result = fend_core::evaluate_with_interrupt(question, &mut Fend::new(), &Interrupted(deadline));
        let wrong = |error: String| match deadline.stopped() {
            Some(stopped) => stopped.error(SMALLER),
            None => ModelError::new(in_words(&error)),
        };
        result.map(|result| result.get_main_result().to_owned()).map_err(wrong)
    };
    let answer = ask(strict)?;
    let approximate = answer.strip_prefix("approx. ");
    ensure!(is_number(approximate.unwrap_or(&answer)), "{NO_NUMBER}");
    if approximate.is_none() {
        return Ok(answer);
    }
    // fend shows ten decimal places, which are too few for 1e-12 and too many for 1e30.
    let longer = ask(&format!("({strict}) to 20 sf"))?;
    let Ok(value) = longer.trim_start_matches("approx. ").parse::<f64>() else { bail!("{NO_NUMBER}") };
    ensure!(value.is_finite(), "The result is too large: it is over 1.8e308.");
    Ok(fifteen_digits(value))
}

/// A whole number or a decimal fraction, and not a complex number, a unit or a text.
fn is_number(answer: &str) -> bool {
    let digits = answer.strip_prefix('-').unwrap_or(answer);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// fend's message as a sentence.
fn in_words(message: &str) -> String {
    let mut letters = message.chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// A number with 15 significant digits in the usual notation: `0.333333333333333`, `3`, `1.5e-12`.
fn fifteen_digits(value: f64) -> String {
    let scientific = format!("{value:.14e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-7..21).contains(&exponent) {
        // Rust prints the shortest representation of the rounded value, without meaningless digits.
        return scientific.parse::<f64>().unwrap_or(value).to_string();
    }
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    format!("{mantissa}e{exponent}")
}

/// What is expected next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Term,
    Operator,
}

/// The expression in unambiguous form, or what is wrong with it and where.
fn rewrite(expression: &str) -> Result<String, ModelError> {
    let mut reader = Tokenizer { text: expression, at: 0 };
    let mut strict = String::new();
    // The text that closes each open parenthesis.
    let mut open: Vec<&str> = Vec::new();
    let mut expected = Expected::Term;
    let mut last_operator = "";
    let mut parts = 0;
    while let Some(part) = reader.next_part() {
        parts += 1;
        let is_short = parts <= MAX_PARTS;
        ensure!(is_short, "The expression is too long: the limit is {MAX_PARTS} numbers, names and operators.");
        let place = reader.place_of(part);
        match (expected, part, operator_of(part)) {
            (Expected::Term, "+" | "-", _) => strict.push_str(part),
            (Expected::Term, "−", _) => strict.push('-'),
            (Expected::Term, "(", _) => {
                strict.push('(');
                open.push(")");
            }
            (Expected::Term, name, _) if FUNCTIONS.contains(&name) => {
                let is_called = reader.next_part() == Some("(");
                ensure!(is_called, "`{name}` {place} is a function: write `{name}(…)`.");
                strict.push_str(&format!("({name}("));
                open.push("))");
            }
            (Expected::Term, constant, _) if constant == "π" || CONSTANTS.contains(&constant) => {
                strict.push_str(if constant == "π" { "pi" } else { constant });
                expected = Expected::Operator;
            }
            (Expected::Term, number, _) if number.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
                let Some(plain) = plain_number(number) else { bail!("`{number}` {place} is not a number.") };
                strict.push_str(&plain);
                expected = Expected::Operator;
            }
            (Expected::Operator, "!", _) => strict.push('!'),
            (Expected::Operator, ")", _) => match open.pop() {
                Some(close) => strict.push_str(close),
                None => bail!("`)` {place} has no matching `(`."),
            },
            (Expected::Operator, _, Some(known)) => {
                strict.push_str(&format!(" {known} "));
                last_operator = known;
                expected = Expected::Term;
            }
            _ => bail!("{}", unexpected(expected, part, &place)),
        }
    }
    match (expected, open.len()) {
        (Expected::Term, _) if parts == 0 => bail!("`expression` is empty."),
        (Expected::Term, _) if last_operator == "mod" && strict.ends_with(' ') => {
            bail!("The expression ends with `%`, which is the remainder of a division: for 15 percent write 15/100.")
        }
        (Expected::Term, _) => bail!("The expression ends where a number is expected."),
        (Expected::Operator, 0) => Ok(strict),
        (Expected::Operator, 1) => bail!("A parenthesis is not closed."),
        (Expected::Operator, unclosed) => bail!("{unclosed} parentheses are not closed."),
    }
}

/// fend's name for an operator.
fn operator_of(part: &str) -> Option<&'static str> {
    Some(match part {
        "+" => "+",
        "-" | "−" => "-",
        "*" | "×" | "·" => "*",
        "/" | "÷" => "/",
        "^" | "**" => "^",
        "%" | "mod" => "mod",
        _ => return None,
    })
}

fn unexpected(expected: Expected, part: &str, place: &str) -> String {
    if part == "," {
        return format!("`,` {place} is not allowed: write 1000 for 1,000; every function takes one argument.");
    }
    if part.starts_with(char::is_alphabetic) && !FUNCTIONS.contains(&part) && !CONSTANTS.contains(&part) {
        let meant = nearest(part, FUNCTIONS.into_iter().chain(CONSTANTS));
        let meant = meant.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        return format!(
            "`{part}` {place} is not known.{meant} The functions are {}; the constants are {}.",
            FUNCTIONS.join(", "),
            CONSTANTS.join(", ")
        );
    }
    match expected {
        Expected::Term => format!("Expected a number {place}, got `{part}`."),
        Expected::Operator if part == "(" || part.starts_with(char::is_alphanumeric) => {
            format!("Expected an operator {place}, got `{part}`: write `*` to multiply.")
        }
        Expected::Operator => format!("Expected an operator {place}, got `{part}`."),
    }
}

/// A number without underscores, and with a digit on both sides of its point; `None` if it is not a number.
fn plain_number(number: &str) -> Option<String> {
    let plain = number.replace('_', "");
    let mut parts = plain.split(['e', 'E']);
    let (mantissa, exponent) = (parts.next().unwrap_or_default(), parts.next());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let or_zero = |digits: &str| if digits.is_empty() { "0".to_owned() } else { digits.to_owned() };
    let exponent = exponent.map(|exponent| format!("e{}", exponent.trim_start_matches('+'))).unwrap_or_default();
    Some(format!("{}.{}{exponent}", or_zero(whole), or_zero(fraction)))
}

/// Splits an expression into numbers, names and operators.
struct Tokenizer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokenizer<'a> {
    /// The next part; `None` at the end.
    fn next_part(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        let first = trimmed.chars().next()?;
        let length = if first.is_ascii_digit() || first == '.' {
            number_length(trimmed)
        } else if first.is_alphabetic() || first == '_' {
            trimmed.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(trimmed.len())
        } else if trimmed.starts_with("**") {
            2
        } else {
            first.len_utf8()
        };
        self.at += length;
        Some(&trimmed[..length])
    }

    /// The position of the last part: `at column 3`, in characters from 1.
    fn place_of(&self, part: &str) -> String {
        format!("at column {}", self.text[..self.at - part.len()].chars().count() + 1)
    }
}

/// The length of the number at the start of a text: digits, underscores, points, and an exponent if digits follow it.
fn number_length(text: &str) -> usize {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
    let bytes = text.as_bytes();
    let mantissa = bytes.iter().take_while(|byte| is_digit(byte) || **byte == b'.').count();
    let Some(b'e' | b'E') = bytes.get(mantissa) else { return mantissa };
    let sign = usize::from(matches!(bytes.get(mantissa + 1), Some(b'+' | b'-')));
    let digits = bytes[mantissa + 1 + sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 { mantissa } else { mantissa + 1 + sign + digits }
}

#[cfg(test)]
#[path = "calculator_tests.rs"]
mod tests;
