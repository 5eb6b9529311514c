//! Accounts for the tokens and the money that conversations use.
//!
//! The provider counts the tokens of each request, and the price of the model converts them to dollars. [`Ledger`] adds
//! them up since the editor started, [`Estimate`] estimates a request before it is sent, and [`figures`] formats the
//! numbers. Nothing is saved to a file: only the vendor's bill is authoritative.

pub mod estimate;
pub mod figures;
mod ledger;

pub use estimate::Estimate;
pub use ledger::{Ledger, Record, Totals};
