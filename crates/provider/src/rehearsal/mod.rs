//! The embedded default: a script instead of a model.
//!
//! It needs no key and no network, and it says plainly that it is not a model. A script is a `.chat`
//! document ([`WELCOME`], [`TOUR`]): the k-th reply is its k-th `@Assistant` message, where the request
//! has k-1 replies already. So the document is the state here, too: if a reply is deleted, sending
//! again plays it once more. The events are those of a real provider, paced like a stream.
//!
//! In a script's text `{{last_result}}` is replaced by what the last tool said, so that the user can see that a
//! result, or the reason for a rejection, has reached "the model".

mod script;
mod vendor;

pub(super) use self::vendor::VENDOR;
pub use self::vendor::{TOUR, WELCOME};
