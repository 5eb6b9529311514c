//! Completion: what can be put at the cursor of a conversation.
//!
//! * [`Completion`] is the answer: [`Item`]s, and the range of the line that each of them replaces.
//! * `gather` finds out what is wanted ([`flemma_chat::Completable`]) and collects it. Files are listed away from the main thread.
//! * `spot` finds out which option the cursor of a frontmatter is at. `options` has what goes there.
//!
//! The omnifunc and the sources for completion plugins (`lua/flemma/completion.lua`) all ask [`Completions::complete`](crate::components::Completions::complete).

mod gather;
mod item;
mod options;
mod spot;

pub use gather::Completions;
pub use gather::MAX_FILES;
pub use item::{Completion, Item, ItemKind};
