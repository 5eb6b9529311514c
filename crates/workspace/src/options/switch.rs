//! What the user sets while the editor runs: whom to talk to, whether conversations go on by themselves, whether there is
//! a log.
//!
//! All of it is one layer of options over those of `setup`, for all conversations, until the editor exits or `setup` is
//! called. A file's own frontmatter lies above it; where that makes a difference, the message says so.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{Conversation, components::Switches, options::effective::Effective};
use flemma_config::{
    Config,
    switch::{Switch, complete, describe, parameters_in},
};
use flemma_model::UserError;
use flemma_provider::{ProviderError, ProviderName, auth::Environment};
use flemma_runtime::{Recipient, http::Timeouts};
use flemma_tools::LuaRef;

/// How long a server has for the list of its models: somebody waits in front of the screen.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many files a message names.
const NAMED: usize = 3;

/// What became of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switched {
    /// It holds; what to tell the user.
    Done(String),
    /// The user has named no model, and this provider has no default.
    WantsModel(ProviderName),
}

/// An option that a command turns on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toggle {
    /// `tools.autopilot.enabled`.
    Autopilot,
    /// `logging.enabled`.
    Logging,
}

impl Toggle {
    /// The toggle of this option.
    pub fn of(option: &str) -> Option<Self> {
        [Self::Autopilot, Self::Logging].into_iter().find(|toggle| toggle.path() == option)
    }

    /// The place in the options.
    fn path(self) -> &'static str {
        match self {
            Self::Autopilot => "tools.autopilot.enabled",
            Self::Logging => "logging.enabled",
        }
    }
}

impl Switches {
    /// Does what the words of `:Flemma switch` say.
    ///
    /// # Errors
    /// What is wrong with them, for the user.
    pub fn switch(&self, words: &[String]) -> Result<Switched, UserError> {
        let switch = Switch::parse(words, &self.shared.config())?;
        let [setup, runtime] = self.shared.options.layers();
        let (said, replaces) = (switch.layer.clone(), switch.replaces);
        let layer = switch.over(&runtime);
        let config = Config::from_layers(&[setup, layer.clone()])?;
        let provider = config.provider;
        if replaces && config.model().is_empty() {
            // A preset says all of it, or it is no use.
            return match words.first().filter(|first| *first != provider.name()) {
                Some(preset) => Err(UserError::new(format!(
                    "the preset `{preset}` names no model, and `{}` has none by default; add one to it",
                    provider.name()
                ))),
                None => Ok(Switched::WantsModel(provider)),
            };
        }
        self.set_runtime(layer.clone())?;
        let mut message = format!("conversations now use {}", describe(&config, &layer));
        let switched = parameters_in(&said);
        let keeping = self.keeping(|file| {
            let other = (file.config.provider, file.config.model()) != (config.provider, config.model());
            let recipient = other.then(|| format!("{}, {}", file.config.provider.name(), file.config.model()));
            let own = switched.iter().filter(|(path, _)| {
                let pointer = format!("/parameters/{}", path.replace('.', "/"));
                file.file.layer.pointer(&pointer).is_some()
            });
            let kept: Vec<String> =
                recipient.into_iter().chain(own.map(|(path, _)| format!("its own {path}"))).collect();
            (!kept.is_empty()).then(|| kept.join(", "))
        });
        message.extend(keeping);
        Ok(Switched::Done(message))
    }

    /// What the open conversations keep because their frontmatter says otherwise, by `what`: for the end of a message.
    fn keeping(&self, what: impl Fn(&Effective) -> Option<String>) -> Vec<String> {
        let conversations = self.shared.conversations.all();
        // One that is still being read is told of when it is asked to do something.
        let read = conversations.iter().filter(|conversation| conversation.page.is_complete.get());
        let kept = read.filter_map(|conversation| {
            let file = self.frontmatter.of(conversation);
            let own = file.file.layer.as_object().is_some_and(|layer| !layer.is_empty());
            let words = own.then(|| what(&file)).flatten()?;
            Some(format!("; {} keeps {words} because of its frontmatter", self.name_of(conversation)))
        });
        let mut kept: Vec<String> = kept.collect();
        let more = kept.len().saturating_sub(NAMED);
        if more > 0 {
            kept.truncate(NAMED);
            kept.push(format!("; {more} more open files keep what their frontmatter sets"));
        }
        kept
    }

    fn name_of(&self, conversation: &Conversation) -> String {
        let path = self.shared.place(conversation).file;
        let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| "a conversation without a file".to_owned())
    }

    fn set_runtime(&self, layer: Value) -> Result<(), UserError> {
        self.shared.options.set_runtime(layer)?;
        self.shared.toolbox.touch();
        Ok(())
    }

    /// Turns an option on or off while the editor runs. Gives what to tell the user.
    ///
    /// # Errors
    /// When that does not go together with the other options; in words for the user.
    pub fn set(&self, toggle: Toggle, is_enabled: bool) -> Result<String, UserError> {
        let [_, runtime] = self.shared.options.layers();
        let mut layer = if runtime.is_object() { runtime } else { json!({}) };
        let mut at = &mut layer;
        for key in toggle.path().split('.') {
            at = &mut at[key];
        }
        *at = Value::Bool(is_enabled);
        self.set_runtime(layer)?;
        let mut message = match (toggle, is_enabled) {
            (Toggle::Logging, true) => format!("logging to {}", self.shared.log_path().display()),
            (Toggle::Logging, false) => "logging is off".to_owned(),
            (Toggle::Autopilot, true) => "autopilot is on: conversations continue automatically".to_owned(),
            (Toggle::Autopilot, false) => "autopilot is off: conversations wait for you after each step".to_owned(),
        };
        let pointer = format!("/{}", toggle.path().replace('.', "/"));
        message.extend(self.keeping(|file| {
            let own = file.file.layer.pointer(&pointer).and_then(Value::as_bool)?;
            (own != is_enabled).then(|| format!("it {}", if own { "on" } else { "off" }))
        }));
        Ok(message)
    }

    /// The words that may follow `words` in `:Flemma switch`, and begin with `lead`.
    pub fn switch_words(&self, words: &[String], lead: &str) -> Vec<String> {
        complete(words, lead, &self.shared.config())
    }

    /// Finds the models of a provider: those that are known, or those that the server lists. `callback` gets them.
    pub fn models(&self, provider: &str, callback: LuaRef) {
        let answer = |models: Result<Value, UserError>| self.shared.scripts.answered(callback, models);
        let Some(provider) = ProviderName::from_name(provider) else { return answer(Ok(json!([]))) };
        if let Some(known) = provider.models() {
            return answer(Ok(json!(known)));
        }
        let config = self.shared.config();
        let timeouts = Timeouts::of(&config.parameters_for(config.provider));
        let timeouts = Timeouts { first_byte: PATIENCE, idle: PATIENCE, ..timeouts };
        let recipient = Recipient::of(config.parameters_for(provider), Environment::of_process());
        let mailbox = self.background.mailbox.clone();
        let then = move |models: Result<Vec<String>, ProviderError>| {
            let models = models.map(|models| json!(models)).map_err(|error| UserError::new(error.to_string()));
            mailbox.job(move |this: &Self| this.shared.scripts.answered(callback, models));
        };
        if let Err(error) = self.background.worker.models(recipient, timeouts, |_| {}, then) {
            answer(Err(UserError::new(format!("no thread could be started: {error}"))));
        }
    }

    /// Whom one can switch to: the words for it, and how a picker shows them. The one that holds now is marked.
    pub fn recipients(&self) -> Vec<(String, String)> {
        let config = self.shared.config();
        let providers = ProviderName::all().map(|provider| {
            let now = if provider == config.provider { format!(" (now: {})", config.model()) } else { String::new() };
            (provider.name().to_owned(), format!("{}{now}", provider.name()))
        });
        let presets = config.presets.keys().map(|name| {
            let words = [name.clone()];
            let layer = Switch::parse(&words, &config).map(|switch| switch.over(&Value::Null)).unwrap_or_default();
            let shown = Config::from_layers(std::slice::from_ref(&layer)).map(|config| describe(&config, &layer));
            (name.clone(), format!("{name}: {}", shown.unwrap_or_default()))
        });
        providers.chain(presets).collect()
    }
}
