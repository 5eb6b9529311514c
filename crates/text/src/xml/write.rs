//! How elements are written.

use super::{Element, Node};

/// How far an element is indented below its parent.
const INDENT: &str = "  ";

/// A text in which nothing can be read as markup. A line break of Windows would be read as one of Unix.
fn escape(text: &str) -> String {
    quick_xml::escape::escape(text).replace('\r', "&#13;")
}

/// An element on lines of its own. Elements in it are indented; its text is written as it is, in a CDATA section where that
/// can be read more easily, so that reading it back gives the same text.
pub fn write_element(element: &Element) -> String {
    let mut out = String::new();
    write(element, 0, &mut out);
    out
}

fn write(element: &Element, depth: usize, out: &mut String) {
    let indent = INDENT.repeat(depth);
    out.push_str(&format!("{indent}<{}", element.name));
    for (name, value) in &element.attributes {
        out.push_str(&format!(" {name}=\"{}\"", escape(value)));
    }
    if element.content.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push('>');
    if element.children().next().is_none() {
        out.push_str(&written(&element.text(), element.has_cdata));
    } else {
        out.push('\n');
        for node in &element.content {
            match node {
                Node::Element(child) => write(child, depth + 1, out),
                Node::Text(text) if text.trim().is_empty() => {}
                Node::Text(text) => out.push_str(&format!("{indent}{INDENT}{}\n", escape(text.trim()))),
            }
        }
        out.push_str(&indent);
    }
    out.push_str(&format!("</{}>\n", element.name));
}

/// A text outside of elements.
pub fn write_text(text: &str) -> String {
    written(text, false)
}

/// A text as the content of an element.
fn written(text: &str, has_cdata: bool) -> String {
    let is_plain = !has_cdata && !text.contains(['<', '&', '\n', '\r']) && text.trim() == text;
    if !is_plain {
        // The end of a section inside is cut in two. Windows' line break would be read as one of Unix.
        let text = text.replace("]]>", "]]]]><![CDATA[>").replace('\r', "]]>&#13;<![CDATA[");
        format!("<![CDATA[{text}]]>")
    } else {
        escape(text)
    }
}
