use std::os::unix::fs::symlink;

use flemma_tools::paths::real;

/// A link to a path that leads through the link again, more than once.
#[test]
fn a_link_that_leads_through_itself_ends() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    symlink("loop/../loop", root.join("loop")).unwrap();
    symlink("second/../second/../new", root.join("first")).unwrap();
    symlink("first/../first/new", root.join("second")).unwrap();
    for path in ["loop", "loop/file", "first", "second/file"] {
        assert!(real(&root.join(path)).starts_with(&root), "{path}");
    }
}
