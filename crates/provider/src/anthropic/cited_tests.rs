use super::*;

fn passages(prose: &str, raw: &Value) -> Vec<(String, bool)> {
    cut(prose, raw).iter().map(|passage| (passage.text.to_owned(), passage.citations.is_some())).collect()
}

fn raw(texts: &[&str]) -> Value {
    texts.iter().map(|text| json!({"text": text, "citations": [{"url": "https://x.example"}]})).collect()
}

#[test]
fn prose_is_cut_where_its_passages_were() {
    let found = passages("Both say so: it rains. And it snows. I think.", &raw(&["it rains.", "it snows."]));
    let expected =
        [("Both say so: ", false), ("it rains.", true), (" And ", false), ("it snows.", true), (" I think.", false)];
    assert_eq!(found, expected.map(|(text, cited)| (text.to_owned(), cited)));
}

#[test]
fn a_passage_that_the_user_has_changed_is_not_cited_any_more() {
    let found = passages("It pours. It snows.", &raw(&["It rains.", "It snows."]));
    assert_eq!(found, [("It pours. ".to_owned(), false), ("It snows.".to_owned(), true)]);
    assert_eq!(passages("All new.", &raw(&["It rains."])), [("All new.".to_owned(), false)]);
}

#[test]
fn white_space_between_passages_is_no_block_of_its_own() {
    let found = passages("It rains.\n\nIt snows.", &raw(&["It rains.", "It snows."]));
    assert_eq!(found, [("It rains.\n\n".to_owned(), true), ("It snows.".to_owned(), true)]);
    let found = passages("  It rains.", &raw(&["It rains."]));
    assert_eq!(found, [("  It rains.".to_owned(), true)]);
}

#[test]
fn the_same_words_twice_are_two_passages() {
    let found = passages("Yes. No. Yes.", &raw(&["Yes.", "Yes."]));
    assert_eq!(found, [("Yes.".into(), true), (" No. ".into(), false), ("Yes.".into(), true)]);
}

#[test]
fn what_is_no_list_of_passages_cuts_nothing() {
    for raw in [json!(null), json!([1, {"text": 2}]), json!({"text": "a"}), json!([{"text": "", "citations": []}])] {
        assert_eq!(passages("a b", &raw), [("a b".to_owned(), false)], "{raw}");
    }
    assert_eq!(passages("", &raw(&["a"])), []);
}
