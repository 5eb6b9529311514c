//! Elements, and how they are read.

use std::ops::Range;

use quick_xml::{
    Reader,
    events::{BytesRef, BytesStart, Event},
};

use super::XmlFault;

/// How deep elements may be nested. Calls of tools are not.
const DEEPEST: usize = 100;

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Its attributes, in their order, without escapes.
    pub attributes: Vec<(String, String)>,
    /// What it contains.
    pub content: Vec<Node>,
    /// Where that stands in the source, between the two tags.
    pub inner: Range<usize>,
    /// Whether some of its text is in a CDATA section, so that its blanks are meant.
    pub has_cdata: bool,
}

/// A piece of an element's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Text, without escapes. Two pieces of text never follow each other.
    Text(String),
    /// An element.
    Element(Element),
}

impl Element {
    /// The elements in it.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        self.content.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The text in it, without that of its elements.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|node| match node {
            Node::Text(text) => Some(text.as_str()),
            Node::Element(_) => None,
        });
        texts.collect()
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn push_text(&mut self, piece: &str) {
        if let Some(Node::Text(text)) = self.content.last_mut() {
            text.push_str(piece);
        } else if !piece.is_empty() {
            self.content.push(Node::Text(piece.to_owned()));
        }
    }
}

/// Reads the elements of a text. Text outside of them, comments and declarations do not count.
///
/// # Errors
/// The first place at which the text is not XML.
pub fn parse(text: &str) -> Result<Vec<Element>, XmlFault> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.check_comments = false;
    let (mut roots, mut open) = (Vec::new(), Vec::<Element>::new());
    loop {
        let before = reader.buffer_position();
        let event = reader.read_event().map_err(|error| XmlFault::of(text, reader.error_position(), &error))?;
        let after = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        match event {
            Event::Start(start) => {
                if open.len() >= DEEPEST {
                    return Err(XmlFault::at(
                        text,
                        before,
                        format!("elements are nested more than {DEEPEST} levels deep"),
                    ));
                }
                open.push(element(text, before, &start, after)?);
            }
            Event::Empty(start) => close(element(text, before, &start, after)?, &mut open, &mut roots),
            Event::End(_) => {
                if let Some(mut element) = open.pop() {
                    element.inner.end = usize::try_from(before).unwrap_or(usize::MAX);
                    close(element, &mut open, &mut roots);
                }
            }
            Event::Text(piece) => put(&mut open, &piece.xml10_content()),
            Event::CData(piece) => {
                if let Some(element) = open.last_mut() {
                    element.has_cdata = true;
                }
                put(&mut open, &piece.xml10_content());
            }
            Event::GeneralRef(reference) => put(&mut open, &meaning(&reference)),
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    match open.last() {
        None => Ok(roots),
        Some(element) => Err(XmlFault::at(text, text.len() as u64, format!("`<{}>` is not closed", element.name))),
    }
}

fn element(text: &str, at: u64, start: &BytesStart<'_>, inner: usize) -> Result<Element, XmlFault> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| XmlFault::of(text, at, &error.into()))?;
        let value = quick_xml::escape::unescape(&attribute.value);
        let value = value.map_or_else(|_| attribute.value.to_string(), |value| value.into_owned());
        attributes.push((attribute.key.as_ref().to_owned(), value));
    }
    let name = start.name().as_ref().to_owned();
    Ok(Element { name, attributes, content: Vec::new(), inner: inner..inner, has_cdata: false })
}

/// What a reference means. One that is not known was meant as it stands.
fn meaning(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(letter)) = reference.resolve_char_ref() {
        return letter.to_string();
    }
    let name = reference.xml10_content();
    quick_xml::escape::resolve_predefined_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned)
}

fn put(open: &mut [Element], piece: &str) {
    if let Some(element) = open.last_mut() {
        element.push_text(piece);
    }
}

fn close(element: Element, open: &mut [Element], roots: &mut Vec<Element>) {
    match open.last_mut() {
        Some(parent) => parent.content.push(Node::Element(element)),
        None => roots.push(element),
    }
}
