//! A scripted HTTP server on the loopback interface.
//!
//! A test hands out one [`Reply`] a request, in order, and afterwards reads what was asked. A reply is
//! a list of steps, so that the test decides byte by byte what arrives and when: a [`Gate`] holds the
//! stream until the test opens it. Connections are kept alive, as a real server keeps them.
//!
//! What a server says about its models (`/props`, `/api/show`) stands beside the script: it is asked for once for each
//! model, at any time, and is not among the requests. A server says nothing about them unless a test makes it.
//!
//! Include it with `#[path = "../support/http.rs"] mod http;`.

// Each test binary uses its own part of this, and a test that cannot go on panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a held stream looks whether it may go on.
const TICK: Duration = Duration::from_millis(5);

/// Holds a reply until the test opens it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<AtomicBool>);

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the reply go on.
    pub fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// One step of a reply's body.
#[derive(Clone, Debug)]
enum Step {
    /// Sends one chunk and flushes it.
    Chunk(Vec<u8>),
    /// Sends the chunk many times, as fast as the other side takes them.
    Repeat(Vec<u8>, usize),
    /// Waits for the test.
    Hold(Gate),
    /// Waits.
    Pause(Duration),
    /// Waits for the next beat of a clock that began with the reply.
    Tick(Duration),
    /// Closes the connection without an end.
    Cut,
    /// Says nothing more until the server goes or the client leaves.
    Hang,
}

/// What one request gets.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The head; `None` for bytes that are no HTTP, or for silence.
    head: Option<(u16, Vec<(String, String)>)>,
    steps: Vec<Step>,
}

impl Reply {
    /// A reply with this status and no body yet.
    pub fn status(status: u16) -> Self {
        Self { head: Some((status, Vec::new())), steps: Vec::new() }
    }

    /// An event stream.
    pub fn stream() -> Self {
        Self::status(200).header("content-type", "text/event-stream; charset=utf-8")
    }

    /// A JSON error.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header("content-type", "application/json").chunk(body.to_string())
    }

    /// No HTTP at all: the steps are written as they are, and the connection is closed after them.
    pub fn raw() -> Self {
        Self { head: None, steps: Vec::new() }
    }

    /// Takes the request and never answers.
    pub fn silence() -> Self {
        Self::raw().hang()
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.as_mut().expect("a raw reply has no headers").1.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends these bytes as one chunk.
    pub fn chunk(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(Step::Chunk(bytes.into()))
    }

    /// Sends these bytes `times` times, each as its own chunk, as fast as they are taken.
    pub fn repeat(self, bytes: impl Into<Vec<u8>>, times: usize) -> Self {
        self.step(Step::Repeat(bytes.into(), times))
    }

    /// Sends these bytes one at a time, each as its own chunk.
    pub fn byte_by_byte(self, bytes: impl AsRef<[u8]>) -> Self {
        bytes.as_ref().iter().fold(self, |reply, byte| reply.chunk([*byte]))
    }

    /// Goes on when the gate opens.
    pub fn hold(self, gate: &Gate) -> Self {
        self.step(Step::Hold(gate.clone()))
    }

    /// Waits. Prefer a [`Gate`] where the test can know when to go on.
    pub fn pause(self, time: Duration) -> Self {
        self.step(Step::Pause(time))
    }

    /// Waits until `period` after the last tick, however long it took to send what stands between: a steady pace.
    pub fn tick(self, period: Duration) -> Self {
        self.step(Step::Tick(period))
    }

    /// Closes the connection in the middle of the reply.
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Says nothing more.
    pub fn hang(self) -> Self {
        self.step(Step::Hang)
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of the connection it came on, from 0.
    pub connection: usize,
}

impl Recorded {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the request's body is JSON")
    }
}

/// Decides what a request gets, if its replies are not in order.
type Decide = Box<dyn Fn(&Recorded) -> Reply + Send + Sync>;

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    decide: Option<Decide>,
    requests: Mutex<Vec<Recorded>>,
    /// What the server says about its models, by path, and who has asked.
    abilities: Mutex<Vec<(String, Value)>>,
    inquiries: Mutex<Vec<Recorded>>,
    arrived: Condvar,
    /// Clients that left before their reply was over.
    left: AtomicUsize,
    stop: AtomicBool,
}

/// The server. It stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens on a free port, with these replies to give.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::listen(Shared { replies: Mutex::new(replies.into_iter().collect()), ..Shared::default() })
    }

    /// Listens on a free port, and gives each request the reply that it asks for: for clients that come in any order.
    pub fn deciding(decide: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(Shared { decide: Some(Box::new(decide)), ..Shared::default() })
    }

    fn listen(shared: Shared) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let shared = Arc::new(shared);
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if accepting.stop.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&accepting);
                thread::spawn(move || shared.serve(&stream, number));
            }
        });
        Self { address, shared }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Adds a reply behind those that are still to be given.
    pub fn push(&self, reply: Reply) {
        self.shared.replies.lock().unwrap().push_back(reply);
    }

    /// Lets the server say this about its models.
    pub fn tell(&self, path: &str, answer: Value) {
        self.shared.abilities.lock().unwrap().push((path.to_owned(), answer));
    }

    /// Waits until the server was asked so often about its models, and returns all of it.
    pub fn wait_for_inquiries(&self, count: usize) -> Vec<Recorded> {
        let inquiries = self.shared.inquiries.lock().unwrap();
        let (inquiries, timeout) =
            self.shared.arrived.wait_timeout_while(inquiries, PATIENCE, |asked| asked.len() < count).unwrap();
        assert!(!timeout.timed_out(), "{} of {count} inquiries arrived", inquiries.len());
        inquiries.clone()
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Waits until `count` requests have arrived, and returns them all.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Recorded> {
        let requests = self.shared.requests.lock().unwrap();
        let (requests, timeout) =
            self.shared.arrived.wait_timeout_while(requests, PATIENCE, |requests| requests.len() < count).unwrap();
        assert!(!timeout.timed_out(), "{} of {count} requests arrived", requests.len());
        requests.clone()
    }

    /// Waits until `count` clients have closed their connection before their reply was over.
    pub fn wait_for_leavers(&self, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.shared.left.load(Ordering::SeqCst) < count {
            assert!(Instant::now() < deadline, "nobody closed the connection");
            thread::sleep(TICK);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream, number: usize) {
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream);
        while let Ok(Some(request)) = read_request(&mut reader, number) {
            if let Some(reply) = self.answer_aside(&request) {
                if !self.write_reply(stream, &reply).unwrap_or(false) {
                    break;
                }
                continue;
            }
            let reply = self.decide.as_ref().map_or_else(|| self.next_reply(), |decide| decide(&request));
            {
                self.requests.lock().unwrap().push(request);
                self.arrived.notify_all();
            }
            match self.write_reply(stream, &reply) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => {
                    self.left.fetch_add(1, Ordering::SeqCst);
                    break;
                }
            }
        }
    }

    fn next_reply(&self) -> Reply {
        let reply = self.replies.lock().unwrap().pop_front();
        reply.unwrap_or_else(|| Reply::status(500).chunk("the test's server has no reply left for this request"))
    }

    /// The answer to a question about the server's models; `None` for any other request.
    fn answer_aside(&self, request: &Recorded) -> Option<Reply> {
        let path = request.path.split('?').next().unwrap();
        if !path.ends_with("/props") && !path.ends_with("/api/show") {
            return None;
        }
        self.inquiries.lock().unwrap().push(request.clone());
        self.arrived.notify_all();
        let abilities = self.abilities.lock().unwrap();
        let answer = abilities.iter().find(|(known, _)| known == path).map(|(_, answer)| Reply::json(200, answer));
        Some(answer.unwrap_or_else(|| Reply::status(404)))
    }

    /// Returns whether the connection may serve another request; an error when the client has left.
    fn write_reply(&self, stream: &TcpStream, reply: &Reply) -> io::Result<bool> {
        let mut out = BufWriter::with_capacity(64 * 1024, stream);
        let is_http = reply.head.is_some();
        if let Some((status, headers)) = &reply.head {
            write!(out, "HTTP/1.1 {status} Scripted\r\ntransfer-encoding: chunked\r\n")?;
            for (name, value) in headers {
                write!(out, "{name}: {value}\r\n")?;
            }
            out.write_all(b"\r\n")?;
            out.flush()?;
        }
        let mut beat = Instant::now();
        for step in &reply.steps {
            match step {
                Step::Chunk(bytes) => {
                    write_chunk(&mut out, bytes, is_http)?;
                    out.flush()?;
                }
                Step::Repeat(bytes, times) => {
                    for _ in 0..*times {
                        write_chunk(&mut out, bytes, is_http)?;
                    }
                    out.flush()?;
                }
                Step::Hold(gate) => self.wait(stream, || gate.is_open())?,
                Step::Pause(time) => {
                    let end = Instant::now() + *time;
                    self.wait(stream, || Instant::now() >= end)?;
                }
                Step::Tick(period) => {
                    beat += *period;
                    thread::sleep(beat.saturating_duration_since(Instant::now()));
                }
                Step::Cut => return Ok(false),
                Step::Hang => self.wait(stream, || false)?,
            }
            if self.stop.load(Ordering::SeqCst) {
                return Ok(false);
            }
        }
        if is_http {
            out.write_all(b"0\r\n\r\n")?;
        }
        out.flush()?;
        Ok(is_http)
    }

    /// Waits until `is_over`, the server stops, or the client leaves, which is an error.
    fn wait(&self, stream: &TcpStream, is_over: impl Fn() -> bool) -> io::Result<()> {
        stream.set_read_timeout(Some(TICK))?;
        let result = loop {
            if is_over() || self.stop.load(Ordering::SeqCst) {
                break Ok(());
            }
            match stream.peek(&mut [0]) {
                Ok(0) => break Err(io::ErrorKind::ConnectionAborted.into()),
                Ok(_) => thread::sleep(TICK),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) => break Err(error),
            }
        };
        stream.set_read_timeout(None)?;
        result
    }
}

fn write_chunk(out: &mut impl Write, bytes: &[u8], is_http: bool) -> io::Result<()> {
    if !is_http {
        return out.write_all(bytes);
    }
    if bytes.is_empty() {
        // An empty chunk would end the body.
        return Ok(());
    }
    write!(out, "{:x}\r\n", bytes.len())?;
    out.write_all(bytes)?;
    out.write_all(b"\r\n")
}

/// Reads a request with a `content-length`; `None` at the end of the connection.
fn read_request(reader: &mut BufReader<&TcpStream>, connection: usize) -> io::Result<Option<Recorded>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Recorded { method, path, headers, body, connection }))
}
