use std::path::Path;

use super::{Prefix, unreadable};

#[test]
fn unreadable_paths_are_named_in_order_and_counted() {
    assert_eq!(unreadable(Vec::new()), None);
    let places = |names: &[&str]| names.iter().map(|name| format!("{name} (permission denied)")).collect();
    assert_eq!(
        unreadable(places(&["b", "a", "b"])).unwrap(),
        "Could not be read: a (permission denied), b (permission denied)"
    );
    assert_eq!(
        unreadable(places(&["e", "d", "c", "b", "a"])).unwrap(),
        "Could not be read: a (permission denied), b (permission denied), c (permission denied), and 2 more"
    );
}

#[test]
fn paths_are_shown_below_the_folder_as_the_model_named_it() {
    let shown = |name: Option<&str>| Prefix::new(name).show(Path::new("a/b"));
    assert_eq!(shown(None), "a/b");
    assert_eq!(shown(Some(".")), "a/b");
    assert_eq!(shown(Some("./")), "a/b");
    assert_eq!(shown(Some("src")), "src/a/b");
    assert_eq!(shown(Some("./src/")), "src/a/b");
    assert_eq!(shown(Some("~")), "~/a/b");
    assert_eq!(shown(Some("/")), "/a/b");
    assert_eq!(shown(Some("../x")), "../x/a/b");
}
