//! A call that is cancelled either changes nothing, or says what it has changed.

use std::{
    io,
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use flemma_journal::changes::ChangeId;
use flemma_tools::{LeftBefore, Outcome, Recorder, Upcoming};
use serde_json::json;

use crate::workshop::Workshop;

/// A recorder on a disk that answers when the test says so.
struct SlowDisk {
    reached: Sender<()>,
    answers: Mutex<Receiver<()>>,
}

impl Recorder for SlowDisk {
    fn begin(&self, _: Upcoming<'_>) -> io::Result<Option<ChangeId>> {
        self.reached.send(()).unwrap();
        let _ = self.answers.lock().unwrap().recv();
        Ok(None)
    }

    fn end(&self, _: &ChangeId, _: bool) {}

    fn left_before(&self) -> LeftBefore {
        LeftBefore::default()
    }
}

fn write(workshop: &Workshop) -> Outcome {
    workshop.call("write", json!({ "label": null, "path": "a.md", "content": "new\n" }))
}

/// Begins to write, and calls `then` while the disk does not answer. It answers when `then` drops what it gets.
fn while_writing(workshop: &mut Workshop, then: impl FnOnce(Sender<()>) + Send) -> Outcome {
    let ((reached, has_reached), (answer, answers)) = (mpsc::channel(), mpsc::channel());
    workshop.context.recorder = Some(Arc::new(SlowDisk { reached, answers: Mutex::new(answers) }));
    thread::scope(|scope| {
        scope.spawn(move || {
            has_reached.recv().unwrap();
            then(answer);
        });
        write(workshop)
    })
}

#[test]
fn a_change_that_is_prevented_is_not_made() {
    let workshop = Workshop::new();
    workshop.put("a.md", "old\n");
    assert!(workshop.context.commitment.drop_unless_begun());
    let told = write(&workshop).render();
    assert_eq!((told.is_error, told.text.as_str()), (true, "Cancelled by the user: nothing was written."));
    assert_eq!(workshop.content("a.md"), "old\n");
}

#[test]
fn a_change_that_has_begun_is_made_and_told() {
    let mut workshop = Workshop::new();
    workshop.put("a.md", "old\n");
    let (cancel, commitment) = (workshop.context.cancel.clone(), workshop.context.commitment.clone());
    let told = while_writing(&mut workshop, move |answer| {
        assert!(!commitment.drop_unless_begun());
        cancel.cancel();
        drop(answer);
    });
    assert!(!told.render().is_error);
    assert_eq!(workshop.content("a.md"), "new\n");
}

#[test]
fn a_disk_that_does_not_answer_after_a_cancel_is_given_up() {
    let mut workshop = Workshop::new();
    workshop.put("a.md", "old\n");
    let cancel = workshop.context.cancel.clone();
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let told = while_writing(&mut workshop, move |answer| {
        *keep.lock().unwrap() = Some(answer);
        cancel.cancel();
    });
    assert_eq!(
        told.render().text,
        "The file system did not answer until it was cancelled. A change that the call has begun may still happen."
    );
    // The thread of the write ends before its runtime.
    drop(kept.lock().unwrap().take());
}
