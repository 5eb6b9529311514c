//! How a place in a script refers to a variable, and the places where no reference is safe.

use std::mem;

use super::{
    context::{Context, Open},
    nested::{self, Reader, is_expression},
};
use flemma_model::ModelError;

/// How a variable is referred to.
pub(super) struct Reference {
    /// How many bytes before it have to go: an escape that was meant for what stood there.
    pub(super) replaces: usize,
    /// The reference.
    pub(super) text: Vec<u8>,
}

impl Context {
    /// How this place refers to a variable with this value. `name` is for the message.
    ///
    /// # Errors
    /// When the shell would read the value as code here.
    pub(super) fn refer(&mut self, variable: &str, name: &[u8], value: &[u8]) -> Result<Reference, ModelError> {
        let is_dollar = mem::take(&mut self.is_dollar);
        // The value stands there in place of an escaped dollar sign.
        let replaces = usize::from(mem::take(&mut self.is_escaped));
        let has = self.has;
        if let Some(Open::Script(script)) = self.open.last_mut() {
            script.is_new = false;
            script.less = 0;
            script.begin_word(0, has);
        }
        self.check(name, value)?;
        if let Some(script) = self.word_script() {
            script.word.get_or_insert_default().text.push(0);
            if let Some((kind, nested)) = &mut script.nested {
                if !kind.sees_environment {
                    if kind.reader == Reader::Shell {
                        nested.check(name, value)?;
                    }
                    return match kind.takes(value) {
                        true => Ok(Reference { replaces, text: value.to_owned() }),
                        false => Err(nested::unreachable(name)),
                    };
                }
                let inner = nested.refer(variable, name, value)?;
                let open = self.open.last();
                let replaces = replaces + inner.replaces * if matches!(open, Some(Open::Single)) { 1 } else { 2 };
                return Ok(Reference { replaces, text: written_in(open, &inner.text) });
            }
        }
        let is_in_double = self.is_in_double();
        let text = match self.open.last() {
            Some(Open::Single) => format!("'\"${variable}\"'"),
            Some(Open::Ansi) => format!("'\"${variable}\"$'"),
            // Two dollar signs would be the number of the process.
            Some(Open::Double) if is_dollar => format!("\"\"${{{variable}}}"),
            Some(Open::Double | Open::Comment) => format!("${{{variable}}}"),
            Some(Open::Brace(_)) if is_in_double => format!("${{{variable}}}"),
            _ => format!("\"${variable}\""),
        };
        Ok(Reference { replaces, text: text.into_bytes() })
    }

    /// Whether the shell takes the value as a text here, and so does everything around this place.
    fn check(&self, name: &[u8], value: &[u8]) -> Result<(), ModelError> {
        let name = String::from_utf8_lossy(name);
        let wrong = |why: &str| {
            Err(ModelError::new(format!(
                "The command was not started: `${{{name}}}` stands {why}. The tool has to give the value as an argument."
            )))
        };
        let number = "where the shell would evaluate the value as an expression";
        let mut is_outer = false;
        for open in self.open.iter().rev() {
            match open {
                Open::HereDocument(_) => {
                    return wrong("in a here-document, and what reads it may take the value as code");
                }
                Open::Expression(..) => return wrong(number),
                Open::Brace(text) if is_expression(text) => return wrong(number),
                Open::Script(script) => {
                    if script.is_here_string {
                        return wrong("in a here-string, and what reads it may take the value as code");
                    }
                    if script.evaluates(self.has) {
                        return wrong(number);
                    }
                    if script.takes_names() && (is_outer || value.contains(&b'[')) {
                        return wrong(
                            "for the name of a variable, and the shell would evaluate what it has in brackets",
                        );
                    }
                    if is_outer && script.nested.is_some() {
                        return wrong("in a command whose output is read as code");
                    }
                    if nested::is_split(&script.command, &[script.text(), value].concat()) {
                        return wrong("in what `env` splits into a command and its arguments");
                    }
                    let is_begin = !is_outer && script.nested.is_none() && script.text().is_empty();
                    if is_begin && nested::is_option_with_code(&script.command, value) {
                        return wrong("where a program would take the value for an option, which may be code");
                    }
                    is_outer = true;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// How a text is written in what is open: in quotes, or outside of them.
fn written_in(open: Option<&Open>, text: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    for byte in text {
        match (open, byte) {
            (Some(Open::Single), b'\'') => written.extend_from_slice(br"'\''"),
            (Some(Open::Ansi), b'\'' | b'\\') | (Some(Open::Double), b'"' | b'$' | b'`' | b'\\') => {
                written.extend_from_slice(&[b'\\', *byte]);
            }
            (Some(Open::Single | Open::Ansi | Open::Double), _) => written.push(*byte),
            (_, b'"' | b'\'' | b'$' | b'`' | b'\\' | b'{' | b'}' | b'(' | b')') => {
                written.extend_from_slice(&[b'\\', *byte]);
            }
            _ => written.push(*byte),
        }
    }
    written
}
