//! Network and server failures over real sockets, for every vendor: silence, refusals in any form, and echoes of the key.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    time::Duration,
};

use flemma_model::{Event, Message, Part, Role};
use flemma_provider::{ErrorKind, Exchange, ProviderError, Request, auth::Environment, retry};
use flemma_runtime::http::{Http, Reading, Timeouts};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    anthropic, completions,
    conversation::provider_of,
    http::{Reply, Server},
    responses, vertex,
};

/// The timeout for tests that wait for silence.
const SHORT: Duration = Duration::from_millis(500);

const KEY: &str = "sk-resilience-very-secret";

/// A timeout that no machine reaches unless the server is silent.
const LONG: Timeouts =
    Timeouts { connect: Duration::from_secs(30), first_byte: Duration::from_secs(30), idle: Duration::from_secs(30) };

/// One vendor: its constructor, the beginning of a reply, and the text of an error.
struct Vendor {
    name: &'static str,
    build: fn(&str) -> flemma_provider::Server,
    begun: fn() -> Vec<u8>,
    error: fn(u16, &str) -> Value,
    /// Its error for a conversation that is 1,500 tokens too long.
    overflow: &'static str,
}

fn environment() -> Environment {
    Environment::new(|name| (!name.starts_with("GOOGLE")).then(|| KEY.to_owned()))
}

const VENDORS: [Vendor; 4] = [
    Vendor {
        name: "anthropic",
        build: |base| provider_of("anthropic", json!({"base_url": base}), environment()),
        begun: || anthropic::Stream::new().text(&["half"]).events()[..3].concat().into_bytes(),
        error: |status, words| {
            let kind = match status {
                401 => "authentication_error",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                _ => "invalid_request_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": words}})
        },
        overflow: "prompt is too long: 201500 tokens > 200000 maximum",
    },
    Vendor {
        name: "openai",
        build: |base| provider_of("openai", json!({"base_url": format!("{base}/v1")}), environment()),
        begun: || {
            let whole = responses::Stream::new().text(&["half"]).bytes();
            let end = String::from_utf8(whole.clone()).unwrap().find("event: response.output_text.done").unwrap();
            whole[..end].to_vec()
        },
        error: |status, words| {
            let code = match status {
                401 => "invalid_api_key",
                429 => "rate_limit_exceeded",
                _ => "context_length_exceeded",
            };
            json!({"error": {"message": words, "type": "invalid_request_error", "code": code}})
        },
        overflow: "This model's maximum context length is 128000 tokens. However, you requested 129500 tokens.",
    },
    Vendor {
        name: "openai_compatible",
        build: |base| provider_of("openai_compatible", json!({"base_url": format!("{base}/v1")}), environment()),
        begun: || completions::Stream::new().text(&["half"]).bytes(),
        error: |status, words| json!({"error": {"code": status, "message": words}}),
        overflow: "request (9692 tokens) exceeds the available context size (8192 tokens), try increasing it",
    },
    Vendor {
        name: "vertex",
        build: |base| {
            let options = json!({"base_url": base, "project_id": "my-project"});
            provider_of("vertex", options, environment())
        },
        begun: || vertex::Stream::new().text(&["half"]).bytes(),
        error: |status, words| {
            let name = match status {
                401 => "UNAUTHENTICATED",
                429 => "RESOURCE_EXHAUSTED",
                _ => "INVALID_ARGUMENT",
            };
            json!({"error": {"code": status, "message": words, "status": name}})
        },
        overflow: "The input token count (1050076) exceeds the maximum number of tokens allowed (1048576).",
    },
];

/// Everything that arrived, and how it ended.
async fn play(
    http: &Http,
    vendor: &Vendor,
    base_url: &str,
    timeouts: Timeouts,
) -> (Vec<Event>, Result<(), ProviderError>) {
    let message = Message { role: Role::User, parts: vec![Part::Text("Hello".to_owned())] };
    let request = Request { model: "m".to_owned(), messages: vec![Arc::new(message)], ..Request::default() };
    let mut events = Vec::new();
    let result = match (vendor.build)(base_url).prepare(&request).unwrap() {
        Exchange::Http { request, decoder } => {
            http.perform(
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

/// The error of a request that gets this reply. Its one line names the host, and never the key.
async fn failure_of(http: &Http, vendor: &Vendor, reply: Reply, timeouts: Timeouts) -> (Vec<Event>, ProviderError) {
    let server = Server::start([reply]);
    let (events, result) = play(http, vendor, &server.base_url(), timeouts).await;
    let error = result.expect_err(vendor.name);
    assert!(error.message.contains(&server.host()), "{}: {error}", vendor.name);
    assert_one_safe_line(vendor, &error);
    (events, error)
}

fn assert_one_safe_line(vendor: &Vendor, error: &ProviderError) {
    assert!(!error.message.contains(KEY), "{}: the key is in {error}", vendor.name);
    assert!(!format!("{error:?}").contains(KEY), "{}: the key is in {error:?}", vendor.name);
    assert!(!error.message.contains('\n'), "{}: {error}", vendor.name);
    assert!(error.message.len() < 2_000, "{}: {} bytes", vendor.name, error.message.len());
}

fn assert_says(vendor: &Vendor, error: &ProviderError, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind, kind, "{}: {error}", vendor.name);
    for word in words {
        assert!(error.message.contains(word), "{}: {word:?} is not in {error}", vendor.name);
    }
}

fn is_text(event: &Event) -> bool {
    matches!(event, Event::Text(text) if text == "half")
}

#[tokio::test]
async fn a_connection_that_is_never_established_times_out() {
    // It accepts the connection and never answers the TLS handshake, as a firewall may.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let timeouts = Timeouts { connect: Duration::from_millis(300), ..LONG };
    let http = Http::default();
    for vendor in &VENDORS {
        let (events, result) = play(&http, vendor, &format!("https://{address}"), timeouts).await;
        assert_eq!(events, []);
        let error = result.expect_err(vendor.name);
        let limit = "(the limit is `parameters.connect_timeout`)";
        assert_says(vendor, &error, ErrorKind::Timeout, &[&address, "within 0.3 s", limit]);
        assert_one_safe_line(vendor, &error);
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn silence_before_the_first_byte_ends_in_time() {
    let http = Http::default();
    // The time for the connection counts before that for the first byte.
    let timeouts = Timeouts { connect: Duration::from_secs(2), first_byte: SHORT, ..LONG };
    let silent = VENDORS.iter().map(|vendor| async {
        let (events, error) = failure_of(&http, vendor, Reply::raw().hang(), timeouts).await;
        assert_eq!(events, []);
        assert_says(vendor, &error, ErrorKind::Timeout, &["did not answer within 0.5 s", "`parameters.timeout`"]);
        assert!(error.is_transient());
    });
    join_all(silent).await;
}

#[tokio::test]
async fn silence_in_the_middle_of_a_reply_keeps_what_came() {
    let http = Http::default();
    for vendor in &VENDORS {
        let (events, error) =
            failure_of(&http, vendor, Reply::stream().chunk((vendor.begun)()).hang(), Timeouts { idle: SHORT, ..LONG })
                .await;
        assert!(events.iter().any(is_text), "{}: {events:?}", vendor.name);
        assert_says(
            vendor,
            &error,
            ErrorKind::Timeout,
            &["stopped in the middle of the reply and sent nothing for 0.5 s"],
        );
        assert_eq!(retry::delay(1, &error, true, 0.5), None, "what stands in the document is not asked for again");
    }
}

#[tokio::test]
async fn a_slow_reply_without_long_pauses_does_not_time_out() {
    let http = Http::default();
    let slow = VENDORS.iter().map(|vendor| async {
        let bytes = (vendor.begun)();
        let reply = bytes
            .chunks(bytes.len().div_ceil(4))
            .fold(Reply::stream(), |reply, piece| reply.pause(Duration::from_millis(700)).chunk(piece));
        // Longer as a whole than the limit of silence.
        let timeouts = Timeouts { idle: Duration::from_secs(2), ..LONG };
        let (events, error) = failure_of(&http, vendor, reply, timeouts).await;
        assert!(events.iter().any(is_text), "{}: {events:?}", vendor.name);
        assert_says(vendor, &error, ErrorKind::Interrupted, &["closed in the middle of the reply"]);
    });
    join_all(slow).await;
}

#[tokio::test]
async fn the_time_that_a_vendor_asks_for_is_waited_and_spread() {
    let http = Http::default();
    for vendor in &VENDORS {
        let body = (vendor.error)(429, "slow down");
        let (_, error) = failure_of(&http, vendor, Reply::json(429, &body).header("retry-after", "17"), LONG).await;
        assert_says(vendor, &error, ErrorKind::RateLimited, &["429", "slow down", "17 s"]);
        let pauses: Vec<_> = [0.0, 0.5, 1.0].map(|random| retry::delay(1, &error, false, random).unwrap()).into();
        assert!(pauses.iter().all(|pause| (17.0..18.0).contains(&pause.as_secs_f64())), "{pauses:?}");
        assert!(pauses[0] < pauses[1] && pauses[1] < pauses[2], "{pauses:?}");

        let (_, error) = failure_of(&http, vendor, Reply::json(429, &body).header("retry-after", "3600"), LONG).await;
        assert_eq!(retry::delay(1, &error, false, 0.5), None, "nobody waits for an hour");
        let reply = Reply::json(429, &body).header("retry-after", "9").header("retry-after-ms", "1500");
        assert_eq!(failure_of(&http, vendor, reply, LONG).await.1.retry_after, Some(1.5), "{}", vendor.name);
    }
}

#[tokio::test]
async fn an_error_of_any_shape_is_one_line_with_the_request_id() {
    let page = format!("<!DOCTYPE html>\n<html><head><title>502 Bad\nGateway</title></head><body>{KEY}</body></html>");
    let http = Http::default();
    for vendor in &VENDORS {
        let shapes = [
            (Reply::json(500, &(vendor.error)(500, "a hiccup\nof ours")), "a hiccup of ours"),
            (Reply::status(502).header("content-type", "text/html").chunk(page.clone()), "502 Bad Gateway"),
            (Reply::status(503).header("content-type", "text/plain").chunk("upstream\nis away"), "upstream is away"),
            (Reply::status(500).chunk([0xff, 0xfe, b'x']), "500"),
            (Reply::status(500), "500"),
            (Reply::json(500, &json!({"detail": "no worker"})), "no worker"),
        ];
        for (reply, words) in shapes {
            let (events, error) = failure_of(&http, vendor, reply.header("x-request-id", "req_77"), LONG).await;
            assert_eq!(events, []);
            assert!(error.message.contains(words), "{}: {words:?} is not in {error}", vendor.name);
            assert!(error.message.contains("[request req_77]"), "{}: {error}", vendor.name);
            assert!(!error.message.contains('<'), "{}: {error}", vendor.name);
        }
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_says_by_how_much() {
    let http = Http::default();
    for vendor in &VENDORS {
        let reply = Reply::json(400, &(vendor.error)(400, vendor.overflow));
        let (_, error) = failure_of(&http, vendor, reply, LONG).await;
        assert!(error.message.starts_with("the conversation is 1500 tokens too long for the model"), "{error}");
        assert!(!error.is_transient(), "{}: the same again would be as long", vendor.name);
    }
}

#[tokio::test]
async fn a_key_that_comes_back_is_in_no_message() {
    let http = Http::default();
    for vendor in &VENDORS {
        let echo = format!("the key {KEY} is wrong");
        let json = (vendor.error)(401, &echo);
        let replies = [
            Reply::json(401, &json),
            Reply::status(401).chunk(echo.clone()),
            Reply::status(401).header("content-type", "text/html").chunk(format!("<title>{echo}</title>")),
            Reply::json(401, &json!({"error": {"message": "no", "type": echo, "code": echo}})),
            Reply::status(403).header("x-request-id", KEY).chunk(echo.clone()),
            // In the stream, after a successful status.
            Reply::stream().chunk(format!("event: error\ndata: {json}\n\n")),
            Reply::stream().chunk(format!("data: {{\"{echo}\n\n")),
        ];
        for reply in replies {
            let (events, _) = failure_of(&http, vendor, reply, LONG).await;
            assert_eq!(events, [], "{}", vendor.name);
        }
    }
}

#[tokio::test]
async fn a_rejected_key_names_its_source_and_is_not_retried() {
    let http = Http::default();
    for vendor in &VENDORS {
        let (_, error) = failure_of(&http, vendor, Reply::json(401, &(vendor.error)(401, "wrong key")), LONG).await;
        assert_says(vendor, &error, ErrorKind::Authentication, &["401", "wrong key"]);
        let variable = match vendor.name {
            "anthropic" => "ANTHROPIC_API_KEY",
            "openai" => "OPENAI_API_KEY",
            "vertex" => "VERTEX_AI_ACCESS_TOKEN",
            _ => "OPENAI_COMPATIBLE_API_KEY",
        };
        assert!(error.message.contains(variable), "{error}");
        assert_eq!(retry::delay(1, &error, false, 0.5), None);
    }
}
