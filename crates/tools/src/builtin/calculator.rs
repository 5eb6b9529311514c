//! `calculator` and `calculator_async`: calculate an expression, the latter after a delay.
//!
//! The former is enabled by default. The latter is disabled, and is meant for testing tools that can be watched and
//! cancelled. Both need approval unless a policy names them. See [`arithmetic`] for the syntax.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

use super::{
    arithmetic::{self, EvalError},
    deadline::{Deadline, Stopped},
};
use crate::{Context, Definition, NativeTool, Outcome, PathParams, preview::labelled_with};
use flemma_model::ModelError;

/// How long an expression may take. One that takes longer contains a tower of powers and will never end.
const MOST: Duration = Duration::from_secs(10);

/// The description of an expression for models.
const EXPRESSION: &str = "Numbers (1e3, 0.5), + - * / ^ %, parentheses, n!, pi, e, tau, and functions of one argument: \
    sqrt, cbrt, exp, ln, log (base 10), log2, sin, cos, tan (radians) and their inverses, abs, round, floor, ceil. \
    % is the remainder.";

/// The advice for an expression that takes too long.
const SMALLER: &str = "The numbers are too large for this calculation: use smaller ones, or calculate the logarithm.";

struct Calculator;

struct CalculatorAsync;

pub(super) fn definition() -> Definition {
    let mut definition = super::define_unlabelled(
        "calculator",
        "Calculate an arithmetic expression. Whole numbers and decimal fractions are exact; other results have 15 \
         digits.",
        json!({ "expression": { "type": "string", "description": EXPRESSION } }),
        Calculator,
    );
    definition.idempotent = true;
    definition.read_path_param = Some(PathParams::none());
    definition
}

pub(super) fn definition_async() -> Definition {
    let mut definition = super::define_unlabelled(
        "calculator_async",
        "Calculate an arithmetic expression after a delay. Whole numbers and decimal fractions are exact; other \
         results have 15 digits.",
        json!({
            "expression": { "type": "string", "description": EXPRESSION },
            "delay": { "type": ["integer", "null"], "description": "Milliseconds to wait first; null for none." },
        }),
        CalculatorAsync,
    );
    definition.idempotent = true;
    definition.read_path_param = Some(PathParams::none());
    definition.enabled = false;
    definition.is_async = true;
    definition
}

impl NativeTool for Calculator {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        super::searching(context, move |context| calculate(&input, context).unwrap_or_else(Outcome::failure)).boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        Some(input.get("expression")?.as_str()?.to_owned())
    }
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
            let calculate = move |context: &Context| calculate(&input, context).unwrap_or_else(Outcome::failure);
            super::searching(context, calculate).await
        }
        .boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        let expression = input.get("expression")?.as_str()?.to_owned();
        let delay = input.get("delay").filter(|delay| delay.is_number());
        Some(delay.map_or(expression.clone(), |delay| labelled_with(expression, &format!("{delay}ms"))))
    }
}

fn calculate(input: &Value, context: &Context) -> Result<Outcome, ModelError> {
    let deadline = Deadline::new(context).at_most(MOST);
    Ok(match arithmetic::evaluate(super::text(input, "expression")?, &deadline) {
        Ok(result) => Outcome::text(result),
        Err(EvalError::Wrong(message)) => Outcome::failure(ModelError::new(message)),
        Err(EvalError::Stopped(stopped)) => stopped.outcome(String::new(), SMALLER),
    })
}
