//! Tools: what a model may ask for, and how it is decided, run and shown.
//!
//! A call passes through here in this order. The [`Registry`] knows the [`Definition`] behind the name; the
//! definition's schema checks the input ([`Definition::check_input`]); the [`approval::Chain`] decides whether the
//! call runs, waits for the user or is denied, by [`rules`] among others, and [`preview`] says in one line what it would do. An approved call of
//! a built-in tool is handed to its [`NativeTool`] off the editor's main thread; its [`Outcome`], cut to size by
//! [`truncate`](crate::text::truncate) with the whole saved by [`overflow`], becomes the text of the result.
//!
//! Tools that the provider runs itself never pass through here; [`hosted`] says which ones a conversation offers.
//!
//! Everything but [`builtin`] and [`overflow`] is plain values and functions; [`paths`] and [`rules`] look at where
//! links lead.

pub mod approval;
pub mod builtin;
mod decision;
pub mod declare;
mod definition;
pub mod hosted;
mod native;
pub mod overflow;
pub mod paths;
pub mod presets;
pub mod preview;
pub mod project;
mod registry;
pub mod rules;
mod schema;
mod schema_errors;
pub mod seconds;
mod sensitive;
mod sources;

pub use decision::Decision;
pub use definition::{DeclaredApproval, Definition, DefinitionError, Executor, LuaRef};
pub use native::{Context, NativeTool, Outcome, Output, Protected, Rendered};
pub use presets::{Policy, Preset, Presets};
pub use registry::{Registered, Registry};
pub use sources::{SourceEnd, SourceId, Sources};
