//! The embedded scripts as a provider.

use super::{names::NAME, pace::Pace, script::Script};
use crate::{ErrorKind, Exchange, Provider, ProviderError, ReadDocument, Request};
use flemma_model::{Part, Role};
use flemma_text::one_line;

/// The script of the model `welcome`: how to get from here to a model. It calls no tools.
pub const WELCOME: &str = include_str!("welcome.chat");

/// The script of the model `tour`: one round of everything, on the files of `doc/tour/`.
pub const TOUR: &str = include_str!("tour.chat");

/// The most characters of a result that a script repeats.
const MAX_QUOTE: usize = 200;

/// A provider whose models are scripts.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    scripts: Vec<(String, Script)>,
    pace: Pace,
}

impl Rehearsal {
    /// A provider of these scripts, each under the name of its "model". Every pause is multiplied by
    /// `pace`: 1 reads like a stream, 0 plays at once.
    #[must_use]
    pub fn new(scripts: Vec<(String, Script)>, pace: f64) -> Self {
        Self { scripts, pace: Pace::new(pace) }
    }

    /// A provider of the scripts that are compiled in: `welcome` and `tour`. `read` reads their documents.
    ///
    /// # Errors
    /// When one of them cannot be read: a bug in Flemma, which a test finds first.
    pub fn embedded(pace: f64, read: ReadDocument) -> Result<Self, ProviderError> {
        let script = |(name, text): (&str, &str)| match read(text) {
            Ok(messages) => Ok((name.to_owned(), Script::from_messages(&messages))),
            Err(problem) => Err(ProviderError::bug(format!("the script `{name}` cannot be read ({problem})"))),
        };
        let scripts = [("welcome", WELCOME), ("tour", TOUR)].into_iter().map(script);
        Ok(Self::new(scripts.collect::<Result<_, _>>()?, pace))
    }

    fn script(&self, model: &str) -> Result<&Script, ProviderError> {
        self.scripts.iter().find(|(name, _)| name == model).map(|(_, script)| script).ok_or_else(|| {
            let names: Vec<_> = self.scripts.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!(
                "the provider `{NAME}` has no model `{model}`; it has {}. For an Anthropic model, set \
                 `provider = \"anthropic\"`",
                names.join(" and ")
            );
            ProviderError::new(ErrorKind::Options, message)
        })
    }
}

impl Provider for Rehearsal {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        let script = self.script(&request.model)?;
        let played = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        Ok(Exchange::Script(script.reply(played, &last_result(request), self.pace)))
    }
}

/// The beginning of what the last tool said, on one line.
fn last_result(request: &Request) -> String {
    let parts = request.messages.iter().rev().flat_map(|message| message.parts.iter().rev());
    let output = parts.into_iter().find_map(|part| match part {
        Part::ToolResult { output, .. } => Some(one_line(output, MAX_QUOTE)),
        _ => None,
    });
    output.filter(|text| !text.is_empty()).unwrap_or_else(|| "nothing".to_owned())
}
