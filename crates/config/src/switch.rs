//! `:Flemma switch`: whom conversations talk to from now on.
//!
//! The words of the command (`anthropic claude-opus-5-5 thinking=high`, or `$fast` and perhaps some parameters) come to
//! one layer of options, which the editor lays over those of `setup`. Named presets are such layers too, written as the
//! same words or as a table; they are read once when they are set, so that a mistake in one is told then. Values are
//! read by the reader of `setup`, and a parameter that is named without its provider holds even where `setup` has
//! another for that provider alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Config, OptionDocumentation,
    layers::{self, nested},
    options::Recipient,
};
use flemma_model::UserError;
use flemma_model::options::{self, Fault, Problem, Table};
use flemma_provider::{
    ProviderName,
    connection::{SECRET, shown},
};
use flemma_text::suggest::nearest;

/// The character that the name of a preset begins with.
const PRESET: char = '$';

/// What the words of a switch come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// A layer for [`Config::from_layers`]: `provider`, `model` and `parameters`.
    pub layer: Value,
    /// Whether it takes the place of an earlier switch, because it names a provider; else it only changes parameters.
    pub replaces: bool,
}

impl Switch {
    /// Reads the words that follow the command. `now` are the options in force, presets included.
    ///
    /// # Errors
    /// What is wrong with them, in one sentence for the user.
    pub fn parse(words: &[String], now: &Config) -> Result<Self, UserError> {
        let Some((first, rest)) = words.split_first() else {
            return Err(UserError::new("name a provider, a preset or parameters such as `thinking=high`"));
        };
        if parameter(first).is_some() {
            return Ok(Self { layer: parameters(words, now.provider)?, replaces: false });
        }
        let Some(written) = first.starts_with(PRESET).then(|| preset(first, now)).transpose()? else {
            return recipient(first, rest).map(|layer| Self { layer, replaces: true });
        };
        let mut layer = preset_layer(written).map_err(|problems| UserError::new(said(&problems)))?;
        let provider = layer.get("provider").and_then(Value::as_str).and_then(ProviderName::from_name);
        layers::lay(&mut layer, &parameters(rest, provider.unwrap_or(now.provider))?);
        Ok(Self { replaces: provider.is_some(), layer })
    }

    /// The layer that holds for all conversations after this switch, where `runtime` held before.
    pub fn over(self, runtime: &Value) -> Value {
        let mut layer = if runtime.is_object() { runtime.clone() } else { json!({}) };
        if let Some(entries) = layer.as_object_mut().filter(|_| self.replaces) {
            entries.retain(|key, _| !matches!(key.as_str(), "provider" | "model" | "parameters"));
        }
        layers::lay(&mut layer, &self.layer);
        layer
    }
}

/// Whom the options in force talk to, and which of the parameters in `layer` count for that: one line for the user.
pub fn describe(config: &Config, layer: &Value) -> String {
    let mut said = vec![config.provider.name().to_owned()];
    said.extend(Some(config.model().to_owned()).filter(|model| !model.is_empty()));
    for (path, value) in parameters_in(layer) {
        let own = path.split_once('.').map(|(owner, name)| (ProviderName::from_name(owner), name));
        let name = match own {
            Some((Some(owner), name)) if owner == config.provider => name,
            Some(_) => continue,
            None => path.as_str(),
        };
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        said.push(format!("{name} {}", shown(name, &value)));
    }
    said.join(", ")
}

/// The parameters that a layer sets, with their paths in `parameters`; not those that it takes back.
pub fn parameters_in(layer: &Value) -> Vec<(String, &Value)> {
    let found = layer.get("parameters").map(layers::leaves).into_iter().flatten();
    found.filter(|(_, value)| !value.is_null()).map(|(keys, value)| (keys.join("."), value)).collect()
}

/// Words that may follow `words` and begin with `lead`.
pub fn complete(words: &[String], lead: &str, now: &Config) -> Vec<String> {
    let names = |provider: ProviderName| provider.name().to_owned();
    let mut found: Vec<String> = Vec::new();
    let provider = match words.first() {
        None => {
            found.extend(ProviderName::all().map(names));
            found.extend(now.presets.keys().cloned());
            Some(now.provider)
        }
        Some(first) if first.starts_with(PRESET) => {
            let layer = now.presets.get(first).and_then(|written| preset_layer(written).ok());
            let named = layer.as_ref().and_then(|layer| layer.get("provider")?.as_str()).map(ProviderName::from_name);
            named.unwrap_or(Some(now.provider))
        }
        Some(first) if parameter(first).is_some() => Some(now.provider),
        Some(first) => ProviderName::from_name(first),
    };
    let Some(provider) = provider else { return found };
    if let [first] = words
        && ProviderName::from_name(first).is_some()
    {
        found.extend(provider.models().into_iter().flatten().map(|model| (*model).to_owned()));
    }
    if let Some((key, _)) = lead.split_once('=') {
        let path = path_of(key, provider).unwrap_or_default();
        let documentation = OptionDocumentation::of(&path);
        let words = documentation.iter().flat_map(|option| option.words().chain(option.strings()));
        found.extend(words.map(|word| format!("{key}={word}")));
    } else {
        found.extend(keys(provider).into_iter().map(|key| format!("{key}=")));
    }
    found.retain(|word| word.starts_with(lead));
    found
}

/// Reads the option `presets`.
pub(super) fn presets(table: &mut Table<'_>, key: &str) -> BTreeMap<String, Value> {
    table.entries(key, |table, name| {
        let written = table.raw(name)?;
        let problems = if !name.starts_with(PRESET) || name.len() == 1 || name.contains(char::is_whitespace) {
            Some(odd("the name of a preset begins with `$` and contains no spaces, as in `$fast`"))
        } else {
            preset_layer(written).err()
        };
        match problems {
            None => Some(written.clone()),
            Some(problems) => {
                table.wrong_inside(name, problems);
                None
            }
        }
    })
}

fn odd(why: impl Into<String>) -> Vec<Problem> {
    vec![Problem { path: String::new(), fault: Fault::Odd(why.into()) }]
}

/// The layer that a preset means.
fn preset_layer(written: &Value) -> Result<Value, Vec<Problem>> {
    match written {
        Value::String(text) => {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            match words.split_first() {
                None => Err(odd("it is empty; write what `:Flemma switch` takes")),
                Some((first, _)) if first.starts_with(PRESET) => {
                    Err(odd(format!("`{first}` is a preset; a preset cannot refer to another one")))
                }
                Some((first, _)) if parameter(first).is_some() => {
                    Err(odd("it does not name a provider; write the provider first, or write the preset as a table"))
                }
                Some((first, rest)) => recipient(first, rest).map_err(|error| odd(error.to_string())),
            }
        }
        Value::Object(_) => {
            let read = options::read(written, Recipient::read);
            read.map(|_| written.clone()).map_err(|error| error.problems)
        }
        other => {
            Err(vec![Problem::wrong("", "a string such as \"openai gpt-5.6-terra thinking=low\", or a table", other)])
        }
    }
}

/// The preset of this name.
fn preset<'a>(name: &str, now: &'a Config) -> Result<&'a Value, UserError> {
    now.presets.get(name).ok_or_else(|| {
        let names = || now.presets.keys().map(String::as_str);
        UserError::new(match nearest(name, names()) {
            Some(near) => format!("there is no preset `{name}`; did you mean `{near}`?"),
            None if now.presets.is_empty() => {
                format!("there is no preset `{name}`; the option `presets` of `setup` is empty")
            }
            None => format!("there is no preset `{name}`. There are: {}", names().collect::<Vec<_>>().join(", ")),
        })
    })
}

/// The layer of a provider, perhaps a model, and parameters.
fn recipient(name: &str, rest: &[String]) -> Result<Value, UserError> {
    let provider = ProviderName::from_name(name).ok_or_else(|| no_provider(name))?;
    let (model, rest) = match rest.split_first() {
        Some((model, rest)) if parameter(model).is_none() => (Some(model), rest),
        _ => (None, rest),
    };
    let mut layer = json!({ "provider": provider.name() });
    if let Some(model) = model {
        layer["model"] = Value::from(model.as_str());
    }
    layers::lay(&mut layer, &parameters(rest, provider)?);
    Ok(layer)
}

fn no_provider(name: &str) -> UserError {
    let names: Vec<_> = ProviderName::all().map(ProviderName::name).collect();
    let has = |owner: &ProviderName| owner.models().is_some_and(|models| models.contains(&name));
    if let Some(owner) = ProviderName::all().find(has) {
        return UserError::new(format!(
            "`{name}` is a model of `{owner}`; write `{owner} {name}`",
            owner = owner.name()
        ));
    }
    UserError::new(match nearest(name, names.iter().copied()) {
        Some(near) => format!("there is no provider `{name}`; did you mean `{near}`?"),
        None => format!("there is no provider `{name}`. There are: {}", names.join(", ")),
    })
}

/// The name and the value in a word such as `thinking=high`; `None` if it is none.
fn parameter(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    let is_name = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    is_name.then_some((key, value))
}

/// The layer of these parameters for a provider. One that all providers have takes back the provider's own, which would
/// beat it; the provider's own ones are applied after that.
fn parameters(words: &[String], provider: ProviderName) -> Result<Value, UserError> {
    let paths = Config::paths();
    let own_table = format!("parameters.{}", provider.name());
    let (mut layer, mut own) = (json!({}), json!({}));
    for word in words {
        let Some((key, value)) = parameter(word) else {
            return Err(UserError::new(format!(
                "unexpected `{word}`; only parameters such as `thinking=high` may follow the model"
            )));
        };
        let path = path_of(key, provider)?;
        let value = read(&path, key, value)?;
        let is_own = path.matches('.').count() > 1;
        let (table, name) = if is_own { path.rsplit_once('.').unwrap_or_default() } else { (&*own_table, key) };
        let beating = others(provider, name).chain((!is_own).then_some(name)).map(|name| format!("{table}.{name}"));
        for path in beating.filter(|path| paths.contains(path)) {
            layers::lay(&mut layer, &nested(&path, Value::Null));
        }
        layers::lay(if is_own { &mut own } else { &mut layer }, &nested(&path, value));
    }
    layers::lay(&mut layer, &own);
    Ok(layer)
}

/// What the provider also calls a general parameter in its own table.
fn others(provider: ProviderName, name: &str) -> impl Iterator<Item = &str> {
    provider.other_names().iter().filter(move |(general, _)| *general == name).map(|(_, other)| *other)
}

/// The names that parameters of a provider may be given by.
fn keys(provider: ProviderName) -> Vec<String> {
    let own = format!("{}.", provider.name());
    let mut keys: Vec<String> = Vec::new();
    for path in Config::paths() {
        let Some(path) = path.strip_prefix("parameters.") else { continue };
        let name = path.strip_prefix(&own).unwrap_or(path);
        let is_table = ProviderName::from_name(name).is_some();
        if !name.contains('.') && !is_table && !SECRET.contains(&name) && !keys.iter().any(|key| key == name) {
            keys.push(name.to_owned());
        }
    }
    keys
}

/// The path of the parameter `key` in the options.
fn path_of(key: &str, provider: ProviderName) -> Result<String, UserError> {
    if SECRET.contains(&key.rsplit('.').next().unwrap_or_default()) {
        return Err(UserError::new(format!(
            "`{key}` may be a secret, and the command line has a history; set it in `setup`"
        )));
    }
    let paths = Config::paths();
    let candidates = [format!("parameters.{key}"), format!("parameters.{}.{key}", provider.name())];
    let is_table = |path: &String| paths.iter().any(|other| other.starts_with(&format!("{path}.")));
    if let Some(path) = candidates.into_iter().find(|path| paths.contains(path) && !is_table(path)) {
        return Ok(path);
    }
    let keys = keys(provider);
    let meant = nearest(key, keys.iter().map(String::as_str));
    let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(UserError::new(format!("unknown parameter `{key}` of `{}`{meant}", provider.name())))
}

/// The value of the option at `path`, which the user calls `key`: read as Lua or JSON would read the word, and as a
/// string where the option wants one.
fn read(path: &str, key: &str, word: &str) -> Result<Value, UserError> {
    if word.is_empty() {
        return Err(UserError::new(format!("`{key}=` has no value; `{key}=nil` restores the default")));
    }
    let typed = match word {
        "nil" => Value::Null,
        word => serde_json::from_str(word).unwrap_or_else(|_| Value::from(word)),
    };
    let refused = |value: &Value| Config::from_layers(&[nested(path, value.clone())]).err();
    let Some(error) = refused(&typed) else { return Ok(typed) };
    let text = Value::from(word);
    if refused(&text).is_none() {
        return Ok(text);
    }
    Err(UserError::new(match error.problems.first() {
        Some(Problem { fault: Fault::Wrong { expected, found }, .. }) => {
            format!("`{key}` must be {expected}, not {found}")
        }
        problem => problem.map(ToString::to_string).unwrap_or_default(),
    }))
}

fn said(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
