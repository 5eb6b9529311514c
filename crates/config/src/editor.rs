//! What the editor's side reads: `keymaps`, `highlights`, `notify`, `logging`, `editing`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use flemma_model::options::{
    Kind, Table,
    kinds::{SWITCH, TEXT, text, whole},
};

/// The keys of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Not mapped: `false`.
    Unmapped,
    /// Neovim's notation, as `<C-]>`.
    Mapped(String),
}

impl Keys {
    const KIND: Kind<Self> = Kind {
        expected: r#"keys such as "<C-]>", or false for none"#,
        read: |value| match value {
            Value::Bool(false) => Some(Self::Unmapped),
            other => text(other).map(Self::to),
        },
    };

    fn to(keys: &str) -> Self {
        Self::Mapped(keys.to_owned())
    }
}

impl Serialize for Keys {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unmapped => to.serialize_bool(false),
            Self::Mapped(keys) => to.serialize_str(keys),
        }
    }
}

/// `keymaps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Keymaps {
    /// Whether any key is mapped at all.
    pub enabled: bool,
    /// Whether the keys that begin an edit open the input window while a conversation is locked.
    pub queue: bool,
    /// Keys in normal mode.
    pub normal: NormalKeys,
    /// Keys in insert mode.
    pub insert: InsertKeys,
    /// Text objects, in Visual mode and after an operator.
    pub objects: ObjectKeys,
}

impl Default for Keymaps {
    fn default() -> Self {
        Self {
            enabled: true,
            queue: true,
            normal: NormalKeys::default(),
            insert: InsertKeys::default(),
            objects: ObjectKeys::default(),
        }
    }
}

impl Keymaps {
    pub(super) fn read(&mut self, table: &mut Table<'_>) {
        table.set("enabled", &mut self.enabled, &SWITCH);
        table.set("queue", &mut self.queue, &SWITCH);
        table.table("normal", |table| {
            table.set("send", &mut self.normal.send, &Keys::KIND);
            table.set("cancel", &mut self.normal.cancel, &Keys::KIND);
            table.set("tool_execute", &mut self.normal.tool_execute, &Keys::KIND);
            table.set("tool_review", &mut self.normal.tool_review, &Keys::KIND);
            table.set("tool_approve", &mut self.normal.tool_approve, &Keys::KIND);
            table.set("tool_approve_always", &mut self.normal.tool_approve_always, &Keys::KIND);
            table.set("tool_reject", &mut self.normal.tool_reject, &Keys::KIND);
            table.set("next_message", &mut self.normal.next_message, &Keys::KIND);
            table.set("prev_message", &mut self.normal.prev_message, &Keys::KIND);
            table.set("next_waiting", &mut self.normal.next_waiting, &Keys::KIND);
            table.set("prev_waiting", &mut self.normal.prev_waiting, &Keys::KIND);
        });
        table.table("insert", |table| table.set("send", &mut self.insert.send, &Keys::KIND));
        table.table("objects", |table| {
            table.set("inner_message", &mut self.objects.inner_message, &Keys::KIND);
            table.set("around_message", &mut self.objects.around_message, &Keys::KIND);
            table.set("inner_tool", &mut self.objects.inner_tool, &Keys::KIND);
            table.set("around_tool", &mut self.objects.around_tool, &Keys::KIND);
        });
    }
}

/// `keymaps.normal`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NormalKeys {
    /// Takes the next step: sends, executes or categorises.
    pub send: Keys,
    /// Stops the request and the tools.
    pub cancel: Keys,
    /// Runs or resolves the tool call under the cursor.
    pub tool_execute: Keys,
    /// Opens the change of the tool call under the cursor.
    pub tool_review: Keys,
    /// Approves the tool call under the cursor.
    pub tool_approve: Keys,
    /// The same, and similar calls from now on.
    pub tool_approve_always: Keys,
    /// Asks for a reason and rejects the tool call under the cursor.
    pub tool_reject: Keys,
    /// Moves to the next message.
    pub next_message: Keys,
    /// Moves to the previous message.
    pub prev_message: Keys,
    /// Moves to the next call that waits.
    pub next_waiting: Keys,
    /// Moves to the previous call that waits.
    pub prev_waiting: Keys,
}

impl Default for NormalKeys {
    fn default() -> Self {
        Self {
            send: Keys::to("<C-]>"),
            cancel: Keys::to("<C-c>"),
            tool_execute: Keys::to("<M-CR>"),
            tool_review: Keys::to("gK"),
            tool_approve: Keys::to("gA"),
            tool_approve_always: Keys::to("gY"),
            tool_reject: Keys::to("gX"),
            next_message: Keys::to("]m"),
            prev_message: Keys::to("[m"),
            next_waiting: Keys::to("]w"),
            prev_waiting: Keys::to("[w"),
        }
    }
}

/// `keymaps.objects`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectKeys {
    /// The content of a message.
    pub inner_message: Keys,
    /// A message with its marker.
    pub around_message: Keys,
    /// The content of a tool use or a result.
    pub inner_tool: Keys,
    /// A tool use or a result with its header.
    pub around_tool: Keys,
}

impl Default for ObjectKeys {
    fn default() -> Self {
        Self {
            inner_message: Keys::to("im"),
            around_message: Keys::to("am"),
            inner_tool: Keys::to("iT"),
            around_tool: Keys::to("aT"),
        }
    }
}

/// `keymaps.insert`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InsertKeys {
    /// As in normal mode, and leaves insert mode.
    pub send: Keys,
}

impl Default for InsertKeys {
    fn default() -> Self {
        Self { send: Keys::to("<C-]>") }
    }
}

/// How something of ours is coloured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Highlight {
    /// Like another highlight group.
    Link(String),
    /// In the terms of `nvim_set_hl()`.
    Definition(Map<String, Value>),
}

/// Reads `highlights`: a name of ours to the group it looks like, or to a definition.
pub(super) fn read_highlights(highlights: &mut BTreeMap<String, Highlight>, table: &mut Table<'_>) {
    table.entries("highlights", |entries, name| match entries.raw(name) {
        Some(Value::Object(definition)) => {
            highlights.insert(name.to_owned(), Highlight::Definition(definition.clone()));
        }
        Some(value) => match text(value) {
            Some(link) => drop(highlights.insert(name.to_owned(), Highlight::Link(link.to_owned()))),
            None => entries.wrong(name, "a highlight group's name or a table for nvim_set_hl()", value),
        },
        None => {}
    });
}

/// Which messages are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LevelFilter {
    /// Every step.
    Debug,
    /// What happened.
    #[default]
    Info,
    /// What the user should look at.
    Warn,
    /// What failed.
    Error,
}

impl LevelFilter {
    const WORDS: [(&'static str, Self); 4] =
        [("debug", Self::Debug), ("info", Self::Info), ("warn", Self::Warn), ("error", Self::Error)];
}

/// `notify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Notify {
    /// Messages below this level are not shown.
    pub level: LevelFilter,
    /// Whether a message says that a conversation which is out of sight has stopped, and why.
    pub stops: bool,
    /// Whether Neovim 0.12 and other plugins are told what goes on.
    pub progress: bool,
}

impl Default for Notify {
    fn default() -> Self {
        Self { level: LevelFilter::default(), stops: true, progress: true }
    }
}

impl Notify {
    pub(super) fn read(&mut self, table: &mut Table<'_>) {
        table.choose("level", &mut self.level, &LevelFilter::WORDS);
        table.set("stops", &mut self.stops, &SWITCH);
        table.set("progress", &mut self.progress, &SWITCH);
    }
}

/// `logging`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Logging {
    /// Whether a log is written.
    pub enabled: bool,
    /// Entries below this level are not written.
    pub level: LevelFilter,
    /// The log's file; a file in Neovim's log folder when it is not set.
    pub path: Option<String>,
}

impl Logging {
    pub(super) fn read(&mut self, table: &mut Table<'_>) {
        table.set("enabled", &mut self.enabled, &SWITCH);
        table.choose("level", &mut self.level, &LevelFilter::WORDS);
        table.set_some("path", &mut self.path, &TEXT);
    }
}

/// Which folds are closed in a conversation that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldLevel {
    /// There are no folds: `false`.
    Off,
    /// 0 closes everything, 1 all but messages, 2 and more nothing.
    Level(u32),
}

impl FoldLevel {
    /// The highest level of Neovim's.
    const MAX: u32 = 99;

    const KIND: Kind<Self> = Kind {
        expected: "a whole number from 0 to 99, or false for no folds",
        read: |value| match value {
            Value::Bool(false) => Some(Self::Off),
            Value::Number(number) => whole(number).filter(|level| *level <= Self::MAX).map(Self::Level),
            _ => None,
        },
    };
}

impl Serialize for FoldLevel {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => to.serialize_bool(false),
            Self::Level(level) => to.serialize_u32(*level),
        }
    }
}

/// The symbols in the lines of closed folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Symbols {
    /// Such as `✓`. Every font for terminals has them.
    #[default]
    Unicode,
    /// Words and characters of ASCII.
    Ascii,
}

impl Symbols {
    const WORDS: [(&'static str, Self); 2] = [("unicode", Self::Unicode), ("ascii", Self::Ascii)];
}

/// `editing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Editing {
    /// Whether the file is written when a tool starts and at every pause.
    pub auto_write: bool,
    /// Which folds begin closed.
    pub foldlevel: FoldLevel,
    /// What the lines of closed folds are drawn with.
    pub symbols: Symbols,
}

impl Default for Editing {
    fn default() -> Self {
        Self { auto_write: true, foldlevel: FoldLevel::Level(1), symbols: Symbols::default() }
    }
}

impl Editing {
    pub(super) fn read(&mut self, table: &mut Table<'_>) {
        table.set("auto_write", &mut self.auto_write, &SWITCH);
        table.set("foldlevel", &mut self.foldlevel, &FoldLevel::KIND);
        table.choose("symbols", &mut self.symbols, &Symbols::WORDS);
    }
}
