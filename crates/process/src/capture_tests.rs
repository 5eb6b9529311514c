use std::{
    fs::{self, File},
    sync::Arc,
};

use tempfile::TempDir;

use super::{KEEP, OutputCapture, SavedOutput};

fn capture() -> (TempDir, OutputCapture) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("output");
    let capture = OutputCapture::new(Arc::new(move || Ok((File::create(&path)?, path.clone()))));
    (dir, capture)
}

#[tokio::test]
async fn a_short_output_makes_no_file() {
    let (dir, mut capture) = capture();
    capture.push(b"one\n").await;
    capture.push(b"two").await;
    let captured = capture.finish().await;
    assert!(matches!(captured.saved, SavedOutput::InMemory));
    assert_eq!((captured.tail.as_slice(), captured.bytes, captured.lines), (b"one\ntwo".as_slice(), 7, 2));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_long_output_is_whole_in_the_file_and_cut_in_memory() {
    let whole: Vec<u8> = (0..60_000).flat_map(|line| format!("{line}\n").into_bytes()).collect();
    for size in [1000, KEEP - 1, KEEP, KEEP + 1, whole.len()] {
        let (_dir, mut capture) = capture();
        for chunk in whole.chunks(size) {
            capture.push(chunk).await;
        }
        let captured = capture.finish().await;
        let SavedOutput::InFile(path) = captured.saved else { panic!("{:?}", captured.saved) };
        assert_eq!(fs::read(path).unwrap(), whole);
        assert_eq!((captured.bytes, captured.lines), (whole.len() as u64, 60_000));
        assert_eq!(captured.tail, whole[whole.len() - KEEP..]);
    }
}

#[tokio::test]
async fn a_file_never_grows_past_its_limit() {
    let (_dir, mut capture) = capture();
    capture.max_file = KEEP as u64 + 100;
    for _ in 0..10 {
        capture.push(&vec![b'x'; KEEP]).await;
    }
    let captured = capture.finish().await;
    let SavedOutput::Beginning(path, bytes) = captured.saved else { panic!("{:?}", captured.saved) };
    assert_eq!((bytes, captured.bytes), (KEEP as u64 + 100, 10 * KEEP as u64));
    assert_eq!(fs::metadata(path).unwrap().len(), bytes);
}

#[tokio::test]
async fn progress_shows_lines_as_a_terminal_would() {
    let (_dir, mut capture) = capture();
    capture.push(b"one\ntwo\r\n\x1b[2K\x1b[1;32mthree\x1b[0m\n10%\r20%\r\x07 30%").await;
    assert_eq!(capture.last_lines(3), "two\n\u{1b}[1;32mthree\u{1b}[0m\n 30%");
    assert_eq!(capture.last_lines(9), "one\ntwo\n\u{1b}[1;32mthree\u{1b}[0m\n 30%");
}

#[tokio::test]
async fn a_line_whose_beginning_is_not_shown_begins_with_dots() {
    let (_dir, mut capture) = capture();
    capture.push(format!("first\n{}end\nlast", "é".repeat(10_000)).as_bytes()).await;
    let shown = capture.last_lines(5);
    assert!(shown.starts_with("…éé") && shown.ends_with("éend\nlast"), "{shown}");
    assert_eq!(capture.last_lines(1), "last");
}
