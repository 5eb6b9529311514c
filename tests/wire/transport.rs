//! The way to a server and back: what lies between it and us.

use std::{
    io::{Read, Write},
    net::{TcpListener, ToSocketAddrs},
    process::Command,
    sync::Arc,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};

use crate::{
    anthropic::Stream,
    anthropic_http::{certified, play, play_one, text_of},
    http::{Reply, Server},
};
use flemma_runtime::http::Timeouts;

/// A reply that says `Hello`, in each of the encodings.
const ENCODED: [(&str, &str); 4] = [
    (
        "gzip",
        "H4sIAAAAAAAAA32OQQrDMBAD735F0dmHnvcF/YXZxEspddfB3kKK8d9LUhIIlJyEkEYosjFdGuwzCQgvqZXvEqpxMfjNg1rvzsVjecxqohaGlMfnjjw0ygy6+mMO2jmTeSmuQrhJShl/5rcvUZIxPH5KDdXyFIpwzQqCaAz2Lno2sRDozn0B1a3++u4AAAA=",
    ),
    (
        "deflate",
        "eJx9jkEKwzAQA+9+RdHZh573Bf2F2cRLKXXXwd5CivHfS1ISCJSchJBGKLIxXRrsMwkIL6mV7xKqcTH4zYNa787FY3nMaqIWhpTH5448NMoMuvpjDto5k3kprkK4SUoZf+a3L1GSMTx+Sg3V8hSKcM0KgmgM9i56NrEQ6M59AV9fUbc=",
    ),
    (
        "br",
        "G+0AAKwK7GbcJ/UrzOIrErLq5pcKIn0pArOXIGVuxaLTIjpfcFrki+zt24ZjX1UcikRFQdBpzMZ1vcZMTxaE9o1zTCgQHm0Cm3wWbWB//CFIFqu00kjiw8RMuSikA1tfteASuR66M2C83kq8+d/qtYygMm+p/JgK",
    ),
    (
        "zstd",
        "KLUv/QRotQMAAgcVEaBvoEXN/r5PXwOEBQkrKsYVAOSGs75R0Js0jPT4NDI+bUxa9HnnqqNzXpqIfutPWgzS1hVkLUWHzEN/GBMAOWPSon+ep8bXodRfk3Z5v3Eg548KCwBVA5AR2FgN8TC/xFCiyoBbFW0oKVulfai6cYjpBMgGFFE=",
    ),
];

#[tokio::test]
async fn a_reply_that_a_gateway_has_compressed_arrives() {
    for (encoding, bytes) in ENCODED {
        let bytes = BASE64_STANDARD.decode(bytes).unwrap();
        let (events, result) = play_one(Reply::stream().header("content-encoding", encoding).chunk(bytes)).await;
        assert_eq!((result, text_of(&events).as_str()), (Ok(()), "Hello"), "{encoding}");
    }
}

#[tokio::test]
async fn nothing_asks_for_compression_and_a_query_stays_last() {
    let server = Server::start([Reply::stream().chunk(Stream::new().text(&["Hello"]).end("end_turn").bytes())]);
    let (_, result) = play(&format!("{}/x/?api-version=1", server.base_url()), Timeouts::default()).await;
    assert_eq!(result, Ok(()));
    let request = &server.wait_for_requests(1)[0];
    assert_eq!(request.path, "/x/v1/messages?api-version=1");
    assert_eq!(request.header("accept-encoding"), Some("identity"));
}

/// Answers one request with `Hello`.
fn answer(mut stream: impl Read + Write) {
    let mut asked = Vec::new();
    while !asked.ends_with(b"}") {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).unwrap();
        asked.extend_from_slice(&bytes[..count]);
    }
    let body = Stream::new().text(&["Hello"]).end("end_turn").bytes();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    stream.flush().unwrap();
}

#[tokio::test]
async fn localhost_may_be_the_address_of_version_6_alone() {
    // A machine may have none, or its `localhost` may not be one.
    let Ok(listener) = TcpListener::bind("[::1]:0") else { return };
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap())));
    let knows_it = ("localhost", port).to_socket_addrs().unwrap().any(|address| address.is_ipv6());
    for host in ["[::1]", "localhost"].into_iter().take(1 + usize::from(knows_it)) {
        let (events, result) = play(&format!("http://{host}:{port}"), Timeouts::default()).await;
        assert_eq!((result, text_of(&events).as_str()), (Ok(()), "Hello"), "{host}");
    }
}

/// The file is read from the environment of the process, so this test runs itself once more in a process of its own.
#[tokio::test]
async fn an_authority_of_the_users_own_is_trusted() {
    const NAME: &str = "transport::an_authority_of_the_users_own_is_trusted";
    if let Ok(url) = std::env::var("FLEMMA_TEST_URL") {
        let (events, result) = play(&url, Timeouts::default()).await;
        assert_eq!((result, text_of(&events).as_str()), (Ok(()), "Hello"));
        return;
    }
    let (config, certificate) = certified();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut tls = rustls::StreamOwned::new(rustls::ServerConnection::new(Arc::new(config)).unwrap(), stream);
        answer(&mut tls);
        tls.conn.send_close_notify();
        let _ = tls.flush();
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    let pem = BASE64_STANDARD.encode(certificate);
    std::fs::write(&file, format!("-----BEGIN CERTIFICATE-----\n{pem}\n-----END CERTIFICATE-----\n")).unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap());
    let process = process.env("SSL_CERT_FILE", &file).env("FLEMMA_TEST_URL", format!("https://localhost:{port}"));
    let ran = process.args(["--exact", NAME, "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}
