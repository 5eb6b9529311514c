use proptest::prelude::*;

use super::*;

/// The references of a line: as they stand, the path, the type.
fn all(line: &str) -> Vec<(&str, String, Option<String>)> {
    references(line).into_iter().map(|found| (&line[found.columns], found.path, found.media_type)).collect()
}

/// The paths alone.
fn paths(line: &str) -> Vec<String> {
    references(line).into_iter().map(|found| found.path).collect()
}

#[test]
fn the_four_beginnings_name_files_and_nothing_else_does() {
    assert_eq!(paths("@./a.png @../b.png @~/c.pdf @//etc/d"), ["./a.png", "../b.png", "~/c.pdf", "/etc/d"]);
    for line in [
        "me@./a.png",
        "user@example.com",
        "@a.png",
        "@/etc/passwd",
        "@@./a.png",
        "\\@./a.png",
        "@./",
        "@//",
        "@..",
        "@.",
        "@./.",
        "@you/package",
        "@~",
        "x/@./a",
    ] {
        assert_eq!(paths(line), [""; 0], "{line}");
    }
}

#[test]
fn punctuation_around_a_reference_is_no_part_of_it() {
    for line in [
        "@./a.png.",
        "@./a.png, and",
        "see (@./a.png)",
        "see (@./a.png).",
        "\"@./a.png\"",
        "**@./a.png**!",
        "_@./a.png_",
        "is it @./a.png?!",
        "<@./a.png>",
        "“@./a.png”…",
        "[@./a.png]: there",
        "@./a.png;",
        "1,@./a.png",
    ] {
        assert_eq!(paths(line), ["./a.png"], "{line}");
    }
    assert_eq!(paths("@./a(1).png and @./b(2)."), ["./a(1).png", "./b(2)"]);
    assert_eq!(paths("@./a_ @./x.tar.gz, @./äöü.png."), ["./a_", "./x.tar.gz", "./äöü.png"]);
}

#[test]
fn percent_signs_stand_for_what_a_path_cannot_have() {
    assert_eq!(paths("@./my%20pic.png @./100%25.txt"), ["./my pic.png", "./100%.txt"]);
    // What is no encoding, no text, or would break a line is taken as it stands.
    assert_eq!(paths("@./100%.txt @./a%FF.png @./a%0Ab @./a%00"), ["./100%.txt", "./a%FF.png", "./a%0Ab", "./a%00"]);
    assert_eq!(paths("@//%2Fetc"), ["//etc"]);
}

#[test]
fn a_type_is_told_apart_from_the_path() {
    let line = "@./a.bin;type=Image/PNG, @./b;type=text/x-c++. (@./c;type=text/plain)";
    assert_eq!(
        all(line),
        [
            ("@./a.bin;type=Image/PNG", "./a.bin".to_owned(), Some("image/png".to_owned())),
            ("@./b;type=text/x-c++", "./b".to_owned(), Some("text/x-c++".to_owned())),
            ("@./c;type=text/plain", "./c".to_owned(), Some("text/plain".to_owned())),
        ]
    );
    // What is no type is a part of the path, so that whoever wrote it is told that there is no such file.
    assert_eq!(paths("@./a.png;type=png"), ["./a.png;type=png"]);
}

#[test]
fn code_names_no_files() {
    assert_eq!(paths("`@./a.png` and ``x ` @./b.png`` but @./c.png"), ["./c.png"]);
    assert_eq!(paths("a ` alone, then @./c.png"), ["./c.png"]);
    let text = "@You:\n@./a\n```\n@./b\n```\n~~~ x\n@./c\n```\n~~~\n@./d";
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let found = files(&Document::parse(&lines), 0..lines.len(), &lines).into_iter().map(|found| found.path);
    assert_eq!(found.collect::<Vec<_>>(), [Path::new("./a"), Path::new("./d")]);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(name in "[^/\\x00-\\x1f\\x7f-\\u{9f}]{0,12}", start in 0..5usize, typed: bool) {
        let start = ["./", "../", "~/", "/", "x"][start];
        let path = format!("{start}{name}y");
        let attachment = Attachment::unread(&path, if typed { "text/plain" } else { "" });
        let line = format!("({}).", write(&attachment));
        let found = references(&line);
        prop_assert_eq!(found.len(), 1, "{}", line);
        let expected = if start == "x" { format!("./{path}") } else { path };
        prop_assert_eq!(&found[0].path, &expected);
        prop_assert_eq!(found[0].attachment().unwrap().media_type, attachment.media_type);
    }

    #[test]
    fn no_line_is_too_odd(line in "[@./~\\\\` ;%a()é*_type=]{0,40}") {
        let mut end = 0;
        for found in references(&line) {
            prop_assert!(found.columns.start >= end && line[found.columns.clone()].starts_with('@'));
            end = found.columns.end;
        }
    }
}

proptest! {
    /// A name that is written for a reference is read back from it, whatever follows.
    #[test]
    fn a_name_is_read_back_from_its_reference(name in "[^/\\pC\\s]{1,3}[^/\\pC]{0,12}", behind in "(|\\.|\\)| and|,|`x`|!\\?)") {
        let written = reference_name(&name).unwrap();
        let found = references(&format!("see @./{written}{behind}"));
        prop_assert_eq!(found.len(), 1, "{}", &written);
        prop_assert_eq!(&found[0].path, &format!("./{name}"), "{}", &written);
        prop_assert_eq!(found[0].media_type.as_ref(), None);
        prop_assert_eq!(decoded_name(&written), name);
    }
}
