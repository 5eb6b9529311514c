//! How a conversation is carried on without a user: see [`crate::driving`].

use std::cell::RefCell;

use serde::Deserialize;
use serde_json::Value;

use crate::ports::Question;
use flemma_config::{Config, switch::Switch};
use flemma_model::UserError;
use flemma_runtime::Owner;

/// How a conversation is driven.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveOptions {
    /// Whether what the file brings is trusted: its frontmatter, and the files that it names.
    #[serde(rename = "trust")]
    pub is_trusted: bool,
    /// The maximum number of requests; `None` for what the options say.
    pub max_turns: Option<u32>,
    /// The provider, in place of that of the options and of the file.
    pub provider: Option<String>,
    /// The model, in the same way.
    pub model: Option<String>,
}

/// What a drive came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveEnd {
    /// The model has replied, and nothing is left to do.
    Done,
    /// Calls wait for a person ([`OpenCalls::pending_calls`](crate::components::OpenCalls::pending_calls)).
    Suspended,
    /// The user has to trust what the file brings.
    Untrusted(Question),
    /// Another process holds the conversation.
    Held(Option<Owner>),
    /// It cannot go on. `None` where the last message to the user says why.
    Failed(Option<UserError>),
}

/// The drive of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Drive(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    options: Option<DriveOptions>,
    /// Requests that were sent.
    requests: u32,
    /// How many had been sent when the last step began, and whether calls were open then.
    last: Option<(u32, bool)>,
    is_cancelled: bool,
    end: Option<DriveEnd>,
}

impl Drive {
    /// A drive begins.
    pub(crate) fn begin(&self, options: DriveOptions) {
        self.0.replace(State { options: Some(options), ..State::default() });
    }

    /// It ends. Says whether the conversation was driven.
    pub(crate) fn end(&self, end: DriveEnd) -> bool {
        let mut state = self.0.borrow_mut();
        let was_on = state.options.take().is_some();
        if was_on {
            state.end = Some(end);
        }
        was_on
    }

    /// What the drive came to, and how many requests were sent.
    pub(crate) fn result(&self) -> Option<(DriveEnd, u32)> {
        let state = self.0.borrow();
        Some((state.end.clone()?, state.requests))
    }

    /// The user wants it to stop.
    pub(crate) fn cancel(&self) {
        self.0.borrow_mut().is_cancelled = true;
    }

    /// Whether the conversation is still driven, and the user wants that to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_on() && self.0.borrow().is_cancelled
    }

    /// What is asked of the drive; `None` for a conversation that is not driven.
    fn asked<R>(&self, of: impl FnOnce(&DriveOptions) -> R) -> Option<R> {
        self.0.borrow().options.as_ref().map(of)
    }

    /// Whether what the file brings is trusted; `None` for a conversation that is not driven.
    pub(crate) fn trusts(&self) -> Option<bool> {
        self.asked(|options| options.is_trusted)
    }

    /// Whether a step was taken.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.borrow().last.is_some()
    }

    /// Whether the conversation is driven.
    pub(crate) fn is_on(&self) -> bool {
        self.0.borrow().options.is_some()
    }

    /// Whether the conversation is driven, or was.
    pub(crate) fn is_known(&self) -> bool {
        self.is_on() || self.0.borrow().end.is_some()
    }

    /// Whether the drive chooses the provider.
    pub(crate) fn names_provider(&self) -> bool {
        self.asked(|options| options.provider.is_some()) == Some(true)
    }

    /// The maximum number of requests, if the drive sets one.
    pub(crate) fn max_turns(&self) -> Option<u32> {
        self.asked(|options| options.max_turns)?
    }

    /// A request is sent.
    pub(crate) fn count_request(&self) {
        self.0.borrow_mut().requests += 1;
    }

    /// The options of `config` with the provider and the model of the drive, as the words of `:Flemma switch`.
    pub(crate) fn layer(&self, config: &Config) -> Result<Option<Value>, UserError> {
        let Some((provider, model)) = self.asked(|options| (options.provider.clone(), options.model.clone())) else {
            return Ok(None);
        };
        if provider.is_none() && model.is_none() {
            return Ok(None);
        }
        let provider = provider.unwrap_or_else(|| config.provider.name().to_owned());
        let words: Vec<String> = [provider].into_iter().chain(model).collect();
        Switch::parse(&words, config).map(|switch| Some(switch.layer))
    }

    /// Whether a step from here would be more than the last one once again.
    pub(crate) fn is_progress(&self, has_open_calls: bool) -> bool {
        let state = self.0.borrow();
        state
            .last
            .is_none_or(|(requests, had_open_calls)| requests == state.requests && had_open_calls && !has_open_calls)
    }

    /// A step begins.
    pub(crate) fn begin_step(&self, had_open_calls: bool) {
        let mut state = self.0.borrow_mut();
        state.last = Some((state.requests, had_open_calls));
    }
}
