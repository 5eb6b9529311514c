//! What the editor's side reads: `keymaps`, `highlights`, `looks`, `notify`, `logging`, `editing`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::declare::{inner, one_of, options, or, some};
use flemma_model::options::{
    Kind, Table,
    kinds::{SWITCH, TEXT, text, whole},
};

/// A value, or `false` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrFalse<T>(pub Option<T>);

impl<T> OrFalse<T> {
    pub(super) fn read(value: &Value, read: impl FnOnce(&Value) -> Option<T>) -> Option<Self> {
        if *value == Value::Bool(false) { Some(Self(None)) } else { read(value).map(|value| Self(Some(value))) }
    }
}

impl<T: Serialize> Serialize for OrFalse<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => value.serialize(to),
            None => to.serialize_bool(false),
        }
    }
}

/// The keys of an action in Neovim's notation, as `<C-]>`; without any, it is not mapped.
pub type Keys = OrFalse<String>;

const KEYS: Kind<Keys> = Kind {
    expected: r#"keys such as "<C-]>", or false for none"#,
    read: |value| OrFalse::read(value, |value| text(value).map(str::to_owned)),
};

/// The keys of an action that has these by default.
fn keys(default: &str) -> impl FnOnce(&mut Table<'_>, &str) -> Keys {
    or(OrFalse(Some(default.to_owned())), &KEYS)
}

options! {
    /// `keymaps`.
    #[derive(Eq)]
    pub struct Keymaps {
        /// Whether any key is mapped at all.
        pub enabled: bool = or(true, &SWITCH);
        /// Whether the keys that begin an edit open the input window while a conversation is locked.
        pub queue: bool = or(true, &SWITCH);
        /// Keys in normal mode.
        pub normal: NormalKeys = inner(NormalKeys::read);
        /// Keys in insert mode.
        pub insert: InsertKeys = inner(InsertKeys::read);
        /// Text objects, in Visual mode and after an operator.
        pub objects: ObjectKeys = inner(ObjectKeys::read);
    }

    /// `keymaps.normal`.
    #[derive(Eq)]
    pub struct NormalKeys {
        /// Takes the next step: sends, executes or categorises.
        pub send: Keys = keys("<C-]>");
        /// Stops the request and the tools.
        pub cancel: Keys = keys("<C-c>");
        /// Runs or resolves the tool call under the cursor.
        pub tool_execute: Keys = keys("<M-CR>");
        /// Opens the change of the tool call under the cursor.
        pub tool_review: Keys = keys("gK");
        /// Approves the tool call under the cursor.
        pub tool_approve: Keys = keys("gA");
        /// The same, and similar calls from now on.
        pub tool_approve_always: Keys = keys("gY");
        /// Asks for a reason and rejects the tool call under the cursor.
        pub tool_reject: Keys = keys("gX");
        /// Moves to the next message.
        pub next_message: Keys = keys("]m");
        /// Moves to the previous message.
        pub prev_message: Keys = keys("[m");
        /// Moves to the next call that waits.
        pub next_waiting: Keys = keys("]w");
        /// Moves to the previous call that waits.
        pub prev_waiting: Keys = keys("[w");
    }

    /// `keymaps.insert`.
    #[derive(Eq)]
    pub struct InsertKeys {
        /// As in normal mode, and leaves insert mode.
        pub send: Keys = keys("<C-]>");
    }

    /// `keymaps.objects`.
    #[derive(Eq)]
    pub struct ObjectKeys {
        /// The content of a message.
        pub inner_message: Keys = keys("im");
        /// A message with its marker.
        pub around_message: Keys = keys("am");
        /// The content of a tool use or a result.
        pub inner_tool: Keys = keys("iT");
        /// A tool use or a result with its header.
        pub around_tool: Keys = keys("aT");
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
pub(super) fn highlights(table: &mut Table<'_>, key: &str) -> BTreeMap<String, Highlight> {
    table.entries(key, |entries, name| match entries.raw(name)? {
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

const LEVELS: [LevelFilter; 4] = [LevelFilter::Debug, LevelFilter::Info, LevelFilter::Warn, LevelFilter::Error];

/// Which folds are closed in a conversation that is opened: 0 closes everything, 1 all but messages, 2 and more nothing. Without a
/// level there are no folds.
pub type FoldLevel = OrFalse<u32>;

const FOLD_LEVEL: Kind<FoldLevel> = Kind {
    expected: "a whole number from 0 to 99, or false for no folds",
    read: |value| OrFalse::read(value, |value| value.as_number().and_then(whole).filter(|level| *level <= 99)),
};

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

/// Which signs stand before calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Icons {
    /// Those of a Nerd Font if `vim.g.have_nerd_font` says that there is one.
    #[default]
    Auto,
    /// Those of a Nerd Font.
    Nerd,
    /// Signs of ASCII only, also for what became of a call.
    Ascii,
}

options! {
    /// `looks`: how conversations are drawn.
    #[derive(Copy, Eq)]
    pub struct Looks {
        /// Whether lines are drawn over markers and headers, and inputs and fences are hidden.
        pub enabled: bool = or(true, &SWITCH);
        /// The signs.
        pub icons: Icons = one_of(&[Icons::Auto, Icons::Nerd, Icons::Ascii]);
    }

    /// `notify`.
    #[derive(Copy, Eq)]
    pub struct Notify {
        /// Messages below this level are not shown.
        pub level: LevelFilter = one_of(&LEVELS);
        /// Whether a message says that a conversation which is out of sight has stopped, and why.
        pub stops: bool = or(true, &SWITCH);
        /// Whether Neovim 0.12 and other plugins are told what goes on.
        pub progress: bool = or(true, &SWITCH);
    }

    /// `logging`.
    #[derive(Eq)]
    pub struct Logging {
        /// Whether a log is written.
        pub enabled: bool = or(false, &SWITCH);
        /// Entries below this level are not written.
        pub level: LevelFilter = one_of(&LEVELS);
        /// The log's file; a file in Neovim's log folder when it is not set.
        pub path: Option<String> = some(&TEXT);
    }

    /// `editing`.
    #[derive(Copy, Eq)]
    pub struct Editing {
        /// Whether the file is written when a tool starts and at every pause.
        pub auto_write: bool = or(true, &SWITCH);
        /// Which folds begin closed.
        pub foldlevel: FoldLevel = or(OrFalse(Some(1)), &FOLD_LEVEL);
        /// What the lines of closed folds are drawn with.
        pub symbols: Symbols = one_of(&[Symbols::Unicode, Symbols::Ascii]);
    }
}
