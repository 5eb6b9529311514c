//! The gate that holds back what the user wants until their file is trusted.

use std::{collections::BTreeSet, path::PathBuf};

use flemma_agent::Input;
use flemma_model::CallId;
use flemma_runtime::ExternalFile;
use flemma_workspace::{
    Wish,
    ports::AskedFile,
    trust::{Admission, FileSearch, FrontmatterCode, FrontmatterTrust, Gate, GateFacts},
};
use proptest::prelude::*;

/// The `n`th wish of a test.
fn wish(n: usize) -> Wish {
    Input::Execute(CallId(n.to_string())).into()
}

/// GateFacts that let everything through.
fn clear() -> GateFacts {
    let frontmatter = FrontmatterTrust::Settled;
    let (unvetted, references) = (Vec::new(), Vec::new());
    GateFacts {
        is_busy: false,
        is_store_read: true,
        frontmatter,
        unvetted,
        references,
        folder: "/home".into(),
        lacks_instructions: false,
    }
}

fn code(id: u8) -> FrontmatterCode {
    FrontmatterCode { language: "lua".to_owned(), code: format!("block {id}") }
}

fn untrusted() -> GateFacts {
    GateFacts { frontmatter: FrontmatterTrust::Missing(code(0)), ..clear() }
}

fn naming(files: &[&str]) -> GateFacts {
    GateFacts { unvetted: files.iter().map(PathBuf::from).collect(), ..clear() }
}

fn referring(references: &[&str]) -> GateFacts {
    GateFacts { references: references.iter().map(ToString::to_string).collect(), ..clear() }
}

fn ask(files: Vec<ExternalFile>) -> Admission {
    Admission::AskFiles { files, references: Vec::new() }
}

fn outside(name: &str) -> ExternalFile {
    ExternalFile { real: format!("/etc/{name}").into(), named: name.into() }
}

#[track_caller]
fn located(next: Admission) -> FileSearch {
    let Admission::Locate(search) = next else { panic!("{next:?}") };
    search
}

#[test]
fn instructions_of_a_project_are_asked_about_first() {
    let lacking = || GateFacts { lacks_instructions: true, ..clear() };
    let asked = || vec![AskedFile { path: "/p/AGENTS.md".into(), name: "AGENTS.md".into(), before: None }];
    let mut gate = Gate::default();
    let unread = GateFacts { is_store_read: false, ..lacking() };
    assert_eq!(gate.want(wish(1), unread), Admission::ReadStore);
    assert_eq!(gate.store_was_read(), Some(wish(1)));
    assert_eq!(gate.want(wish(1), lacking()), Admission::FindInstructions { number: 1 });
    assert!(gate.is_reading());
    // What was found for an earlier wish says nothing about a later one.
    assert_eq!(gate.want(wish(2), lacking()), Admission::FindInstructions { number: 2 });
    assert_eq!(gate.instructions_were_found(1, Vec::new()), Admission::Wait);
    assert_eq!(gate.instructions_were_found(2, asked()), Admission::AskInstructions { files: asked() });
    assert!(gate.is_waiting() && !gate.is_reading());
    // Neither what comes late nor the answer to another question lets the wish go on.
    assert_eq!(gate.instructions_were_found(2, Vec::new()), Admission::Wait);
    assert_eq!(gate.files_were_answered(true), Admission::Wait);
    assert_eq!(gate.frontmatter_was_answered(true), None);
    assert_eq!(gate.instructions_were_answered(), Some(wish(2)));
    assert_eq!(gate.instructions_were_answered(), None);
    // Without a file that needs trust nobody is asked; with files of others, those come first.
    assert_eq!(gate.want(wish(3), lacking()), Admission::FindInstructions { number: 3 });
    assert_eq!(gate.instructions_were_found(3, Vec::new()), Admission::Again(wish(3)));
    let both = GateFacts { lacks_instructions: true, ..naming(&["a"]) };
    located(gate.want(wish(4), both));
    assert!(gate.cancel());
    assert_eq!(gate.instructions_were_answered(), None);
}

#[test]
fn nothing_is_asked_where_nothing_is_foreign() {
    assert_eq!(Gate::default().want(wish(1), clear()), Admission::Go(wish(1)));
    let unread = GateFacts { is_store_read: false, ..clear() };
    assert_eq!(Gate::default().want(wish(1), unread), Admission::Go(wish(1)), "the store is read only if it is needed");
}

#[test]
fn a_wish_about_what_is_at_work_passes() {
    for facts in [untrusted(), naming(&["a"]), referring(&["@diff"])] {
        let next = Gate::default().want(wish(1), GateFacts { is_busy: true, ..facts });
        assert_eq!(next, Admission::Go(wish(1)));
    }
}

#[test]
fn the_store_is_read_before_the_user_is_asked() {
    let unread = GateFacts { is_store_read: false, frontmatter: FrontmatterTrust::Unread, ..clear() };
    for facts in [unread, GateFacts { is_store_read: false, ..naming(&["a"]) }] {
        let mut gate = Gate::default();
        assert_eq!(gate.want(wish(1), facts), Admission::ReadStore);
        assert_eq!(gate.store_was_read(), Some(wish(1)));
        assert_eq!(gate.store_was_read(), None, "once");
    }
}

#[test]
fn the_frontmatter_comes_before_the_files() {
    let mut gate = Gate::default();
    let facts = GateFacts { unvetted: vec!["a".into()], ..untrusted() };
    assert_eq!(gate.want(wish(1), facts), Admission::AskFrontmatter { language: "lua".to_owned() });
    assert_eq!(gate.files_were_answered(true), Admission::Wait, "nobody was asked about files");
    assert_eq!(gate.frontmatter_was_answered(true), Some((code(0), wish(1))));
    assert_eq!(gate.frontmatter_was_answered(true), None, "once");
}

#[test]
fn no_is_an_answer_and_ends_the_wish() {
    let mut gate = Gate::default();
    gate.want(wish(1), untrusted());
    assert_eq!(gate.frontmatter_was_answered(false), None);
    assert_eq!(gate.frontmatter_was_answered(true), None);
    let search = located(gate.want(wish(2), naming(&["a"])));
    let asked = vec![outside("a")];
    assert_eq!(gate.files_were_located(&search, asked.clone(), |_| false), ask(asked));
    assert_eq!(gate.files_were_answered(false), Admission::Wait);
    assert_eq!(gate.files_were_answered(true), Admission::Wait);
    assert!(!gate.cancel(), "nothing waits");
}

#[test]
fn a_later_wish_takes_the_place_of_one_that_waits() {
    let mut gate = Gate::default();
    gate.want(wish(1), untrusted());
    gate.want(wish(2), untrusted());
    assert_eq!(gate.frontmatter_was_answered(true), Some((code(0), wish(2))));
    gate.want(wish(3), untrusted());
    assert_eq!(gate.want(wish(4), clear()), Admission::Go(wish(4)));
    assert_eq!(gate.frontmatter_was_answered(true), None);
}

#[test]
fn what_was_located_for_one_wish_vets_nothing_of_another() {
    let mut gate = Gate::default();
    // The same names, from two folders.
    let first = located(gate.want(wish(1), naming(&["a"])));
    let second = located(gate.want(wish(2), GateFacts { folder: "/srv".into(), ..naming(&["a"]) }));
    assert_eq!(gate.files_were_located(&first, Vec::new(), |_| false), Admission::Wait);
    let asked = vec![outside("a")];
    assert_eq!(gate.files_were_located(&second, asked.clone(), |_| false), ask(asked.clone()));
    assert_eq!(gate.files_were_located(&second, Vec::new(), |_| false), Admission::Wait, "it was located before");
    assert_eq!(gate.files_were_answered(true), Admission::Vet { search: second, allowed: asked, wish: wish(2) });
}

#[test]
fn only_what_the_store_does_not_hold_is_asked_about() {
    let mut gate = Gate::default();
    let search = located(gate.want(wish(1), naming(&["a", "b"])));
    let found = vec![outside("a"), outside("b")];
    let next = gate.files_were_located(&search, found, |file| file.named.ends_with("a"));
    assert_eq!(next, ask(vec![outside("b")]));
    assert_eq!(gate.files_were_answered(true), Admission::Vet { search, allowed: vec![outside("b")], wish: wish(1) });
}

#[test]
fn foreign_references_are_asked_about_with_the_files() {
    for files in [vec![], vec!["a"]] {
        let mut gate = Gate::default();
        let facts = GateFacts { references: vec!["@diff".to_owned()], ..naming(&files) };
        let search = located(gate.want(wish(1), facts));
        let outside: Vec<_> = files.iter().map(|file| outside(file)).collect();
        let references = vec!["@diff".to_owned()];
        let next = gate.files_were_located(&search, outside.clone(), |_| false);
        assert_eq!(next, Admission::AskFiles { files: outside.clone(), references });
        assert_eq!(gate.files_were_answered(true), Admission::Vet { search, allowed: outside, wish: wish(1) });
    }
}

#[test]
fn stored_answers_about_files_do_not_cover_references() {
    let mut gate = Gate::default();
    let facts = GateFacts { references: vec!["@diff".to_owned()], ..naming(&["a"]) };
    let search = located(gate.want(wish(1), facts));
    let next = gate.files_were_located(&search, vec![outside("a")], |_| true);
    assert_eq!(next, Admission::AskFiles { files: Vec::new(), references: vec!["@diff".to_owned()] });
}

#[test]
fn cancel_takes_back_what_waits() {
    let unread = GateFacts { frontmatter: FrontmatterTrust::Unread, ..clear() };
    for facts in [unread, untrusted(), naming(&["a"])] {
        let mut gate = Gate::default();
        gate.want(wish(1), facts);
        assert!(gate.cancel());
        assert!(!gate.cancel());
        assert_eq!((gate.store_was_read(), gate.frontmatter_was_answered(true)), (None, None));
        assert_eq!(gate.files_were_answered(true), Admission::Wait);
    }
}

/// What can happen around a gate.
#[derive(Clone, Debug)]
enum Happening {
    Want,
    StoreRead,
    FrontmatterAnswered(bool),
    /// The answer to one of the searches so far, which may have been answered before.
    Located(usize),
    FilesAnswered(bool),
    Cancel,
    Frontmatter(Option<u8>),
    Name(u8),
    Unname(u8),
    Refer(Option<u8>),
    Move(u8),
    Busy(bool),
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::*;
    prop_oneof![
        4 => Just(Want),
        2 => Just(StoreRead),
        3 => any::<bool>().prop_map(FrontmatterAnswered),
        4 => (0..4_usize).prop_map(Located),
        3 => any::<bool>().prop_map(FilesAnswered),
        1 => Just(Cancel),
        2 => prop::option::of(0..3_u8).prop_map(Frontmatter),
        2 => (0..4_u8).prop_map(Name),
        1 => (0..4_u8).prop_map(Unname),
        2 => prop::option::of(0..3_u8).prop_map(Refer),
        1 => (0..2_u8).prop_map(Move),
        1 => prop::bool::weighted(0.3).prop_map(Busy),
    ]
}

/// What the wish that waits waits for.
#[derive(Clone, Debug, PartialEq)]
enum Waiting {
    Store,
    Frontmatter(u8),
    Places(u64),
    Files(FileSearch, Vec<ExternalFile>),
}

/// A conversation around a gate, by the rules that the gate has to keep.
#[derive(Debug, Default)]
struct World {
    gate: Gate,
    is_busy: bool,
    is_store_read: bool,
    /// The frontmatter that stands there, and those that the user trusts.
    frontmatter: Option<u8>,
    trusted: BTreeSet<u8>,
    /// The files that strangers have named, and those that may be sent, each with its folder.
    named: BTreeSet<u8>,
    vetted: BTreeSet<(u8, u8)>,
    /// The reference to the editor that a stranger has written, and those that the user has allowed.
    reference: Option<u8>,
    allowed_references: BTreeSet<String>,
    /// What the user has allowed, by where it really is.
    allowed: BTreeSet<PathBuf>,
    folder: u8,
    searches: Vec<FileSearch>,
    /// The wish that was not yet granted, taken back or refused.
    wish: Option<(usize, Waiting)>,
    wishes: usize,
    granted: Vec<usize>,
}

impl World {
    fn facts(&self) -> GateFacts {
        let frontmatter = match self.frontmatter.filter(|id| !self.trusted.contains(id)) {
            None => FrontmatterTrust::Settled,
            Some(_) if !self.is_store_read => FrontmatterTrust::Unread,
            Some(id) => FrontmatterTrust::Missing(code(id)),
        };
        GateFacts {
            is_busy: self.is_busy,
            is_store_read: self.is_store_read,
            frontmatter,
            unvetted: self.unvetted().map(|file| file.to_string().into()).collect(),
            references: self.references(),
            folder: self.folder.to_string().into(),
            lacks_instructions: false,
        }
    }

    fn references(&self) -> Vec<String> {
        let written = self.reference.map(|id| format!("@{id}")).into_iter();
        written.filter(|reference| !self.allowed_references.contains(reference)).collect()
    }

    fn unvetted(&self) -> impl Iterator<Item = u8> {
        self.named.iter().copied().filter(|file| !self.vetted.contains(&(self.folder, *file)))
    }

    /// Where the files of a search lead that lead outside: half of them, and other ones from another folder.
    fn outside(search: &FileSearch) -> Vec<ExternalFile> {
        let folder: usize = search.folder.to_str().unwrap().parse().unwrap();
        let number = |file: &PathBuf| file.to_str().unwrap().parse::<usize>().unwrap();
        let files = search.files.iter().filter(|file| !(number(file) + folder).is_multiple_of(2));
        files.map(|file| ExternalFile { real: search.folder.join(file), named: file.clone() }).collect()
    }

    fn want(&mut self, n: usize) {
        let next = self.gate.want(wish(n), self.facts());
        self.wish = None;
        self.pass(n, next);
    }

    /// Does what the gate says about the `n`th wish, and checks whether the gate may say it.
    fn pass(&mut self, n: usize, next: Admission) {
        match next {
            Admission::Wait => panic!("the wish {n} is lost"),
            Admission::FindInstructions { .. } | Admission::AskInstructions { .. } | Admission::Again(_) => {
                panic!("nothing lacks instructions")
            }
            Admission::ReadStore => {
                assert!(!self.is_store_read);
                self.wish = Some((n, Waiting::Store));
            }
            Admission::AskFrontmatter { .. } => {
                let id = self.frontmatter.expect("there is frontmatter");
                assert!(!self.trusted.contains(&id) && self.is_store_read);
                self.wish = Some((n, Waiting::Frontmatter(id)));
            }
            Admission::Locate(search) => {
                assert_eq!(search.folder, PathBuf::from(self.folder.to_string()));
                assert_eq!(search.references, self.references());
                assert!(self.searches.iter().all(|other| other.number != search.number), "each has its own number");
                self.wish = Some((n, Waiting::Places(search.number)));
                self.searches.push(search);
            }
            Admission::AskFiles { files: asked, references } => {
                let search = self.searches.last().unwrap().clone();
                let missing = Self::outside(&search).into_iter().filter(|file| !self.allowed.contains(&file.real));
                assert_eq!(asked, missing.collect::<Vec<_>>());
                assert_eq!(references, search.references);
                assert!(!asked.is_empty() || !references.is_empty(), "nothing is asked");
                self.wish = Some((n, Waiting::Files(search, asked)));
            }
            Admission::Vet { search, allowed, wish: held } => {
                assert_eq!(held, wish(n));
                self.allowed.extend(allowed.into_iter().map(|file| file.real));
                for file in Self::outside(&search) {
                    assert!(self.allowed.contains(&file.real), "{} was not allowed", file.real.display());
                }
                // Only a question lets them through.
                assert!(search.references.is_empty() || matches!(self.wish, Some((_, Waiting::Files(..)))));
                self.allowed_references.extend(search.references);
                let folder = search.folder.to_str().unwrap().parse().unwrap();
                self.vetted.extend(search.files.iter().map(|file| (folder, file.to_str().unwrap().parse().unwrap())));
                self.want(n);
            }
            Admission::Go(gone) => {
                assert_eq!(gone, wish(n));
                let lacks_trust = self.frontmatter.is_some_and(|id| !self.trusted.contains(&id));
                assert!(self.is_busy || !lacks_trust, "the frontmatter is not trusted");
                assert!(self.is_busy || self.unvetted().next().is_none(), "a file is not vetted");
                assert!(self.is_busy || self.references().is_empty(), "a reference is not allowed");
                self.granted.push(n);
            }
        }
    }

    /// What the gate answers when nothing waits for what has happened.
    fn idle(&self, next: Admission) {
        assert_eq!(next, Admission::Wait, "nothing waits for this");
    }

    fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Want => {
                self.wishes += 1;
                self.want(self.wishes);
            }
            Happening::StoreRead => {
                self.is_store_read = true;
                let wanted = self.gate.store_was_read();
                match self.wish.clone() {
                    Some((n, Waiting::Store)) => {
                        assert_eq!(wanted, Some(wish(n)));
                        self.want(n);
                    }
                    _ => assert_eq!(wanted, None),
                }
            }
            Happening::FrontmatterAnswered(yes) => {
                let answered = self.gate.frontmatter_was_answered(yes);
                match self.wish.clone() {
                    Some((n, Waiting::Frontmatter(id))) if yes => {
                        assert_eq!(answered, Some((code(id), wish(n))), "what was asked about is trusted");
                        self.trusted.insert(id);
                        self.want(n);
                    }
                    waiting => {
                        assert_eq!(answered, None);
                        if matches!(waiting, Some((_, Waiting::Frontmatter(_)))) {
                            self.wish = None;
                        }
                    }
                }
            }
            Happening::Located(which) => {
                let Some(search) = self.searches.iter().rev().nth(which).cloned() else { return };
                let allowed = self.allowed.clone();
                let is_allowed = |file: &ExternalFile| allowed.contains(&file.real);
                let next = self.gate.files_were_located(&search, Self::outside(&search), is_allowed);
                match self.wish.clone() {
                    Some((n, Waiting::Places(number))) if number == search.number => self.pass(n, next),
                    _ => self.idle(next),
                }
            }
            Happening::FilesAnswered(yes) => {
                let next = self.gate.files_were_answered(yes);
                match self.wish.clone() {
                    Some((n, Waiting::Files(search, asked))) if yes => {
                        assert_eq!(next, Admission::Vet { search, allowed: asked, wish: wish(n) });
                        self.pass(n, next);
                    }
                    waiting => {
                        self.idle(next);
                        if matches!(waiting, Some((_, Waiting::Files(..)))) {
                            self.wish = None;
                        }
                    }
                }
            }
            Happening::Cancel => assert_eq!(self.gate.cancel(), self.wish.take().is_some()),
            Happening::Frontmatter(id) => self.frontmatter = id,
            Happening::Name(file) => drop(self.named.insert(file)),
            Happening::Unname(file) => drop(self.named.remove(&file)),
            Happening::Refer(id) => self.reference = id,
            Happening::Move(folder) => self.folder = folder,
            Happening::Busy(is_busy) => self.is_busy = is_busy,
        }
    }

    /// Everything that the wish waits for comes, and the user says yes to all: then it is granted.
    fn settle(&mut self) {
        for _ in 0..20 {
            let Some((n, waiting)) = self.wish.clone() else { return };
            match waiting {
                Waiting::Store => self.happens(Happening::StoreRead),
                Waiting::Frontmatter(_) => self.happens(Happening::FrontmatterAnswered(true)),
                Waiting::Places(_) => self.happens(Happening::Located(0)),
                Waiting::Files(..) => self.happens(Happening::FilesAnswered(true)),
            }
            if self.wish.is_none() {
                assert_eq!(self.granted.last(), Some(&n), "the wish is granted");
            }
        }
        panic!("the wish is never granted: {self:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "slow"]
    fn no_order_of_events_opens_the_gate_too_early(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut world = World::default();
        for happening in happenings {
            world.happens(happening);
        }
        world.settle();
    }
}
