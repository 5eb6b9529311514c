use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_code_span_reads_back_whatever_is_in_it(name in "[`a ()]{1,10}", rest in "[^`]{0,4}") {
        let line = format!("{}{rest}", code_span(&name));
        prop_assert_eq!(read_code_span(&line), Some((name.as_str(), rest.as_str())));
    }
}

#[test]
fn a_name_cannot_break_its_line() {
    assert_eq!(code_span("a\n@You:\u{7}"), "`a\u{FFFD}@You:\u{FFFD}`");
    assert_eq!(code_span(""), "`-`");
}
