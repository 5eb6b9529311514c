//! The turn: everything between a key press and the moment the buffer is unlocked again.
//!
//! * An [`Input`] is something that happened: a key, a piece of a reply, a finished tool.
//! * The [`Agent`] is the state machine. [`Agent::step`] takes one input, looks at the document through a [`View`], and
//!   returns [`Effect`]s. It holds no text, no clock and no socket: what must survive is in the document, and everything
//!   here can be forgotten when the file is closed.
//! * A [`Session`] is the loop around it: it feeds inputs one at a time and performs the effects on a [`Shell`], which is
//!   the workspace in the editor and a list of lines in the tests.
//!
//! `idle -> requesting -> streaming -> categorising -> (awaiting | executing)* -> requesting … -> idle`
//!
//! ```
//! use flemma_agent::{Activity, Agent, CallResult, Effect, Input, RequestId, RequestKind, Settings, Verdict, View};
//! use flemma_chat::{AwaitKind, OpenCall};
//! use flemma_model::{Event, StopReason};
//!
//! /// A conversation that ends with a message of the user's.
//! struct Hello;
//!
//! impl View for Hello {
//!     fn open_calls(&self) -> Vec<OpenCall> { Vec::new() }
//!     fn verdict(&self, _: &OpenCall) -> Verdict { Verdict::Ask }
//!     fn recorded(&self, _: &OpenCall) -> Option<CallResult> { None }
//!     fn suspends_as(&self, _: &OpenCall) -> Option<AwaitKind> { None }
//!     fn is_offered(&self, _: &OpenCall) -> bool { false }
//!     fn is_interrupted(&self, _: &OpenCall) -> bool { false }
//!     fn is_authorised(&self, _: &OpenCall) -> bool { false }
//!     fn tools_ready(&self) -> bool { true }
//!     fn fault(&self) -> Option<String> { None }
//!     fn settings(&self) -> Settings { Settings { autopilot: true, max_turns: 100, max_concurrent: 4, is_unattended: false } }
//! }
//!
//! let mut agent = Agent::default();
//! let request = RequestId(1);
//! assert_eq!(agent.step(Input::Advance, &Hello), [Effect::Lock(true), Effect::Send(request, RequestKind::Reply)]);
//!
//! // The reply begins when something of it is there to be written.
//! let effects = agent.step(Input::Event { request, event: Event::Text("Hi".into()) }, &Hello);
//! assert!(effects.contains(&Effect::Write(Event::Text("Hi".into()))));
//! assert_eq!(agent.activity(), Activity::Writing);
//!
//! // Its end gives the buffer back, once the document was looked at for calls.
//! agent.step(Input::Event { request, event: Event::Finished(StopReason::EndTurn) }, &Hello);
//! let effects = agent.step(Input::Review, &Hello);
//! assert_eq!(effects.last(), Some(&Effect::Lock(false)));
//! ```

mod categorise;
mod decide;
mod departures;
mod effect;
mod first_panic;
mod guard;
mod input;
mod outbox;
mod phase;
mod progress;
mod rejection;
mod request;
mod round;
mod session;
mod shell;
mod shell_view;
mod stop;
mod suspend;
mod turn;
mod view;

pub use effect::{Activity, Cursor, Effect, Level, Placement, RequestKind};
pub use input::{CallResult, Choice, Input, RequestId, ResolvedBy, UndoStep};
pub use outbox::{Departure, Outbox};
pub use progress::Progress;
pub use rejection::{UNKNOWN_EFFECT, own_words, rejection};
pub use session::Session;
pub use shell::{CursorReason, CursorTarget, LifecycleEvent, Shell};
pub use stop::Stop;
pub use turn::Agent;
pub use view::{Settings, Verdict, View};
