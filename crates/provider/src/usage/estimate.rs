//! Estimates the tokens and the cost of a request before it is sent.
//!
//! Vendors' tokenizers are not available here, so text is measured in bytes, and a factor per vendor converts bytes to
//! tokens. For prose the estimate is accurate to about 20 %. It is less accurate for code and for other scripts, so
//! every figure is shown with "about". Images and PDFs cannot be estimated; they are left out, and the text says so.

use std::time::SystemTime;

use super::figures::{dollars, grouped};
use crate::{
    CacheRetention, Request,
    catalogue::{self, Price},
};
use flemma_model::{Message, Part, Usage};

/// The overhead of a message, a call or a result beyond its text, in bytes.
const FRAME: usize = 16;

/// The estimated size and cost of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The provider's name in the configuration.
    pub provider: &'static str,
    /// The model.
    pub model: String,
    /// Estimated input tokens.
    pub input: u64,
    /// The maximum number of tokens in the reply, if there is a limit.
    pub reply: Option<u64>,
    /// The size of the context window in tokens; `None` for an unknown model.
    pub context: Option<u64>,
    /// The price of the model; `None` if it is not known.
    pub price: Option<Price>,
    /// Images and PDFs, which are not counted.
    pub files: usize,
    /// What the model accepts besides text; empty for an unknown model.
    pub takes: &'static [catalogue::Capability],
}

impl Estimate {
    /// Measures a request. It takes time proportional to the length of the conversation, so it must not run on the main
    /// thread.
    ///
    /// `price` is the user's own price for this model. It takes precedence over the price in the catalogue at the time
    /// `now`.
    pub fn of(request: &Request, provider: &'static str, price: Option<Price>, now: SystemTime) -> Self {
        let known = catalogue::find(provider, &request.model);
        let bytes = bytes(request, provider);
        // A conversation fits in memory, and a float is exact far beyond that. The number is never negative.
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let input = (bytes as f64 / catalogue::bytes_per_token(provider, &request.model)).ceil() as u64;
        let limit = request.parameters.max_tokens.map(u64::from);
        let most = known.and_then(|model| model.max_output);
        Self {
            provider,
            model: request.model.clone(),
            input,
            reply: limit.into_iter().chain(most).min(),
            context: known.and_then(|model| model.context),
            price: price.or_else(|| Some(known?.price(now))),
            files: request
                .messages
                .iter()
                .flat_map(|message| &message.parts)
                .map(|part| part.attachments().len())
                .sum(),
            takes: known.map(|model| model.takes.as_slice()).unwrap_or_default(),
        }
    }

    /// By about how many tokens the request and its reply exceed the context window.
    pub fn overflow(&self) -> Option<u64> {
        let all = self.input.saturating_add(self.reply.unwrap_or_default());
        all.checked_sub(self.context?).filter(|overflow| *overflow > 0)
    }

    /// The estimate as text, in lines.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{} {}: an estimate, not a count", self.provider, self.model)];
        let cost = |output| {
            let usage = Usage { input: self.input, output, ..Usage::default() };
            self.price.map(|price| price.cost(&usage, CacheRetention::None))
        };
        let mut input = format!("about {} input tokens", grouped(self.input));
        if let Some(cost) = cost(0) {
            input.push_str(&format!(": about {}, or less if some of it is still cached", dollars(cost)));
        }
        lines.push(input);
        if let Some(reply) = self.reply {
            let mut line = format!("at most {} tokens in the reply, not counting thinking", grouped(reply));
            // A long prompt makes the reply more expensive as well, so its cost is the difference.
            if let (Some(both), Some(prompt)) = (cost(reply), cost(0)) {
                line.push_str(&format!(": at most about {}", dollars(both - prompt)));
            }
            lines.push(line);
        }
        match self.context {
            Some(context) => {
                let percent = (self.input.saturating_mul(100) / context.max(1)).max(u64::from(self.input > 0));
                lines.push(format!("about {percent} % of the model's context of {} tokens", grouped(context)));
            }
            None => lines.push("the size of the model's context is unknown".to_owned()),
        }
        if self.price.is_none() {
            lines.push("the price of the model is unknown; set it with the option `pricing`".to_owned());
        }
        if self.files > 0 {
            let files = if self.files == 1 { "1 file is".to_owned() } else { format!("{} files are", self.files) };
            lines.push(format!("{files} not counted: the tokens of images and PDFs cannot be estimated"));
        }
        if !self.takes.is_empty() {
            let words: Vec<_> = self.takes.iter().map(|capability| capability.word()).collect();
            lines.push(format!("the model supports {}", words.join(", ")));
        }
        if let Some(warning) = self.warning() {
            lines.push(String::new());
            lines.push(warning);
        }
        lines
    }

    /// A warning, if there is a reason for one.
    pub fn warning(&self) -> Option<String> {
        let overflow = grouped(self.overflow()?);
        let mend = if self.context.is_some_and(|context| self.input >= context) {
            "delete what is no longer needed, such as old results"
        } else {
            "lower max_tokens, or delete what is no longer needed"
        };
        Some(format!("The conversation would not fit: request and reply are about {overflow} tokens too long; {mend}."))
    }
}

/// The bytes of text that are sent to the provider.
fn bytes(request: &Request, provider: &str) -> usize {
    let system = request.system.as_deref().map_or(0, |text| text.len() + FRAME);
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len() + FRAME)
        .sum();
    let messages: usize = request.messages.iter().map(|message| message_bytes(message, provider)).sum();
    system + tools + messages
}

fn message_bytes(message: &Message, provider: &str) -> usize {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        // Thinking is sent only to the provider that signed it. The signature does not count as text.
        Part::Thinking { text, signature } => {
            signature.as_ref().filter(|signature| signature.provider == provider).map_or(0, |_| text.len())
        }
        Part::ToolUse { name, input, .. } => name.len() + input.to_string().len() + FRAME,
        Part::ToolResult { output, .. } => output.len() + FRAME,
        // Blocks of another provider are not sent to this one.
        Part::Hosted(hosted) => hosted.raw_of(provider).map_or(0, |raw| raw.to_string().len()),
        Part::Attachment(_) | Part::RedactedThinking(_) => 0,
    });
    parts.sum::<usize>() + FRAME
}
