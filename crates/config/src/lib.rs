//! Typed options.
//!
//! Options arrive as untyped values: the Lua table of `setup`, what was changed at run time, a file's
//! frontmatter. [`Config::from_layers`] lays them over each other, reads the result into plain structs
//! with their defaults, and reports everything that it cannot take at once, by its full path and with the
//! nearest known name. Only options that something reads are known: a key that would do nothing is an
//! error, not a promise. A [`Config`] serialises to the same shape that it is read from, with every
//! default filled in; that is what the Lua side sees.

mod agents;
pub mod buffer;
mod conversations;
mod deadlines;
mod declare;
mod documentation;
mod editor;
mod layers;
mod list;
mod options;
mod parameters;
mod providers;
mod retention;
pub mod switch;
mod tool_protocol;
mod tools;

pub use agents::AgentOptions;
pub use buffer::{FileOptions, Node};
pub use conversations::{ConversationOptions, Layout};
pub use deadlines::{BackupOptions, Deadlines, Wait};
pub use documentation::OptionDocumentation;
pub use editor::{
    Editing, FoldLevel, Highlight, Icons, InsertKeys, Keymaps, Keys, LevelFilter, Logging, Looks, NormalKeys, Notify,
    ObjectKeys, OrFalse, Symbols,
};
pub use layers::leaves;
pub use list::ListOption;
pub use options::{Budget, CODING, Config, ProviderOptions};
pub use parameters::{Parameters, ProviderOverrides};
pub use providers::{ProviderTable, Providers};
pub use retention::{Retention, RetentionMode, RetentionOptions};
pub use tool_protocol::ToolProtocol;
pub use tools::{Autopilot, CursorAfterResult, Notes, PresetOptions, ReviewOptions, ReviewView, Tools, WriteOutside};
