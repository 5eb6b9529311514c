//! The application without an editor.
//!
//! A [`Workspace`] owns the options, the tools, what the user trusts, and the conversations. Three roles:
//!
//! - **A host calls in.** It reports that buffers come, change and go ([`Workspace::attach`], [`Workspace::changed`]), what
//!   keys and commands want ([`Workspace::dispatch`]), and that background work has left something ([`Workspace::drain`]).
//! - **The workspace calls out**, through two small traits ([`ports`]): a [`Host`] shows and writes, [`Scripts`] run Lua.
//! - **The host asks** what to show: [`Workspace::previews`], [`Conversation::live`], [`Workspace::status`].
//!
//! Inside, an input of the user's passes the [`trust::Gate`] and reaches the session of [`crate::agent`], whose effects come
//! back in `effects`. Background work brings its own continuation (`background`).

mod accounting;
mod accounts;
mod admission;
mod always_approve;
mod approval_chain;
mod attached_files;
mod background;
mod buffer_view;
mod changes;
mod conversation;
mod dispatch;
mod drain;
mod effective;
mod effects;
mod file_layout;
mod file_on_disk;
mod frontmatter;
mod holder;
mod holding;
mod latest_output;
mod lifecycle;
mod lua_outcome;
mod options;
mod page;
pub mod ports;
mod protected_files;
mod recipient;
mod resolve;
mod saving;
mod status_view;
mod switch;
mod tasks;
mod tool_answer;
mod toolbox;
mod tools;
pub mod trust;
mod trust_store;
mod verdict;
#[expect(clippy::module_inception, reason = "the noun of the module")]
mod workspace;

pub use buffer_view::{LiveView, Preview, RunningView};
pub use conversation::Conversation;
pub use dispatch::Command;
pub use file_layout::{FileLayout, LineBreak};
pub use latest_output::LatestOutput;
pub use lua_outcome::{LuaOutcome, LuaValue, MAX_TEXT, MAX_VALUES};
pub use ports::{Host, Scripts};
pub use resolve::HypotheticalCall;
pub use status_view::{Layer, Row, StatusView};
pub use switch::{Switched, Toggle};
pub use tasks::StopTool;
pub use tool_answer::ToolAnswer;
pub use workspace::{Job, Workspace};
