//! Server-sent events, however the bytes are cut.

use flemma_provider::{
    ErrorKind, ProviderError,
    sse::{MAX_EVENT_BYTES, Sse},
};
use proptest::prelude::*;

/// The events in `chunks`, as (name, data).
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<(String, String)>, ProviderError> {
    let (mut sse, mut found) = (<Sse>::default(), Vec::new());
    for chunk in chunks {
        sse.feed(chunk, |event| {
            found.push((event.name.to_owned(), event.data.to_owned()));
            Ok(())
        })?;
    }
    Ok(found)
}

/// The same, asserted for one chunk and for chunks of one byte.
fn events(stream: &[u8]) -> Vec<(String, String)> {
    let whole = decode([stream]).unwrap();
    assert_eq!(decode(stream.chunks(1)).unwrap(), whole, "cut into bytes");
    whole
}

fn owned(events: &[(&str, &str)]) -> Vec<(String, String)> {
    events.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect()
}

#[test]
fn an_event_is_its_name_and_its_data() {
    assert_eq!(events(b"event: ping\ndata: {}\n\n"), owned(&[("ping", "{}")]));
    assert_eq!(events(b"data: no name\n\n"), owned(&[("", "no name")]));
}

#[test]
fn a_name_holds_for_one_event_only() {
    assert_eq!(events(b"event: a\ndata: 1\n\ndata: 2\n\n"), owned(&[("a", "1"), ("", "2")]));
}

#[test]
fn lines_end_in_lf_crlf_or_cr() {
    let expected = owned(&[("a", "1\n2"), ("", "3")]);
    for end in ["\n", "\r\n", "\r"] {
        let stream = ["event: a", "data: 1", "data: 2", "", "data: 3", "", ""].join(end);
        assert_eq!(events(stream.as_bytes()), expected, "{end:?}");
    }
    assert_eq!(events(b"event: a\r\ndata: 1\rdata: 2\n\ndata: 3\r\r\n"), expected, "mixed");
}

#[test]
fn data_lines_join_with_line_feeds_and_lose_one_space() {
    assert_eq!(events(b"data:a\ndata:  b\ndata\ndata:\n\n"), owned(&[("", "a\n b\n\n")]));
}

#[test]
fn comments_and_unknown_fields_mean_nothing() {
    assert_eq!(events(b": keep-alive\n\nid: 7\nretry: 10\nwhat\ndata: x\n: y\n\n"), owned(&[("", "x")]));
    assert_eq!(events(b": \xff is no text, but a comment is not read\ndata: x\n\n"), owned(&[("", "x")]));
}

#[test]
fn an_event_without_data_is_none() {
    assert_eq!(events(b"event: lonely\n\n\n\n"), []);
    assert_eq!(events(b"data\n\n"), owned(&[("", "")]), "empty data is data");
}

#[test]
fn what_is_left_at_the_end_is_no_event() {
    assert_eq!(events(b"data: whole\n\ndata: half\n"), owned(&[("", "whole")]));
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    assert_eq!(events("\u{feff}data: x\n\n".as_bytes()), owned(&[("", "x")]));
    assert_eq!(events("data: a\n\n\u{feff}data: b\n\n".as_bytes()), owned(&[("", "a")]));
    assert_eq!(events("data: \u{feff}a\n\n".as_bytes()), owned(&[("", "\u{feff}a")]));
}

#[test]
fn a_character_may_be_cut_anywhere() {
    assert_eq!(events("data: grün 🌱\n\n".as_bytes()), owned(&[("", "grün 🌱")]));
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    assert_eq!(events(b"data: \xc3\x28\n\ndata: cut \xc3\n\n"), owned(&[("", "\u{fffd}("), ("", "cut \u{fffd}")]));
}

#[test]
fn an_event_may_be_as_large_as_the_limit_and_no_larger() {
    let feed = |stream: &str, chunk: usize| {
        let mut sse = Sse::<100>::default();
        stream.as_bytes().chunks(chunk).try_for_each(|chunk| sse.feed(chunk, |_| Ok(())))
    };
    let fits = format!("data: {}\n\n", "x".repeat(94));
    let one_line = format!("data: {}\n\n", "x".repeat(95));
    let many_lines = format!("data: {}\n", "x".repeat(30)).repeat(5);
    let no_end = "x".repeat(101);
    for chunk in [1, 7, 1_000] {
        assert_eq!(feed(&fits.repeat(3), chunk), Ok(()), "the limit is one event's, not the stream's");
        for stream in [&one_line, &many_lines, &no_end] {
            let error = feed(stream, chunk).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Malformed);
            assert!(error.message.contains("larger than 100 bytes"), "{error}");
        }
    }
}

#[test]
fn a_stream_without_an_end_of_line_does_not_fill_the_memory() {
    let chunk = vec![b'x'; 1024 * 1024];
    let mut sse = <Sse>::default();
    let fed = (0..1_000).take_while(|_| sse.feed(&chunk, |_| Ok(())).is_ok()).count();
    assert_eq!(fed, MAX_EVENT_BYTES / chunk.len());
}

#[test]
fn an_error_of_the_reader_ends_the_stream() {
    let (mut sse, mut seen) = (<Sse>::default(), 0);
    let result = sse.feed(b"data: 1\n\ndata: 2\n\n", |_| {
        seen += 1;
        Err(ProviderError::new(ErrorKind::Overloaded, "enough"))
    });
    assert_eq!(result.unwrap_err().message, "enough");
    assert_eq!(seen, 1);
}

/// Streams rich in everything that matters.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "data", "event", ":", " ", "\n", "\n", "\r", "\r\n", "x", "ü", "🌱", "\u{feff}", "data: ", "\n\n", "id: 1",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn chunking_never_matters(stream in stream(), cuts in prop::collection::vec(0_usize..200, 0..10)) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]);
        prop_assert_eq!(decode(chunks).unwrap(), decode([&stream[..]]).unwrap());
    }

    #[test]
    fn no_bytes_panic(stream in prop::collection::vec(any::<u8>(), 0..200)) {
        let whole = decode([&stream[..]]);
        prop_assert_eq!(decode(stream.chunks(1)), whole);
    }

    #[test]
    fn what_a_server_writes_arrives(name in "[a-z_]{1,12}", lines in prop::collection::vec("[^\r\n]{0,30}", 1..5)) {
        let data: String = lines.iter().map(|line| format!("data: {line}\n")).collect();
        let stream = format!("event: {name}\n{data}\n");
        prop_assert_eq!(decode([stream.as_bytes()]).unwrap(), vec![(name, lines.join("\n"))]);
    }
}
