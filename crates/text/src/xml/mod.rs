//! XML as models write it, and as they are shown it: elements with attributes and text, in no namespace.
//!
//! Reading is forgiving where a mistake has one meaning (a bare `&`), and says what is wrong and how to write it where it has
//! not. Writing escapes everything that could be read as markup.

mod element;
mod fault;
mod write;

pub use element::{Element, Node, parse};
pub use fault::XmlFault;
pub use write::{write_element, write_text};
