//! Commands that tools run: their environment, and what is shown of their output.
//!
//! `bash` runs those of the model, and Lua tools run theirs with [`run_command`].

mod environment;
mod part;
mod run;

pub use environment::environment;
pub(super) use part::{LEFT_RUNNING, ShownPart};
pub use run::{CommandRequest, CommandResult, run_command};
