//! What is not written, and not taken back.

use std::{fs, os::unix::fs::symlink, sync::Arc};

use flemma_journal::changes::Wanted;
use flemma_model::{CallId, ModelError};
use flemma_runtime::{Taken, backups::Permit};
use flemma_tools::FileClass;

use super::{Bench, LIMITS, look, write};

#[test]
fn a_path_that_leads_elsewhere_now_is_not_written() {
    let mut bench = Bench::new();
    bench.shop.put("dir/a", "0");
    bench.shop.put("other/a", "1");
    bench.shop.put("c", "0");
    bench.call("c1", "write", write("dir/a", "1"));
    bench.call("c2", "write", write("c", "1"));
    fs::rename(bench.shop.path("dir"), bench.shop.path("moved")).unwrap();
    symlink("other", bench.shop.path("dir")).unwrap();
    fs::remove_file(bench.shop.path("c")).unwrap();
    symlink("other/a", bench.shop.path("c")).unwrap();
    let proposal = bench.propose(&bench.after(0)).unwrap();
    for file in &proposal.files {
        assert!(file.problem.is_some(), "{file:#?}");
    }
    let overwrite = proposal.files.iter().map(|file| file.step.path.clone()).collect();
    let restored = bench.backups.apply(&bench.log, &proposal, &Permit { overwrite, ..bench.permit() });
    assert!(restored.iter().all(|restored| restored.problem.is_some()), "{restored:?}");
    assert_eq!(bench.shop.content("other/a"), "1");
    // Nor if that happens while the user looks.
    fs::remove_file(bench.shop.path("dir")).unwrap();
    fs::rename(bench.shop.path("moved"), bench.shop.path("dir")).unwrap();
    let looked = bench.propose(&Wanted::Call(CallId::from("c1"))).unwrap();
    assert_eq!(looked.files[0].problem, None);
    fs::rename(bench.shop.path("dir"), bench.shop.path("moved")).unwrap();
    symlink("other", bench.shop.path("dir")).unwrap();
    assert!(bench.apply(&looked)[0].as_ref().unwrap().contains("which was not recorded"));
    assert_eq!(bench.shop.content("other/a"), "1");
}

#[test]
fn a_log_that_was_edited_makes_nothing_happen() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "0");
    bench.shop.put("b.txt", "1");
    bench.call("c1", "write", write("a.txt", "1"));
    let (log, before) = (bench.log_file(), bench.project());
    let written = fs::read_to_string(&log).unwrap();
    // To another file that has just what the call has written; to another content; to another call; cut off; nonsense.
    for (what, by) in
        [("a.txt", "b.txt"), ("\"sha256\":\"", "\"sha256\":\"0"), ("\"c1\"", "\"c2\""), ("\"mode\":", "\"mode\":1")]
    {
        fs::write(&log, written.replace(what, by)).unwrap();
        let refused = bench.propose(&Wanted::Last).unwrap_err();
        assert!(refused.contains("is damaged and is ignored"), "{what}: {refused}");
    }
    fs::write(&log, &written[..written.len() / 3]).unwrap();
    assert!(bench.propose(&Wanted::Last).is_err());
    fs::write(&log, "nonsense\n\0\n{}\n[]\n").unwrap();
    assert!(bench.propose(&Wanted::Last).is_err());
    assert_eq!(bench.project(), before);
    // A newer version is not guessed at.
    fs::write(&log, written.replace("\"v\":1", "\"v\":2")).unwrap();
    assert!(bench.propose(&Wanted::Last).unwrap_err().contains("newer version"));
    fs::write(&log, &written).unwrap();
    bench.back(&Wanted::Last);
    assert_eq!(bench.shop.content("a.txt"), "0");
}

#[test]
fn a_copy_that_was_damaged_is_not_restored() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "old content");
    bench.call("c1", "write", write("a.txt", "1"));
    let looked = bench.propose(&Wanted::Last).unwrap();
    for (path, _) in look(&bench.state().join("contents")).into_iter().filter(|(path, _)| path.is_file()) {
        fs::write(path, "something else").unwrap();
    }
    let problem = bench.propose(&Wanted::Last).unwrap().files[0].problem.clone().unwrap();
    assert_eq!(problem, "cannot be taken back: the copy that was kept is damaged");
    assert!(bench.apply(&looked)[0].is_some());
    assert_eq!(bench.shop.content("a.txt"), "1");
}

#[test]
fn nothing_is_written_that_could_not_be_taken_back() {
    let mut bench = Bench::new();
    bench.shop.put("a.txt", "old");
    fs::create_dir_all(bench.state().parent().unwrap()).unwrap();
    fs::write(bench.state(), "no folder").unwrap();
    let refused = bench.limited("c1", "write", write("a.txt", "new"), LIMITS);
    assert!(refused.starts_with("a.txt: nothing was written: what the file was could not be kept in"), "{refused}");
    let refused = bench.limited("c2", "write", write("made/b.txt", "new"), LIMITS);
    assert!(refused.contains("nothing was written"), "{refused}");
    assert_eq!(bench.shop.content("a.txt"), "old");
    assert!(!bench.shop.path("made").exists(), "and no folder is left");
    assert_eq!(fs::read_dir(&bench.shop.context.cwd).unwrap().count(), 1);
}

#[test]
fn who_lost_the_conversation_writes_and_takes_back_nothing() {
    let mut bench = Bench::new();
    bench.shop.put("a", "0");
    bench.call("c1", "write", write("a", "1"));
    let proposal = bench.propose(&Wanted::Last).unwrap();
    let permit = Permit { fence: Some(Arc::new(|| Err(Taken(None)))), ..bench.permit() };
    let problem = bench.backups.apply(&bench.log, &proposal, &permit)[0].problem.clone().unwrap();
    assert!(problem.contains("another process has taken over the conversation"), "{problem}");
    assert_eq!(bench.shop.content("a"), "1");
}

#[test]
fn protected_files_are_not_restored() {
    let mut bench = Bench::new();
    bench.call("c1", "write", write("a", "1"));
    let proposal = bench.propose(&Wanted::Last).unwrap();
    let permit =
        Permit { protected: Arc::new(|_| FileClass::Refused(ModelError::new("it is open"))), ..bench.permit() };
    assert!(bench.backups.apply(&bench.log, &proposal, &permit)[0].problem.as_ref().unwrap().contains("it is open"));
    assert_eq!(bench.shop.content("a"), "1");
}
