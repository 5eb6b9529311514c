//! `calculator` and `calculator_async`: calculate an expression, the latter after a delay.
//!
//! The former is enabled by default. The latter is disabled, and is meant for testing tools that can be watched and
//! cancelled. Both need approval unless a policy names them. See [`arithmetic`] for the syntax.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{
    arithmetic::{self, EvalError},
    deadline::{Deadline, Stopped},
    tool::Looking,
};
use crate::{Context, NativeTool, Outcome, preview::labelled_with};
use flemma_model::ModelError;

/// How long an expression may take. One that takes longer contains a tower of powers and will never end.
const MOST: Duration = Duration::from_secs(10);

/// The advice for an expression that takes too long.
const SMALLER: &str = "The numbers are too large for this calculation: use smaller ones, or calculate the logarithm.";

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
