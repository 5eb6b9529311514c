//! What the user sets while Neovim runs: whom to talk to, whether conversations go on by themselves, whether there is a
//! log.
//!
//! All of it is one layer of options over those of `setup`, for all conversations, until Neovim ends or `setup` is
//! called. A file's own frontmatter stands above it; where that makes a difference, the message says so. The models of a
//! server of Chat Completions are asked for by a task, and come back to a Lua function.

use std::{path::Path, time::Duration};

use mlua::{Function, Lua, Value as Lual};
use serde_json::{Value, json};

use super::{
    conversation::Conversation,
    convert,
    editor::Editor,
    exports::Exports,
    frontmatter::{self, Effective},
    policy, status,
};
use crate::{
    agent::Level,
    config::{
        Config,
        switch::{Switch, complete, describe, parameters_in},
    },
    provider::{ProviderName, auth::Environment},
    runtime::{Recipient, http::Timeouts},
    tools::LuaRef,
};

/// How long a server has for the list of its models: somebody waits in front of the screen.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many files a message names.
const NAMED: usize = 3;

/// What became of a switch.
pub(super) enum Switched {
    /// It holds; what to tell the user.
    Done(String),
    /// The user has named no model, and this provider has no default.
    WantsModel(ProviderName),
}

impl Editor {
    /// Does what the words of `:Flemma switch` say.
    ///
    /// # Errors
    /// What is wrong with them, for the user.
    pub(super) fn switch(&self, words: &[String]) -> Result<Switched, String> {
        let switch = Switch::parse(words, &self.config())?;
        let [setup, runtime] = self.layers();
        let (said, replaces) = (switch.layer.clone(), switch.replaces);
        let layer = switch.over(&runtime);
        let config = Config::from_layers(&[setup, layer.clone()]).map_err(|error| error.to_string())?;
        let provider = config.provider;
        if replaces && config.model().is_empty() {
            // A preset says all of it, or it is no use.
            return match words.first().filter(|first| *first != provider.name()) {
                Some(preset) => Err(format!(
                    "the preset `{preset}` names no model, and `{}` has none by default; add one to it",
                    provider.name()
                )),
                None => Ok(Switched::WantsModel(provider)),
            };
        }
        self.set_runtime(layer.clone())?;
        let mut message = format!("conversations now talk to {}", describe(&config, &layer));
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
        let conversations = self.all_conversations();
        // One that is still being read is told of when it is asked to do something.
        let read = conversations.iter().filter(|conversation| conversation.is_complete());
        let kept = read.filter_map(|conversation| {
            let file = frontmatter::effective(self, conversation);
            let own = file.file.layer.as_object().is_some_and(|layer| !layer.is_empty());
            let words = own.then(|| what(&file)).flatten()?;
            Some(format!("; {} keeps {words}, as its frontmatter says", self.name_of(conversation)))
        });
        let mut kept: Vec<String> = kept.collect();
        let more = kept.len().saturating_sub(NAMED);
        if more > 0 {
            kept.truncate(NAMED);
            kept.push(format!("; and {more} more of the open files keep what theirs says"));
        }
        kept
    }

    fn name_of(&self, conversation: &Conversation) -> String {
        let (path, _) = self.host.place(conversation.buffer);
        let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| "a conversation without a file".to_owned())
    }

    /// Turns something on or off while Neovim runs, by its place in the options. Gives what to tell the user.
    ///
    /// # Errors
    /// As [`Editor::set_runtime`].
    pub(super) fn set_switch(&self, pointer: &str, enabled: bool) -> Result<String, String> {
        let [_, runtime] = self.layers();
        let mut layer = if runtime.is_object() { runtime } else { json!({}) };
        let mut at = &mut layer;
        for key in pointer.trim_start_matches('/').split('/') {
            at = &mut at[key];
        }
        *at = Value::Bool(enabled);
        self.set_runtime(layer)?;
        let config = self.config();
        let mut message = match (pointer.starts_with("/logging"), enabled) {
            (true, true) => format!("a log is written to {}", self.log_path(&config.logging).display()),
            (true, false) => "no log is written".to_owned(),
            (false, true) => "conversations go on by themselves: autopilot is on".to_owned(),
            (false, false) => "conversations wait for you after each step: autopilot is off".to_owned(),
        };
        message.extend(self.keeping(|file| {
            let own = file.file.layer.pointer(pointer).and_then(Value::as_bool)?;
            (own != enabled).then(|| format!("it {}", if own { "on" } else { "off" }))
        }));
        Ok(message)
    }

    /// Calls `callback` with the models of a provider: those that are known, or those that the server lists.
    ///
    /// # Errors
    /// When the callback throws.
    pub(super) fn models(&self, provider: &str, callback: &Function) -> mlua::Result<()> {
        let config = self.config();
        let Some(provider) = ProviderName::from_name(provider) else { return callback.call(Vec::<String>::new()) };
        if let Some(known) = provider.models() {
            return callback.call(known.to_vec());
        }
        let timeouts = Timeouts { first_byte: PATIENCE, idle: PATIENCE, ..policy::timeouts(&config) };
        let recipient = Recipient::of(config.parameters_for(provider), Environment::of_process());
        let LuaRef(asked) = self.functions.keep(callback.clone());
        if let Err(error) = self.worker.models(asked, recipient, timeouts) {
            self.models_arrived(asked, Err(format!("no thread for it: {error}")));
        }
        Ok(())
    }

    /// The models that somebody asked a server for are here, or will not come.
    pub(super) fn models_arrived(&self, asked: u64, models: Result<Vec<String>, String>) {
        let Some(callback) = self.functions.get(LuaRef(asked)) else { return };
        self.functions.release(LuaRef(asked));
        let called = match models {
            Ok(models) => callback.call::<()>(models),
            Err(problem) => callback.call((Lual::Nil, problem)),
        };
        if let Err(error) = called {
            self.host.notify(Level::Error, &convert::words(&error));
        }
    }
}

/// Whom one can switch to: the words for it, and how a picker shows them. The one that holds now is marked.
pub(super) fn recipients(config: &Config) -> Vec<(String, String)> {
    let providers = ProviderName::all().map(|provider| {
        let now = provider == config.provider;
        let label =
            if now { format!("{} (now: {})", provider.name(), config.model()) } else { provider.name().to_owned() };
        (provider.name().to_owned(), label)
    });
    let presets = config.presets.keys().map(|name| {
        let words = [name.clone()];
        let layer = Switch::parse(&words, config).map(|switch| switch.over(&Value::Null)).unwrap_or_default();
        let shown = Config::from_layers(std::slice::from_ref(&layer)).map(|config| describe(&config, &layer));
        (name.clone(), format!("{name}: {}", shown.unwrap_or_default()))
    });
    providers.chain(presets).collect()
}

/// How far a conversation goes on by itself, and who said so.
pub(super) fn autopilot(editor: &Editor, conversation: &Conversation) -> String {
    let file = frontmatter::effective(editor, conversation);
    let autopilot = file.config.tools.autopilot;
    let who = status::autopilot(editor, &file);
    if autopilot.enabled {
        format!("autopilot is on here ({who}), for up to {} requests a key", autopilot.max_turns)
    } else {
        format!("autopilot is off here ({who}): each step waits for you")
    }
}

/// The functions that Lua calls to set something while Neovim runs.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // switch(words) -> the effective options, what holds now; or nil, problem; or nil, nil, a provider without a model
    exports.add("switch", |lua, editor, words: Vec<String>| {
        Ok(match editor.switch(&words) {
            Ok(Switched::Done(message)) => (convert::to_lua(lua, &*editor.config())?, Some(message), None),
            Ok(Switched::WantsModel(provider)) => (Lual::Nil, None, Some(provider.name())),
            Err(problem) => (Lual::Nil, Some(problem), None),
        })
    })?;
    // recipients() -> { words, label } for each provider and preset
    exports.add("recipients", |lua, editor, ()| {
        let items = recipients(&editor.config()).into_iter().map(|(words, label)| {
            let item = lua.create_table()?;
            item.set("words", words)?;
            item.set("label", label)?;
            Ok(item)
        });
        items.collect::<mlua::Result<Vec<_>>>()
    })?;
    // models(provider, callback): calls back with the names of models, or nil and why there are none
    exports.add("models", |_, editor, (provider, callback): (String, Function)| editor.models(&provider, &callback))?;
    exports.add("switch_words", |_, editor, (words, lead): (Vec<String>, String)| {
        Ok(complete(&words, &lead, &editor.config()))
    })?;
    // set_autopilot(enabled) -> the effective options, what holds now; or nil, problem
    exports.add("set_autopilot", |lua, editor, enabled: bool| {
        switched(lua, editor, editor.set_switch("/tools/autopilot/enabled", enabled))
    })?;
    // autopilot(buffer) -> how far this conversation goes on by itself
    exports.add("autopilot", |_, editor, buffer: i32| {
        Ok(editor.conversation(buffer).map(|conversation| autopilot(editor, &conversation)))
    })?;
    // set_logging(enabled) -> the effective options, what holds now; or nil, problem
    exports.add("set_logging", |lua, editor, enabled: bool| {
        switched(lua, editor, editor.set_switch("/logging/enabled", enabled))
    })?;
    exports.add("log_path", |_, editor, ()| Ok(editor.log_path(&editor.config().logging)))
}

/// The effective options and a message, or nil and a problem.
fn switched(lua: &Lua, editor: &Editor, done: Result<String, String>) -> mlua::Result<(Lual, String)> {
    match done {
        Ok(message) => Ok((convert::to_lua(lua, &*editor.config())?, message)),
        Err(problem) => Ok((Lual::Nil, problem)),
    }
}
