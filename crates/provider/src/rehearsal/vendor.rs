//! The row of the scripts, and how one is chosen and played.

use serde_json::json;

use super::script;
use crate::{ErrorKind, Exchange, ProviderError, Request, Server, vendor::Vendor};
use flemma_model::{
    Part, Role,
    options::{Kind, kinds::within},
};
use flemma_text::one_line;

/// The name in the configuration.
pub(super) const NAME: &str = "rehearsal";

/// The script of the model `welcome`: how to get from here to a model. It calls no tools.
pub const WELCOME: &str = include_str!("welcome.chat");

/// The script of the model `tour`: one round of everything, on the files of `doc/tour/`.
pub const TOUR: &str = include_str!("tour.chat");

/// The most characters of a result that a script repeats.
const MAX_QUOTE: usize = 200;

/// What every pause of a script is multiplied by: 1 is the natural pace, 0 is no pauses. The upper bound keeps a pause
/// a time that a timer can hold.
const PACE: Kind<f64> = Kind { expected: "a number from 0 to 100", read: |value| within(value, 0.0..=100.0) };

/// The scripts.
pub(crate) static VENDOR: Vendor = Vendor {
    title: "the embedded script",
    default_model: "welcome",
    models: Some(&["welcome", "tour"]),
    models_endpoint: |_| Ok(None),
    ..Vendor::new(NAME, |table| json!({ "pace": table.get("pace", 1.0, &PACE) }), prepare)
};

/// Plays the reply that comes next: the document says how many there were.
fn prepare(server: &Server, request: &Request) -> Result<Exchange, ProviderError> {
    let model = request.model.as_str();
    let text = match model {
        "welcome" => WELCOME,
        "tour" => TOUR,
        _ => {
            let message = format!(
                "the provider `{NAME}` has no model `{model}`; it has `welcome` and `tour`. For an Anthropic model, set \
                 `provider = \"anthropic\"`"
            );
            return Err(ProviderError::new(ErrorKind::Options, message));
        }
    };
    let bug = |problem| ProviderError::bug(format!("the script `{model}` cannot be read ({problem})"));
    let script = (server.read)(text).map_err(bug)?;
    let played = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let reply = script.iter().filter(|message| message.role == Role::Assistant).nth(played);
    let parts = reply.map(|message| message.parts.as_slice());
    let pace = server.options.get("pace").unwrap_or(1.0);
    Ok(Exchange::Script(script::perform(parts, played, &last_result(request), pace)))
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
