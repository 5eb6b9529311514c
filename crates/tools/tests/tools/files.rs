//! The file tools: `read`, `write` and `edit`.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    sync::Arc,
    time::{Duration, Instant},
};

use flemma_chat::Language;
use flemma_model::{Attachment, ModelError};
use flemma_tools::FileClass;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::workshop::{BUILTINS, Workshop};

fn read(path: &str) -> Value {
    json!({ "label": null, "path": path, "offset": null, "limit": null })
}

fn page(path: &str, offset: u64, limit: u64) -> Value {
    json!({ "path": path, "offset": offset, "limit": limit })
}

fn write(path: &str, content: &str) -> Value {
    json!({ "label": null, "path": path, "content": content })
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "label": null, "path": path, "old_text": old, "new_text": new })
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|line| format!("line {line}\n")).collect()
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

// read

#[test]
fn a_short_file_is_read_whole_and_without_notes() {
    let shop = Workshop::new();
    shop.put("a.txt", "one\n\n  two\n");
    assert_eq!(shop.ok("read", read("a.txt")), "one\n\n  two");
    shop.put("empty", "");
    assert_eq!(shop.ok("read", read("empty")), "(empty file)");
}

#[test]
fn relative_paths_start_at_the_chat_file_and_tilde_is_home() {
    let mut shop = Workshop::new();
    shop.put("a.txt", "in the working directory");
    shop.put("chats/a.txt", "beside the conversation");
    assert_eq!(shop.ok("read", read("a.txt")), "in the working directory");
    shop.context.chat_dir = Some(shop.path("chats"));
    assert_eq!(shop.ok("read", read("a.txt")), "beside the conversation");
    assert_eq!(shop.ok("read", read(shop.path("a.txt").to_str().unwrap())), "in the working directory");
    let home = std::env::home_dir().unwrap();
    assert_eq!(shop.context.resolve("~/x"), home.join("x"));
    assert_eq!(shop.context.resolve("~"), home);
    assert_eq!(shop.context.resolve("~x"), shop.path("chats/~x"));
}

#[test]
fn a_long_file_is_paged_without_gap_or_overlap() {
    let shop = Workshop::new();
    let content = numbered(5321);
    shop.put("long.txt", &content);
    let mut read_so_far = String::new();
    let (mut offset, mut pages) = (1, 0);
    loop {
        let text = shop.ok("read", json!({ "path": "long.txt", "offset": offset }));
        let (body, note) = text.rsplit_once("\n\n[").unwrap();
        read_so_far.push_str(body);
        read_so_far.push('\n');
        pages += 1;
        let Some((_, next)) = note.rsplit_once("continue with offset=") else {
            assert_eq!(note, "Showing lines 4001-5321 of 5321]");
            break;
        };
        offset = next.trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(read_so_far, content);
    assert_eq!(pages, 3);
}

#[test]
fn offset_and_limit_choose_lines() {
    let shop = Workshop::new();
    shop.put("a.txt", numbered(10));
    let middle = "line 3\nline 4\n\n[Showing lines 3-4 of 10; continue with offset=5]";
    assert_eq!(shop.ok("read", page("a.txt", 3, 2)), middle);
    assert_eq!(shop.ok("read", page("a.txt", 0, 1)), "line 1\n\n[Showing line 1 of 10; continue with offset=2]");
    assert_eq!(shop.ok("read", page("a.txt", 10, 5)), "line 10\n\n[Showing line 10 of 10]");
    assert_eq!(shop.err("read", page("a.txt", 11, 5)), "offset 11 is past the end: a.txt has 10 lines.");
    assert_eq!(shop.err("read", page("a.txt", 1, 0)), "`limit` must be at least 1.");
    let negative = json!({ "path": "a.txt", "offset": -3 });
    assert_eq!(shop.err("read", negative), "`offset` must be a non-negative whole number, not -3.");
    assert_eq!(shop.ok("read", json!({ "path": "a.txt", "offset": 10.0 })), "line 10\n\n[Showing line 10 of 10]");
}

#[test]
fn a_page_ends_at_fifty_kilobytes_with_a_whole_line() {
    let shop = Workshop::new();
    let line = "x".repeat(99);
    shop.put("wide.txt", format!("{line}\n").repeat(1000));
    let text = shop.ok("read", read("wide.txt"));
    assert!(
        text.ends_with(&format!("{line}\n\n[Showing lines 1-512 of 1000; continue with offset=513]")),
        "{}",
        &text[51000..]
    );
}

#[test]
fn a_line_that_is_too_long_shows_its_beginning() {
    let shop = Workshop::new();
    shop.put("min.js", format!("first\n{}\nlast", "日".repeat(400_000)));
    let text = shop.ok("read", page("min.js", 2, 10));
    let note = format!(
        "\n\n[Line 2 is too long: only its first 50.0 KB are shown. With bash, `sed -n 2p '{}' | cut -b 51199-76798` \
         shows the next part. Showing line 2 of 3; continue with offset=3]",
        shop.path("min.js").display()
    );
    assert!(text == format!("{}{note}", "日".repeat(51200 / 3)), "{}", &text[51198..]);
    assert_eq!(shop.ok("read", page("min.js", 1, 9)), "first\n\n[Showing line 1 of 3; continue with offset=2]");
}

#[test]
fn what_a_long_line_shows_next_begins_where_it_ended() {
    let shop = Workshop::new();
    let line: String = (0..30_000).map(|number| format!("{number} ")).collect();
    shop.put("it's long.txt", format!("first\n{line}\nlast"));
    let text = shop.ok("read", page("it's long.txt", 2, 1));
    let (shown, note) = text.split_once("\n\n[").unwrap();
    let command = note.split('`').nth(1).unwrap();
    let next = shop.ok("bash", json!({ "label": null, "command": command, "timeout": null }));
    assert!(!next.is_empty() && line.starts_with(&format!("{shown}{next}")), "{note}");
    // Of bytes that are no text none is left out.
    shop.put("bytes.txt", [vec![b'x'; 100], b"\xff".repeat(60_000)].concat());
    let note = shop.ok("read", read("bytes.txt")).split_once("\n\n[").unwrap().1.to_owned();
    let from: usize = note.split("cut -b ").nth(1).unwrap().split('-').next().unwrap().parse().unwrap();
    assert_eq!(from, 100 + (51_200 - 100) / 3 + 1, "{note}");
}

#[test]
fn crlf_and_byte_order_marks_are_not_shown_as_text() {
    let shop = Workshop::new();
    shop.put("dos.txt", "\u{feff}one\r\ntwo\r\n");
    assert_eq!(shop.ok("read", read("dos.txt")), "one\ntwo\n\n[Lines end in CRLF]");
    shop.put("mixed.txt", "one\r\ntwo\n");
    assert_eq!(shop.ok("read", read("mixed.txt")), "one\r\ntwo");
}

#[test]
fn long_crlf_files_are_paged_by_whole_lines() {
    let shop = Workshop::new();
    shop.put("dos.txt", "12345678\r\n".repeat(6000));
    let mut lines = 0;
    let mut offset = 1;
    while offset <= 6000 {
        let text = shop.ok("read", json!({ "path": "dos.txt", "offset": offset }));
        let body = text.rsplit_once("\n\n[").unwrap().0;
        assert!(body.lines().all(|line| line == "12345678"));
        lines += body.lines().count();
        offset = lines + 1;
    }
    assert_eq!(lines, 6000);
}

#[test]
fn what_is_no_text_is_refused_by_name() {
    let shop = Workshop::new();
    shop.put("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0");
    fs::create_dir(shop.path("src")).unwrap();
    std::process::Command::new("mkfifo").arg(shop.path("pipe")).status().unwrap();
    assert_eq!(shop.err("read", read("program")), "program is a binary file (12 B), not text.");
    assert_eq!(shop.err("read", read("src")), "src is a directory. List it with `ls`.");
    assert_eq!(shop.err("read", read("pipe")), "pipe is a named pipe, not a regular file.");
    assert_eq!(shop.err("read", read("/dev/zero")), "/dev/zero is a device, not a regular file.");
}

#[test]
fn images_and_pdfs_are_attached_with_a_description() {
    let shop = Workshop::new();
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0".to_vec();
    png.extend(vec![0; 1000]);
    shop.put("img/logo.png", &png);
    shop.put("dot.gif", b"GIF89a\x03\0\x02\0\x80\0\0;");
    let webp = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\x09\xc0\x04\0\0\0\0";
    shop.put("a.webp", webp);
    // A JPEG whose size stands behind more metadata than is looked at to tell what it is.
    let mut jpeg = b"\xff\xd8".to_vec();
    for _ in 0..8 {
        jpeg.extend(b"\xff\xe1\xff\xff");
        jpeg.extend(vec![b'x'; 0xfffd]);
    }
    jpeg.extend(b"\xff\xc0\0\x11\x08\0\x64\0\xc8\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xd9");
    shop.put("photo", &jpeg);
    // Nothing in the first pages of a PDF need be other than text.
    shop.put("paper.pdf", b"%PDF-1.7\n1 0 obj\n");
    shop.put("cut.png", &png[..12]);
    let table = [
        ("img/logo.png", "PNG image, 640x480 pixels, 1.0 KB", "image/png"),
        ("dot.gif", "GIF image, 3x2 pixels, 14 B", "image/gif"),
        ("a.webp", "WebP image, 10x20 pixels, 28 B", "image/webp"),
        ("photo", "JPEG image, 200x100 pixels, 512.0 KB", "image/jpeg"),
        ("paper.pdf", "PDF document, 17 B", "application/pdf"),
    ];
    for (path, what, media_type) in table {
        let rendered = shop.render("read", read(path));
        assert_eq!((rendered.text, rendered.is_error), (format!("{path}: {what}"), false));
        assert_eq!(rendered.attachments, [Attachment::unread(shop.path(path), media_type)]);
    }
    assert_eq!(
        shop.err("read", read("cut.png")),
        "cut.png looks like a PNG image (12 B), but its width and height cannot be read: the file is damaged."
    );
    shop.put("notes.png", "not an image\n");
    let rendered = shop.render("read", read("notes.png"));
    assert_eq!((rendered.text.as_str(), rendered.attachments.len()), ("not an image", 0), "the content decides");
}

#[test]
fn bytes_that_are_no_utf8_are_shown_and_said() {
    let shop = Workshop::new();
    shop.put("latin1.txt", b"caf\xe9\n");
    let text = shop.ok("read", read("latin1.txt"));
    assert_eq!(text, "caf\u{fffd}\n\n[The file is not valid UTF-8: invalid bytes are shown as \u{fffd}]");
}

#[test]
fn a_name_that_is_no_utf8_is_said_to_be_out_of_reach() {
    let shop = Workshop::new();
    assert_eq!(
        shop.err("read", read("caf\u{fffd}")),
        "caf\u{fffd} does not exist. If its \u{fffd} stands for bytes that are not valid UTF-8, only bash can open the \
         file: put a `*` in their place."
    );
}

#[test]
fn a_misspelled_path_is_told_what_the_folder_has() {
    let shop = Workshop::new();
    shop.put("src/config.lua", "");
    shop.put("src/main.lua", "");
    let near = shop.err("read", read("src/confg.lua"));
    assert!(near.starts_with("src/confg.lua does not exist. Its folder contains `config.lua`"), "{near}");
    assert_eq!(shop.err("read", read("src/zzz")), "src/zzz does not exist.");
    let nowhere = shop.err("read", read("lib/x"));
    assert!(nowhere.starts_with("lib/x does not exist, nor does its folder /"), "{nowhere}");
    assert_eq!(
        shop.err("read", read("src/main.lua/x")),
        "src/main.lua/x: a part of this path is a file, not a directory."
    );
}

#[test]
fn the_end_of_a_huge_file_is_read_without_loading_it() {
    let shop = Workshop::new();
    shop.put("huge.log", "0123456789abcde\n".repeat(8 << 20));
    let started = Instant::now();
    let text = shop.ok("read", page("huge.log", 8 << 20, 5));
    assert_eq!(text, "0123456789abcde\n\n[Showing line 8388608 of 8388608]");
    // Unoptimised, on a machine under load.
    assert!(started.elapsed() < Duration::from_secs(60));
}

// write

#[test]
fn a_new_file_gets_its_folders() {
    let shop = Workshop::new();
    assert_eq!(shop.ok("write", write("a/b/c.txt", "one\ntwo")), "Created a/b/c.txt: 7 bytes, 2 lines.");
    assert_eq!(shop.content("a/b/c.txt"), "one\ntwo");
    assert_eq!(fs::read_dir(shop.path("a/b")).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn an_existing_file_is_replaced_and_keeps_its_mode() {
    let shop = Workshop::new();
    let path = shop.put("run.sh", "old");
    fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
    let result = shop.ok("write", write("run.sh", "new!\n"));
    let (summary, diff) = result.split_once("\n\n").unwrap();
    assert_eq!(summary, "Replaced run.sh: 5 bytes, 1 line (it had 3 bytes).");
    assert_eq!(diff, "@@ -1,1 +1,1 @@\n-old\n\\ No newline at end of file\n+new!");
    assert_eq!(shop.content("run.sh"), "new!\n");
    assert_eq!(mode(&path), 0o750);
}

#[test]
fn a_new_file_has_the_mode_that_any_program_would_give_it() {
    let shop = Workshop::new();
    shop.ok("write", write("new.txt", "x"));
    assert_eq!(mode(&shop.path("new.txt")), mode(&shop.put("other.txt", "x")));
}

#[test]
fn a_symbolic_link_is_followed_and_stays() {
    let shop = Workshop::new();
    shop.put("real/target.txt", "old");
    symlink("real/target.txt", shop.path("link")).unwrap();
    symlink("real/new.txt", shop.path("dangling")).unwrap();
    shop.ok("write", write("link", "new"));
    assert_eq!(shop.content("real/target.txt"), "new");
    assert!(shop.path("link").is_symlink());
    let nothing = "dangling is a link to real/new.txt, which does not exist.";
    assert_eq!(shop.err("read", read("dangling")), nothing);
    assert_eq!(shop.err("edit", edit("dangling", "a", "b")), nothing);
    let real = shop.path("real").canonicalize().unwrap().join("new.txt");
    assert_eq!(
        shop.ok("write", write("dangling", "made")),
        format!("Created {}, the target of the link dangling: 4 bytes, 1 line.", real.display())
    );
    assert_eq!(shop.content("real/new.txt"), "made");
}

#[test]
fn a_link_that_loops_is_named_with_a_way_out() {
    let shop = Workshop::new();
    shop.put("dir/end.txt", "here");
    symlink("loop", shop.path("dir/loop")).unwrap();
    symlink("end.txt", shop.path("dir/1")).unwrap();
    (2..=60).for_each(|n| symlink((n - 1).to_string(), shop.path(&format!("dir/{n}"))).unwrap());
    assert_eq!(shop.ok("read", read("dir/40")), "here", "as many as the system follows");
    shop.ok("write", write("dir/40", "there"));
    for (path, link) in [("dir/loop", "loop"), ("dir/loop/x", "loop"), ("dir/41", "41"), ("dir/60", "60")] {
        let link = shop.path("dir").join(link);
        let problem = format!(
            "{path}: the link {} leads to itself, or through too many links. Give a path without it, or replace it.",
            link.display()
        );
        let calls = [("read", read(path)), ("write", write(path, "x")), ("edit", edit(path, "there", "y"))];
        for (tool, input) in calls {
            assert_eq!(shop.err(tool, input), problem, "{tool}");
        }
    }
    assert_eq!(shop.content("dir/end.txt"), "there");
}

#[test]
fn hard_links_stay_together() {
    let shop = Workshop::new();
    let path = shop.put("a", "old");
    fs::hard_link(&path, shop.path("b")).unwrap();
    shop.ok("write", write("a", "new"));
    assert_eq!(shop.content("b"), "new");
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
}

#[test]
fn what_cannot_be_written_is_refused_by_name() {
    let shop = Workshop::new();
    shop.put("dir/file", "x");
    assert_eq!(shop.err("write", write("dir", "x")), "dir is a directory; only regular files can be written.");
    assert_eq!(
        shop.err("write", write("dir/new/", "x")),
        "dir/new/ names a folder. Give the path of a file; missing parent folders are created."
    );
    assert_eq!(shop.err("write", write("/dev/null", "x")), "/dev/null is a device; only regular files can be written.");
    assert!(shop.err("write", write("dir/file/x", "x")).contains("a part of this path is a file"));
    assert_eq!(shop.err("write", write("", "x")), "`path` is empty: give the path of a file.");
}

#[test]
fn an_open_conversation_is_never_written_even_through_a_link() {
    let mut shop = Workshop::new();
    let chat = shop.put("open.chat", "@You:\n").canonicalize().unwrap();
    symlink("open.chat", shop.path("innocent.txt")).unwrap();
    shop.context.protected = Arc::new(move |path| match path == chat {
        true => FileClass::Refused(ModelError::new("it is an open conversation.")),
        false => FileClass::Ordinary,
    });
    for name in ["open.chat", "innocent.txt", "../project/open.chat"] {
        assert_eq!(
            shop.err("write", write(name, "x")),
            format!("{name} cannot be written: it is an open conversation.")
        );
        let text = shop.err("edit", edit(name, "@You:", "@Assistant:"));
        assert!(text.ends_with("it is an open conversation."), "{text}");
    }
    assert_eq!(shop.content("open.chat"), "@You:\n");
}

#[test]
fn a_call_that_was_cancelled_before_it_began_changes_nothing() {
    let shop = Workshop::new();
    shop.put("a", "old");
    shop.context.cancel.cancel();
    assert_eq!(shop.err("write", write("a", "new")), "Cancelled by the user: nothing was written.");
    assert_eq!(shop.err("edit", edit("a", "old", "new")), "Cancelled by the user: nothing was written.");
    assert_eq!(shop.err("read", read("a")), "Cancelled by the user.");
    assert_eq!(shop.content("a"), "old");
}

// edit

#[test]
fn an_edit_says_which_lines_it_changed_and_shows_them() {
    let shop = Workshop::new();
    shop.put("a.txt", numbered(20));
    assert_eq!(
        shop.ok("edit", edit("a.txt", "line 10\nline 11", "line ten\nand a half\nline 11")),
        "Edited a.txt: lines 10-11 became lines 10-12.\n\n\
         @@ -7,8 +7,9 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n+and a half\n line 11\n line 12\n line 13\n line 14"
    );
    assert_eq!(shop.content("a.txt"), numbered(20).replace("line 10\n", "line ten\nand a half\n"));
}

#[test]
fn an_edit_inside_a_line_shows_the_whole_line() {
    let shop = Workshop::new();
    shop.put("a.lua", "local x = 1\nlocal y = 2");
    assert_eq!(
        shop.ok("edit", edit("a.lua", "= 2", "= 3")),
        "Edited a.lua: line 2.\n\n@@ -1,2 +1,2 @@\n local x = 1\n-local y = 2\n+local y = 3"
    );
}

#[test]
fn an_edit_can_delete_lines() {
    let shop = Workshop::new();
    shop.put("a.txt", "one\ntwo\nthree\n");
    assert_eq!(
        shop.ok("edit", edit("a.txt", "two\n", "")),
        "Edited a.txt: deleted line 2.\n\n@@ -1,3 +1,2 @@\n one\n-two\n three"
    );
    assert_eq!(shop.content("a.txt"), "one\nthree\n");
}

#[test]
fn an_old_text_that_stands_twice_is_refused_with_its_lines() {
    let shop = Workshop::new();
    let content = "a\nreturn x\nb\nreturn x\n";
    shop.put("a.lua", content);
    assert_eq!(
        shop.err("edit", edit("a.lua", "return x", "return y")),
        "`old_text` occurs in a.lua 2 times, at lines 2, 4. Nothing was changed. Include more of the surrounding text, so that it occurs only once."
    );
    assert_eq!(shop.content("a.lua"), content);
    shop.put("b", "aaa");
    assert!(shop.err("edit", edit("b", "aa", "b")).contains("2 times, at line 1."));
    shop.put("c", "x".repeat(100_000));
    assert!(shop.err("edit", edit("c", "x", "y")).contains("at least 100 times"));
}

#[test]
fn an_old_text_differing_in_white_space_is_shown_as_it_is() {
    let shop = Workshop::new();
    shop.put("a.rs", "fn main() {\n\tlet x = 1;\n\tlet y = 2;\n}\n");
    assert_eq!(
        shop.err("edit", edit("a.rs", "    let x = 1;\n    let y = 2;", "")),
        "`old_text` was not found in a.rs. Nothing was changed. The nearest match is lines 2-3 (which differs only in white \
         space):\n\n\tlet x = 1;\n\tlet y = 2;\n\nSome characters only look the same: line 2 has `<U+0009>` where `old_text` has \
         4 `<U+0020>`, line 3 has `<U+0009>` where `old_text` has 4 `<U+0020>`."
    );
}

#[test]
fn what_cannot_be_seen_is_named_in_errors_and_suggestions() {
    let shop = Workshop::new();
    let table = [
        ("a\u{a0}b", "a b", "`<U+00A0>` where `old_text` has `<U+0020>`"),
        ("cafe\u{301}", "caf\u{e9}", "`e<U+0301>` where `old_text` has `<U+00E9>`"),
        ("one\rtwo", "onetwo", "`<U+000D>` where `old_text` has nothing"),
        ("x = 1", "\u{feff}x = 1", "nothing where `old_text` has `<U+FEFF>`"),
        ("z\u{200b}w", "zw", "`<U+200B>` where `old_text` has nothing"),
        ("p\u{430}ypal", "paypal", "`<U+0430>` where `old_text` has `a`"),
        ("say \u{201c}hi\u{201d}", "say \"hi\"", "`<U+201C>` where `old_text` has `\"`"),
        ("non\u{2011}stop", "non-stop", "`<U+2011>` where `old_text` has `-`"),
        ("  if x:", "\tif x:", "2 `<U+0020>` where `old_text` has `<U+0009>`"),
    ];
    for (there, wanted, named) in table {
        // Alone in its line, and in a file of one huge line.
        for around in ["\n", &" .".repeat(100_000)] {
            // Nothing is known there of letters and of where a line begins.
            if around.len() > 1 && ["paypal", "\tif x:"].contains(&wanted) {
                continue;
            }
            shop.put("a.txt", format!("first{around}{there}{around}last"));
            let error = shop.err("edit", edit("a.txt", wanted, "new"));
            let line = if around == "\n" { "line 2" } else { "line 1" };
            assert!(error.contains(&format!("only look the same: {line} has {named}")), "{wanted:?}: {error}");
            assert!(error.contains(there.trim()) && error.len() < 1000, "{wanted:?}: {error}");
        }
    }
    for (there, wanted, named) in &table[..5] {
        let name = |text: &str| format!("{}.txt", text.replace(' ', "_").replace("x_=_1", "x"));
        let named = named.replace("`old_text` has", "you wrote");
        shop.put(&name(there), "");
        let error = shop.err("read", json!({ "path": name(wanted) }));
        let differ = format!("`{}` (it has {named})", name(there));
        assert!(error.contains(&differ) || named.contains("0020"), "{wanted:?}: {error}");
    }
}

#[test]
fn an_edit_of_a_huge_line_shows_what_changed_in_it() {
    let shop = Workshop::new();
    let around = "let a=1;".repeat(35_000);
    shop.put("min.js", format!("{around}needle{around}\n"));
    let shown = shop.ok("edit", edit("min.js", "needle", "pin"));
    assert!(shown.len() < 4000 && shown.contains("needle") && shown.contains("pin"), "{}", shown.len());
}

#[test]
fn an_old_text_with_a_typo_finds_the_line_that_was_meant() {
    let shop = Workshop::new();
    shop.put("a.txt", numbered(50) + "the quick brown fox jumps over the lazy dog\n" + &numbered(50));
    let text = shop.err("edit", edit("a.txt", "the quick brown fox jumped over the lazy dog", ""));
    assert!(text.contains("The nearest match is line 51 (9"), "{text}");
    assert!(text.ends_with("\n\nthe quick brown fox jumps over the lazy dog"), "{text}");
}

#[test]
fn an_old_text_that_is_like_nothing_says_so() {
    let shop = Workshop::new();
    shop.put("a.txt", numbered(3));
    assert_eq!(
        shop.err("edit", edit("a.txt", "§§ something else entirely §§", "")),
        "`old_text` was not found in a.txt (3 lines), and neither was anything similar. Nothing was changed. Read the file again."
    );
}

#[test]
#[ignore = "slow"]
fn the_nearest_match_is_found_fast_in_a_big_file() {
    let shop = Workshop::new();
    let content: String = (0..300_000).map(|line| format!("let value_{line} = compute({line});\n")).collect();
    shop.put("big.rs", content + "}\n");
    let started = Instant::now();
    let text = shop.err("edit", edit("big.rs", "let value_777 = compute(778);\n}\n\n{\n", ""));
    assert!(text.contains("nearest match"), "{text}");
    shop.err("edit", edit("big.rs", &"§".repeat(50_000), ""));
    assert!(started.elapsed() < Duration::from_secs(60), "took {:?}", started.elapsed());
}

#[test]
fn a_crlf_file_is_matched_with_lf_and_stays_crlf() {
    let shop = Workshop::new();
    shop.put("dos.txt", "\u{feff}one\r\ntwo\r\nthree\r\n");
    let text = shop.ok("edit", edit("dos.txt", "one\ntwo\n", "one\n1.5\ntwo\n"));
    assert!(!text.contains('\r'), "{text:?}");
    assert_eq!(shop.content("dos.txt"), "\u{feff}one\r\n1.5\r\ntwo\r\nthree\r\n");
    shop.ok("edit", edit("dos.txt", "three", "3\n4"));
    assert_eq!(shop.content("dos.txt"), "\u{feff}one\r\n1.5\r\ntwo\r\n3\r\n4\r\n");
}

#[test]
fn each_line_of_an_edit_ends_as_the_one_it_replaces() {
    let shop = Workshop::new();
    for (before, old, new, after) in [
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nx\nb\nC\n", "a\r\nx\r\nb\nC\r\nd\n"),
        ("a\nb\r\nc\n", "b", "B\nB", "a\nB\r\nB\r\nc\n"),
        ("a\r\nb\nc", "c", "c\nd", "a\r\nb\nc\nd"),
        ("a\r\nb\nc\n", "b\nc\n", "", "a\r\n"),
        ("a\r\nb\nc\n", "a\nb", "b", "b\nc\n"),
        ("a\nb\r\nc\n", "\nb\n", "\nx\nb\n", "a\nx\nb\r\nc\n"),
        // Written out, they are meant.
        ("a\r\nb\nc\n", "a\r\n", "a\n", "a\nb\nc\n"),
    ] {
        shop.put("a.txt", before);
        shop.ok("edit", edit("a.txt", old, new));
        assert_eq!(shop.content("a.txt"), after, "{before:?}: {old:?} becomes {new:?}");
    }
    // The same text is the same text, however its lines end.
    shop.put("a.txt", "a\r\nb\r\na\nb\n");
    assert!(shop.err("edit", edit("a.txt", "a\nb\n", "c\n")).contains("occurs in a.txt 2 times, at lines 1, 3"));
}

#[test]
fn an_edit_changes_no_other_line_ending() {
    let shop = Workshop::new();
    let text = |lines: &[(String, bool)]| -> String {
        lines.iter().map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect()
    };
    let lines = proptest::collection::vec(("[ab]{0,2}", any::<bool>()), 3..12);
    let run = TestRunner::default().run(&(lines, 0usize..64, 1usize..4), |(mut lines, at, count)| {
        let from = at % lines.len();
        let to = (from + count).min(lines.len());
        // It occurs once.
        lines[from].0 = "§".to_owned();
        shop.put("a.txt", text(&lines));
        let plain = text(&lines[from..to]).replace("\r\n", "\n");
        shop.ok("edit", edit("a.txt", &plain, &plain.replace('§', "$")));
        lines[from].0 = "$".to_owned();
        prop_assert_eq!(shop.content("a.txt"), text(&lines));
        Ok(())
    });
    run.unwrap();
}

#[test]
fn a_line_break_that_the_file_lacks_is_named() {
    let shop = Workshop::new();
    for content in ["one\ntwo", "one\r\ntwo"] {
        shop.put("a.txt", content);
        let text = shop.err("edit", edit("a.txt", "one\ntwo\n", "2\n"));
        assert!(text.contains("it ends in a line break, and the last line of the file has none"), "{text}");
    }
}

#[test]
fn a_byte_order_mark_stays_or_is_named() {
    let shop = Workshop::new();
    shop.put("a.txt", "\u{feff}one\ntwo\n");
    let told = shop.ok("write", write("a.txt", "three\n"));
    assert!(told.contains("The byte order mark at its beginning was kept."), "{told}");
    assert_eq!(shop.content("a.txt"), "\u{feff}three\n");
    shop.ok("edit", edit("a.txt", "three", "3"));
    assert_eq!(shop.content("a.txt"), "\u{feff}3\n");
    let told = shop.ok("edit", edit("a.txt", "\u{feff}3", "4"));
    assert!(told.contains("The byte order mark at the beginning of the file is gone."), "{told}");
    assert_eq!(shop.content("a.txt"), "4\n");
}

#[test]
fn changes_in_the_editor_that_are_not_saved_are_told() {
    let mut shop = Workshop::new();
    shop.put("src/a.txt", "one\n");
    shop.put("src/b.txt", "one\n");
    shop.put("empty.txt", "");
    symlink(shop.path("src/a.txt"), shop.path("link.txt")).unwrap();
    let saved = "changes in the editor that are not saved";
    let find = |path: Option<&str>, pattern: &str| json!({ "pattern": pattern, "path": path });
    let all = [
        ("read", read("src/a.txt")),
        ("read", read("link.txt")),
        ("read", read("empty.txt")),
        ("read", page("src/a.txt", 7, 1)),
        ("grep", find(None, "one")),
        ("grep", find(Some("src"), "nothing")),
        ("grep", find(Some("src/a.txt"), "one")),
        ("grep", find(Some("link.txt"), "one")),
    ];
    for (tool, input) in &all {
        assert!(!shop.render(tool, input.clone()).text.contains(saved), "{input}");
    }
    shop.context.unsaved = [shop.path("src/a.txt"), shop.path("empty.txt")].into();
    for (tool, input) in &all {
        let text = shop.render(tool, input.clone()).text;
        assert_eq!(text.matches(saved).count(), 1, "{input}: {text}");
        assert!(!text.contains("b.txt") || text.contains("b.txt:1"), "{text}");
    }
    for (tool, input) in [("read", read("src/b.txt")), ("grep", find(Some("src/b.txt"), "one"))] {
        assert!(!shop.render(tool, input.clone()).text.contains(saved), "{input}");
    }
}

#[test]
fn bytes_that_are_no_utf8_survive_an_edit_elsewhere() {
    let shop = Workshop::new();
    let path = shop.put("latin1.txt", b"caf\xe9\nold\n");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    shop.ok("edit", edit("latin1.txt", "old", "new"));
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9\nnew\n");
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn a_change_is_a_diff_and_a_refusal_is_text() {
    let shop = Workshop::new();
    shop.put("a.txt", "one\n```diff\n-two\n```\n");
    assert_eq!(shop.render("edit", edit("a.txt", "one", "1")).language, Language::Diff);
    assert_eq!(shop.render("edit", edit("a.txt", "one", "1")).language, Language::Plain);
    assert_eq!(shop.render("read", read("a.txt")).language, Language::Plain);
}

#[test]
fn edits_that_cannot_mean_anything_are_refused() {
    let shop = Workshop::new();
    shop.put("a", "x");
    assert_eq!(
        shop.err("edit", edit("a", "", "y")),
        "`old_text` is empty. Give the text to replace; to create a file, use write."
    );
    assert_eq!(
        shop.err("edit", edit("a", "x", "x")),
        "`old_text` and `new_text` are the same: there is nothing to change."
    );
    assert_eq!(shop.err("edit", edit("b", "x", "y")), "b does not exist.");
}

#[test]
fn two_edits_of_one_file_at_once_are_both_there_afterwards() {
    let shop = Workshop::new();
    let names: Vec<String> = (0..48).map(|index| format!("<{index}>")).collect();
    shop.put("a", names.concat());
    std::thread::scope(|scope| {
        for name in &names {
            let context = shop.context.clone();
            scope.spawn(move || {
                let flemma_tools::Executor::Server(flemma_tools::Runner::Native(tool)) =
                    BUILTINS.get("edit").unwrap().executor.clone()
                else {
                    panic!()
                };
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let outcome = runtime.block_on(tool.run(edit("a", name, "done "), context));
                assert!(!outcome.render().is_error, "{outcome:?}");
            });
        }
    });
    assert_eq!(shop.content("a"), "done ".repeat(48));
}

#[test]
fn a_path_that_names_nothing_says_so() {
    let shop = Workshop::new();
    for (path, message) in [
        ("", "`path` is empty: give the path of a file."),
        (
            "a.txt\0b",
            "`path` contains a NUL character, which a \
                                                                          file name cannot contain.",
        ),
    ] {
        for (tool, input) in [
            ("read", read(path)),
            ("write", json!({ "path": path, "content": "x", "label": null })),
            ("edit", json!({ "path": path, "old_text": "a", "new_text": "b", "label": null })),
        ] {
            assert_eq!(shop.render(tool, input).text, message, "{tool}");
        }
    }
}

#[test]
fn a_change_of_line_endings_is_told() {
    let shop = Workshop::new();
    let written = |old: &str, new: &str| {
        shop.put("a.txt", old);
        let done = shop.ok("write", write("a.txt", new));
        assert_eq!(shop.content("a.txt"), new);
        done.split_once("\n\n").unwrap().1.to_owned()
    };
    let only = "Only the line endings change in 2 lines: CRLF becomes LF.";
    assert_eq!(written("a\r\nb\r\n", "a\nb\n"), only);
    let besides = "The line endings change in all lines: LF becomes CRLF. These lines change besides:";
    assert_eq!(written("a\nb\n", "a\r\nc\r\n"), format!("{besides}\n\n@@ -1,2 +1,2 @@\n a\n-b\n+c"));
    let mixed = "The line endings, which are mixed, become LF.";
    assert_eq!(written("a\r\nb\n", "a\nc\n"), format!("{mixed}\n\n@@ -1,2 +1,2 @@\n-a\r\n-b\n+a\n+c"));
    // Where they stay, nothing is said.
    assert_eq!(written("a\r\nb\r\n", "a\r\nc\r\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c");
    shop.put("a.txt", "a\r\nb\n");
    let done = shop.ok("edit", edit("a.txt", "a\r\n", "a\n"));
    assert!(done.starts_with("Edited a.txt: line 1. Only the line endings change in 1 line."), "{done}");
}
