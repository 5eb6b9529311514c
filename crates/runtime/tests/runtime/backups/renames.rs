//! Renames of pages that are interrupted at any step: calling again finishes them, and they can be taken back.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use flemma_journal::CallKey;
use flemma_journal::changes::{ChangeId, Wanted};
use flemma_model::{CallId, ToolInput};
use flemma_notes::{Outline, PageName, Pages};
use flemma_tools::{LeftBefore, Recorder, Rendered, Upcoming};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Bench, Everything, LIMITS};

/// Ends the call, as a kill does, at one of its steps: before and after each record of a change.
struct Killer {
    recorder: Arc<dyn Recorder>,
    left: AtomicUsize,
}

impl Killer {
    fn step(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            // Without the report of a panic.
            std::panic::resume_unwind(Box::new("killed"));
        }
    }
}

impl Recorder for Killer {
    fn begin(&self, change: Upcoming<'_>) -> io::Result<Option<ChangeId>> {
        self.step();
        let begun = self.recorder.begin(change);
        self.step();
        begun
    }

    fn end(&self, id: &ChangeId, is_made: bool) {
        self.step();
        self.recorder.end(id, is_made);
        self.step();
    }

    fn left_before(&self) -> LeftBefore {
        self.recorder.left_before()
    }
}

fn page(name: &str) -> PageName {
    PageName::parse(name).unwrap()
}

fn input(old: &str, new: &str) -> Value {
    json!({ "page": old, "new_page": new })
}

impl Bench {
    fn vault(contents: &BTreeMap<String, String>) -> Self {
        let mut bench = Self::new();
        for (name, content) in contents {
            bench.shop.put(&format!("vault/{name}.md"), content);
        }
        bench.shop.context.notes_root = bench.shop.path("vault");
        bench
    }

    /// A run of the call `id`, which is killed at a step.
    fn rename(&mut self, id: &str, input: &Value, kill: usize) -> Rendered {
        let key = CallKey::of(&CallId::from(id), "rename_note", &ToolInput::Json(input.clone()));
        let recorder = self.backups.recorder_of_call(&self.log, &key, LIMITS, None);
        self.shop.context.recorder = Some(Arc::new(Killer { recorder, left: AtomicUsize::new(kill) }));
        self.shop.render("rename_note", input.clone())
    }

    /// The files, without the folders: one that was made may be left, and one that is empty may be gone.
    fn files(&self) -> Everything {
        self.project().into_iter().filter(|(_, what)| what != "folder").collect()
    }

    /// The pages, with their contents.
    fn pages(&self) -> BTreeMap<String, String> {
        let root = self.shop.path("vault");
        let name = |path: &Path| Some(PageName::of_file(path.strip_prefix(&root).ok()?)?.to_string());
        let files = self.files();
        let pages = files.keys().filter_map(|path| Some((name(path)?, std::fs::read_to_string(path).unwrap())));
        pages.collect()
    }
}

/// Where every link of every page leads.
fn targets(contents: &BTreeMap<String, String>) -> BTreeMap<String, Vec<Option<String>>> {
    let names: Vec<PageName> = contents.keys().map(|name| page(name)).collect();
    let all = Pages::new(&names);
    let of_page = |from: &PageName| {
        let outline = Outline::new(contents[from.as_str()].as_bytes());
        let links = outline.links.iter();
        links.map(|link| all.resolve(from, link.kind, &link.destination).map(|page| page.to_string())).collect()
    };
    names.iter().map(|from| (from.to_string(), of_page(from))).collect()
}

fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["A", "B", "日記", "Ü", "x y", "A.b", "a: b"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn link() -> impl Strategy<Value = String> {
    let before = prop::sample::select(vec!["", "", "/", "./", "../", "../../"]);
    let form = prop::sample::select(vec![
        "[[@]]",
        "[[@|w]]",
        "[[@#H]]",
        "[w](<@.md>)",
        "[w](<@>)",
        "[w](%.md#h)",
        "\n\n[n]: %.md\n\n[n]",
    ]);
    (before, name(), form).prop_map(|(before, name, form)| {
        let path = format!("{before}{name}");
        form.replace('%', &path.replace(' ', "%20").replace('Ü', "%C3%9C")).replace('@', &path)
    })
}

/// Frontmatter with links, of which some cannot be changed: not every name can stand there without quotes.
fn frontmatter() -> impl Strategy<Value = String> {
    let quoted = prop::sample::select(vec!["x: \"[[@]]\"", "x: '[[@|w]]'", "x: [[@]]", "x: see [[@]] there", "x: 1"]);
    (prop::bool::weighted(0.3), quoted, name()).prop_map(|(is_there, yaml, name)| match is_there {
        true => format!("---\n{}\n---\n", yaml.replace('@', &name)),
        false => String::new(),
    })
}

fn contents() -> impl Strategy<Value = BTreeMap<String, String>> {
    let text = prop::collection::vec(link(), 0..6).prop_map(|links| links.join(" words "));
    let page = (frontmatter(), text).prop_map(|(frontmatter, text)| frontmatter + &text);
    prop::collection::btree_map(name(), page, 1..8)
}

/// Three pages, of which the first is linked by the others.
fn linked() -> Bench {
    let pages = [("Old", "[x](./Two.md)"), ("One", "[[Old]]"), ("Two", "[[Old]] and [a](Old.md)")];
    Bench::vault(&pages.map(|(name, text)| (name.to_owned(), text.to_owned())).into())
}

fn contents_of(bench: &Bench) -> Vec<(String, String)> {
    bench.pages().into_iter().collect()
}

fn expected(pages: &[(&str, &str)]) -> Vec<(String, String)> {
    pages.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// Each change has four steps: one page is changed by the first four.
const ONE_PAGE: usize = 4;

#[test]
fn a_rename_that_goes_on_says_what_was_done_before() {
    let mut bench = linked();
    let input = input("Old", "deep/New");
    bench.rename("c1", &input, ONE_PAGE);
    let half = [("Old", "[x](./Two.md)"), ("One", "[[deep/New]]"), ("Two", "[[Old]] and [a](Old.md)")];
    assert_eq!(contents_of(&bench), expected(&half));
    let said = bench.rename("c1", &input, usize::MAX).text;
    let words = "changed 1 link in the page itself and 2 links in 1 other page: `Two`.";
    assert!(said.starts_with(&format!("Renamed `Old` to `deep/New`, and {words}")), "{said}");
    assert!(said.contains("An earlier run of this call, which did not finish, had changed `One`."), "{said}");
    let whole = [("One", "[[deep/New]]"), ("Two", "[[deep/New]] and [a](deep/New.md)"), ("deep/New", "[x](../Two.md)")];
    assert_eq!(contents_of(&bench), expected(&whole));
    // Nothing is left to do, and the model is not told that there is no page.
    let said = bench.rename("c1", &input, usize::MAX).text;
    assert!(said.contains("`Old` has been renamed to `deep/New` already"), "{said}");
}

#[test]
fn a_page_that_changed_after_the_kill_is_named() {
    let mut bench = linked();
    let input = input("Old", "New");
    bench.rename("c1", &input, ONE_PAGE);
    bench.shop.put("vault/One.md", "mine, [[Old]], [[New]]");
    let said = bench.rename("c1", &input, usize::MAX).text;
    assert!(said.contains("had changed `One` too, and somebody has changed them since"), "{said}");
    assert_eq!(bench.pages()["One"], "mine, [[New]], [[New]]");
}

#[test]
fn a_rename_to_a_third_name_says_what_is_half_done() {
    let mut bench = linked();
    bench.rename("c1", &input("Old", "New"), ONE_PAGE);
    let said = bench.rename("c2", &input("Old", "Third"), usize::MAX).text;
    assert!(said.contains("Another call of this tool has changed `One`, and has not moved its page"), "{said}");
    let said = bench.rename("c3", &input("Third", "New"), usize::MAX).text;
    assert!(said.contains("changed `One`"), "{said}");
    bench.back(&Wanted::Call(CallId::from("c1")));
    let said = bench.rename("c4", &input("New", "Last"), usize::MAX).text;
    assert!(!said.contains("Another call"), "{said}");
}

#[test]
fn a_rename_that_was_taken_back_is_made_anew() {
    let mut bench = linked();
    let input = input("Old", "New");
    for kill in [ONE_PAGE, usize::MAX] {
        let before = bench.files();
        bench.rename("c1", &input, kill);
        bench.back(&Wanted::Last);
        assert_eq!(bench.files(), before);
    }
    let said = bench.rename("c1", &input, usize::MAX).text;
    assert!(said.contains("changed 3 links in 2 other pages"), "{said}");
    assert!(!said.contains("earlier run"), "{said}");
}

#[test]
fn a_page_that_was_copied_and_not_moved_is_finished() {
    let mut bench = linked();
    let input = input("Old", "New");
    // Where a file cannot be moved, it is copied, and deleted after that: here, by hand.
    let steps = 2 * ONE_PAGE + 3;
    bench.rename("c1", &input, steps);
    std::fs::copy(bench.shop.path("vault/Old.md"), bench.shop.path("vault/New.md")).unwrap();
    let said = bench.rename("c1", &input, usize::MAX);
    assert!(!said.is_error, "{}", said.text);
    let whole = [("New", "[x](./Two.md)"), ("One", "[[New]]"), ("Two", "[[New]] and [a](New.md)")];
    assert_eq!(contents_of(&bench), expected(&whole));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    #[ignore = "slow"]
    fn an_interrupted_rename_is_finished_by_calling_again(
        contents in contents(),
        new in name(),
        at in any::<prop::sample::Index>(),
        kills in prop::collection::vec(0_usize..40, 1..4),
        is_same_call in any::<bool>(),
    ) {
        prop_assume!(!contents.contains_key(&new));
        let old = contents.keys().nth(at.index(contents.len())).unwrap().clone();
        let input = input(&old, &new);
        let (mut whole, mut killed) = (Bench::vault(&contents), Bench::vault(&contents));
        let original = killed.files();
        let said = whole.rename("c0", &input, usize::MAX);
        prop_assert!(!said.is_error, "{}", said.text);
        for (number, kill) in kills.iter().enumerate() {
            let id = if is_same_call { "c0".to_owned() } else { format!("c{number}") };
            killed.rename(&id, &input, *kill);
        }
        let is_moved = killed.pages().contains_key(&new);
        let said = killed.rename(if is_same_call { "c0" } else { "last" }, &input, usize::MAX);
        prop_assert_eq!(said.is_error, is_moved, "{}", &said.text);
        prop_assert!(!is_moved || said.text.contains("already"), "{}", &said.text);
        prop_assert_eq!(killed.pages(), whole.pages());
        let after = targets(&killed.pages());
        for (from, before) in targets(&contents) {
            let now = if from == old { &new } else { &from };
            let after = &after[now];
            prop_assert_eq!(before.len(), after.len());
            let is_named = [&from, now].iter().any(|page| said.text.contains(&format!("`{page}`")));
            let is_told = said.text.contains("were not changed") && is_named;
            for (before, after) in before.iter().zip(after) {
                // A link that led to no page may find one.
                let Some(before) = before else { continue };
                let expected = if *before == old { &new } else { before };
                if !is_told {
                    prop_assert_eq!(after.as_ref(), Some(expected), "{}", said.text);
                }
            }
        }
        // All runs of one call are taken back at once.
        if is_same_call {
            killed.back(&Wanted::Last);
        } else {
            killed.back(&Wanted::After { before: Vec::new(), after: Vec::new() });
        }
        prop_assert_eq!(killed.files(), original);
    }

    #[test]
    #[ignore = "slow"]
    fn an_interrupted_rename_is_taken_back(
        contents in contents(),
        new in name(),
        at in any::<prop::sample::Index>(),
        kill in 0_usize..40,
    ) {
        prop_assume!(!contents.contains_key(&new));
        let old = contents.keys().nth(at.index(contents.len())).unwrap().clone();
        let mut bench = Bench::vault(&contents);
        let original = bench.files();
        bench.rename("c0", &input(&old, &new), kill);
        if bench.files() == original {
            return Ok(());
        }
        bench.back(&Wanted::Last);
        prop_assert_eq!(bench.files(), original);
    }
}
