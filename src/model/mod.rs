//! What a conversation with a model is made of, in no vendor's words.
//!
//! - [`Message`] and its [`Part`]s are what is said; an [`Attachment`] is a file shown beside it, whose [`Media`] its
//!   content says.
//! - [`Event`] is one thing that a reply brings as it arrives, [`Usage`] what the reply has cost in tokens.
//! - [`CallId`] and [`ToolInput`] belong to the call of a tool, a [`Signature`] to thinking, a [`WebSource`] to a citation.
//!
//! Plain values without a vendor, a document or an editor. They import nothing but [`text`](crate::text).

mod attachment;
mod call_id;
mod event;
mod media;
mod message;
mod part;
mod signature;
mod tool_input;
mod usage;
mod web_source;

pub use attachment::{Attachment, AttachmentContent};
pub use call_id::CallId;
pub use event::{Event, StopReason};
pub use media::{Media, MediaKind};
pub use message::{Message, Role};
pub use part::Part;
pub use signature::Signature;
pub use tool_input::ToolInput;
pub use usage::Usage;
pub use web_source::WebSource;
