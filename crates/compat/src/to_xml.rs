//! A table as XML.

use serde_json::Value;

use super::sample;
use flemma_model::UserError;
use flemma_text::xml::{self, Element, Node};

/// The element that stands for one whose name cannot be that of an element, which is its attribute `name`.
const PARAMETER: &str = "param";

/// The elements of a value, in the order of its keys, without a line break at the end. With a name they are in an element of
/// that name, which a list repeats.
///
/// # Errors
/// When it has something that cannot be written as XML.
pub fn to_xml(value: &Value, name: Option<&str>) -> Result<String, UserError> {
    sample::check_depth(value)?;
    let mut roots = Vec::new();
    match name.filter(|name| !name.is_empty()) {
        Some(name) => put(name, value, &mut roots)?,
        None => {
            for item in sample::items(value) {
                match item {
                    Value::Object(_) => roots.extend(element("", item)?.content),
                    leaf => roots.extend(sample::leaf(leaf).map(|(text, _)| Node::Text(text))),
                }
            }
        }
    }
    let written = roots.iter().map(|root| match root {
        Node::Element(element) => xml::write_element(element),
        Node::Text(text) => xml::write_text(text) + "\n",
    });
    Ok(written.collect::<String>().trim_end_matches('\n').to_owned())
}

/// Puts the elements of this name for a value.
fn put(name: &str, value: &Value, into: &mut Vec<Node>) -> Result<(), UserError> {
    for item in sample::items(value) {
        let mut element = element(name, item)?;
        if !sample::is_name(name) {
            element.attributes.retain(|(other, _)| other != "name");
            element.attributes.insert(0, ("name".to_owned(), name.to_owned()));
            element.name = PARAMETER.to_owned();
        }
        into.push(Node::Element(element));
    }
    Ok(())
}

fn element(name: &str, value: &Value) -> Result<Element, UserError> {
    let mut element =
        Element { name: name.to_owned(), attributes: Vec::new(), content: Vec::new(), inner: 0..0, has_cdata: false };
    if let Some((text, has_cdata)) = sample::leaf(value) {
        element.has_cdata = has_cdata;
        element.content.extend((!text.is_empty()).then_some(Node::Text(text)));
    } else if let Value::Object(entries) = value {
        let attributes = sample::attributes(entries)?;
        element.attributes = attributes.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        for (key, value) in entries.iter().filter(|(key, _)| *key != sample::ATTRIBUTES) {
            put(key, value, &mut element.content)?;
        }
    }
    Ok(element)
}
