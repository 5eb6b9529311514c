use proptest::prelude::*;

use super::*;

#[test]
fn a_fence_opens_with_three_marks_and_at_most_three_spaces() {
    assert_eq!(Fence::open("```rust").map(|(_, info)| info), Some("rust"));
    assert_eq!(Fence::open("   ~~~~ a `b`").map(|(_, info)| info), Some("a `b`"));
    for none in ["``", "    ```", "``` a `b`", "\t```", "x```", ""] {
        assert_eq!(Fence::open(none), None, "{none:?}");
    }
}

#[test]
fn only_as_many_of_the_same_marks_close_it() {
    let (fence, _) = Fence::open("````").unwrap();
    assert!(fence.closes("````") && fence.closes("  `````  ") && fence.closes("````\r"));
    for no in ["```", "~~~~", "````x", "    ````", ""] {
        assert!(!fence.closes(no), "{no:?}");
    }
}

proptest! {
    #[test]
    fn no_line_of_the_content_closes_the_fence_around_it(lines in prop::collection::vec("[`~ a]{0,8}", 0..6)) {
        let fence = Fence::around(&lines.join("\n"));
        prop_assert!(lines.iter().all(|line| !fence.closes(line)));
        prop_assert!(fence.closes(&fence.marks()));
    }
}
