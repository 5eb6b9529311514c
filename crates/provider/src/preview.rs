//! What a request says, to be read by people: its body as it is sent, with texts on lines of their own.

use serde_json::Value;

use super::HttpRequest;

/// A word that is longer has no text, but data: an image, or what a vendor has encrypted.
const LONGEST_WORD: usize = 2_000;

/// The lines of a request: where it goes to, and all that it says. Headers are left out, since they have the key.
pub fn lines(request: &HttpRequest) -> Vec<String> {
    let mut lines = vec![format!("POST {}", super::connection::shown_url(&request.url)), String::new()];
    match serde_json::from_slice(&request.body) {
        Ok(body) => write(&body, "", &mut lines),
        Err(_) => lines.extend(String::from_utf8_lossy(&request.body).lines().map(str::to_owned)),
    }
    lines
}

/// Writes what is in a value. The depth of a body is that of our own encoders, and of inputs that were read with a limit.
fn write(value: &Value, indent: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| entry(key, value, indent, lines)),
        Value::Array(list) => {
            for item in list {
                let first = lines.len();
                write(item, &format!("{indent}  "), lines);
                if let Some(line) = lines.get_mut(first) {
                    line.replace_range(indent.len()..indent.len() + 1, "-");
                }
            }
        }
        Value::String(text) => lines.extend(text.lines().map(|line| format!("{indent}{}", shown(line)))),
        other => lines.push(format!("{indent}{other}")),
    }
}

fn entry(key: &str, value: &Value, indent: &str, lines: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.contains('\n') => lines.push(format!("{indent}{key}: {}", shown(text))),
        Value::String(_) | Value::Array(_) | Value::Object(_) => {
            lines.push(format!("{indent}{key}:"));
            write(value, &format!("{indent}  "), lines);
        }
        other => lines.push(format!("{indent}{key}: {other}")),
    }
}

/// A line of text; data is told by its size.
fn shown(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.len() {
        0..=LONGEST_WORD => word.to_owned(),
        length => format!("[{length} bytes of data]"),
    });
    words.collect::<Vec<_>>().join(" ")
}
