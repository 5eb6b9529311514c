//! Tools: what a model may ask for, and how a call is decided, run and shown.
//!
//! * A [`Definition`] is a tool: its name and description for the model, the schema of its input, and the [`Executor`] that
//!   runs a call. The [`Registry`] knows definitions by name; [`Sources`] loads definitions asynchronously.
//! * The [`approval::Chain`] decides whether a call runs, waits for the user or is denied. Lists of [`rules`] and
//!   [`presets`] are among its resolvers.
//! * A [`NativeTool`] runs calls in Rust, off the editor's main thread, with a [`Context`]; [`builtin`] has ours. Its
//!   [`Outcome`] becomes the text of the result. [`overflow`] saves the full output if it is too long.
//! * A tool that writes files proposes them first. A [`Proposal`] has their contents before and after, a [`Review`] is what the
//!   user is shown of it, and an approval for it is [`Approved`].
//! * [`preview`] describes in one line what a call would do, and a [`Summary`] what it is about. A [`form`] is what a call asks
//!   the user, if they answer it themselves.
//! * [`RetentionRules`] leave old results out of requests.
//!
//! Tools that the provider runs itself are not processed here; [`hosted`] determines which ones a conversation offers.
//!
//! Everything except [`builtin`] and [`overflow`] consists of plain values and functions; [`paths`] and [`rules`] resolve
//! links.
//!
//! ```
//! use flemma_model::{CallId, ToolInput};
//! use flemma_tools::{Decision, Policy, Presets, Registry, approval::{self, ApprovalCall, Chain}, preview, rules::Subject};
//! use serde_json::json;
//!
//! // A model asks for a command.
//! let registry = Registry::with_builtins();
//! let bash = registry.get("bash").expect("a built-in tool");
//! let input = json!({ "label": "the state of the tree", "command": "git status", "timeout": null });
//! assert!(bash.check_input(&ToolInput::Json(input.clone())).is_ok());
//!
//! // The user's list decides.
//! let list = ["bash(git status)".to_owned()];
//! let mut chain = Chain::default();
//! chain.register(approval::config(Policy::new(&list, &[], &Presets::builtin())));
//! let id = CallId("toolu_1".into());
//! let call = ApprovalCall { subject: Subject::Command("git status"), ..ApprovalCall::new("bash", &input, &id, 1) };
//! assert_eq!(chain.decide(&call).decision, Decision::Approve);
//! let other = ApprovalCall { subject: Subject::Command("git push"), ..call };
//! assert_eq!(chain.decide(&other).decision, Decision::RequireApproval);
//!
//! // This is what the user sees of a call that waits.
//! let shown = preview::call(Some(bash), "bash", &ToolInput::Json(input), 60);
//! assert!(shown.starts_with("bash"), "{shown}");
//! ```

/// Ends a function with an error for the model, whose words are those of `format!`.
macro_rules! bail {
    ($($words:tt)+) => { return Err(flemma_model::ModelError::new(format!($($words)+))) };
}

/// The same, unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => { if !$holds { bail!($($words)+) } };
}

pub mod approval;
pub mod builtin;
pub mod command;
mod commitment;
pub mod declare;
mod definition;
mod diff_lines;
mod disk;
mod earlier;
mod field;
mod file_class;
pub mod form;
mod group;
pub mod hosted;
pub mod ignore_files;
pub mod instructions;
mod json_fault;
mod judged;
mod linked;
mod lua_sandbox;
mod native;
pub mod overflow;
pub mod own_files;
mod path_params;
pub mod paths;
mod permitted;
pub mod presets;
pub mod preview;
pub mod project;
mod proposal;
mod recorder;
mod registry;
mod retention;
mod review;
pub mod rules;
mod schema;
mod schema_errors;
pub mod seconds;
mod seen_pages;
mod sensitive;
mod sources;
mod summary;
mod turn_tools;
mod well_known;
mod wildcard;

pub use approval::Decision;
pub use commitment::Commitment;
pub use definition::{DeclaredApproval, Definition, DefinitionError, Executor, LuaRef, Runner};
pub use diff_lines::{DiffKind, DiffLine, LineCounts};
pub use disk::{Answer, Ask, Disk, Facts, Lookup, Silent};
pub use earlier::{Base, Earlier, EarlierEntries};
pub use file_class::{FileClass, Owner};
pub use group::{GROUP_FIELDS, Group};
pub use json_fault::JsonFault;
pub use judged::Judged;
pub use linked::Linked;
pub use lua_sandbox::{LuaError, LuaSandbox};
pub use native::{Context, NativeTool, Outcome, Output, Protected, Rendered};
pub use path_params::{MeantPath, NamedPath, PathKind, PathParams, named_paths};
pub use permitted::{Access, AgentBase, Agents, Bounds, PathName, Permitted, PermittedView};
pub use presets::{Policy, Preset, Presets};
pub use proposal::{Approved, Concern, Content, FileChange, KeptContent, Proposal, Revision};
pub use recorder::{LeftBefore, Recorder, Upcoming, Written, take_written};
pub use registry::Registry;
pub use retention::RetentionRules;
pub use review::Review;
pub use schema::{AnswerMistakes, arranged, check_answer};
pub use seen_pages::SeenPages;
pub use sources::{SourceEnd, SourceId, Sources};
pub use summary::Summary;
pub use turn_tools::{FileTools, NamedBy, TurnTools};
pub use well_known::forget_well_known;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex guards, also after a panic: nothing that is guarded here is left half changed by one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
