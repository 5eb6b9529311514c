//! Taking changes back, and making them again.

use std::{fs, os::unix::fs::PermissionsExt};

use flemma_journal::changes::Wanted;
use flemma_model::CallId;
use flemma_runtime::backups::Permit;

use super::{Bench, edit, write};

#[test]
fn the_last_write_is_taken_back_and_made_again() {
    let mut bench = Bench::new();
    let old = bench.shop.put("run.sh", "one\n");
    fs::set_permissions(&old, PermissionsExt::from_mode(0o750)).unwrap();
    let states = [
        bench.project(),
        {
            bench.call("c1", "edit", edit("run.sh", "one", "two"));
            bench.project()
        },
        {
            bench.call("c2", "write", write("new/deep/a.txt", "made\n"));
            bench.project()
        },
    ];
    bench.back(&Wanted::Last);
    assert_eq!(bench.project(), states[1]);
    bench.back(&Wanted::Last);
    assert_eq!(bench.project(), states[0]);
    let nothing = "all that this conversation has written is taken back; `:Flemma redo` makes it again";
    assert_eq!(bench.propose(&Wanted::Last).unwrap_err(), nothing);
    bench.back(&Wanted::Redo);
    assert_eq!(bench.project(), states[1]);
    bench.back(&Wanted::Redo);
    assert_eq!(bench.project(), states[2]);
    assert_eq!(bench.propose(&Wanted::Redo).unwrap_err(), "nothing was taken back that could be made again");
    bench.back(&Wanted::Last);
    bench.back(&Wanted::Redo);
    bench.back(&bench.after(0));
    assert_eq!(bench.project(), states[0]);
    bench.back(&Wanted::Redo);
    assert_eq!(bench.project(), states[2], "one command is one step");
}

#[test]
fn a_proposal_shows_what_would_happen_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "one\ntwo\n");
    bench.call("c1", "edit", edit("a.txt", "two", "2"));
    bench.call("c2", "write", write("b.txt", "b\n"));
    let before = bench.project();
    let proposal = bench.propose(&bench.after(0)).unwrap();
    let lines = proposal.lines(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let expected = "--- b.txt\n+++ b.txt (before c2)\n(the file is deleted)\n@@ -1,1 +0,0 @@\n-b\n\n--- a.txt\n\
                    +++ a.txt (before c1)\n@@ -1,2 +1,2 @@\n one\n-2\n+two";
    assert_eq!(lines.join("\n"), expected);
    assert_eq!(bench.project(), before);
}

#[test]
fn one_call_is_taken_back_with_what_came_after_it() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.shop.put("b", "0");
    bench.call("c1", "write", write("a", "1"));
    bench.call("c2", "write", write("b", "1"));
    bench.call("c3", "write", write("a", "2"));
    bench.back(&Wanted::Call(CallId::from("c2")));
    assert_eq!((bench.shop.content("a"), bench.shop.content("b")), ("2".into(), "0".into()));
    let proposal = bench.propose(&Wanted::Call(CallId::from("c1"))).unwrap();
    assert_eq!(proposal.files[0].step.also, [CallId::from("c3")]);
    assert!(proposal.lines(|_| "a".into())[0].contains("c3 changed it later"));
    assert_eq!(bench.apply(&proposal), [None]);
    assert_eq!(bench.shop.content("a"), "0");
    let taken = bench.propose(&Wanted::Call(CallId::from("c1"))).unwrap_err();
    assert!(taken.starts_with("what c1 has written is taken back already"), "{taken}");
    let unknown = bench.propose(&Wanted::Call(CallId::from("c9"))).unwrap_err();
    assert!(unknown.starts_with("c9 has written no file in this conversation"), "{unknown}");
    // A later write keeps the file from going forward over it.
    bench.call("c4", "write", write("a", "4"));
    let proposal = bench.propose(&Wanted::Redo).unwrap();
    assert_eq!(proposal.files[0].problem.as_deref(), Some("was written again by c4; take that back first"));
    assert!(bench.apply(&proposal)[0].is_some());
    assert_eq!(bench.shop.content("a"), "4");
}

#[test]
fn what_others_changed_is_never_lost_unasked() {
    let mut bench = Bench::new();
    let path = bench.shop.put("a", "0").canonicalize().unwrap();
    bench.call("c1", "write", write("a", "1"));
    bench.shop.put("a", "mine");
    let proposal = bench.propose(&Wanted::Last).unwrap();
    assert!(proposal.files[0].is_changed_since);
    assert_eq!(bench.apply(&proposal), [Some("was changed by somebody else, and was kept".to_owned())]);
    // Nor if it changes while the user looks.
    bench.shop.put("a", "1");
    let looked = bench.propose(&Wanted::Last).unwrap();
    bench.shop.put("a", "meanwhile");
    assert_eq!(bench.apply(&looked), [Some("has changed in the meantime and was left alone: try again".to_owned())]);
    // Nor if it is in the middle of what is taken back.
    bench.call("c2", "write", write("a", "2"));
    let both = bench.propose(&bench.after(0)).unwrap();
    assert!(both.files[0].is_changed_since);
    let last = bench.propose(&Wanted::Last).unwrap();
    assert!(!last.files[0].is_changed_since, "that goes back to what the other one has written");
    // Unsaved changes of the editor are not even asked about.
    let unsaved = bench.backups.propose(&bench.log, &bench.after(0), std::slice::from_ref(&path)).unwrap();
    assert!(unsaved.files[0].problem.as_ref().unwrap().contains("are not saved"), "{unsaved:#?}");
    let permit = Permit { overwrite: vec![path.clone()], unsaved: vec![path.clone()], ..bench.permit() };
    assert!(bench.backups.apply(&bench.log, &both, &permit)[0].problem.as_ref().unwrap().contains("are not saved"));
    // Whoever says so overwrites it, and that can be taken back too.
    let permit = Permit { overwrite: vec![path], ..bench.permit() };
    assert_eq!(bench.backups.apply(&bench.log, &both, &permit)[0].problem, None);
    assert_eq!(bench.shop.content("a"), "0");
    bench.back(&Wanted::Redo);
    assert_eq!(bench.shop.content("a"), "2");
}

#[test]
fn permissions_alone_count_as_a_change() {
    let mut bench = Bench::new();
    let path = bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let proposal = bench.propose(&Wanted::Last).unwrap();
    assert!(proposal.files[0].is_changed_since);
    assert!(proposal.files[0].diff[0].starts_with("(permissions 600 become 6"), "{proposal:#?}");
}

#[test]
fn what_is_so_already_counts_as_taken_back() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    bench.call("c2", "write", write("b", "1"));
    // Somebody else has taken it back.
    fs::remove_file(bench.shop.path("b")).unwrap();
    bench.back(&Wanted::Last);
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a"), "0");
}

#[test]
fn a_write_that_changes_nothing_is_no_change() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    bench.call("c2", "write", write("a", "1"));
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a"), "0");
}

#[test]
fn calls_with_the_same_id_are_told_apart() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("call_1", "write", write("a", "1"));
    bench.call("call_2", "write", write("a", "2"));
    bench.call("call_1", "write", write("a", "1"));
    bench.back(&bench.after(2));
    assert_eq!(bench.shop.content("a"), "2");
    bench.back(&Wanted::Redo);
    bench.back(&bench.after(1));
    assert_eq!(bench.shop.content("a"), "1");
}

#[test]
fn a_call_that_was_deleted_counts_by_its_time() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    for number in 1..=4 {
        bench.call(&format!("c{number}"), "write", write("a", &number.to_string()));
    }
    // The user has deleted the end of the conversation, or its beginning.
    let keys = bench.keys.clone();
    bench.back(&Wanted::After { before: keys[1..3].to_vec(), after: Vec::new() });
    assert_eq!(bench.shop.content("a"), "3");
}
