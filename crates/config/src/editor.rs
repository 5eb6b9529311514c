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
            other => text(other).map(|keys| Self::Mapped(keys.to_owned())),
        },
    };

    /// The keys of an action that has these by default.
    fn of(table: &mut Table<'_>, action: &str, default: &str) -> Self {
        table.get(action, Self::Mapped(default.to_owned()), &Self::KIND)
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

impl Keymaps {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            enabled: table.get("enabled", true, &SWITCH),
            queue: table.get("queue", true, &SWITCH),
            normal: table.table("normal", |table| NormalKeys {
                send: Keys::of(table, "send", "<C-]>"),
                cancel: Keys::of(table, "cancel", "<C-c>"),
                tool_execute: Keys::of(table, "tool_execute", "<M-CR>"),
                tool_review: Keys::of(table, "tool_review", "gK"),
                tool_approve: Keys::of(table, "tool_approve", "gA"),
                tool_approve_always: Keys::of(table, "tool_approve_always", "gY"),
                tool_reject: Keys::of(table, "tool_reject", "gX"),
                next_message: Keys::of(table, "next_message", "]m"),
                prev_message: Keys::of(table, "prev_message", "[m"),
                next_waiting: Keys::of(table, "next_waiting", "]w"),
                prev_waiting: Keys::of(table, "prev_waiting", "[w"),
            }),
            insert: table.table("insert", |table| InsertKeys { send: Keys::of(table, "send", "<C-]>") }),
            objects: table.table("objects", |table| ObjectKeys {
                inner_message: Keys::of(table, "inner_message", "im"),
                around_message: Keys::of(table, "around_message", "am"),
                inner_tool: Keys::of(table, "inner_tool", "iT"),
                around_tool: Keys::of(table, "around_tool", "aT"),
            }),
        }
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

/// `keymaps.insert`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InsertKeys {
    /// As in normal mode, and leaves insert mode.
    pub send: Keys,
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
pub(super) fn read_highlights(table: &mut Table<'_>) -> BTreeMap<String, Highlight> {
    table.entries("highlights", |entries, name| match entries.raw(name)? {
        Value::Object(definition) => Some(Highlight::Definition(definition.clone())),
        value => {
            let link = text(value).map(|link| Highlight::Link(link.to_owned()));
            if link.is_none() {
                entries.wrong(name, "a highlight group's name or a table for nvim_set_hl()", value);
            }
            link
        }
    })
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
    fn read(table: &mut Table<'_>) -> Self {
        table.choose("level", &[Self::Debug, Self::Info, Self::Warn, Self::Error]).unwrap_or_default()
    }
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

impl Notify {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            level: LevelFilter::read(table),
            stops: table.get("stops", true, &SWITCH),
            progress: table.get("progress", true, &SWITCH),
        }
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
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            enabled: table.get("enabled", false, &SWITCH),
            level: LevelFilter::read(table),
            path: table.some("path", &TEXT),
        }
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

impl Editing {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            auto_write: table.get("auto_write", true, &SWITCH),
            foldlevel: table.get("foldlevel", FoldLevel::Level(1), &FoldLevel::KIND),
            symbols: table.choose("symbols", &[Symbols::Unicode, Symbols::Ascii]).unwrap_or_default(),
        }
    }
}
