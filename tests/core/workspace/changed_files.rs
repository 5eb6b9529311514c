//! What `:Flemma changes` says of each file.

use std::sync::mpsc;

use serde_json::{Value, json};

use super::harness::{Harness, Setup, calls, prose};

#[test]
fn a_binary_file_that_was_changed_is_not_as_before() {
    let options = json!({ "tools": { "auto_approve": ["write"] } });
    let files = [("a.bin", "a\0b\n"), ("b.txt", "b\n")];
    let write = |path: &str, content: &str| ("write", json!({ "path": path, "content": content, "label": null }));
    let all: [(&str, Value); 3] = [write("a.bin", "x\n"), write("b.txt", "c\n"), write("d.bin", "d\0\n")];
    let chat = Harness::start(Setup { options, files: &files, ..Setup::default() }, [calls(all), prose("fine")]);
    chat.go();
    chat.wait_for("@Assistant:\nfine");
    let (tell, told) = mpsc::channel();
    chat.workspace.changed_files(chat.current(), move |_, files| tell.send(files.unwrap().lines).unwrap());
    let mut lines = Vec::new();
    chat.drain_until("the list", |_| {
        lines.extend(told.try_iter().flatten());
        !lines.is_empty()
    });
    assert_eq!(lines[2..5], ["a.bin  changed  call_0", "b.txt  +1 -1  call_1", "d.bin  created  call_2"]);
}
