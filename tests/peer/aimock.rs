//! `@copilotkit/aimock`: an independent simulation of the vendors' servers.
//!
//! Each [`Peer`] is a process of its own on a free port, with the replies to give. It is controlled, and its journal is
//! read, over HTTP under `/__aimock/`, as its documentation describes (<https://aimock.copilotkit.dev/docs>).

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// How long a test waits for the peer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What it prints before its address.
const LISTENING: &str = "listening on http://";
const MEND: &str = "`make test-peer` installs it and sets FLEMMA_PEER";

/// A running peer. It ends when this is dropped.
pub struct Peer {
    child: Child,
    host: String,
    /// The folder with its replies, deleted with the peer.
    _fixtures: tempfile::TempDir,
}

impl Peer {
    /// Starts a peer with these fixtures: the first that matches a request is its answer, and a request that none
    /// matches is refused.
    ///
    /// # Panics
    /// When it does not come up, or refuses a fixture.
    pub fn start(fixtures: &Value) -> Self {
        let folder = tempfile::Builder::new().prefix("flemma-peer-").tempdir().expect("a folder for the fixtures");
        let file = folder.path().join("fixtures.json");
        std::fs::write(&file, json!({ "fixtures": fixtures }).to_string()).expect("the file of the fixtures");
        let program = env::var_os("FLEMMA_PEER").unwrap_or_else(|| panic!("there is no peer: {MEND}"));
        let mut child = Command::new(&program)
            .args(["--port", "0", "--chunk-size", "7", "--strict", "--validate-on-load", "--fixtures"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap_or_else(|error| panic!("{} did not start ({error}): {MEND}", program.display()));
        let printed = child.stdout.take().expect("what it prints");
        let (sender, receiver) = mpsc::channel();
        // Reads all output, so that the peer never blocks on a full pipe.
        thread::spawn(move || {
            for line in BufReader::new(printed).lines().map_while(Result::ok) {
                if let Some((_, host)) = line.split_once(LISTENING) {
                    let _ = sender.send(host.trim().to_owned());
                }
            }
        });
        let Ok(host) = receiver.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            panic!("the peer did not say where it listens; its fixtures were {fixtures}");
        };
        Self { child, host, _fixtures: folder }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.host)
    }

    /// Makes every request fail from now on, as in `{"dropRate": 1}`.
    pub fn chaos(&self, what: &Value) {
        self.ask("POST", "/chaos", &what.to_string());
    }

    /// Ends all failures.
    pub fn calm(&self) {
        self.ask("DELETE", "/chaos", "");
    }

    /// The requests so far, oldest first: `path`, `headers`, `body` as the peer understood it, `response.status`.
    pub fn journal(&self) -> Vec<Value> {
        let entries = self.ask("GET", "/journal", "");
        entries.as_array().unwrap_or_else(|| panic!("no journal: {entries}")).clone()
    }

    /// What each request was answered with; 0 where the connection was closed before an answer.
    pub fn statuses(&self) -> Vec<u64> {
        self.journal().iter().map(|entry| entry["response"]["status"].as_u64().unwrap_or(u64::MAX)).collect()
    }

    /// One request to the peer itself. In HTTP 1.0 the answer ends where the connection does.
    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(&self.host).expect("a connection to the peer");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit for its answer");
        let length = body.len();
        let head = format!("{method} /__aimock{path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + body).as_bytes()).expect("a request to the peer");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer of the peer");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        serde_json::from_str(body).unwrap_or(Value::Null)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The conversation of a request as the peer has understood it, in the one form into which it puts every protocol:
/// `user: …`, `assistant: …`, `id: {its input}` for a call, `id = …` for a result.
pub fn understood(entry: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    };
    let messages = entry["body"]["messages"].as_array().unwrap_or_else(|| panic!("no messages: {entry}"));
    let mut lines = Vec::new();
    for message in messages {
        let said = text(&message["content"]);
        match (message["role"].as_str().unwrap_or_default(), message["tool_call_id"].as_str()) {
            (_, Some(id)) => lines.push(format!("{id} = {said}")),
            (role, None) if !said.is_empty() => lines.push(format!("{role}: {said}")),
            _ => {}
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            lines.push(format!("{}: {}", text(&call["id"]), text(&call["function"]["arguments"])));
        }
    }
    lines
}
