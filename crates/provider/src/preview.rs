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
    let deeper = format!("{indent}  ");
    let mut entry = |head: String, value: &Value| match value {
        Value::Object(map) if !map.is_empty() => {
            lines.push(format!("{indent}{head}"));
            write(value, &deeper, lines);
        }
        Value::Array(list) if !list.is_empty() => {
            lines.push(format!("{indent}{head}"));
            write(value, &deeper, lines);
        }
        Value::String(text) if text.contains('\n') => {
            lines.push(format!("{indent}{head} |"));
            lines.extend(text.lines().map(|line| format!("{deeper}{}", shown(line))));
        }
        Value::String(text) => lines.push(format!("{indent}{head} {}", shown(text))),
        other => lines.push(format!("{indent}{head} {other}")),
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| entry(format!("{key}:"), value)),
        Value::Array(list) => list.iter().for_each(|value| entry("-".to_owned(), value)),
        other => lines.push(format!("{indent}{other}")),
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
