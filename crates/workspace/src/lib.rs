//! The application without an editor.
//!
//! * A [`Workspace`] is a table of [`components`], in the order in which they may ask each other, and a loop that acts on what
//!   they tell it (`event`, `event_loop`).
//! * A [`Host`] is where the conversations are on the screen. It calls in: buffers come, change and go
//!   ([`Workspace::attach`], [`Workspace::changed`]), a key wants something ([`Workspace::dispatch`]), background work has
//!   left something ([`Workspace::drain`]). The workspace calls out: it shows, writes and asks.
//! * [`Scripts`] run Lua: tools, policies and frontmatter that are written in it. A host without Lua has [`NoScripts`].
//! * A [`Conversation`] is the state of one buffer, in a struct for each thing that belongs to it.
//!
//! ```
//! use std::{cell::RefCell, rc::Rc, sync::mpsc, time::Duration};
//! use flemma_chat::{Text, TextEdit};
//! use flemma_model::UserError;
//! use flemma_workspace::{Command, Host, HostEffect, NoScripts, Workspace, ports::{Place, Question}};
//!
//! /// One buffer, and the questions that the user was asked.
//! struct OneFile(Vec<String>, RefCell<Vec<Question>>);
//!
//! impl Host for OneFile {
//!     fn text(&self, _buffer: i32) -> Rc<dyn Text> { Rc::new(self.0.clone()) }
//!     fn write(&self, _: i32, _: &TextEdit, _: bool) -> Result<(), UserError> { Err(UserError::new("nothing writes here")) }
//!     fn place(&self, _buffer: i32) -> Place { Place { file: "/tmp/a.chat".into(), ..Place::default() } }
//!     fn perform(&self, effect: HostEffect<'_>) {
//!         if let HostEffect::Ask { question, .. } = effect {
//!             self.1.borrow_mut().push(question);
//!         }
//!     }
//! }
//!
//! // A file from somewhere else, with code in its frontmatter.
//! let text = "```lua\nflemma.opt.model = \"x\"\n```\n\n@You:\nHello";
//! let host = Rc::new(OneFile(text.lines().map(str::to_owned).collect(), RefCell::default()));
//! let (wake, woken) = mpsc::channel();
//! let state = tempfile::tempdir()?;
//! let workspace = Workspace::new(host.clone(), Rc::new(NoScripts), state.path(), move || drop(wake.send(())));
//! workspace.attach(1);
//! while workspace.parse_on(1) {}
//!
//! // The user presses Ctrl-]. They are asked about the code before anything of it runs or is sent.
//! workspace.dispatch(1, Command::Advance);
//! while host.1.borrow().is_empty() {
//!     woken.recv_timeout(Duration::from_secs(10))?;
//!     workspace.drain();
//! }
//! assert_eq!(*host.1.borrow(), [Question::Frontmatter { language: "lua".into() }]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod approval;
mod background;
mod before_sending;
mod calls;
mod completion;
pub mod components;
mod conversation;
mod dispatch;
mod drives;
mod effects;
mod event;
mod event_loop;
mod execution;
mod generation;
mod instructions;
mod journaling;
mod lifecycle;
mod lists;
mod options;
mod ownership;
mod page;
pub mod ports;
mod projects;
mod queue;
mod references;
mod resolutions;
mod reviews;
mod saving;
mod shared;
mod tools;
pub mod trust;
mod undo;
mod usage;
mod views;
mod workspace;
mod writer;

pub use approval::hypothetical::HypotheticalCall;
pub use background::Job;
pub use calls::forms::AskedForm;
pub use calls::on_disk::{CallOnDisk, CallState, CallsOnDisk};
pub use calls::pending::PendingCall;
pub use calls::rest::Rest;
pub use completion::{Completion, Item, ItemKind, MAX_FILES};
pub use components::Workspace;
pub use conversation::Conversation;
pub use dispatch::Command;
pub use drives::{DriveEnd, DriveOptions};
pub use execution::lua_outcome::{LuaFile, LuaOutcome, LuaValue, MAX_TEXT, MAX_VALUES, ToolAnswer};
pub use execution::tasks::{LatestOutput, StopTool};
pub use execution::waiting_writes::WantedWrite;
pub use lists::chat_files::{chat_files, project_chat_files};
pub use lists::conversations::{ConversationRow, RowState};
pub use lists::finding::FoundLine;
pub use lists::{WaitingCall, WaitingList, WaitingPlace};
pub use options::health::Finding;
pub use options::switch::{Switched, Toggle};
pub use page::Redraw;
pub use ports::{Host, HostEffect, NoScripts, Scripts};
pub use queue::outbox::{MessageId, Outbox, QueuedMessage, Since, Urgency};
pub use references::captured_text::{EditorItem, EditorView, LookedUp};
pub use references::from_code::{Asked, AskedAbout};
pub use resolutions::stale::Stale;
pub use resolutions::{Resolution, ResolveError};
pub use reviews::made::{Draft, MadeFile};
pub use reviews::reviewed::{DrawnHunks, Reviewed, ReviewedFile, Taken};
pub use saving::file_layout::{FileLayout, LineBreak};
pub use trust::Wish;
pub use undo::{Proposed, TakeBack};
pub use views::look::{Chunk, Look, LookStyle, Signs};
pub use views::previews::{LiveView, OutputPiece, Preview, PreviewLine, RunningView};
pub use views::status::{OptionLayer, OptionRow, StatusView};
