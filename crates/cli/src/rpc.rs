//! MessagePack-RPC with a Neovim (`:help RPC`).

use std::io::{self, Read, Write};

use rmpv::{
    Value,
    decode::{self, Error},
    encode,
};

/// What Neovim sends.
#[derive(Debug)]
pub(super) enum Message {
    /// The answer to a request.
    Response(Value),
    /// Why there is none.
    Refusal(String),
    /// Something that it tells.
    Notification(String, Vec<Value>),
}

/// Sends a request. `method` is a function of Neovim's API.
///
/// # Errors
/// When nobody reads it.
pub(super) fn request(to: &mut impl Write, method: &str, arguments: Vec<Value>) -> io::Result<()> {
    let message = Value::Array(vec![0.into(), 0.into(), method.into(), Value::Array(arguments)]);
    let mut bytes = Vec::new();
    encode::write_value(&mut bytes, &message).map_err(io::Error::from)?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads the next message.
///
/// # Errors
/// When there is none, or what there is makes no sense.
pub(super) fn read(from: &mut impl Read) -> io::Result<Message> {
    loop {
        let Value::Array(message) = decode::read_value(from).map_err(failed)? else { continue };
        match &message[..] {
            // [1, id, error, result]
            [kind, _, error, result] if kind.as_u64() == Some(1) => {
                let is_answer = error.is_nil();
                return Ok(if is_answer { Message::Response(result.clone()) } else { Message::Refusal(words(error)) });
            }
            // [2, method, arguments]
            [kind, method, Value::Array(arguments)] if kind.as_u64() == Some(2) => {
                let method = method.as_str().unwrap_or_default().to_owned();
                return Ok(Message::Notification(method, arguments.clone()));
            }
            _ => {}
        }
    }
}

fn failed(error: Error) -> io::Error {
    match error {
        Error::InvalidMarkerRead(error) | Error::InvalidDataRead(error) => error,
        Error::DepthLimitExceeded => io::Error::other("its answer makes no sense"),
    }
}

/// Neovim's errors are `[type, message]`.
fn words(error: &Value) -> String {
    let message = error.as_array().and_then(|parts| parts.get(1)).unwrap_or(error);
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}
