//! The turn: everything between a key press and the moment the buffer is unlocked again.
//!
//! * An [`Input`] is something that happened: a key, a piece of a reply, a finished tool.
//! * The agent (`turn.rs`) is the state machine. A step takes one input, looks at the document, and returns effects. It holds no
//!   text, no clock and no socket: what must survive is in the document, and everything here can be forgotten when the file is
//!   closed. What it knows has four owners: the phase of the turn, the calls at work, what is being judged, and the autopilot.
//! * A [`Session`] is the loop around it: it feeds inputs one at a time and performs the effects on a [`Shell`], which is
//!   the workspace in the editor and a list of lines in the tests.
//!
//! `idle -> requesting -> streaming -> categorising -> (awaiting | executing)* -> requesting … -> idle`

mod answers;
mod autopilot;
mod blocks;
mod cursor;
mod effect;
mod first_panic;
mod guard;
mod input;
mod judgement;
mod outbox;
mod phase;
mod progress;
mod rejection;
mod request;
mod round;
mod session;
mod shell;
mod step;
mod stop;
mod turn;
mod view;
mod work;

pub use effect::{Activity, Level, Placement};
pub use input::{CallResult, Choice, Input, RequestId, ResolvedBy, UndoStep};
pub use outbox::{Departure, Outbox};
pub use progress::Progress;
pub use rejection::{UNKNOWN_EFFECT, own_words, rejection};
pub use session::Session;
pub use shell::{CursorReason, CursorTarget, LifecycleEvent, Shell};
pub use stop::{Overrun, Stop};
pub use view::{Settings, Verdict};
