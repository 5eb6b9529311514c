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
//! use flemma_workspace::{Command, Host, HostEffect, NoScripts, Workspace, ports::{HostError, Place, Question}};
//!
//! /// One buffer, and the questions that the user was asked.
//! struct OneFile(Vec<String>, RefCell<Vec<Question>>);
//!
//! impl Host for OneFile {
//!     fn text(&self, _buffer: i32) -> Rc<dyn Text> { Rc::new(self.0.clone()) }
//!     fn write(&self, _: i32, _: &TextEdit, _: bool) -> Result<(), HostError> { Err(HostError::new("nothing writes here")) }
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

mod accounting;
mod accounts;
mod admission;
mod always_approve;
mod answers;
mod approval_chain;
mod approval_facts;
mod arriving;
mod asking;
mod attached_files;
mod background;
mod bare_names;
mod before_sending;
mod buffer_view;
mod call_key;
mod calls_on_disk;
mod captured_diff;
mod captured_text;
mod captures;
mod capturing;
mod card_look;
mod chat_files;
mod commands;
mod commits;
mod completion;
mod conversation;
mod conversation_list;
mod deadlines;
mod decisions;
mod dispatch;
mod drive;
mod driving;
mod editor_view;
mod effective;
mod effects;
mod ending;
mod event;
mod event_loop;
mod file_hints;
mod file_layout;
mod file_on_disk;
mod fold_text;
mod folds;
mod forms;
mod from_code;
mod frontmatter;
mod generation;
mod holder;
mod holding;
mod host_effect;
mod interrupted;
mod interrupted_calls;
mod journaling;
mod kept_outbox;
mod known_calls;
mod known_messages;
mod latest_output;
mod launch;
mod lifecycle;
mod look;
mod looks;
mod lookups;
mod lua_outcome;
mod made;
mod message_notes;
mod notes;
mod option_layers;
mod outbox;
mod outbox_view;
mod outlook;
mod outputs;
mod page;
mod path_questions;
mod patience;
mod pending;
mod permissions;
pub mod ports;
mod prepare;
mod project_conversations;
mod projects;
mod promptly;
mod proposals;
mod proposing;
mod protected_files;
mod questions;
mod queueing;
mod ready;
mod recipient;
mod records;
mod recovery;
mod rejection;
mod replies;
mod resolution;
mod resolve;
mod resolved;
mod rest;
mod reviewed;
mod reviewers;
mod reviewing;
mod revival;
mod running;
mod saving;
mod shared;
mod stale;
mod stale_folds;
mod standing;
mod starts;
mod status_line;
mod status_view;
mod survey;
mod suspension;
mod switch;
mod taking_back;
mod tasks;
mod tool_answer;
mod tool_context;
mod toolbox;
mod tools;
pub mod trust;
mod trust_store;
mod turn_tools;
mod unsettled;
mod verdict;
mod waiting_list;
mod waiting_writes;
mod wish;
mod workspace;
mod writer;
mod written;

pub use background::Job;
pub use buffer_view::{LiveView, OutputPiece, Preview, PreviewLine, RunningView};
pub use calls_on_disk::{CallOnDisk, CallsOnDisk, StateOnDisk};
pub use chat_files::{chat_files, project_chat_files};
pub use completion::{Completion, Item, ItemKind, MAX_FILES};
pub use conversation::Conversation;
pub use conversation_list::{ConversationRow, RowState};
pub use dispatch::Command;
pub use drive::{DriveEnd, DriveOptions};
pub use editor_view::{EditorItem, EditorView, LookedUp};
pub use file_layout::{FileLayout, LineBreak};
pub use forms::AskedForm;
pub use from_code::{Asked, AskedAbout};
pub use host_effect::HostEffect;
pub use latest_output::LatestOutput;
pub use lifecycle::Redraw;
pub use look::{Chunk, Look, LookStyle, Signs};
pub use lua_outcome::{LuaFile, LuaOutcome, LuaValue, MAX_TEXT, MAX_VALUES};
pub use made::{Draft, MadeFile};
pub use outbox::{MessageId, Outbox, QueuedMessage, Since, Urgency};
pub use outlook::CallState;
pub use pending::PendingCall;
pub use ports::{Host, NoScripts, Scripts};
pub use resolution::{Resolution, ResolveError};
pub use resolve::HypotheticalCall;
pub use rest::Rest;
pub use reviewed::{DrawnHunks, Reviewed, ReviewedFile, Taken};
pub use stale::Stale;
pub use status_view::{OptionLayer, OptionRow, StatusView};
pub use switch::{Switched, Toggle};
pub use taking_back::{Proposed, TakeBack};
pub use tasks::StopTool;
pub use tool_answer::ToolAnswer;
pub use waiting_list::{WaitingCall, WaitingList, WaitingPlace};
pub use waiting_writes::WantedWrite;
pub use wish::Wish;
pub use workspace::Workspace;

/// The components of a [`Workspace`].
pub mod components {
    pub use super::{
        accounting::Accounting, admission::Gatekeeper, answers::Answers, buffer_view::Previews, capturing::References,
        commands::Commands, completion::Completions, deadlines::Deadlines, driving::Drives, forms::Forms,
        frontmatter::Frontmatter, holding::Ownership, journaling::Journaling, looks::Looks, permissions::Permissions,
        project_conversations::ProjectConversations, proposing::Reviews, queueing::Queue, recovery::Recovery,
        resolution::Resolutions, running::Execution, saving::Saving, shared::Shared, standing::Calls, starts::Starts,
        status_view::StatusReports, switch::Switches, taking_back::Undo, tool_context::ToolContexts, tools::Tools,
        trust_store::TrustStore, verdict::Approval, waiting_list::Lists, written::WrittenBlocks,
    };
}
