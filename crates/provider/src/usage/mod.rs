//! Accounts for the tokens and the money that conversations use.
//!
//! The provider counts the tokens of each request, and the price of the model converts them to dollars. [`Ledger`] adds
//! them up since the editor started, [`Estimate`] estimates a request before it is sent, and [`figures`] formats the
//! numbers. The sums are not saved to a file: only the vendor's bill is authoritative. What single replies have used is
//! ([`MessageNote`]), as a part of what is shown of them.

pub mod estimate;
pub mod figures;
mod ledger;
mod note;

pub use estimate::Estimate;
pub use ledger::{Ledger, Record, Totals};
pub use note::{MessageNote, ReplyNote};
