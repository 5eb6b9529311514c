//! What conversations use: tokens and money.
//!
//! A provider counts the tokens of each request; the price of its model makes dollars of them. [`Ledger`] adds them
//! up from the start of the editor on, [`Estimate`] says before a request what it may come to, and [`figures`] writes
//! all of that for people. Nothing here is kept in a file: the vendor's bill is the truth, and this is a hint.

pub mod estimate;
pub mod figures;
mod ledger;

pub use estimate::Estimate;
pub use ledger::{Ledger, Record, Totals};
