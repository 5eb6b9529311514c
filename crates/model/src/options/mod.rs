//! Reading typed options out of untyped ones.
//!
//! * A [`Table`] is one table of the options: a struct asks it for its keys, one after another.
//! * A [`Kind`] is the type of a value; [`kinds`] has those that several options share.
//! * A [`Problem`] is one mistake in the options, with its full path and the name that was probably meant.
//!
//! The options themselves belong to those that use them: `flemma_config` has the general ones, and each
//! folder of `flemma_provider` has those of its vendor.
//!
//! ```
//! use flemma_model::options::{self, Table, kinds};
//!
//! let walk = |table: &mut Table<'_>| table.get("model", "small".to_owned(), &kinds::TEXT);
//! let read = options::read(&serde_json::json!({ "modle": "large" }), walk);
//! assert_eq!(read.unwrap_err().to_string(), "unknown option `modle`; did you mean `model`?");
//! assert_eq!(options::defaults(walk), "small");
//! ```

pub mod kinds;
mod problem;
mod reader;

pub use problem::{Fault, OptionsError, Problem};
pub use reader::{Kind, Table, defaults, paths, read};
