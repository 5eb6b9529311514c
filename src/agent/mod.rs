//! The turn: everything between a key press and the moment the buffer is unlocked again.
//!
//! `idle -> requesting -> streaming -> categorising -> (awaiting | executing)* -> requesting … -> idle`
//!
//! [`Agent::step`] takes one [`Input`] (a key, a piece of a reply, a finished tool), reads the document through a
//! [`View`], and returns [`Effect`]s. It has no text, no clock and no socket: everything that must persist is in the
//! document, and the state here can be dropped when the file is closed. A [`Session`] is the loop around it: it feeds
//! inputs one at a time and performs the effects on a [`Shell`], which is Neovim in the editor and a list of lines in
//! the tests.

mod decide;
mod effect;
mod guard;
mod input;
mod progress;
mod round;
mod session;
mod turn;

pub use effect::{Activity, Ask, Cursor, Effect, Level};
pub use input::{CallResult, Choice, Input, RequestId, UndoStep};
pub use progress::Progress;
pub use session::{CursorReason, CursorTarget, LifecycleEvent, Session, Shell};
pub use turn::{Agent, Settings, Verdict, View};
