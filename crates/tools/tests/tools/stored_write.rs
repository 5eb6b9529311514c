//! What a call has proposed while it ran, and what an approval of it is for.

use std::{collections::BTreeMap, sync::Arc};

use flemma_journal::{Before, Binding, BoundFile, Proposed, ProposedContent, Take};
use flemma_model::Digest;
use flemma_tools::{Approved, Outcome, builtin::StoredWrite};
use serde_json::Value;

use crate::workshop::Workshop;

const CONTENT: &str = "content\n";

fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).as_str().to_owned()
}

/// An approval for the file `two.md`, where it is for exactly that, writes it. An approval for anything else writes nothing and is not
/// taken for one that was carried out before, whatever the files have.
#[test]
fn an_approval_counts_for_its_files_and_contents() {
    for (name, content, has_it, is_for_it) in [
        ("two.md", CONTENT, false, true),
        ("two.md", CONTENT, true, true),
        ("two.md", "other\n", false, false),
        ("two.md", "other\n", true, false),
        ("one.md", CONTENT, false, false),
        ("one.md", CONTENT, true, false),
    ] {
        let mut workshop = Workshop::new();
        if has_it {
            workshop.put(name, content);
        }
        let file = ProposedContent {
            name: "two.md".to_owned(),
            is_page: false,
            content: digest(CONTENT),
            before: Before::Absent,
            seen: Before::Unknown,
        };
        let kept = Arc::new(|_: &Digest| Some(CONTENT.as_bytes().to_vec()));
        let bound = BoundFile {
            path: workshop.context.cwd.join(name).to_string_lossy().into_owned(),
            old: None,
            on_disk: Before::Unknown,
            new: Some(digest(content)),
            take: Take::Proposed,
        };
        let binding = Binding { revision: "shown".to_owned(), files: vec![bound], ..Binding::default() };
        let contents = Arc::clone(&kept) as Arc<_>;
        workshop.context.approved = Some(Arc::new(Approved { binding, contents, first: BTreeMap::new() }));
        let stored = StoredWrite { proposed: Proposed { files: vec![file] }, contents: kept };
        let outcome = workshop.run(Arc::new(stored), Value::Null);
        assert_eq!(matches!(outcome, Outcome::Success(_)), is_for_it, "{name} {content:?} {has_it}: {outcome:?}");
        let found = std::fs::read_to_string(workshop.path("two.md")).ok();
        let expected = if is_for_it { Some(CONTENT) } else { (has_it && name == "two.md").then_some(content) };
        assert_eq!(found.as_deref(), expected, "{name} {content:?} {has_it}");
    }
}
