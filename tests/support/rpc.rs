//! Msgpack-RPC with a Neovim at the other end of two pipes (`:help RPC`).
//!
//! One thread reads: it keeps the [`Screen`] up to date, queues other notifications, and hands every
//! response to whoever waits for it. Values cross into the tests as JSON; buffers, windows and tab pages
//! become their numbers.

use std::{
    collections::VecDeque,
    io::{BufReader, Read, Write},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use rmpv::Value;
use serde_json::Value as Json;

use super::screen::Screen;

/// Why there is no answer.
#[derive(Debug)]
pub enum RpcError {
    /// Neovim answered with an error.
    Refused(String),
    /// Neovim did not answer in time: it is busy, or waits for a key.
    Silent(Duration),
    /// Neovim is gone.
    Gone,
}

/// One connection.
pub struct Rpc<W> {
    to: W,
    next_id: u64,
    responses: mpsc::Receiver<(u64, Result<Value, Value>)>,
    shared: Arc<Shared>,
}

/// What the reading thread leaves for others.
#[derive(Default)]
struct Shared {
    screen: Mutex<Screen>,
    notifications: Mutex<VecDeque<(String, Json)>>,
}

impl<W: Write> Rpc<W> {
    /// A connection over a pair of pipes.
    pub fn new(to: W, from: impl Read + Send + 'static) -> Self {
        let (sender, responses) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        thread::spawn(move || read(BufReader::new(from), &sender, &theirs));
        Self { to, next_id: 0, responses, shared }
    }

    /// Calls an API function and waits for what it returns, `patience` at most.
    pub fn request(&mut self, method: &str, arguments: &[Json], patience: Duration) -> Result<Json, RpcError> {
        let id = self.next_id;
        self.next_id += 1;
        let arguments = arguments.iter().map(from_json).collect();
        let message = Value::Array(vec![0.into(), id.into(), method.into(), Value::Array(arguments)]);
        rmpv::encode::write_value(&mut self.to, &message).map_err(|_| RpcError::Gone)?;
        self.to.flush().map_err(|_| RpcError::Gone)?;
        let deadline = Instant::now() + patience;
        loop {
            match self.responses.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((answered, result)) if answered == id => {
                    return result.map(|value| to_json(&value)).map_err(|error| RpcError::Refused(said(&error)));
                }
                // The late answer to a request that was given up.
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Timeout) => return Err(RpcError::Silent(patience)),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(RpcError::Gone),
            }
        }
    }

    /// Looks at the screen.
    pub fn screen<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        look(&self.shared.screen.lock().unwrap())
    }

    /// Takes the notifications that have arrived, other than those that draw.
    pub fn notifications(&self) -> Vec<(String, Json)> {
        self.shared.notifications.lock().unwrap().drain(..).collect()
    }
}

/// Reads until the other side is gone, which drops the sender and so tells whoever waits.
fn read(mut from: impl Read, responses: &mpsc::Sender<(u64, Result<Value, Value>)>, shared: &Shared) {
    while let Ok(Value::Array(message)) = rmpv::decode::read_value(&mut from) {
        match message.as_slice() {
            [kind, id, error, result] if kind.as_u64() == Some(1) => {
                let outcome = if error.is_nil() { Ok(result.clone()) } else { Err(error.clone()) };
                if responses.send((id.as_u64().unwrap_or(u64::MAX), outcome)).is_err() {
                    return;
                }
            }
            [kind, method, arguments] if kind.as_u64() == Some(2) => {
                if method.as_str() == Some("redraw") {
                    let updates = arguments.as_array().map(Vec::as_slice).unwrap_or_default();
                    shared.screen.lock().unwrap().redraw(updates);
                } else {
                    let method = method.as_str().unwrap_or_default().to_owned();
                    shared.notifications.lock().unwrap().push_back((method, to_json(arguments)));
                }
            }
            // Neovim never asks a test anything.
            _ => {}
        }
    }
}

/// The message of an API error, which is `[type, message]`.
fn said(error: &Value) -> String {
    match error.as_array().map(Vec::as_slice) {
        Some([_, message]) => message.as_str().map_or_else(|| message.to_string(), str::to_owned),
        _ => error.to_string(),
    }
}

fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Boolean(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(whole)) => whole.into(),
            (None, None) => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(list) => Value::Array(list.iter().map(from_json).collect()),
        Json::Object(map) => {
            Value::Map(map.iter().map(|(key, value)| (key.as_str().into(), from_json(value))).collect())
        }
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Boolean(truth) => (*truth).into(),
        Value::Integer(whole) => match (whole.as_i64(), whole.as_u64()) {
            (Some(whole), _) => whole.into(),
            (None, whole) => whole.into(),
        },
        Value::F32(float) => f64::from(*float).into(),
        Value::F64(float) => (*float).into(),
        Value::String(text) => String::from_utf8_lossy(text.as_bytes()).into_owned().into(),
        Value::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned().into(),
        Value::Array(list) => list.iter().map(to_json).collect(),
        Value::Map(pairs) => {
            let key = |key: &Value| key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            Json::Object(pairs.iter().map(|(name, value)| (key(name), to_json(value))).collect())
        }
        // The handle of a buffer, a window or a tab page: a number in msgpack of its own.
        Value::Ext(_, handle) => {
            rmpv::decode::read_value(&mut handle.as_slice()).map_or(Json::Null, |handle| to_json(&handle))
        }
    }
}
