//! The Messages API over HTTP: requests, replies, and the message of each failure.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use flemma_model::{Event, Message, Part, Role, StopReason};
use flemma_provider::{ErrorKind, Exchange, ProviderError, Request, auth::Environment};
use flemma_runtime::http::{Http, Reading, Timeouts};
use serde_json::json;

use crate::{
    anthropic::{Stream, event, text_delta},
    conversation::provider_of,
    http::{Gate, Reply, Server},
};

const KEY: &str = "sk-ant-very-secret";

/// Short enough for a test, long enough for a busy machine.
const SHORT: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_millis(300),
    idle: Duration::from_millis(300),
};

fn request() -> Request {
    Request {
        model: "claude-test".to_owned(),
        messages: vec![Arc::new(Message { role: Role::User, parts: vec![Part::Text("Hello".to_owned())] })],
        ..Request::default()
    }
}

async fn ask(
    http: &Http,
    base_url: &str,
    timeouts: Timeouts,
    mut sink: impl FnMut(Event),
) -> Result<(), ProviderError> {
    let provider = provider_of("anthropic", json!({"base_url": base_url}), Environment::new(|_| Some(KEY.to_owned())));
    match provider.prepare(&request())? {
        Exchange::Http { request, decoder } => {
            let pass = |event| {
                sink(event);
                Ok(())
            };
            http.perform(request, &Mutex::new(Reading::new(decoder, pass)), timeouts).await
        }
        Exchange::Script(_) => panic!("Anthropic is no script"),
    }
}

/// Everything that arrived, and how it ended.
pub async fn play(base_url: &str, timeouts: Timeouts) -> (Vec<Event>, Result<(), ProviderError>) {
    let mut events = Vec::new();
    let result = ask(&Http::default(), base_url, timeouts, |event| events.push(event)).await;
    (events, result)
}

pub async fn play_one(reply: Reply) -> (Vec<Event>, Result<(), ProviderError>) {
    let server = Server::start([reply]);
    play(&server.base_url(), Timeouts::default()).await
}

async fn failure_of(reply: Reply) -> ProviderError {
    let (events, result) = play_one(reply).await;
    assert_eq!(events, [], "nothing of a failure is shown as a reply");
    result.expect_err("the reply is a failure")
}

pub fn text_of(events: &[Event]) -> String {
    let text = |event: &Event| if let Event::Text(text) = event { Some(text.clone()) } else { None };
    events.iter().filter_map(text).collect()
}

fn assert_says(error: &ProviderError, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind, kind, "{error}");
    for word in words {
        assert!(error.message.contains(word), "{word:?} is not in {:?}", error.message);
    }
    assert!(!error.message.contains(KEY), "the key is in {:?}", error.message);
    assert!(!error.message.contains('\n'), "{:?} is more than one line", error.message);
}

#[tokio::test]
async fn a_request_carries_the_api_headers_and_the_reply_arrives() {
    let server = Server::start([Reply::stream().chunk(Stream::new().text(&["Hel", "lo"]).end("end_turn").bytes())]);
    let (events, result) = play(&format!("{}/", server.base_url()), Timeouts::default()).await;

    assert_eq!(result, Ok(()));
    assert_eq!(text_of(&events), "Hello");
    assert_eq!(events.last(), Some(&Event::Finished(StopReason::EndTurn)));
    let request = &server.wait_for_requests(1)[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
    for (name, value) in [
        ("x-api-key", KEY),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("user-agent", concat!("flemma/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.json()["messages"], json!([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]));
    assert_eq!(request.json()["stream"], json!(true));
}

#[tokio::test]
async fn a_reply_that_arrives_byte_by_byte_is_the_same_reply() {
    let stream = Stream::new().text(&["grün ", "🌱"]).tool_use("toolu_1", "bash", &["{\"a\"", ":1}"]).end("tool_use");
    let (at_once, _) = play_one(Reply::stream().chunk(stream.bytes())).await;
    let (byte_by_byte, result) = play_one(Reply::stream().byte_by_byte(stream.bytes())).await;
    assert_eq!(result, Ok(()));
    assert_eq!(byte_by_byte, at_once);
    assert_eq!(text_of(&at_once), "grün 🌱");
}

#[tokio::test]
async fn text_is_shown_while_the_reply_still_streams() {
    let gate = Gate::new();
    let [begin, middle, end] = [0..3, 3..4, 4..7]
        .map(|range| Stream::new().text(&["first", "second"]).end("end_turn").events()[range].concat());
    let server = Server::start([Reply::stream().chunk(begin).hold(&gate).chunk(middle).chunk(end)]);
    let seen = Mutex::new(Vec::new());
    let (http, base_url) = (Http::default(), server.base_url());
    let result = ask(&http, &base_url, Timeouts::default(), |event| {
        if event == Event::Text("first".to_owned()) {
            // The server sends the rest only after this has been shown.
            gate.open();
        }
        seen.lock().unwrap().push(event);
    });
    assert_eq!(result.await, Ok(()));
    assert_eq!(text_of(&seen.lock().unwrap()), "firstsecond");
}

#[tokio::test]
async fn a_conversation_keeps_its_connection() {
    let reply = || Reply::stream().chunk(Stream::new().text(&["hi"]).end("end_turn").bytes());
    let server = Server::start([reply(), reply(), reply()]);
    let http = Http::default();
    for _ in 0..3 {
        ask(&http, &server.base_url(), Timeouts::default(), |_| ()).await.unwrap();
    }
    let connections: Vec<_> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[tokio::test]
async fn a_complete_reply_does_not_wait_for_the_connection_to_close() {
    let stream = Stream::new().text(&["done"]).end("end_turn").bytes();
    let server = Server::start([Reply::stream().chunk(stream).hang()]);
    let start = Instant::now();
    let (events, result) = play(&server.base_url(), Timeouts::default()).await;
    assert_eq!(result, Ok(()));
    assert_eq!(text_of(&events), "done");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test]
async fn dropping_the_request_closes_its_connection() {
    let server = Server::start([Reply::stream().chunk(Stream::new().events()[0].clone()).hang()]);
    let base_url = server.base_url();
    let task = tokio::spawn(async move { play(&base_url, Timeouts::default()).await });
    tokio::task::spawn_blocking({
        let abort = task.abort_handle();
        move || {
            server.wait_for_requests(1);
            abort.abort();
            server.wait_for_leavers(1);
        }
    })
    .await
    .unwrap();
    assert!(task.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn twenty_thousand_deltas_arrive_complete() {
    let whole = Stream::new().text(&["x"]).end("end_turn");
    let [begin, end] = [0..2, 3..6].map(|range| whole.events()[range].concat());
    let server = Server::start([Reply::stream().chunk(begin).repeat(text_delta(0, "abcd"), 20_000).chunk(end)]);
    let (events, result) = play(&server.base_url(), Timeouts::default()).await;
    assert_eq!(result, Ok(()));
    assert_eq!(text_of(&events), "abcd".repeat(20_000));
}

#[tokio::test]
async fn a_refused_connection_names_the_host() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_, result) = play(&format!("http://{address}"), Timeouts::default()).await;
    let error = result.unwrap_err();
    assert_says(&error, ErrorKind::Connection, &[&address.to_string(), "refused the connection", "base_url"]);
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_host_that_does_not_exist_is_named() {
    if ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].iter().any(|name| std::env::var_os(name).is_some()) {
        // Here the proxy resolves names, and the error for this one is the proxy's.
        return;
    }
    let (_, result) = play("http://no-such-host.invalid", Timeouts::default()).await;
    assert_says(&result.unwrap_err(), ErrorKind::Connection, &["no-such-host.invalid", "cannot be resolved"]);
}

/// A proxy for HTTP and SOCKS 5. A SOCKS client that asks for `api.example.com` is connected to `server`, and nobody else is.
fn proxy(server: String) -> String {
    use std::io::{Read, Write, copy};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut asked) = (stream.unwrap(), [0; 512]);
            let _ = stream.read(&mut asked);
            if asked[0] != 5 {
                let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
                continue;
            }
            stream.write_all(&[5, 0]).unwrap();
            let _ = stream.read(&mut asked);
            let is_known = asked[..20].starts_with(b"\x05\x01\x00\x03\x0fapi.example.com");
            stream.write_all(&[5, if is_known { 0 } else { 2 }, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
            if is_known {
                let server = std::net::TcpStream::connect(&server).unwrap();
                let (mut asks, mut answers) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || copy(&mut asks, &mut &server));
                std::thread::spawn(move || copy(&mut answers, &mut stream));
            }
        }
    });
    address
}

/// Proxies are read from the environment of the process, so this test runs itself once more in processes of its own.
#[tokio::test]
async fn a_proxy_is_used_or_named() {
    const NAME: &str = "anthropic_http::a_proxy_is_used_or_named";
    const THROUGH: &str = "through the proxy";
    if let (Ok(url), Ok(words)) = (std::env::var("FLEMMA_TEST_URL"), std::env::var("FLEMMA_TEST_WORDS")) {
        let (events, result) = play(&url, Timeouts::default()).await;
        match result {
            Ok(()) => assert_eq!((text_of(&events).as_str(), words.as_str()), (THROUGH, THROUGH)),
            Err(error) => {
                words.split('|').for_each(|word| assert!(error.message.contains(word), "{word:?} is not in {error}"));
                assert!(
                    !error.message.contains("secret")
                        && (!words.ends_with("`base_url`") || error.message.ends_with(&words)),
                    "{error}"
                );
            }
        }
        return;
    }
    let reply = || {
        let stream = Stream::new().text(&[THROUGH]).end("end_turn");
        Reply::stream().chunk(stream.events().concat())
    };
    let server = Server::start([reply(), reply()]);
    let address = proxy(server.host());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let asks = Server::start([Reply::status(407)]);
    let refused = format!("the proxy {address} in HTTPS_PROXY does not connect to example.com");
    let dead = format!("the proxy {free} in http_proxy refused the connection; start it, or check http_proxy");
    let unknown = format!("the proxy {} in HTTP_PROXY requires a name and a password (407)", asks.host());
    let malformed = "HTTPS_PROXY is not the address of a proxy";
    let direct = "the name of no-such-host.invalid:8080 cannot be resolved; check the network and `base_url`";
    let here = |kind: &str| format!("{kind}://{address}");
    let to = |kind: &str, url: &str| format!("{kind}://user:secret@{url}");
    let (plain, tls) = ("http://api.example.com", "https://example.com");
    let own = "http://no-such-host.invalid:8080";
    let table: Vec<(&str, String, &str, &str, &str)> = vec![
        ("HTTPS_PROXY", here("http"), "", tls, &refused),
        ("HTTPS_PROXY", here("socks5h"), "", tls, &refused),
        ("ALL_PROXY", here("socks5h"), "", plain, THROUGH),
        ("http_proxy", here("socks5h"), "other.example.com,example.com:8080,[::1]", plain, THROUGH),
        ("all_proxy", to("socks", &address), "", plain, "all_proxy|`socks://`|socks5h://localhost:1080"),
        ("http_proxy", to("http", &free), "", plain, &dead),
        ("HTTP_PROXY", to("http", &asks.host()), "", plain, &unknown),
        // What is not an address must not be the same as no proxy.
        ("HTTPS_PROXY", to("http", ":bad:"), "", tls, malformed),
        ("HTTPS_PROXY", "secret host".to_owned(), "", tls, malformed),
        ("HTTPS_PROXY", "http://".to_owned(), "", tls, malformed),
        ("HTTPS_PROXY", "http//127.0.0.1:9".to_owned(), "", tls, malformed),
        // Nor does an exception have anything to do with the proxy.
        ("http_proxy", to("http", &address), "*.invalid", own, direct),
        ("http_proxy", to("http", &address), "example.com, No-Such-Host.invalid:8080", own, direct),
        ("http_proxy", to("http", ":bad:"), ".invalid", own, direct),
    ];
    for (variable, proxy, exceptions, url, words) in table {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap());
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"] {
            process.env_remove(name).env_remove(name.to_ascii_lowercase());
        }
        process.env(variable, &proxy).env("NO_PROXY", exceptions).args(["--exact", NAME, "--nocapture"]);
        let behind = process.env("FLEMMA_TEST_URL", url).env("FLEMMA_TEST_WORDS", words).output().unwrap();
        let said = String::from_utf8_lossy(&behind.stdout) + String::from_utf8_lossy(&behind.stderr);
        assert!(behind.status.success() && said.contains("1 passed"), "{variable} {proxy}: {said}");
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn https_to_a_port_without_tls_says_so() {
    let server = Server::start([]);
    let (_, result) = play(&format!("https://{}", server.host()), Timeouts::default()).await;
    let error = result.unwrap_err();
    assert!(error.message.contains(&server.host()), "{error}");

    // A server that answers the handshake with plain text is distinguished from one that hangs up.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 512]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let (_, result) = play(&format!("https://{address}"), Timeouts::default()).await;
    assert_says(&result.unwrap_err(), ErrorKind::Tls, &[&address.to_string(), "does not speak TLS", "http://"]);
}

/// A server's side of TLS, and the certificate that it shows. It has signed that itself.
pub fn certified() -> (rustls::ServerConfig, rustls::pki_types::CertificateDer<'static>) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    (config, certified.cert.der().clone())
}

#[tokio::test]
async fn an_untrusted_certificate_says_what_to_check() {
    let (config, _) = certified();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
    });
    let (_, result) = play(&format!("https://{address}"), Timeouts::default()).await;
    let error = result.unwrap_err();
    assert_says(&error, ErrorKind::Tls, &[&address.to_string(), "certificate", "not trusted", "clock", "proxy"]);
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_server_that_speaks_no_http_says_so() {
    let error = failure_of(Reply::raw().chunk("SSH-2.0-OpenSSH_9.9\r\n\r\n")).await;
    assert_says(&error, ErrorKind::Malformed, &["127.0.0.1:", "does not speak HTTP"]);
}

#[tokio::test]
async fn a_connection_closed_without_an_answer_may_be_retried() {
    let error = failure_of(Reply::raw().cut()).await;
    assert_says(&error, ErrorKind::Connection, &["127.0.0.1:"]);
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_wrong_key_names_the_variable() {
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    let error = failure_of(Reply::json(401, &body).header("request-id", "req_7")).await;
    assert_says(
        &error,
        ErrorKind::Authentication,
        &["127.0.0.1:", "ANTHROPIC_API_KEY", "401", "invalid x-api-key", "req_7"],
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let elsewhere = Server::start([Reply::stream()]);
    let error = failure_of(Reply::status(307).header("location", &elsewhere.base_url())).await;
    assert_says(&error, ErrorKind::InvalidRequest, &["redirect", "base_url"]);
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn an_error_body_that_never_ends_still_ends() {
    let server = Server::start([Reply::status(500).repeat(vec![b'x'; 1024], 1024).hang()]);
    let (_, result) = play(&server.base_url(), Timeouts::default()).await;
    let error = result.unwrap_err();
    assert_says(&error, ErrorKind::Server, &["500"]);
    assert!(error.message.len() < 2_000, "{} bytes", error.message.len());
}

#[tokio::test]
async fn a_login_page_in_place_of_a_stream_is_recognised() {
    let error = failure_of(Reply::status(200).header("content-type", "text/html").chunk("<html>Log in</html>")).await;
    assert_says(&error, ErrorKind::Malformed, &["web page", "base_url"]);
}

#[tokio::test]
async fn a_stream_that_is_cut_keeps_what_had_arrived() {
    let begun = Stream::new().text(&["half a"]).events()[..3].concat();
    for reply in [Reply::stream().chunk(begun.clone()).cut(), Reply::stream().chunk(begun.clone())] {
        let (events, result) = play_one(reply).await;
        assert_eq!(text_of(&events), "half a");
        let error = result.unwrap_err();
        assert_says(&error, ErrorKind::Interrupted, &["127.0.0.1:", "closed in the middle of the reply"]);
    }
}

#[tokio::test]
async fn an_empty_stream_is_an_error() {
    let error = failure_of(Reply::stream()).await;
    assert_says(&error, ErrorKind::Interrupted, &["before the reply began"]);
}

#[tokio::test]
async fn an_event_that_cannot_be_read_does_not_end_the_reply() {
    let stream = Stream::new().text(&["fine"]).end("end_turn");
    let events = stream.events();
    let mut bytes = events[..3].concat().into_bytes();
    bytes.extend_from_slice(b"event: content_block_delta\ndata: {\"text\": \xff\n\n");
    bytes.extend_from_slice(events[3..].concat().as_bytes());
    let (events, result) = play_one(Reply::stream().chunk(bytes)).await;
    assert_eq!(text_of(&events), "fine");
    assert_eq!(result, Ok(()));
    let is_told = |event: &Event| matches!(event, Event::Warning(words) if words.contains("may be missing"));
    assert_eq!(events.iter().filter(|event| is_told(event)).count(), 1, "{events:?}");
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let server = Server::start([Reply::silence()]);
    let limits = Timeouts { connect: Duration::from_millis(200), ..SHORT };
    let (_, result) = play(&server.base_url(), limits).await;
    let error = result.unwrap_err();
    assert_says(&error, ErrorKind::Timeout, &[&server.host(), "did not answer", "0.3 s", "parameters.timeout"]);
    // The client is gone as well: nothing is left behind.
    tokio::task::spawn_blocking(move || server.wait_for_leavers(1)).await.unwrap();
}

#[tokio::test]
async fn a_slow_stream_that_keeps_talking_does_not_time_out() {
    let ping = event(&json!({"type": "ping"}));
    let mut reply = Reply::stream().chunk(Stream::new().events()[0].clone());
    for _ in 0..8 {
        reply = reply.pause(Duration::from_millis(100)).chunk(ping.clone());
    }
    reply = reply.chunk(Stream::new().text(&["at last"]).end("end_turn").events()[1..].concat());
    let server = Server::start([reply]);
    let (events, result) = play(&server.base_url(), SHORT).await;
    assert_eq!(result, Ok(()));
    assert_eq!(text_of(&events), "at last");
}
