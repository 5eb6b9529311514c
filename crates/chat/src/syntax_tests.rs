use proptest::prelude::*;

use super::*;

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
        assert_eq!(Header::read(broken), Some(None), "{broken}");
    }
    assert_eq!(Header::read("**Tool Result:** `a` (oops)"), Some(None));
    assert_eq!(Header::read("**Tools:**"), None);
}

#[test]
fn suffixes_come_in_any_order() {
    let expected = Header::Result { id: "a".into(), is_error: true, hosted: true };
    assert_eq!(Header::read("**Tool Result:** `a` (error) (provider)\r"), Some(Some(expected.clone())));
    assert_eq!(Header::read("**Tool Result:** `a` (provider)(error)"), Some(Some(expected)));
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
        let (name, id) = (name, CallId(id));
        prop_assert_eq!(
            Header::read(&use_header(&name, &id, hosted)),
            Some(Some(Header::Use { name, id: id.clone(), hosted }))
        );
        prop_assert_eq!(
            Header::read(&result_header(&id, is_error, hosted)),
            Some(Some(Header::Result { id, is_error, hosted }))
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
