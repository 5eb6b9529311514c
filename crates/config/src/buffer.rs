//! What a file says about its own conversation: `flemma.opt`, in any language of frontmatter.
//!
//! An evaluation starts from the defaults and sets options by their paths, which are those of `setup` without
//! `parameters.`: `thinking`, `anthropic.thinking_budget`, `tools.autopilot.enabled`. Two are lists, `tools` and
//! `tools.auto_approve`. Every value is read by the same reader as `setup`'s at once, so that a mistake is named where
//! it is. What comes out is one more layer for [`Config::from_layers`], and the lists.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::{Config, ListOption, OptionDocumentation, layers::nested};
use flemma_model::UserError;
use flemma_model::options::{Fault, Problem};
use flemma_provider::connection::SETUP_ONLY;
use flemma_text::suggest::nearest;

/// The list of the tools on offer.
pub const TOOLS: &str = "tools";
/// The table of the configuration whose options have no prefix in a file.
const PARAMETERS: &str = "parameters";
/// The list of what runs without asking.
pub const AUTO_APPROVE: &str = "tools.auto_approve";
/// Whether the conversation goes on by itself: a table, or `true` or `false` for its `enabled`.
pub const AUTOPILOT: &str = "tools.autopilot";
/// Which results stay whole in requests.
const RETENTION: &str = "tools.retention";
/// The folder of notes.
const NOTES: &str = "tools.notes";

/// What a file sets before it is trusted: how long and how freely the model answers, and how long a provider keeps what it
/// has read. Every other option needs trust, one that is added later included.
const HARMLESS: [&str; 4] = ["thinking", "temperature", "max_tokens", "cache_retention"];

/// The options of a file that are those of `setup`.
const OWN: [&str; 6] = ["provider", "model", "agent", "system", "rules", "skills"];

/// Operations on lists, by the names that JSON gives them, in the order in which they are done.
pub const OPERATIONS: [&str; 4] = ["set", "append", "prepend", "remove"];

/// What an evaluation starts from.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// The options in force without the file, as a [`Config`] serialises.
    pub config: Value,
    /// The tools on offer.
    pub tools: Vec<String>,
    /// What runs without asking; `None` where a function decides that.
    pub auto_approve: Option<Vec<String>>,
}

/// Says what is wrong with a name in one of the lists, [`TOOLS`] or [`AUTO_APPROVE`].
pub type NameCheck = Rc<dyn Fn(&str, &str) -> Result<(), UserError>>;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A plain value.
    Value,
    /// A table of options.
    Table,
    /// A list.
    List,
}

/// The options of one file, while they are evaluated.
pub struct BufferOptions {
    defaults: Defaults,
    check: NameCheck,
    /// What precedes a path in messages: `flemma.opt.` in Lua, nothing in JSON.
    prefix: &'static str,
    known: Vec<(String, Node)>,
    said: FileOptions,
    /// Whether a function of the file decides what runs without asking. The evaluator of the file keeps it, and no
    /// operation on lists replaces it: the policy would be lost silently.
    decides: bool,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOptions {
    /// A layer for [`Config::from_layers`].
    pub layer: Value,
    /// The tools on offer, if the file says.
    pub tools: Option<ListOption>,
    /// What runs without asking, if the file says.
    pub auto_approve: Option<ListOption>,
}

impl FileOptions {
    /// An option that has no effect before the user trusts the file, by its name there. It judges what the options came
    /// to, so no spelling of a path goes past it.
    pub fn needs_trust(&self) -> Option<String> {
        if self.tools.is_some() || self.auto_approve.is_some() {
            return Some(TOOLS.to_owned());
        }
        let layer = self.layer.as_object()?;
        let inside = |table: &str| layer.get(table).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let others = layer.keys().filter(|key| *key != PARAMETERS);
        let mut options = inside(PARAMETERS).chain(others);
        options.find(|option| !HARMLESS.contains(&option.as_str())).cloned()
    }
}

impl BufferOptions {
    /// Starts from `defaults`. `prefix` precedes paths in messages.
    pub fn new(defaults: Defaults, prefix: &'static str, check: NameCheck) -> Self {
        let said = FileOptions { layer: json!({}), ..FileOptions::default() };
        Self { defaults, check, prefix, known: known(), said, decides: false }
    }

    /// What the evaluation comes to.
    pub fn finish(self) -> FileOptions {
        self.said
    }

    /// What is at a path.
    ///
    /// # Errors
    /// When nothing does, or a file has no say in it.
    pub fn node(&self, path: &str) -> Result<Node, UserError> {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        if let Some((_, node)) = self.known.iter().find(|(known, _)| known == path) {
            return Ok(*node);
        }
        let shown = self.shown(path);
        if SETUP_ONLY.contains(&key) {
            return Err(UserError::new(format!("{shown}: a file cannot set where a key is sent; set it in `setup`")));
        }
        if path == "sandbox" {
            return Err(UserError::new(format!("{shown}: this version has no sandbox; remove the line")));
        }
        let names = self.known.iter().filter_map(|(known, _)| {
            let (above, name) = known.rsplit_once('.').unwrap_or(("", known));
            (above == parent).then_some(name)
        });
        let operations = if matches!(parent, TOOLS | AUTO_APPROVE) { &OPERATIONS[..] } else { &[] };
        let names = names.chain(operations.iter().copied());
        let meant = nearest(key, names).map(|near| {
            let path = if parent.is_empty() { near.to_owned() } else { format!("{parent}.{near}") };
            format!("; did you mean {}?", self.shown(&path))
        });
        Err(UserError::new(format!("unknown option {shown}{}", meant.unwrap_or_default())))
    }

    /// The value at a path: what the file has set, else the default. Null for nothing.
    pub fn get(&self, path: &str) -> Value {
        let pointer = format!("/{}", config_path(path).replace('.', "/"));
        let set = self.said.layer.pointer(&pointer).or_else(|| self.defaults.config.pointer(&pointer));
        set.cloned().unwrap_or_default()
    }

    /// Sets the value at a path. Null takes back what the file has set. A table sets every option in it.
    ///
    /// # Errors
    /// When the path is unknown, or does not take the value. Then nothing is changed.
    pub fn set(&mut self, path: &str, value: &Value) -> Result<(), UserError> {
        let before = (self.said.clone(), self.decides);
        self.set_in_part(path, value).inspect_err(|_| (self.said, self.decides) = before)
    }

    /// Like [`BufferOptions::set`], but an error may come when a part of a table is set.
    fn set_in_part(&mut self, path: &str, value: &Value) -> Result<(), UserError> {
        match self.node(path)? {
            Node::List => self.set_list_from(path, value),
            Node::Table if path == AUTOPILOT && value.is_boolean() => {
                self.set_in_part("tools.autopilot.enabled", value)
            }
            Node::Table => match value {
                Value::Object(entries) => {
                    entries.iter().try_for_each(|(key, value)| self.set_in_part(&format!("{path}.{key}"), value))
                }
                Value::Array(list) if list.is_empty() => Ok(()),
                other => Err(Problem::wrong(path, "a table", other)).map_err(|problem| self.complaint(&problem, path)),
            },
            Node::Value => {
                let at = config_path(path);
                let alone = nested(&at, value.clone());
                if let Err(error) = Config::from_layers(&[alone]) {
                    // What this option needs beside it may be set already, or by the next line.
                    let own = |problem: &&Problem| !matches!(problem.fault, Fault::Missing(_));
                    if let Some(problem) = error.problems.iter().find(own) {
                        return Err(self.complaint(problem, path));
                    }
                }
                put(&mut self.said.layer, &at, value.clone());
                Ok(())
            }
        }
    }

    /// The list at a path: what the file has made of it so far, else the default.
    ///
    /// # Errors
    /// When there is no list, because a function decides what is approved.
    pub fn list(&self, path: &str) -> Result<ListOption, UserError> {
        if path == TOOLS {
            return Ok(self.said.tools.clone().unwrap_or_else(|| ListOption::of_default(self.defaults.tools.clone())));
        }
        match (&self.said.auto_approve, &self.defaults.auto_approve) {
            _ if self.decides => Err(self.is_a_function()),
            (Some(list), _) => Ok(list.clone()),
            (None, Some(items)) => Ok(ListOption::new(items.clone())),
            (None, None) => Err(UserError::new(format!(
                "{}: the configuration uses a function, so there is no list to change; assign a list first",
                self.shown(path)
            ))),
        }
    }

    /// Puts a list at a path that was made from what was there.
    ///
    /// # Errors
    /// When a name in it, or one that was removed from it, means nothing, and when the file has set a function since.
    pub fn set_list(&mut self, path: &str, list: ListOption) -> Result<(), UserError> {
        if path == AUTO_APPROVE && self.decides {
            return Err(self.is_a_function());
        }
        self.replace_list(path, Some(list))
    }

    /// Changes the list at a path: `append`, `prepend` and `remove` names, or `set` them as all that it holds.
    ///
    /// # Errors
    /// When there is no list, or a name means nothing; then nothing is changed.
    pub fn change(&mut self, path: &str, operation: &str, names: Vec<String>) -> Result<(), UserError> {
        let mut list = if operation == "set" { ListOption::default() } else { self.list(path)? };
        list.change(operation, names);
        self.set_list(path, list)
    }

    /// A function decides what is approved from now on. The evaluator of the file keeps it.
    pub fn set_function(&mut self) {
        (self.said.auto_approve, self.decides) = (None, true);
    }

    /// Whether a function of the file's decides what is approved.
    pub fn decides(&self) -> bool {
        self.decides
    }

    /// Replaces what is there by a list; without one, the default holds again.
    fn replace_list(&mut self, path: &str, list: Option<ListOption>) -> Result<(), UserError> {
        for name in list.iter().flat_map(|list| list.items().iter().chain(list.removed())) {
            (self.check)(path, name).map_err(|problem| UserError::new(format!("{}: {problem}", self.shown(path))))?;
        }
        if path == TOOLS {
            self.said.tools = list;
        } else {
            (self.said.auto_approve, self.decides) = (list, false);
        }
        Ok(())
    }

    fn is_a_function(&self) -> UserError {
        UserError::new(format!(
            "{} is a function that this file has set, and a list would discard it. Decide in the function, or \
             assign a list with `=` instead",
            self.shown(AUTO_APPROVE)
        ))
    }

    /// A list of names, or a table of operations: `{ "append": ["bash"], "remove": ["write"] }`. In the table for
    /// `tools` it may also have its own options.
    fn set_list_from(&mut self, path: &str, value: &Value) -> Result<(), UserError> {
        let Value::Object(entries) = value else {
            let names = if value.is_null() { None } else { Some(self.names(path, value)?) };
            return self.replace_list(path, names.map(ListOption::new));
        };
        // The result does not depend on the order of the keys.
        for operation in OPERATIONS {
            let Some(names) = entries.get(operation) else { continue };
            let names = self.names(&format!("{path}.{operation}"), names)?;
            self.change(path, operation, names)?;
        }
        let others = entries.iter().filter(|(key, _)| !OPERATIONS.contains(&key.as_str()));
        others.into_iter().try_for_each(|(key, value)| self.set_in_part(&format!("{path}.{key}"), value))
    }

    /// Reads a list of names; a lone name is a list of one.
    fn names(&self, path: &str, value: &Value) -> Result<Vec<String>, UserError> {
        let names = match value {
            Value::String(name) => Some(vec![name.clone()]),
            Value::Array(list) => list.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        names.ok_or_else(|| self.complaint(&Problem::wrong(path, "a list of names", value), path))
    }

    fn shown(&self, path: &str) -> String {
        format!("`{}{path}`", self.prefix)
    }

    /// A problem in the words of the file: with its paths.
    fn complaint(&self, problem: &Problem, path: &str) -> UserError {
        UserError::new(match &problem.fault {
            Fault::Wrong { expected, found } => format!("{} must be {expected}, not {found}", self.shown(path)),
            Fault::Unknown(_) | Fault::Missing(_) | Fault::Odd(_) => problem.to_string(),
        })
    }
}

/// Every path that a file may set, with what is there.
pub fn known() -> Vec<(String, Node)> {
    let paths = Config::paths();
    let is_table = |path: &String| {
        let inside = format!("{path}.");
        paths.iter().any(|other| other.starts_with(&inside))
    };
    let own = paths.iter().filter_map(|path| {
        let short = match path.strip_prefix("parameters.") {
            Some(short) => short,
            None if OWN.contains(&path.as_str()) => path,
            None if [AUTOPILOT, RETENTION, NOTES].iter().any(|own| path.starts_with(own)) => path,
            None => return None,
        };
        let key = short.rsplit_once('.').map_or(short, |(_, key)| key);
        let node = if is_table(path) { Node::Table } else { Node::Value };
        (!SETUP_ONLY.contains(&key)).then(|| (short.to_owned(), node))
    });
    own.chain([(TOOLS.to_owned(), Node::List), (AUTO_APPROVE.to_owned(), Node::List)]).collect()
}

/// What is written of the option at a path of a file.
pub fn documentation(path: &str) -> Option<OptionDocumentation> {
    match path {
        TOOLS | AUTO_APPROVE => OptionDocumentation::of_list(path.rsplit('.').next().unwrap_or(path)),
        _ => OptionDocumentation::of(&config_path(path)),
    }
}

/// The path of the option in the configuration.
pub fn config_path(path: &str) -> String {
    let first = path.split('.').next().unwrap_or_default();
    if first == TOOLS || OWN.contains(&first) { path.to_owned() } else { format!("parameters.{path}") }
}

/// Puts a value at a path, in tables that are made where they are missing; null takes away what is there.
fn put(table: &mut Value, path: &str, value: Value) {
    let (parent, key) = path.rsplit_once('.').map_or((None, path), |(parent, key)| (Some(parent), key));
    let at = parent.into_iter().flat_map(|parent| parent.split('.')).fold(table, |at, key| {
        let inner = &mut at[key];
        if !inner.is_object() {
            *inner = json!({});
        }
        inner
    });
    if !value.is_null() {
        at[key] = value;
    } else if let Value::Object(entries) = at {
        entries.shift_remove(key);
    }
}
