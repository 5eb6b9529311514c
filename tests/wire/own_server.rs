//! A self-hosted server over real sockets: a small machine with a small model, at an address typed by hand.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use flemma_model::{Event, StopReason, ToolInput};
use flemma_provider::{ErrorKind, Exchange, ProviderError, Request, auth::Environment, host, retry};
use flemma_runtime::{
    ConversationId, OnUpdate, Recipient, RequestUpdate, Worker,
    http::{Http, Reading, Timeouts},
};
use flemma_tools::builtin::Readable;
use serde_json::{Value, json};

use crate::{
    completions::Stream,
    conversation::{hello, provider_of, tool},
    http::{Reply, Server},
};

/// A timeout that no machine reaches unless the server is silent.
const LONG: Timeouts =
    Timeouts { connect: Duration::from_secs(30), first_byte: Duration::from_secs(30), idle: Duration::from_secs(30) };

type Build = fn(&str) -> flemma_provider::Server;

/// The timeout for tests that wait for silence.
const SHORT: Duration = Duration::from_millis(400);

fn environment() -> Environment {
    Environment::new(|_| Some("sk-own-server-key".to_owned()))
}

async fn perform(
    provider: &flemma_provider::Server,
    request: &Request,
    timeouts: Timeouts,
) -> (Vec<Event>, Result<(), ProviderError>) {
    let mut events = Vec::new();
    let result = match provider.prepare(request).unwrap() {
        Exchange::Http { request, decoder } => {
            Http::default()
                .perform(
                    request,
                    &Mutex::new(Reading::new(decoder, |event| {
                        events.push(event);
                        Ok(())
                    })),
                    timeouts,
                )
                .await
        }
        Exchange::Script(_) => panic!("no script is asked"),
    };
    (events, result)
}

async fn ask(base_url: &str, timeouts: Timeouts) -> (Vec<Event>, Result<(), ProviderError>) {
    let provider = provider_of("openai_compatible", json!({"base_url": format!("{base_url}/v1")}), environment());
    perform(&provider, &hello(), timeouts).await
}

/// How often a request is sent that always fails this way.
fn attempts(error: &ProviderError) -> u32 {
    (1..10).take_while(|attempt| retry::delay(*attempt, error, false, 0.5).is_some()).count() as u32 + 1
}

#[tokio::test]
async fn a_reply_that_does_not_begin_is_requested_once_more() {
    let timeouts = Timeouts { first_byte: SHORT, idle: SHORT, connect: Duration::from_secs(2) };
    let mut told = Vec::new();
    // Some servers read the conversation before they send the status, others after it, and some send keep-alive comments.
    for reply in [
        Reply::silence(),
        Reply::stream().hang(),
        Reply::stream().chunk(": still reading\n\n").hang(),
        Reply::stream().chunk(Stream::new().bytes()).hang(),
    ] {
        let server = Server::start([reply]);
        let (events, result) = ask(&server.base_url(), timeouts).await;
        assert_eq!(events, []);
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Timeout);
        assert_eq!(attempts(&error), 2, "{error}");
        told.push(error.message.replace(&server.host(), "HOST"));
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    for words in ["HOST did not answer within", "0.4 s", "`parameters.timeout`"] {
        assert!(told[0].contains(words), "{words:?} is not in {}", told[0]);
    }
}

#[tokio::test]
async fn a_reply_whose_end_was_said_needs_no_end_of_the_stream() {
    let silent = Timeouts { idle: SHORT, ..LONG };
    let said = || Reply::stream().chunk(Stream::new().call(0, "a", "ls", &["{}"]).stop("tool_calls").bytes());
    let awake = (0..20).fold(said(), |reply, _| reply.chunk(": awake\n\n").pause(Duration::from_millis(250)));
    for (reply, timeouts) in [(said().hang(), silent), (awake.hang(), LONG)] {
        let server = Server::start([reply]);
        let begun = Instant::now();
        let (events, result) = ask(&server.base_url(), timeouts).await;
        assert_eq!(result, Ok(()));
        assert_eq!(events.last(), Some(&Event::Finished(StopReason::ToolUse)));
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_unpacked_is_no_lost_connection() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n";
    for (header, body) in [
        ("Transfer-Encoding: chunked", &b"zz\r\ndata"[..]),
        ("Content-Encoding: br", b"\x8b\x02\x80abc\x03"),
        ("Content-Encoding: gzip", b"data: {}\n\n"),
    ] {
        let reply = Reply::raw().chunk([format!("{head}{header}\r\n\r\n").as_bytes(), body].concat());
        let server = Server::start([reply]);
        let error = ask(&server.base_url(), LONG).await.1.unwrap_err();
        assert_eq!((error.kind, attempts(&error)), (ErrorKind::Malformed, 1), "{header}: {error}");
        assert!(error.message.contains("cannot be unpacked"), "{header}: {error}");
    }
}

#[tokio::test]
async fn a_count_may_come_a_while_after_the_reason_to_end() {
    let reply = Reply::stream().chunk(Stream::new().text(&["x"]).stop("stop").bytes());
    let server = Server::start([reply.pause(SHORT).chunk(Stream::default().usage().bytes()).hang()]);
    let (events, result) = ask(&server.base_url(), LONG).await;
    assert_eq!(result, Ok(()));
    assert!(events.iter().any(|event| matches!(event, Event::Usage(_))), "{events:?}");
}

#[tokio::test]
async fn a_call_that_is_cut_off_keeps_its_input() {
    let stream = || Reply::stream().chunk(Stream::new().call(0, "a", "write", &["{\"path\": \"a", ".txt"]).bytes());
    let silent = Timeouts { idle: SHORT, ..LONG };
    for (reply, timeouts) in [(stream().hang(), silent), (stream().cut(), LONG), (stream(), LONG)] {
        let server = Server::start([reply]);
        let (events, result) = ask(&server.base_url(), timeouts).await;
        assert!(result.is_err());
        let kept = ToolInput::Malformed("{\"path\": \"a.txt".to_owned());
        assert!(matches!(events.last(), Some(Event::ToolUse { input, .. }) if *input == kept), "{events:?}");
    }
}

#[tokio::test]
async fn https_to_a_server_without_tls_says_so_at_once() {
    // The scripted server waits for the rest of the line, as llama.cpp's does, and so TLS is never refused.
    let providers: [Build; 3] = [
        |base| provider_of("openai_compatible", json!({"base_url": format!("{base}/v1")}), environment()),
        |base| provider_of("openai", json!({"base_url": format!("{base}/v1")}), environment()),
        |base| provider_of("anthropic", json!({"base_url": base}), environment()),
    ];
    for build in providers {
        let server = Server::start([Reply::json(404, &json!({"error": "no such page"}))]);
        let begun = Instant::now();
        let provider = build(&server.base_url().replace("http://", "https://"));
        let (events, result) = perform(&provider, &hello(), LONG).await;
        assert_eq!(events, []);
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Tls, "{error}");
        assert_eq!(attempts(&error), 1, "{error}");
        for words in [&server.host(), "http://", "`base_url`"] {
            assert!(error.message.contains(words), "{words:?} is not in {error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
        // The key was sent to no other server.
        let [probe] = &server.wait_for_requests(1)[..] else { panic!("more than one request") };
        assert!(probe.headers.iter().all(|(_, value)| !value.contains("sk-own")), "{:?}", probe.headers);
        assert!(probe.body.is_empty());
    }
}

#[tokio::test]
async fn a_permanent_failure_is_not_retried() {
    for words in [
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        "tools param requires --jinja flag",
        "Unsupported param: tools",
        "This model does not support tools",
        "this server was not started with `--mmproj`",
        "Value is not callable: null at row 1, column 1 of the chat template",
    ] {
        let body = json!({"error": {"code": 500, "message": words, "type": "server_error"}});
        let server = Server::start([Reply::json(500, &body)]);
        let error = ask(&server.base_url(), LONG).await.1.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidRequest, "{error}");
        assert_eq!(attempts(&error), 1, "{error}");
        assert!(error.message.contains(words) && error.message.contains("(500)"), "{error}");
    }
    let server = Server::start([Reply::status(501)]);
    let error = ask(&server.base_url(), LONG).await.1.unwrap_err();
    assert_eq!(attempts(&error), 1, "{error}");
    // Temporary errors are retried.
    for body in [json!({"error": {"code": 500, "message": "internal error", "type": "server_error"}}), json!({})] {
        let server = Server::start([Reply::json(500, &body)]);
        let error = ask(&server.base_url(), LONG).await.1.unwrap_err();
        assert_eq!(attempts(&error), 4, "{error}");
    }
}

#[tokio::test]
async fn a_full_context_is_told_apart_from_max_tokens() {
    let usage = |output: u64| json!({"choices": [], "usage": {"prompt_tokens": 500, "completion_tokens": output, "total_tokens": 500 + output}});
    let cut = |output: Option<u64>| {
        let stream = Stream::new().text(&["It rai"]).stop("length");
        output.map_or_else(|| stream.clone(), |output| stream.clone().chunk(&usage(output))).line("data: [DONE]\n\n")
    };
    for (output, stop) in [
        (Some(12), StopReason::ContextFull),
        (Some(99), StopReason::ContextFull),
        (Some(100), StopReason::MaxTokens),
        (Some(0), StopReason::MaxTokens),
        (None, StopReason::MaxTokens),
    ] {
        let server = Server::start([Reply::stream().chunk(cut(output).bytes())]);
        let mut request = hello();
        request.parameters.max_tokens = Some(100);
        let provider =
            provider_of("openai_compatible", json!({"base_url": format!("{}/v1", server.base_url())}), environment());
        let (events, result) = perform(&provider, &request, LONG).await;
        assert_eq!(result, Ok(()));
        assert_eq!(events.last(), Some(&Event::Finished(stop)), "{output:?}");
        let sent: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
        assert_eq!(sent["max_tokens"], 100);
    }
}

/// A worker, and what its tasks report.
struct Harness {
    worker: Worker,
    updates: mpsc::Receiver<RequestUpdate>,
    on_update: OnUpdate,
    warnings: Vec<String>,
}

impl Harness {
    fn new() -> Self {
        let (sender, updates) = mpsc::channel();
        let sender = Mutex::new(sender);
        let on_update = Arc::new(move |update| _ = sender.lock().unwrap().send(update));
        Self { worker: Worker::default(), updates, on_update, warnings: Vec::new() }
    }

    /// Waits for the next update, and says whether it ends a request.
    fn listen(&mut self) -> bool {
        match self.updates.recv_timeout(Duration::from_secs(30)).expect("something is reported") {
            RequestUpdate::Warning(words) => self.warnings.push(words),
            RequestUpdate::Failed(_) | RequestUpdate::Refused(_) | RequestUpdate::Event(Event::Finished(_)) => {
                return true;
            }
            RequestUpdate::Event(_) | RequestUpdate::LeftOut(_) => {}
        }
        false
    }

    /// Sends a request with these tools up to its end.
    fn send(&mut self, base_url: &str, model: &str, tools: usize) {
        let mut request = hello();
        request.model = model.to_owned();
        request.tools = (0..tools).map(|nth| tool(&format!("tool_{nth}"), false)).collect();
        let base_url = base_url.to_owned();
        let recipient = Recipient {
            environment: environment(),
            credential: None,
            max_reply_bytes: 1 << 20,
            build: Box::new(move |environment| {
                Ok(provider_of("openai_compatible", json!({"base_url": base_url}), environment))
            }),
        };
        let timeouts = Timeouts { connect: Duration::from_millis(200), ..LONG };
        let on_update = Arc::clone(&self.on_update);
        self.worker.send(ConversationId(1), recipient, request, Readable::default(), timeouts, on_update).unwrap();
        while !self.listen() {}
    }

    fn wait_for_warning(&mut self) -> String {
        while self.warnings.is_empty() {
            self.listen();
        }
        self.warnings.remove(0)
    }
}

fn replies(count: usize) -> impl Iterator<Item = Reply> {
    (0..count).map(|_| Reply::stream().chunk(Stream::new().text(&["hi"]).end("stop").bytes()))
}

#[test]
fn a_model_without_tools_gives_one_warning() {
    for (path, answer) in [
        (
            "/props",
            json!({"chat_template": "{% for m in messages %}{{ tools }}", "chat_template_caps": {"supports_tools": false}}),
        ),
        ("/props", json!({"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"})),
        ("/api/show", json!({"template": "{{ .Prompt }}", "capabilities": ["completion", "vision"]})),
    ] {
        let server = Server::start(replies(3));
        server.tell(path, answer);
        let base_url = format!("{}/v1", server.base_url());
        let mut harness = Harness::new();
        harness.send(&base_url, "small model", 0);
        harness.send(&base_url, "small model", 2);
        let warning = harness.wait_for_warning();
        for words in ["small model", &server.host(), "cannot use tools", "`flemma.opt.tools = {}`"] {
            assert!(warning.contains(words), "{words:?} is not in {warning}");
        }
        harness.send(&base_url, "small model", 2);
        assert_eq!(harness.warnings, [""; 0]);
        // It was asked once, with what the server needs to know.
        let asked = server.wait_for_inquiries(1);
        let paths: Vec<_> = asked.iter().map(|request| request.path.as_str()).collect();
        assert_eq!(paths, &["/props?model=small+model", "/api/show"][..asked.len()]);
        assert_eq!(asked.len(), if path == "/props" { 1 } else { 2 });
        assert_eq!(asked[0].header("authorization"), Some("Bearer sk-own-server-key"));
        if let Some(show) = asked.get(1) {
            assert_eq!(show.json(), json!({"model": "small model"}));
        }
        assert_eq!(server.requests().len(), 3, "the requests themselves went out beside it");
    }
}

#[test]
fn no_warning_unless_the_server_rules_out_tools() {
    let answers = [
        Some(("/props", json!({"chat_template": "{{ messages }}", "chat_template_caps": {"supports_tools": true}}))),
        Some(("/props", json!({"chat_template": "{% if tools %}"}))),
        Some(("/props", json!({"chat_template": "x", "chat_template_tool_use": "{{ tools }}"}))),
        Some(("/props", json!({"chat_template": ""}))),
        Some(("/props", json!(["what"]))),
        Some(("/api/show", json!({"capabilities": ["completion", "tools"]}))),
        None,
    ];
    let mut harness = Harness::new();
    for answer in answers {
        let server = Server::start(replies(1));
        // If the first inquiry is answered, the second one is not sent.
        let questions = if matches!(answer, Some(("/props", _))) { 1 } else { 2 };
        if let Some((path, answer)) = answer {
            server.tell(path, answer);
        }
        harness.send(&format!("{}/v1/", server.base_url()), "m", 1);
        server.wait_for_inquiries(questions);
    }
    // The last inquiry has been answered by the time the warning about another server arrives.
    let server = Server::start(replies(1));
    server.tell("/props", json!({"chat_template_caps": {"supports_tools": false}}));
    harness.send(&format!("{}/v1", server.base_url()), "m", 1);
    assert!(harness.wait_for_warning().contains(&server.host()));
    assert_eq!(harness.warnings, [""; 0]);
}

#[test]
fn plain_http_to_another_machine_is_warned_about_once() {
    let mut harness = Harness::new();
    // An address from a network reserved for documentation: no host answers.
    for _ in 0..2 {
        harness.send("http://192.0.2.1:9/v1", "m", 0);
    }
    let warning = harness.wait_for_warning();
    for words in ["http://192.0.2.1:9", "not encrypted", "https://"] {
        assert!(warning.contains(words), "{words:?} is not in {warning}");
    }
    harness.send("https://192.0.2.1:9/v1", "m", 0);
    harness.send("http://127.0.0.1:9/v1", "m", 0);
    harness.send("http://[::1]:9/v1", "m", 0);
    harness.send("http://localhost:9/v1", "m", 0);
    assert_eq!(harness.warnings, [""; 0]);
}

#[test]
fn a_self_hosted_server_is_recognised_by_its_address() {
    for own in [
        "localhost",
        "127.0.0.1",
        "[::1]",
        "10.1.2.3",
        "192.168.0.7",
        "172.16.9.1",
        "169.254.1.1",
        "[fd00::1]",
        "[fe80::1]",
        "[::ffff:10.0.0.1]",
        "gpu",
        "gpu.local",
        "nas.lan",
        "box.home.arpa",
        "x.internal",
    ] {
        assert!(host::is_private(own), "{own}");
    }
    for other in ["api.openai.com", "8.8.8.8", "172.32.0.1", "[2001:db8::1]", "localhost.example.com", "192.0.2.1"] {
        assert!(!host::is_private(other), "{other}");
    }
}
