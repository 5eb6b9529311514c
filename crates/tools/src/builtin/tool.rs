//! What most built-in tools are: functions of the input and the context, which are called where they may block.

use std::{path::PathBuf, sync::Arc};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use super::{carry_out::carry_out, deadline::blocking};
use crate::{Context, NativeTool, Outcome, Proposal, preview::labelled};
use flemma_model::ModelError;

/// A tool that changes nothing.
pub(super) struct Looking {
    /// What a call comes to.
    pub(super) look: fn(&Value, &Context) -> Result<Outcome, ModelError>,
    /// What it would do, without the label.
    pub(super) preview: fn(&Value) -> Option<String>,
}

impl NativeTool for Looking {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        blocking(context, move |context| (self.look)(&input, context).unwrap_or_else(Outcome::failure)).boxed()
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        (self.preview)(input).map(|text| labelled(text, input))
    }
}

/// A tool that says beforehand what it would write.
pub(super) struct Proposing {
    /// The changes that a call makes.
    pub(super) propose: fn(&Value, &Context) -> Result<Proposal, ModelError>,
    /// What it would do, without the label.
    pub(super) preview: fn(&Value) -> Option<String>,
    /// The files that it may write, by its input alone; `None` if it may be others.
    pub(super) targets: fn(&Value, &Context) -> Option<Vec<PathBuf>>,
}

impl NativeTool for Proposing {
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Outcome> {
        blocking(context, move |context| carry_out(context, || (self.propose)(&input, context))).boxed()
    }

    fn is_proposing(&self) -> bool {
        true
    }

    fn propose(&self, input: &Value, context: &Context) -> Option<Result<Proposal, ModelError>> {
        Some((self.propose)(input, context))
    }

    fn targets(&self, input: &Value, context: &Context) -> Option<Vec<PathBuf>> {
        (self.targets)(input, context)
    }

    fn preview(&self, input: &Value, _width: usize) -> Option<String> {
        (self.preview)(input).map(|text| labelled(text, input))
    }
}
