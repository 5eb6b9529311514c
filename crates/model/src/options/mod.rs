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
//! let mut model = String::from("small");
//! let written = serde_json::json!({ "modle": "large" });
//! let read = options::read(&written, |table: &mut Table<'_>| table.set("model", &mut model, &kinds::TEXT));
//! assert_eq!(read.unwrap_err().to_string(), "unknown option `modle`; did you mean `model`?");
//! assert_eq!(model, "small");
//! ```

pub mod kinds;
mod problem;
mod reader;

pub use problem::{OptionsError, Problem};
pub use reader::{Kind, Table, paths, read};
