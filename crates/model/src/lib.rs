//! The parts of a conversation with a model, independent of any vendor.
//!
//! - A [`Message`] consists of [`Part`]s. An [`Attachment`] is a file sent with it; [`Media`] is its type and size.
//! - An [`Event`] is one piece of an arriving reply. [`Usage`] counts the tokens of a request.
//! - [`ModelError`] and [`UserError`] are errors by who has to act on them.
//! - [`Digest`] is what a content is recognised by.
//! - [`CallId`] and [`ToolInput`] belong to a tool call, [`Signature`] to thinking. [`Hosted`] is what a provider did itself,
//!   such as citing a [`WebSource`].
//!
//! These are plain values. They know no vendor, document or editor, and import only [`flemma_text`].

mod attachment;
mod audience;
mod call_id;
mod digest;
mod event;
mod hosted;
mod media;
mod message;
mod message_key;
pub mod options;
mod part;
mod signature;
mod tool_input;
mod usage;
mod web_source;

pub use attachment::{Attachment, AttachmentContent, DISK_ONLY};
pub use audience::{ModelError, UserError};
pub use call_id::CallId;
pub use digest::Digest;
pub use event::{Event, StopReason};
pub use hosted::{Hosted, HostedBlock};
pub use media::{Media, MediaKind};
pub use message::{Message, Role};
pub use message_key::MessageKey;
pub use part::Part;
pub use signature::Signature;
pub use tool_input::ToolInput;
pub use usage::Usage;
pub use web_source::WebSource;
