//! Listing folders for completion.

use std::{
    fs,
    sync::{Arc, Mutex, mpsc},
    thread,
};

use flemma_runtime::{FolderEntries, FolderQuery, Folders};
use flemma_tools::Agents;

fn query(folder: &std::path::Path, prefix: &str) -> FolderQuery {
    FolderQuery {
        folder: folder.to_owned(),
        prefix: prefix.to_owned(),
        denied: Arc::default(),
        agents: Agents::default(),
        most: 10,
    }
}

fn names(found: &FolderEntries) -> Vec<&str> {
    found.entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn a_later_request_takes_the_place_of_one_that_waits() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a1", "a2", "b"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let folders = Folders::default();
    let answers: Arc<Mutex<Vec<(&str, FolderEntries)>>> = Arc::default();
    let then = |name: &'static str| {
        let answers = Arc::clone(&answers);
        move |found: std::io::Result<FolderEntries>| answers.lock().unwrap().push((name, found.unwrap()))
    };
    assert!(folders.ask(query(folder.path(), ""), then("first")), "somebody has to work");
    assert!(!folders.ask(query(folder.path(), "a"), then("second")), "one is enough");
    assert_eq!(answers.lock().unwrap().as_slice(), [("first", FolderEntries { has_more: true, ..Default::default() })]);
    folders.work();
    {
        let answers = answers.lock().unwrap();
        assert_eq!((answers[1].0, names(&answers[1].1), answers[1].1.has_more), ("second", vec!["a1", "a2"], false));
    }
    // The work is over, so the next request needs somebody again.
    assert!(folders.ask(query(folder.path(), "b"), then("third")));
    folders.give_up();
    assert_eq!(answers.lock().unwrap()[2], ("third", FolderEntries::default()));
    assert!(folders.ask(query(&folder.path().join("missing"), ""), |found| assert!(found.is_err())));
    folders.work();
}

#[test]
fn every_request_is_answered_however_fast_they_come() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..200 {
        fs::write(folder.path().join(number.to_string()), "").unwrap();
    }
    let folders = Folders::default();
    let (sender, answers) = mpsc::channel();
    let mut workers = Vec::new();
    for number in 0..2_000 {
        let sender = sender.clone();
        let prefix = (number % 200).to_string();
        if folders.ask(query(folder.path(), &prefix), move |found| drop(sender.send((number, found.unwrap())))) {
            let folders = folders.clone();
            workers.push(thread::spawn(move || folders.work()));
        }
    }
    drop(sender);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let answers: Vec<_> = answers.iter().collect();
    assert_eq!(answers.len(), 2_000);
    // Nothing comes after the last request, so it is answered in full.
    let (_, last) = answers.iter().find(|(number, _)| *number == 1_999).unwrap();
    assert_eq!(names(last), ["199"]);
}
