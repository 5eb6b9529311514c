//! What is told of a conversation from the beginning and the end of its file, and the names of new files.

use flemma_chat::{Glance, file_name};
use proptest::prelude::*;

fn whole(text: &str) -> Glance {
    Glance::of(text.as_bytes(), text.as_bytes())
}

fn title(text: &str) -> Option<String> {
    whole(text).title
}

#[test]
fn the_title_is_the_first_line_that_the_user_wrote() {
    assert_eq!(title("@You:\nFix the parser\nplease\n"), Some("Fix the parser".to_owned()));
    assert_eq!(title("@You:   on the marker's line"), Some("on the marker's line".to_owned()));
    assert_eq!(title("@System:\nBe brief.\n\n@You:\n\n   \n\tWhy?  Because.\r\n"), Some("Why? Because.".to_owned()));
    // Not what the model or a tool said.
    assert_eq!(title("@Assistant:\nHello\n\n@You:\nHi\n"), Some("Hi".to_owned()));
    let result = "@You:\n**Tool Result:** `a`\n\n```\noutput\n```\n\nNow this\n";
    assert_eq!(title(result), Some("Now this".to_owned()));
    // Code only where there is no prose, and an empty message is passed over.
    assert_eq!(title("@You:\n```rust\nfn a() {}\n```\nWhat is this?\n"), Some("What is this?".to_owned()));
    assert_eq!(title("@You:\n```rust\nfn a() {}\n```\n"), Some("fn a() {}".to_owned()));
    assert_eq!(title("@You:\n\n@Assistant:\nHi\n\n@You:\nSecond\n"), Some("Second".to_owned()));
    for none in ["", "@You:\n", "no marker\n", "@Assistant:\nHi\n", "```json\n{}\n```\n"] {
        assert_eq!(title(none), None, "{none}");
    }
    let long = title(&format!("@You:\n{}", "word ".repeat(100))).unwrap();
    assert_eq!(long.chars().count(), 121);
    assert!(long.ends_with('…'), "{long}");
    // A terminal cannot be controlled by it.
    assert_eq!(title("@You:\n\u{1b}[31mred\u{7}\n"), Some("[31mred".to_owned()));
}

#[test]
fn the_model_is_read_from_frontmatter_and_no_code_is_run() {
    let model = |text: &str| whole(&format!("{text}\n\n@You:\nHi\n")).model;
    assert_eq!(model("```json\n{ \"provider\": \"openai\", \"model\": \"gpt-x\" }\n```"), Some("gpt-x".to_owned()));
    assert_eq!(model("```lua\nflemma.opt.model = \"claude-x\"\n```"), Some("claude-x".to_owned()));
    assert_eq!(model("```lua\nflemma.opt.model='a'\nflemma.opt.model = 'b' -- last\n```"), Some("b".to_owned()));
    for none in [
        "```json\n{ \"model\": 3 }\n```",
        "```json\n{ \"model\": \n```",
        "```lua\nflemma.opt.model = os.getenv('X')\n```",
        "```lua\nflemma.opt.models = 'x'\n```",
        "```lua\nflemma.opt.model = \"never closed\n```",
        "```lua\nflemma.opt.model = 'a'",
        "```yaml\nmodel: a\n```",
        "flemma.opt.model = 'a'",
    ] {
        assert_eq!(model(none), None, "{none}");
    }
}

#[test]
fn a_call_that_waits_at_the_end_is_noticed() {
    let call = "@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `a`\n\n";
    let waiting = format!("{call}```flemma:tool status=pending\n```\n");
    assert!(whole(&waiting).is_waiting);
    // Also where only the end of a long file is read, from the middle of a line.
    let long = format!("@You:\n{}\n\n{waiting}", "x".repeat(50_000));
    assert!(Glance::of(&long.as_bytes()[..Glance::BYTES], &long.as_bytes()[long.len() - Glance::BYTES..]).is_waiting);
    for idle in [
        format!("{call}```\ndone\n```\n"),
        format!("{call}```flemma:tool status=running\n```\n"),
        // Words in an output are not a status.
        format!("{call}````\n```flemma:tool status=pending\n```\n````\n"),
        "@You:\n```flemma:tool status=pending\n```\n".to_owned(),
        format!("{waiting}\n@Assistant:\nDone\n\n@You:\nThanks\n"),
    ] {
        assert!(!whole(&idle).is_waiting, "{idle}");
    }
}

#[test]
fn names_of_files_are_made_of_date_and_title() {
    let name = |title: &str| file_name(title, "2026-11-23", "1432", 1);
    assert_eq!(name("Fix the Parser!"), "2026-11-23-fix-the-parser.chat");
    assert_eq!(name("  ../../etc/passwd "), "2026-11-23-etc-passwd.chat");
    assert_eq!(name("漢字 Größe"), "2026-11-23-漢字-größe.chat");
    for empty in ["", "  ", "?!", "...", "/"] {
        assert_eq!(name(empty), "2026-11-23-1432.chat", "{empty}");
    }
    assert_eq!(file_name("a", "2026-11-23", "1432", 3), "2026-11-23-a-3.chat");
}

proptest! {
    #[test]
    fn any_bytes_have_a_short_title_or_none(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        structure in "(@You:|@Assistant:|```|\\*\\*Tool Result:\\*\\* `a`|flemma:tool status=pending|[a\u{1b}\u{9b} ]|\n){0,60}",
        cut in 0..3000_usize,
    ) {
        for text in [bytes.as_slice(), structure.as_bytes(), &[&bytes, structure.as_bytes()].concat()] {
            let end = &text[cut.min(text.len())..];
            let glance = Glance::of(text, end);
            for words in [&glance.title, &glance.model].into_iter().flatten() {
                prop_assert!(!words.trim().is_empty() && words.chars().count() <= 121, "{words:?}");
                prop_assert!(!words.contains(char::is_control), "{words:?}");
            }
            prop_assert_eq!(&Glance::of(text, end), &glance);
        }
    }

    #[test]
    fn any_title_makes_one_plain_name(title in any::<String>(), number in 1..9_usize) {
        let name = file_name(&title, "2026-11-23", "1432", number);
        prop_assert!(name.starts_with("2026-11-23-") && name.ends_with(".chat"));
        prop_assert!(name.len() <= 255 && !name.contains(['/', '\0', ' ']) && !name.contains(char::is_control), "{name:?}");
        prop_assert!(!name.contains("--"), "{name:?}");
    }
}
