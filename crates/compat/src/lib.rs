//! What tools need that were written for another plugin.
//!
//! [`fill_words`] and [`fill_script`] fill values into commands. [`xml_schema`] reads an example of a call in XML as a schema,
//! and [`to_xml`] writes it.

mod context;
mod example;
mod indirect;
mod nested;
mod reference;
mod sample;
mod template;
mod to_xml;

pub use example::xml_schema;
pub use template::{Filled, fill_arguments, fill_script, fill_words};
pub use to_xml::to_xml;
