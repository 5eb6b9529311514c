//! Reads typed options out of untyped ones.
//!
//! A [`Table`] is one table of the options. Each struct of options asks it for its keys one by
//! one, which is at once the reading and the list of what is known: a key that was not asked for is
//! unknown. Tables that the user left out are walked too, so that the reader knows every path there is
//! and can name the right one for an option that is in the wrong table. Nothing stops at the first
//! problem; an option whose value is wrong has its default.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::problem::{Fault, OptionsError, Problem};
use flemma_text::suggest::nearest;

/// How many letters may be wrong, missing or swapped for a key to count as a slip of the finger.
const SLIP: usize = 2;

/// What kind of value an option takes.
pub struct Kind<T> {
    /// The end of the sentence "must be ...".
    pub expected: &'static str,
    /// Reads a value, or says with `None` that it is of another kind.
    pub read: fn(&Value) -> Option<T>,
}

/// Walks `options` with `walk`.
///
/// # Errors
/// Everything that is wrong with the options.
pub fn read<T>(options: &Value, walk: impl FnOnce(&mut Table<'_>) -> T) -> Result<T, OptionsError> {
    let mut state = ReadState::default();
    let mut root = Table::open(String::new(), Some(options), &mut state);
    let read = walk(&mut root);
    root.close();
    state.into_result().map(|()| read)
}

/// What `walk` reads where nothing is set.
pub fn defaults<T>(walk: impl FnOnce(&mut Table<'_>) -> T) -> T {
    walk(&mut Table::open(String::new(), None, &mut ReadState::default()))
}

/// The paths of all options that `walk` asks for, in its order.
pub fn paths<T>(walk: impl FnOnce(&mut Table<'_>) -> T) -> Vec<String> {
    let mut state = ReadState::default();
    walk(&mut Table::open(String::new(), None, &mut state));
    state.known
}

/// What one walk brings to light.
#[derive(Default)]
struct ReadState {
    /// The paths of all options.
    known: Vec<String>,
    /// Keys that were not asked for keep their place in the list with nothing meant until the walk is over.
    problems: Vec<Problem>,
}

impl ReadState {
    fn into_result(mut self) -> Result<(), OptionsError> {
        for problem in &mut self.problems {
            if let Fault::Unknown(meant @ None) = &mut problem.fault {
                *meant = meant_by(&problem.path, &self.known);
            }
        }
        if self.problems.is_empty() { Ok(()) } else { Err(OptionsError { problems: self.problems }) }
    }
}

/// The option that an unknown path was meant to be: the one with the very same name in another table, unless
/// several are equally near to the root, else a neighbour with a similar name.
fn meant_by(path: &str, known: &[String]) -> Option<String> {
    let (parent, key) = split(path);
    let depth = |path: &str| path.matches('.').count();
    let mut namesakes: Vec<&String> = known.iter().filter(|known| split(known).1 == key).collect();
    namesakes.sort_by_key(|path| depth(path));
    match namesakes.as_slice() {
        [only] => return Some((*only).clone()),
        [first, second, ..] if depth(first) < depth(second) => return Some((*first).clone()),
        _ => {}
    }
    let neighbours = known.iter().filter(|known| split(known).0 == parent);
    nearest(key, neighbours.map(|known| split(known).1)).map(|near| join(parent, near))
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") }
}

/// One table of the options.
pub struct Table<'a> {
    path: String,
    /// `None` if the table was left out or is not a table.
    values: Option<&'a Map<String, Value>>,
    asked: Vec<String>,
    state: &'a mut ReadState,
}

impl<'a> Table<'a> {
    fn open(path: String, value: Option<&'a Value>, state: &'a mut ReadState) -> Self {
        let values = match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(map)) => Some(map),
            // An empty Lua table may arrive as an empty list.
            Some(Value::Array(list)) if list.is_empty() => None,
            Some(other) => {
                state.problems.push(Problem::wrong(&path, "a table", other));
                None
            }
        };
        Self { path, values, asked: Vec::new(), state }
    }

    /// Reports the keys that were not asked for.
    fn close(self) {
        for key in self.values.into_iter().flat_map(Map::keys) {
            if !self.asked.contains(key) {
                self.state.problems.push(Problem { path: join(&self.path, key), fault: Fault::Unknown(None) });
            }
        }
    }

    /// The value of an option, as it is; notes that there is one of this name.
    pub fn raw(&mut self, key: &str) -> Option<&'a Value> {
        if !self.asked.iter().any(|asked| asked == key) {
            self.state.known.push(join(&self.path, key));
            self.asked.push(key.to_owned());
        }
        self.values?.get(key).filter(|value| !value.is_null())
    }

    /// Reads an option, which has a default.
    pub fn get<T>(&mut self, key: &str, default: T, kind: &Kind<T>) -> T {
        self.some(key, kind).unwrap_or(default)
    }

    /// Reads an option that is nothing unless it is set.
    pub fn some<T>(&mut self, key: &str, kind: &Kind<T>) -> Option<T> {
        let value = self.raw(key)?;
        let read = (kind.read)(value);
        if read.is_none() {
            self.wrong(key, kind.expected, value);
        }
        read
    }

    /// Reads an option that is one of a few words: what the choices are written as.
    pub fn choose<T: Copy + Serialize>(&mut self, key: &str, choices: &[T]) -> Option<T> {
        let value = self.raw(key)?;
        let words: Vec<Value> = choices.iter().map(|choice| json!(choice)).collect();
        let at = words.iter().position(|word| word == value);
        if at.is_none() {
            self.wrong(key, one_of(&words), value);
        }
        choices.get(at?).copied()
    }

    /// Walks a table in this one, also when the user left it out.
    pub fn table<T>(&mut self, key: &str, walk: impl FnOnce(&mut Table<'_>) -> T) -> T {
        let value = self.raw(key);
        let mut inner = Table::open(join(&self.path, key), value, self.state);
        let read = walk(&mut inner);
        inner.close();
        read
    }

    /// Walks a table whose keys the user chooses: `each` reads what is under a key.
    pub fn entries<T>(
        &mut self,
        key: &str,
        mut each: impl FnMut(&mut Table<'_>, &str) -> Option<T>,
    ) -> BTreeMap<String, T> {
        self.table(key, |table| {
            let keys = table.values.into_iter().flat_map(Map::keys);
            keys.filter_map(|key| Some((key.clone(), each(table, key)?))).collect()
        })
    }

    /// The tables under keys that have not been asked for yet, unless the key is a slip of the finger away
    /// from one of the known `tables`: they are the user's own. Each counts as asked for.
    pub fn remaining_tables(&mut self, tables: &[&str]) -> Vec<(&'a str, &'a Value)> {
        let mut found = Vec::new();
        for (key, value) in self.values.into_iter().flatten() {
            let is_table = value.is_object() || value.as_array().is_some_and(Vec::is_empty);
            let slip = tables.iter().any(|known| strsim::osa_distance(key, known) <= SLIP);
            if is_table && !slip && !self.asked.contains(key) {
                self.asked.push(key.clone());
                found.push((key.as_str(), value));
            }
        }
        found
    }

    /// Whether an option has a value, of whatever kind.
    pub fn has(&mut self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    /// Reports what is wrong inside the value of an option.
    pub fn wrong_inside(&mut self, key: &str, problems: Vec<Problem>) {
        let path = join(&self.path, key);
        self.state.problems.extend(problems.into_iter().map(|problem| problem.inside(&path)));
    }

    /// Reports that an option is not set, and that another one has no effect without it.
    pub fn missing(&mut self, key: &str, expected: impl Into<String>) {
        let fault = Fault::Missing(expected.into());
        self.state.problems.push(Problem { path: join(&self.path, key), fault });
    }

    /// Reports that an option has a value that it does not take.
    pub fn wrong(&mut self, key: &str, expected: impl Into<String>, found: &Value) {
        self.state.problems.push(Problem::wrong(&join(&self.path, key), expected, found));
    }
}

/// `"a"`, `"b"` or `"c"`.
fn one_of(words: &[Value]) -> String {
    let mut quoted: Vec<String> = words.iter().map(Value::to_string).collect();
    match quoted.pop() {
        Some(last) if quoted.is_empty() => last,
        Some(last) => format!("{} or {last}", quoted.join(", ")),
        None => String::new(),
    }
}
