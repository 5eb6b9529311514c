//! What a request may come to, before it is sent.
//!
//! Nobody here has a vendor's tokenizer, so text is measured in bytes and a rule of thumb for each vendor makes tokens
//! of them. That is right to a fifth or so for prose, and less right for code and for other scripts, so everything that
//! comes of it is shown with an "about". What cannot be told from here at all (images, PDFs) is left out and said
//! to be.

use std::time::SystemTime;

use super::figures::{dollars, grouped};
use crate::{
    model::{Message, Part},
    provider::{
        Request,
        catalogue::{self, Price},
    },
};

/// The bytes that a message, a call or a result has around its text.
const FRAME: usize = 16;

/// What a request may come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The provider's name in the configuration.
    pub provider: &'static str,
    /// The model.
    pub model: String,
    /// Tokens to read, about.
    pub input: u64,
    /// The most tokens that the reply may have, if there is a limit.
    pub reply: Option<u64>,
    /// Tokens that the model holds, request and reply together; `None` for a model that is not known.
    pub context: Option<u64>,
    /// What the model costs; `None` where that is not known.
    pub price: Option<Price>,
    /// Images and PDFs, which are not counted.
    pub files: usize,
    /// What the model takes beside text; empty for one that is not known.
    pub takes: &'static [catalogue::Capability],
}

impl Estimate {
    /// Measures a request. It takes time in proportion to the conversation: not for the main thread.
    ///
    /// `price` is the user's own for this model, which beats the catalogue's of the time `now`.
    #[must_use]
    pub fn of(request: &Request, provider: &'static str, price: Option<Price>, now: SystemTime) -> Self {
        let known = catalogue::find(provider, &request.model);
        let bytes = bytes(request, provider);
        // A conversation is no longer than the memory, and a float is exact far beyond that; it is never negative.
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let input = (bytes as f64 / catalogue::bytes_per_token(provider, &request.model)).ceil() as u64;
        let limit = request.parameters.max_tokens.map(u64::from);
        let most = known.and_then(|model| model.max_output);
        let reply = match (limit, most) {
            (Some(limit), Some(most)) => Some(limit.min(most)),
            (limit, most) => limit.or(most),
        };
        Self {
            provider,
            model: request.model.clone(),
            input,
            reply,
            context: known.and_then(|model| model.context),
            price: price.or_else(|| Some(known?.price(now))),
            files: files(request),
            takes: known.map(|model| model.takes.as_slice()).unwrap_or_default(),
        }
    }

    /// By how many tokens, about, the request and its reply are more than the model holds.
    #[must_use]
    pub fn overflow(&self) -> Option<u64> {
        let all = self.input.saturating_add(self.reply.unwrap_or_default());
        all.checked_sub(self.context?).filter(|overflow| *overflow > 0)
    }

    /// The estimate in lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{} {}: an estimate, not a count", self.provider, self.model), String::new()];
        let cost = |price: Price, input, output| {
            let usage = crate::model::Usage { input, output, ..Default::default() };
            dollars(price.cost(&usage, Default::default()))
        };
        let mut input = format!("about {} input tokens", grouped(self.input));
        if let Some(price) = self.price {
            input.push_str(&format!(": about {}, or less if some of it is still cached", cost(price, self.input, 0)));
        }
        lines.push(input);
        if let Some(reply) = self.reply {
            let mut line = format!("at most {} tokens in the reply, not counting thinking", grouped(reply));
            if let Some(price) = self.price {
                // A long prompt makes the reply dearer as well, so it is the difference that it costs.
                let usage = crate::model::Usage { input: self.input, ..Default::default() };
                let both = crate::model::Usage { output: reply, ..usage };
                let retention = Default::default();
                let difference = price.cost(&both, retention) - price.cost(&usage, retention);
                line.push_str(&format!(": at most about {}", dollars(difference)));
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

    /// What to warn of.
    #[must_use]
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

/// The bytes of text that a provider gets to read.
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
        // Thinking without a signature of this provider is not sent to it. The signature is no text to read.
        Part::Thinking { text, signature } => {
            signature.as_ref().filter(|signature| signature.provider == provider).map_or(0, |_| text.len())
        }
        Part::ToolUse { name, input, .. } => name.len() + input.to_string().len() + FRAME,
        Part::ToolResult { output, .. } => output.len() + FRAME,
        // What another provider ran is not sent to this one.
        Part::HostedUse { provider: owner, raw, .. } | Part::HostedResult { provider: owner, raw, .. } => {
            if owner == provider { raw.to_string().len() } else { 0 }
        }
        Part::Citations { provider: owner, raw, .. } => {
            raw.as_ref().filter(|_| owner == provider).map_or(0, |raw| raw.to_string().len())
        }
        Part::Attachment(_) | Part::RedactedThinking(_) => 0,
    });
    parts.sum::<usize>() + FRAME
}

fn files(request: &Request) -> usize {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.map(|part| part.attachments().len()).sum()
}
