//! What a conversation ends with, and replies that were cut off.

use flemma_chat::{Document, Tail, drop_cut_off};
use proptest::prelude::*;

fn lines(text: &str) -> Vec<String> {
    text.split('\n').map(str::to_owned).collect()
}

fn tail(text: &str) -> Tail {
    let lines = lines(text);
    flemma_chat::Tail::of(Document::parse(&lines).messages(), &lines)
}

/// The text without a reply at its end that was cut off.
fn dropped(text: &str) -> String {
    let mut lines = lines(text);
    for edit in drop_cut_off(Document::parse(&lines).messages(), &lines) {
        edit.apply(&mut lines);
    }
    lines.join("\n")
}

#[test]
fn a_conversation_ends_with_its_last_message_that_has_content() {
    assert_eq!(tail(""), Tail::Nothing);
    assert_eq!(tail("@You:\n\n  \n"), Tail::Nothing);
    assert_eq!(tail("@System:\nBe brief.\n"), Tail::Nothing);
    assert_eq!(tail("@You:\nHello"), Tail::Unanswered);
    assert_eq!(tail("@You: Hello"), Tail::Unanswered);
    assert_eq!(tail("@You:\nHello\n\n@System:\nBe brief.\n\n@You:\n"), Tail::Unanswered);
    assert_eq!(tail("@You:\nHello\n\n@Assistant:\nHi\n\n@You:\n\n"), Tail::Reply);
    assert_eq!(tail("@You:\nHello\n\n@Assistant:\nHi\n\n@You:\nMore"), Tail::Unanswered);
    let results =
        "@Assistant:\n**Tool Use:** `x` (`1`)\n\n```json\n{}\n```\n\n@You:\n**Tool Result:** `1`\n\n```\nok\n```\n";
    assert_eq!(tail(results), Tail::Results);
    assert_eq!(tail(&format!("{results}\n\n")), Tail::Results);
    assert_eq!(tail(&format!("{results}\nMore")), Tail::Unanswered);
}

#[test]
fn a_reply_that_was_cut_off_is_deleted_whole() {
    let cut = "@You:\nHello\n\n@Assistant:\n<thinking>\nhm\n</thinking>\n\nHal\n\n<!-- flemma:aborted -->\n\n@You:\n\n";
    assert_eq!(tail(cut), Tail::CutOff);
    assert_eq!(dropped(cut), "@You:\nHello\n");
    let instructed = format!("{cut}@System:\nBe brief.\n");
    assert_eq!(dropped(&instructed), "@You:\nHello\n\n@System:\nBe brief.\n");
    let call =
        "@You:\nHello\n\n@Assistant:\nHal\n\n**Tool Use:** `x` (`1`)\n\n```json\n{}\n```\n\n<!-- flemma:aborted -->\n";
    assert_eq!(dropped(&format!("{call}\n@You:\n")), "@You:\nHello\n");
    let answered = format!("{call}\n@You:\n**Tool Result:** `1` (error)\n\n```\naborted\n```\n");
    // Whoever writes after it has seen it, and so do results.
    for kept in [
        "@You:\nHello\n\n@Assistant:\nHal\n\n<!-- flemma:aborted -->\n\n@You:\nGo on",
        "@You:\nHello\n\n@Assistant:\nHal\n\n<!-- flemma:aborted -->\n\nmine",
        answered.as_str(),
        "@You:\n<!-- flemma:aborted -->\n",
        "@You:\nHello\n\n@Assistant:\nHal\n",
    ] {
        assert_ne!(tail(kept), Tail::CutOff, "{kept}");
        assert_eq!(dropped(kept), kept);
    }
}

/// Messages as users and models write them.
fn message() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "@You:\n",
        "@You:\nHello\n",
        "@You: Hello\n",
        "@System:\nBe brief.\n",
        "@Assistant:\nHi\n",
        "@Assistant:\n",
        "@Assistant:\nHal\n\n<!-- flemma:aborted -->\n",
        "@Assistant:\n<!-- flemma:aborted -->\nmine\n",
        "@Assistant:\n```\n<!-- flemma:aborted -->\n```\n",
        "@Assistant:\n<thinking>\n<!-- flemma:aborted -->\n</thinking>\n",
        "\n",
        "  \n",
        "text\n",
    ])
}

proptest! {
    #[test]
    fn nothing_else_is_ever_deleted(messages in prop::collection::vec(message(), 0..8)) {
        let text = messages.concat();
        let left = dropped(&text);
        let same = text.bytes().zip(left.bytes()).take_while(|(before, after)| before == after).count();
        let rest = left.len() - same;
        prop_assert!(text.ends_with(&left[same..]), "{left:?}");
        let lost = &text[same..text.len() - rest];
        if tail(&text) == Tail::CutOff {
            // One reply, and blank messages after it.
            prop_assert_eq!(lost.matches("<!-- flemma:aborted -->").count(), 1);
            prop_assert!(!["mine", "Hello", "brief", "Hi"].iter().any(|word| lost.contains(word)), "{:?}", lost);
        } else {
            prop_assert_eq!(lost, "");
        }
    }
}
