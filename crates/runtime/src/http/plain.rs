//! Whether a server that was asked for TLS speaks plain HTTP.
//!
//! Some servers refuse TLS at once with an answer that is none. Others, llama.cpp's among them, take the beginning of
//! TLS for the beginning of a line and wait for its end, so that the connection fails after a long time and looks like
//! a network that does not work. To find out, a second connection asks for `/` in plain HTTP, without a key and without
//! anything of the conversation.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// How long the server has for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of an answer as far as its status: `HTTP/1.1 200`.
const HEAD: usize = 12;

/// The status with which servers of TLS answer plain HTTP: it says nothing.
const CONFUSED: &[u8] = b" 400";

/// Whether plain HTTP is answered at `host` and `port`. No answer means that it is not.
pub(super) async fn speaks_plain_http(host: &str, port: u16) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await.ok()?;
        let request = format!("GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut head = [0; HEAD];
        stream.read_exact(&mut head).await.ok()?;
        Some(head)
    };
    let answer = timeout(PATIENCE, ask).await.ok().flatten();
    answer.is_some_and(|head| head.starts_with(b"HTTP/1.") && !head.ends_with(CONFUSED))
}
