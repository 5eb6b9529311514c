//! The tools that look for things: `grep`, `find` and `ls`.

use std::{
    ffi::OsStr,
    fs::{self, File, Permissions},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    time::{Duration, Instant},
};

use flemma_text::truncate;
use serde_json::{Value, json};

use crate::workshop::Workshop;

fn grep(pattern: &str) -> Value {
    json!({ "label": null, "pattern": pattern, "path": null, "glob": null, "case": null, "fixed_strings": null,
            "context": null, "limit": null, "all": null })
}

fn find(pattern: &str) -> Value {
    json!({ "label": null, "pattern": pattern, "path": null, "kind": null, "limit": null, "all": null })
}

fn ls(path: &str) -> Value {
    json!({ "label": null, "path": path, "limit": null })
}

/// The call with other arguments.
fn with(mut input: Value, changes: Value) -> Value {
    input.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    input
}

/// A small project.
fn project() -> Workshop {
    let shop = Workshop::new();
    shop.put("README.md", "# Title\n\nThe needle is here.\n");
    shop.put("src/main.rs", "fn main() {\n    let needle = 1;\n    println!(\"{needle}\");\n}\n");
    shop.put("src/deep/er/lib.rs", "// no such thing\n// Needle\n");
    shop.put("notes with spaces/grüße 日本.txt", "eine needle für alle\n");
    shop.put(".hidden/secret.txt", "hidden needle\n");
    shop.put(".gitignore", "target/\n*.log\n");
    shop.put("target/out.txt", "ignored needle\n");
    shop.put("build.log", "ignored needle\n");
    shop.put("image.bin", b"needle\0needle\n");
    shop.put(".git/HEAD", "needle\n");
    shop
}

// grep

#[test]
fn matches_are_path_line_and_text_in_path_order() {
    let shop = project();
    assert_eq!(
        shop.ok("grep", grep("needle")),
        "README.md:3:The needle is here.\n\
         notes with spaces/grüße 日本.txt:1:eine needle für alle\n\
         src/main.rs:2:    let needle = 1;\n\
         src/main.rs:3:    println!(\"{needle}\");\n\n[1 binary file skipped]"
    );
}

#[test]
fn paths_in_results_can_be_read_as_they_stand() {
    let shop = project();
    for path in ["src", "src/", "./src", "../project/src", shop.path("src").to_str().unwrap()] {
        let matches = shop.ok("grep", with(grep("let needle"), json!({ "path": path })));
        let (file, _) = matches.split_once(':').unwrap();
        assert!(shop.ok("read", json!({ "path": file })).contains("let needle"), "{matches}");
        let found = shop.ok("find", with(find("main.rs"), json!({ "path": path })));
        assert_eq!(found, file);
    }
}

#[test]
fn a_hidden_or_ignored_file_can_be_searched_by_name() {
    let shop = project();
    for (path, line) in [
        ("src/main.rs", "src/main.rs:2:    let needle = 1;"),
        ("./README.md", "README.md:3:The needle is here."),
        ("build.log", "build.log:1:ignored needle"),
        (".hidden/secret.txt", ".hidden/secret.txt:1:hidden needle"),
    ] {
        let text = shop.ok("grep", with(grep("needle"), json!({ "path": path })));
        assert_eq!(text.lines().next(), Some(line));
    }
    let absent = shop.ok("grep", with(grep("absent"), json!({ "path": "README.md" })));
    assert_eq!(absent, "No match for `absent` in README.md.");
    let binary = shop.err("grep", with(grep("needle"), json!({ "path": "image.bin" })));
    assert_eq!(binary, "image.bin is a binary file, not text.");
}

#[test]
fn hidden_and_ignored_files_are_searched_on_request() {
    let shop = project();
    let everything = shop.ok("grep", with(grep("needle"), json!({ "all": true })));
    for path in [".hidden/secret.txt:1:", "target/out.txt:1:", "build.log:1:"] {
        assert!(everything.contains(path), "{everything}");
    }
    assert!(!everything.contains(".git/"), "{everything}");
    let hidden_by_glob = shop.ok("grep", with(grep("needle"), json!({ "glob": ".hidden/*" })));
    assert_eq!(hidden_by_glob, ".hidden/secret.txt:1:hidden needle");
    let ignored_by_path = shop.ok("grep", with(grep("needle"), json!({ "path": "target" })));
    assert_eq!(ignored_by_path, "target/out.txt:1:ignored needle");
    let in_git = shop.ok("grep", with(grep("needle"), json!({ "path": ".git" })));
    assert_eq!(in_git, ".git/HEAD:1:needle");
}

#[test]
fn the_files_that_flemma_leaves_for_a_while_are_not_found() {
    let shop = project();
    for name in
        [".a.chat.flemma-lock", ".a.chat.flemma-new-aB3dE6", ".flemma-new-aB3dE6", ".flemma-config", "flemma-lock"]
    {
        shop.put(&format!("own/{name}"), "needle\n");
    }
    let kept = [".flemma-config", "flemma-lock"];
    let own = |all: Value| with(all, json!({ "path": "own", "all": true }));
    assert_eq!(shop.ok("grep", own(grep("needle"))), kept.map(|name| format!("own/{name}:1:needle")).join("\n"));
    assert_eq!(shop.ok("find", own(find("*flemma*"))), kept.map(|name| format!("own/{name}")).join("\n"));
    assert_eq!(shop.ok("ls", json!({ "path": "own" })), kept.map(|name| format!("{name}  (7 B)")).join("\n"));
}

#[test]
fn no_match_is_no_error_and_says_what_was_searched() {
    let shop = project();
    assert_eq!(
        shop.ok("grep", grep("nowhere")),
        "No match for `nowhere` in 4 files of the folder. Hidden files and files ignored by .gitignore were left out; \
         `all` = true includes them.\n\n[1 binary file skipped]"
    );
    assert_eq!(
        shop.ok("grep", with(grep("needle"), json!({ "glob": "*.py", "all": true }))),
        "No match for `needle` in 0 files of the folder that match `*.py`."
    );
}

#[test]
fn globs_choose_files_by_name_or_by_path() {
    let shop = project();
    let files = |glob: &str| -> Vec<String> {
        let text = shop.ok("grep", with(grep("."), json!({ "glob": glob })));
        let mut files: Vec<String> = text.lines().filter_map(|line| Some(line.split_once(':')?.0.into())).collect();
        files.dedup();
        files
    };
    assert_eq!(files("*.rs"), ["src/deep/er/lib.rs", "src/main.rs"]);
    assert_eq!(files("src/*.rs"), ["src/main.rs"]);
    assert_eq!(files("src/**/*.rs"), ["src/deep/er/lib.rs", "src/main.rs"]);
    assert_eq!(files("./**/lib.rs"), ["src/deep/er/lib.rs"]);
    assert_eq!(files("*.{md,txt}"), ["README.md", "notes with spaces/grüße 日本.txt"]);
    let bad = |glob: &str| shop.err("grep", with(grep("x"), json!({ "glob": glob })));
    assert_eq!(
        bad("src/{a,b"),
        "`glob` is not a valid glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?) in `src/{a,b`."
    );
    assert!(
        bad("/etc/*").starts_with("`glob` matches paths below the searched folder, so `/etc/*` cannot match anything")
    );
    assert!(bad("../*").contains("put the folder in `path` instead"));
}

#[test]
fn case_counts_unless_the_call_says_otherwise() {
    let shop = Workshop::new();
    shop.put("a", "needle\nNeedle\n");
    let lines =
        |case: Value, pattern: &str| shop.ok("grep", with(grep(pattern), json!({ "case": case }))).lines().count();
    assert_eq!(lines(Value::Null, "needle"), 1);
    assert_eq!(lines("sensitive".into(), "needle"), 1);
    assert_eq!(lines("insensitive".into(), "NEEDLE"), 2);
    assert_eq!(lines("smart".into(), "needle"), 2);
    assert_eq!(lines("smart".into(), "Needle"), 1);
}

#[test]
fn a_bad_pattern_is_shown_with_its_place_and_the_way_out() {
    let shop = Workshop::new();
    shop.put("a.c", "call(foo(\n");
    let bad = shop.err("grep", grep("foo("));
    assert_eq!(
        bad,
        "`pattern` is not a valid regular expression: unclosed group at column 4. To search for it as plain text, set \
         `fixed_strings` to true."
    );
    assert!(shop.err("grep", grep("日[z-a]")).contains("at column 3. To"));
    assert!(shop.err("grep", grep("\\p{Nothing}")).contains("Unicode property not found at column 1."));
    assert_eq!(shop.ok("grep", with(grep("foo("), json!({ "fixed_strings": true }))), "a.c:1:call(foo(");
    assert_eq!(shop.err("grep", grep("")), "`pattern` is empty: every line would match. To see a file, use `read`.");
    assert!(shop.err("grep", grep("a\nb")).contains("lines are searched one at a time"));
    assert!(shop.err("grep", grep("a\\nb")).contains("not allowed"));
    assert!(shop.err("grep", grep("(\\w{1000}){1000}")).contains("size limit"));
}

#[test]
fn context_lines_and_groups_are_told_apart() {
    let shop = Workshop::new();
    shop.put("a", "1\n2\nx\n4\n5\n6\n7\nx\nx\n10\n");
    shop.put("b", "x\n");
    let around =
        |context: u64, limit: Value| shop.ok("grep", with(grep("x"), json!({ "context": context, "limit": limit })));
    let one = "a-2-2\na:3:x\na-4-4\n--\na-7-7\na:8:x\na:9:x\na-10-10\n--\nb:1:x";
    assert_eq!(around(1, Value::Null), one);
    assert!(around(3, Value::Null).starts_with("a-1-1\na-2-2\na:3:x\na-4-4\na-5-5\na-6-6\na-7-7\na:8:x\n"));
    // The lines around a match that is not shown are not shown either.
    let note = "\n\n[The first match in 1 file is shown; there are more.";
    let first = around(1, 1.into());
    assert!(first.starts_with(&format!("a-2-2\na:3:x\na-4-4{note}")), "{first}");
    let error = shop.err("grep", with(grep("x"), json!({ "context": 21 })));
    assert_eq!(error, "`context` must be at most 20, not 21.");
}

#[test]
fn the_first_matches_in_order_are_shown_despite_threads() {
    let shop = Workshop::new();
    for file in 0..300 {
        // Early files take longer.
        shop.put(
            &format!("{file:03}.txt"),
            format!("{}needle {file}\nneedle again\n", "hay\n".repeat(3000 - file * 10)),
        );
    }
    for limit in [1, 7, 100] {
        let text = shop.ok("grep", with(grep("needle \\d"), json!({ "limit": limit })));
        let (matches, note) = text.split_once("\n\n[").unwrap();
        let expected: Vec<String> =
            (0..limit).map(|file| format!("{file:03}.txt:{}:needle {file}", 3001 - file * 10)).collect();
        assert_eq!(matches.lines().collect::<Vec<_>>(), expected);
        let count =
            if limit == 1 { "match in 1 file is".to_owned() } else { format!("{limit} matches in {limit} files are") };
        assert_eq!(
            note,
            format!("The first {count} shown; there are more. Narrow `pattern`, `path` or `glob`, or raise `limit`]")
        );
    }
    let all = shop.ok("grep", with(grep("needle \\d"), json!({ "limit": 300 })));
    assert_eq!(all.lines().count(), 300, "a limit that is just enough cuts nothing");
    assert_eq!(shop.err("grep", with(grep("x"), json!({ "limit": 0 }))), "`limit` must be at least 1.");
    assert_eq!(shop.err("grep", with(grep("x"), json!({ "limit": 2001 }))), "`limit` must be at most 2000, not 2001.");
}

#[test]
fn a_long_line_shows_what_is_around_its_match() {
    let shop = Workshop::new();
    shop.put("min.js", format!("{}needle{}\n", "日".repeat(40_000), "x".repeat(40_000)));
    let text = shop.ok("grep", grep("needle"));
    let (line, note) = text.split_once("\n\n").unwrap();
    assert!(line.starts_with("min.js:1:…日日"), "{line}");
    assert!(line.contains("日needlex") && line.ends_with("xx…"), "{line}");
    assert!(line.len() < 600, "{}", line.len());
    assert_eq!(note, "[Only a part of lines over 500 bytes is shown; `…` stands for the rest]");
}

#[test]
fn a_long_result_is_saved_whole() {
    let shop = Workshop::new();
    shop.put("a", format!("needle {}\n", "x".repeat(90)).repeat(1500));
    let text = shop.ok("grep", with(grep("needle"), json!({ "limit": 1500 })));
    let (shown, note) = text.rsplit_once("\n\n[").unwrap();
    assert!(shown.len() <= truncate::MAX_BYTES);
    let path = note.strip_suffix(']').unwrap().split(" is in ").nth(1).unwrap();
    assert!(
        note.starts_with(&format!("Showing lines 1-{} of 1500. The full output is in ", shown.lines().count())),
        "{note}"
    );
    assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 1500);
}

#[test]
fn crlf_utf16_and_bytes_that_are_no_utf8_are_searched() {
    let shop = Workshop::new();
    shop.put("dos.txt", "one\r\nneedle\r\n");
    shop.put("latin1.txt", b"caf\xe9 needle\n");
    let utf16: Vec<u8> = "\u{feff}a needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    shop.put("utf16.txt", utf16);
    assert_eq!(
        shop.ok("grep", grep("needle$")),
        "dos.txt:2:needle\nlatin1.txt:1:caf\u{fffd} needle\nutf16.txt:1:a needle"
    );
    assert_eq!(shop.ok("grep", grep("^needle$")), "dos.txt:2:needle");
    assert_eq!(shop.ok("grep", with(grep("^one"), json!({ "context": 1 }))), "dos.txt:1:one\ndos.txt-2-needle");
}

#[test]
fn names_that_are_odd_stay_on_their_line() {
    let shop = Workshop::new();
    let odd = shop.path("").join(OsStr::from_bytes(b"a\nb:1:forged\x1b[31m\xff.txt"));
    fs::write(&odd, "needle\n").unwrap();
    let name = "a\\nb:1:forged\\u{1b}[31m\u{fffd}.txt";
    let note = "\n\n[1 name is not valid UTF-8 and shown with \u{fffd}; only bash can open such a file, with a `*` in \
                place of the invalid bytes]";
    assert_eq!(shop.ok("grep", grep("needle")), format!("{name}:1:needle{note}"));
    assert_eq!(shop.ok("find", find("*")), format!("{name}{note}"));
    assert_eq!(shop.ok("ls", ls(".")), format!("{name}  (7 B){note}"));
}

#[test]
fn links_are_not_followed_so_that_loops_do_no_harm() {
    let shop = project();
    symlink("..", shop.path("src/up")).unwrap();
    symlink("loop", shop.path("loop")).unwrap();
    symlink("README.md", shop.path("linked.md")).unwrap();
    let text = shop.ok("grep", grep("The needle"));
    assert_eq!(text.lines().next(), Some("README.md:3:The needle is here."));
    assert!(!text.contains("linked.md:") && !text.contains("src/up/"), "{text}");
    // A link that the call names is another matter.
    symlink("src", shop.path("sources")).unwrap();
    let linked = shop.ok("grep", with(grep("fn main"), json!({ "path": "sources" })));
    assert_eq!(linked, "sources/main.rs:1:fn main() {");
}

#[test]
fn pipes_and_devices_are_never_waited_for() {
    let shop = project();
    std::process::Command::new("mkfifo").arg(shop.path("pipe")).status().unwrap();
    let started = Instant::now();
    shop.ok("grep", with(grep("needle"), json!({ "all": true })));
    assert_eq!(shop.err("grep", with(grep("x"), json!({ "path": "pipe" }))), "pipe is a named pipe, not a directory.");
    assert_eq!(
        shop.err("grep", with(grep("x"), json!({ "path": "/dev/zero" }))),
        "/dev/zero is a device, not a directory."
    );
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn what_a_model_writes_is_never_an_option() {
    let shop = Workshop::new();
    shop.put("-delete", "--pre=rm\n");
    shop.put("--pre", "-e\n");
    assert_eq!(shop.ok("grep", grep("--pre=rm")), "-delete:1:--pre=rm");
    assert_eq!(shop.ok("grep", with(grep("-e"), json!({ "path": "--pre" }))), "--pre:1:-e");
    assert_eq!(shop.ok("grep", with(grep("-"), json!({ "glob": "-delete" }))), "-delete:1:--pre=rm");
    assert_eq!(shop.ok("find", find("-delete")), "-delete");
    assert_eq!(
        shop.err("find", with(find("*"), json!({ "path": "-delete" }))),
        "-delete is a file (9 B), not a directory. Read it with `read`."
    );
    assert_eq!(shop.ok("ls", ls(".")), "--pre  (3 B)\n-delete  (9 B)");
    assert!(shop.path("-delete").exists() && shop.path("--pre").exists());
}

#[test]
fn a_line_without_end_is_no_text() {
    let shop = Workshop::new();
    shop.put("a.txt", "needle\n");
    shop.put("b.txt", "x".repeat(70 << 20));
    // A terabyte of nothing takes no room and no time.
    File::create(shop.path("c.txt")).unwrap().set_len(1 << 40).unwrap();
    let note = "[1 binary file skipped. Could not be read: b.txt (it has a line longer than 64.0 MB)]";
    assert_eq!(shop.ok("grep", grep("needle")), format!("a.txt:1:needle\n\n{note}"));
}

/// Puts files of one long line each. They are one file under many names, which is as much to search and less to write.
fn put_long_lines(shop: &Workshop, count: usize) {
    let first = shop.put("c/000", "x".repeat(1 << 20));
    (1..count).for_each(|file| fs::hard_link(&first, shop.path(&format!("c/{file:03}"))).unwrap());
}

#[test]
fn a_search_ends_when_its_time_is_over_and_keeps_what_it_found() {
    let mut shop = Workshop::new();
    shop.put("a.txt", "needle\n");
    shop.context.timeout = Duration::from_secs(2);
    put_long_lines(&shop, 400);
    // A pattern that has to look at every place of a long line.
    let started = Instant::now();
    let text = shop.err("grep", with(grep("needle|(?:x?){60}y"), json!({ "limit": 10 })));
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert!(text.starts_with("Timed out after 2 seconds. Choose a smaller folder in `path`"), "{text}");
    assert!(text.contains("Results up to then:\n\na.txt:1:needle"), "{text}");
}

#[test]
fn a_search_can_be_cancelled() {
    let shop = project();
    put_long_lines(&shop, 200);
    let cancel = shop.context.cancel.clone();
    let started = Instant::now();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
    });
    let text = shop.err("grep", grep("(?:x?){60}y"));
    assert_eq!(text.lines().next(), Some("Cancelled by the user."), "{text}");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    canceller.join().unwrap();
    // Whoever was cancelled before has nothing to show.
    assert_eq!(shop.err("find", find("*")), "Cancelled by the user.");
    assert_eq!(shop.err("ls", ls(".")), "Cancelled by the user.");
}

#[test]
fn a_project_of_many_files_is_searched_fast() {
    let shop = Workshop::new();
    for folder in 0..20 {
        fs::create_dir(shop.path(&format!("{folder:02}"))).unwrap();
        for file in 0..100 {
            fs::write(shop.path(&format!("{folder:02}/{file:02}.txt")), "hay\nneedle\n").unwrap();
        }
    }
    let started = Instant::now();
    let text = shop.ok("grep", grep("needle"));
    assert!(text.contains("00/99.txt:2:needle\n\n[The first 100 matches in 100 files are shown"), "{text}");
    let all = shop.ok("grep", with(grep("needle"), json!({ "limit": 2000 })));
    assert_eq!(all.lines().count(), 2000);
    let found = shop.ok("find", find("*.txt"));
    assert!(found.ends_with("04/99.txt\n\n[500 of 2000 are shown. Narrow `pattern` or `path`, or raise `limit`]"));
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn what_cannot_be_read_is_named() {
    let shop = project();
    fs::set_permissions(shop.path("src/deep"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(shop.path("README.md"), Permissions::from_mode(0o000)).unwrap();
    let may_everything = fs::read_dir(shop.path("src/deep")).is_ok();
    let (found, matched) = (shop.render("find", find("*.rs")), shop.render("grep", grep("let needle")));
    fs::set_permissions(shop.path("src/deep"), Permissions::from_mode(0o755)).unwrap();
    if may_everything {
        // The superuser reads everything; `report`'s own tests show the words.
        return;
    }
    assert_eq!(found.text, "src/main.rs\n\n[Could not be read: src/deep (permission denied)]");
    let note = "Could not be read: README.md (permission denied), src/deep (permission denied)";
    assert!(matched.text.contains(note), "{}", matched.text);
}

// find

#[test]
fn find_shows_paths_in_order_and_folders_with_a_slash() {
    let shop = project();
    assert_eq!(
        shop.ok("find", find("*")),
        "README.md\nimage.bin\nnotes with spaces/\nnotes with spaces/grüße 日本.txt\nsrc/\nsrc/deep/\nsrc/deep/er/\n\
         src/deep/er/lib.rs\nsrc/main.rs"
    );
    assert_eq!(shop.ok("find", find("**/*.rs")), "src/deep/er/lib.rs\nsrc/main.rs");
    assert_eq!(shop.ok("find", find("src/*")), "src/deep/\nsrc/main.rs");
    assert_eq!(shop.ok("find", find("d*p/")), "src/deep/");
    assert_eq!(shop.ok("find", find("*日本*")), "notes with spaces/grüße 日本.txt");
}

#[test]
fn find_can_be_told_what_kind_is_wanted() {
    let shop = project();
    symlink("deep", shop.path("src/link-to-folder")).unwrap();
    symlink("main.rs", shop.path("src/link-to-file")).unwrap();
    symlink("gone", shop.path("src/link-to-nothing")).unwrap();
    let kind = |kind: &str| shop.ok("find", with(find("*"), json!({ "path": "src", "kind": kind })));
    assert_eq!(kind("dir"), "src/deep/\nsrc/deep/er/\nsrc/link-to-folder");
    assert_eq!(kind("file"), "src/deep/er/lib.rs\nsrc/link-to-file\nsrc/main.rs");
    assert!(shop.ok("find", with(find("link-*"), json!({ "path": "src" }))).contains("link-to-nothing"));
}

#[test]
fn find_skips_hidden_and_ignored_files_and_says_so() {
    let shop = project();
    assert_eq!(
        shop.ok("find", with(find("*.log"), json!({ "kind": "file" }))),
        "No file in the folder matches `*.log`. Hidden files and files ignored by .gitignore were left out; `all` = \
         true includes them."
    );
    assert_eq!(shop.ok("find", with(find("*.log"), json!({ "all": true }))), "build.log");
    assert_eq!(shop.ok("find", find(".gitignore")), ".gitignore");
    assert_eq!(shop.ok("find", with(find("HEAD"), json!({ "all": true }))), "Nothing in the folder matches `HEAD`.");
    assert_eq!(shop.ok("find", with(find("HEAD"), json!({ "path": ".git" }))), ".git/HEAD");
    shop.put("sub/.gitignore", "!*.log\n");
    shop.put("sub/kept.log", "");
    assert_eq!(shop.ok("find", find("*.log")), "sub/kept.log");
}

#[test]
fn find_refuses_what_can_mean_nothing() {
    let shop = project();
    assert_eq!(shop.err("find", find("")), "`pattern` is empty. Give a glob like `*.rs`; `*` matches every name.");
    assert!(shop.err("find", find("[a")).starts_with("`pattern` is not a valid glob: "));
    assert!(shop.err("find", find("/etc/*")).contains("put the folder in `path` instead"));
    assert_eq!(
        shop.err("find", with(find("*"), json!({ "path": "srcs" }))),
        "srcs does not exist. Its folder contains `src`."
    );
    let rendered = shop.err("find", with(find("*"), json!({ "kind": "pipe" })));
    assert!(rendered.contains("expected one of \"file\", \"dir\", null"), "{rendered}");
}

#[test]
fn find_gives_up_when_the_time_is_over() {
    let mut shop = project();
    shop.context.timeout = Duration::ZERO;
    assert_eq!(shop.err("find", find("*")), "Timed out after 0 seconds. Choose a smaller folder in `path`.");
}

// ls

#[test]
fn ls_shows_everything_that_is_in_a_folder() {
    let shop = project();
    symlink("src", shop.path("a-folder")).unwrap();
    symlink("README.md", shop.path("b-file")).unwrap();
    symlink("nowhere", shop.path("c-nothing")).unwrap();
    std::process::Command::new("mkfifo").arg(shop.path("pipe")).status().unwrap();
    let everything = ".git/\n.gitignore  (14 B)\n.hidden/\nREADME.md  (29 B)\na-folder -> src/\nb-file -> README.md\n\
                      build.log  (15 B)\nc-nothing -> nowhere  (broken link)\nimage.bin  (14 B)\nnotes with spaces/\n\
                      pipe  (a named pipe)\nsrc/\ntarget/";
    assert_eq!(shop.ok("ls", ls(".")), everything);
    assert_eq!(shop.ok("ls", json!({ "path": null })), everything);
    assert_eq!(shop.ok("ls", json!({ "path": "" })), everything);
    assert_eq!(shop.ok("ls", ls("a-folder")), "deep/\nmain.rs  (60 B)");
    assert_eq!(
        shop.ok("ls", json!({ "path": ".", "limit": 2 })),
        ".git/\n.gitignore  (14 B)\n\n[2 of 13 are shown. Raise `limit`, or search for names with `find`]"
    );
}

#[test]
fn ls_names_what_is_no_folder() {
    let shop = project();
    fs::create_dir(shop.path("empty")).unwrap();
    assert_eq!(shop.ok("ls", ls("empty")), "(empty folder)");
    assert_eq!(shop.err("ls", ls("README.md")), "README.md is a file (29 B), not a directory. Read it with `read`.");
    assert_eq!(shop.err("ls", ls("/dev/null")), "/dev/null is a device, not a directory.");
    assert_eq!(shop.err("ls", ls("srcs")), "srcs does not exist. Its folder contains `src`.");
    assert_eq!(shop.err("ls", ls("README.md/x")), "README.md/x: a part of this path is a file, not a directory.");
}

#[test]
fn search_tools_look_where_read_looks() {
    let mut shop = project();
    shop.put("chats/beside.txt", "needle\n");
    shop.context.chat_dir = Some(shop.path("chats"));
    assert_eq!(shop.ok("grep", grep("needle")), "beside.txt:1:needle");
    assert_eq!(shop.ok("find", find("*")), "beside.txt");
    assert_eq!(shop.ok("ls", ls(".")), "beside.txt  (7 B)");
    assert!(shop.ok("ls", ls("..")).contains("README.md"));
    assert_eq!(shop.ok("find", with(find("main.rs"), json!({ "path": "../src" }))), "../src/main.rs");
}

#[cfg(target_os = "linux")]
#[test]
fn a_search_without_more_threads_finds_the_same() {
    // A process of its own, whose address space is too small for another thread's stack.
    const TEST: &str = "FLEMMA_TEST_SEARCH_WITHOUT_THREADS";
    let shop = Workshop::new();
    for n in 0..40 {
        shop.put(&format!("{n:02}/file.txt"), "a needle\n");
    }
    let input = grep("needle");
    let expected = shop.ok("grep", input.clone());
    assert_eq!(expected.matches("a needle").count(), 40, "{expected}");
    if std::env::var_os(TEST).is_some() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
        let limit = Some((size + 1024) * 1024);
        rustix::process::setrlimit(
            rustix::process::Resource::As,
            rustix::process::Rlimit { current: limit, maximum: limit },
        )
        .unwrap();
        // The stacks of threads that have ended are used again, as long as there are any.
        while std::thread::Builder::new().spawn(std::thread::park).is_ok() {}
        assert_eq!(shop.ok("grep", input), expected);
        return;
    }
    let module = module_path!().split_once("::").unwrap().1;
    let name = format!("{module}::a_search_without_more_threads_finds_the_same");
    let own = std::env::current_exe().unwrap();
    let output = std::process::Command::new(own).args(["--exact", &name]).env(TEST, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
