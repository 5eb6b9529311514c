use proptest::prelude::*;

use super::*;

fn result(id: CallId, is_error: bool, hosted: bool) -> BlockKind {
    let body = ResultBody::Missing;
    BlockKind::ToolResult(Box::new(ToolResult { id, is_error, hosted, body, known: Cache::default() }))
}

#[test]
fn a_marker_stands_in_column_0_with_its_colon() {
    assert_eq!(marker("@You:"), Some((Speaker::You, 5)));
    assert_eq!(marker("@System:  be brief"), Some((Speaker::System, 10)));
    assert_eq!(marker("@Assistant:\r"), Some((Speaker::Assistant, 12)));
    for none in [" @You:", "@You", "@Youth:", "@you:", "\\@You:", "@", ""] {
        assert_eq!(marker(none), None, "{none:?}");
    }
}

#[test]
fn a_broken_header_is_not_taken_for_prose() {
    for broken in ["**Tool Use:** bash", "**Tool Use:** `bash` `x`", "**Tool Use:** `a` (`b`) (error)"] {
        assert_eq!(header(broken), Some(None), "{broken}");
    }
    assert_eq!(header("**Tool Result:** `a` (oops)"), Some(None));
    assert_eq!(header("**Tools:**"), None);
}

#[test]
fn suffixes_come_in_any_order() {
    let expected = result("a".into(), true, true);
    assert_eq!(header("**Tool Result:** `a` (error) (provider)\r"), Some(Some(expected.clone())));
    assert_eq!(header("**Tool Result:** `a` (provider)(error)"), Some(Some(expected)));
}

#[test]
fn a_thinking_tag_stands_alone_on_its_line() {
    assert!(opens_thinking("<thinking>") && opens_thinking("<thinking redacted a:signature=\"x>\"> "));
    for none in ["<thinking>x", "<thinkings>", "<thinking", " <thinking>", "<thinking/>"] {
        assert!(!opens_thinking(none), "{none:?}");
    }
    assert!(closes_thinking("</thinking>\r") && !closes_thinking("</thinking>x"));
}

proptest! {
    #[test]
    fn headers_read_back(name in "[^\\p{Cc}]{1,8}", id in "[^\\p{Cc}]{1,8}", hosted: bool, is_error: bool) {
        let id = CallId(id);
        let tool = ToolUse { name: name.clone(), id: id.clone(), hosted, input: None, known: Cache::default() };
        prop_assert_eq!(
            header(&use_header(&name, &id, hosted)),
            Some(Some(BlockKind::ToolUse(Box::new(tool))))
        );
        prop_assert_eq!(
            header(&result_header(&id, is_error, hosted)),
            Some(Some(result(id, is_error, hosted)))
        );
    }

    #[test]
    fn thinking_tags_read_back(value in ".{0,20}", redacted: bool) {
        let signature = Signature { provider: "anthropic".into(), value };
        let signed = ThinkingTag::new(Some(signature.clone()), &Digest::of(b"Look."));
        let tag = if redacted { ThinkingTag::hidden(signature) } else { signed };
        let line = format!("{THINKING}{}>", tag.attributes());
        prop_assert!(opens_thinking(&line));
        prop_assert_eq!(ThinkingTag::read(&line), tag);
    }
}
