use proptest::prelude::*;

use super::*;

fn pairs(text: &str) -> Vec<(String, Option<String>, bool)> {
    read(text).into_iter().map(|a| (a.key.to_owned(), a.value.map(Cow::into_owned), a.sound)).collect()
}

#[test]
fn words_quotes_and_flags_are_told_apart() {
    let one = |key: &str, value: Option<&str>, sound| (key.to_owned(), value.map(str::to_owned), sound);
    assert_eq!(
        pairs(r#" status=pending  note="say \"hi\"" redacted x= "#),
        [
            one("status", Some("pending"), true),
            one("note", Some("say \"hi\""), true),
            one("redacted", None, true),
            one("x", Some(""), true)
        ]
    );
    assert_eq!(pairs(r#"note="open"#), [one("note", Some("open"), false)]);
    assert_eq!(pairs(r#"path="C:\dir""#), [one("path", Some("C:\\dir"), false)]);
    assert_eq!(pairs("=x"), [one("", Some("x"), false)]);
}

proptest! {
    #[test]
    fn any_value_reads_back(value in ".{0,20}") {
        let text = format!("a={} b=1", write(&value));
        let read = read(&text);
        prop_assert_eq!(read[0].value.as_deref(), Some(value.as_str()));
        prop_assert_eq!(&text[read[0].at.clone()], write(&value));
        prop_assert_eq!(read[1].value.as_deref(), Some("1"));
        prop_assert!(!text.contains(['\n', '`']));
    }

    #[test]
    fn nothing_makes_it_panic(text in "[ =\"\\\\aé\t]{0,24}") {
        for attribute in read(&text) {
            let _ = &text[attribute.at];
        }
    }
}
