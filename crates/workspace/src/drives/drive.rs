//! How a conversation is carried on without a user: see [`crate::driving`].

use std::cell::{Cell, RefCell};

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
pub(crate) struct Drive {
    options: RefCell<Option<DriveOptions>>,
    /// Requests that were sent.
    requests: Cell<u32>,
    last: Cell<Option<Step>>,
    is_cancelled: Cell<bool>,
    end: RefCell<Option<DriveEnd>>,
}

/// The state of a conversation when its last step began.
#[derive(Clone, Copy, Debug)]
struct Step {
    requests: u32,
    had_open_calls: bool,
}

impl Drive {
    /// A drive begins.
    pub(crate) fn begin(&self, options: DriveOptions) {
        self.options.replace(Some(options));
        self.requests.set(0);
        self.last.set(None);
        self.is_cancelled.set(false);
        self.end.take();
    }

    /// It ends. Says whether the conversation was driven.
    pub(crate) fn end(&self, end: DriveEnd) -> bool {
        let was_on = self.options.take().is_some();
        if was_on {
            self.end.replace(Some(end));
        }
        was_on
    }

    /// What the drive came to, and how many requests were sent.
    pub(crate) fn result(&self) -> Option<(DriveEnd, u32)> {
        self.end.borrow().clone().map(|end| (end, self.requests.get()))
    }

    /// The user wants it to stop.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.set(true);
    }

    /// Whether the user wants it to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    /// Whether the conversation is still driven, and the user wants that to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_on() && self.is_cancelled()
    }

    /// Whether what the file brings is trusted; `None` for a conversation that is not driven.
    pub(crate) fn trusts(&self) -> Option<bool> {
        self.options.borrow().as_ref().map(|options| options.is_trusted)
    }

    /// Whether a step was taken.
    pub(crate) fn has_begun(&self) -> bool {
        self.last.get().is_some()
    }

    /// Whether the conversation is driven.
    pub(crate) fn is_on(&self) -> bool {
        self.options.borrow().is_some()
    }

    /// Whether the conversation is driven, or was.
    pub(crate) fn is_known(&self) -> bool {
        self.is_on() || self.end.borrow().is_some()
    }

    /// Whether the drive chooses the provider.
    pub(crate) fn names_provider(&self) -> bool {
        self.options.borrow().as_ref().is_some_and(|options| options.provider.is_some())
    }

    /// The maximum number of requests, if the drive sets one.
    pub(crate) fn max_turns(&self) -> Option<u32> {
        self.options.borrow().as_ref()?.max_turns
    }

    /// A request is sent.
    pub(crate) fn count_request(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    /// The options of `config` with the provider and the model of the drive, as the words of `:Flemma switch`.
    pub(crate) fn layer(&self, config: &Config) -> Result<Option<Value>, UserError> {
        let options = self.options.borrow();
        let Some(options) = options.as_ref().filter(|options| options.provider.is_some() || options.model.is_some())
        else {
            return Ok(None);
        };
        let provider = options.provider.clone().unwrap_or_else(|| config.provider.name().to_owned());
        let words: Vec<String> = [provider].into_iter().chain(options.model.clone()).collect();
        Switch::parse(&words, config).map(|switch| Some(switch.layer))
    }

    /// Whether a step from here would be more than the last one once again.
    pub(crate) fn is_progress(&self, has_open_calls: bool) -> bool {
        self.last
            .get()
            .is_none_or(|last| last.requests == self.requests.get() && last.had_open_calls && !has_open_calls)
    }

    /// A step begins.
    pub(crate) fn begin_step(&self, had_open_calls: bool) {
        self.last.set(Some(Step { requests: self.requests.get(), had_open_calls }));
    }
}
