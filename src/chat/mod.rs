//! The document: a conversation as the lines of a `.chat` file.

mod calls;
mod edit;
mod status;
mod text;

pub use calls::{OpenCall, Placeholder};
pub use edit::{Position, TextEdit};
pub use status::{Status, StatusBlock};
pub use text::{Change, Text};
