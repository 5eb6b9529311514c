//! The way from the tasks to the main thread.

use std::{
    collections::HashMap,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use flemma_agent::{CallResult, Input, RequestId};
use flemma_model::{Event, StopReason, Usage};
use flemma_runtime::{ConversationId, NextDrain, PAUSE};
use proptest::prelude::*;

/// Jobs are told apart by a name.
type Job = &'static str;
type Notice = flemma_runtime::Notice<Job>;
type Queue = flemma_runtime::Queue<Job>;

/// What one drain takes at most, besides the notice that crosses the line.
const SLICE_BYTES: usize = 64 * 1024;
const SLICE_NOTICES: usize = 256;

fn event(conversation: u64, request: u64, event: Event) -> Notice {
    let input = Input::Event { request: RequestId(request), event };
    Notice::Input(ConversationId(conversation), input)
}

fn text(conversation: u64, words: &str) -> Notice {
    event(conversation, 1, Event::Text(words.to_owned()))
}

fn thinking(conversation: u64, words: &str) -> Notice {
    event(conversation, 1, Event::Thinking(words.to_owned()))
}

/// So many bytes of a call's input have arrived.
fn progress(tool: &str, bytes: usize) -> Notice {
    event(2, 1, Event::ToolUseProgress { name: tool.to_owned(), bytes })
}

fn used(output: u64) -> Notice {
    event(2, 1, Event::Usage(Usage { output, ..Usage::default() }))
}

fn finished(conversation: u64, output: &str) -> Notice {
    let input = Input::ToolFinished { call: "a".into(), answer: CallResult::text(output) };
    Notice::Input(ConversationId(conversation), input)
}

/// A queue, and how often it called.
fn queue() -> (Queue, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    (Queue::new(move || _ = counted.fetch_add(1, SeqCst)), calls)
}

fn words(notice: &Notice) -> &str {
    match notice {
        Notice::Input(_, Input::Event { event: Event::Text(text) | Event::Thinking(text), .. }) => text,
        _ => "",
    }
}

#[test]
fn what_has_come_of_a_reply_can_be_taken() {
    let (queue, _) = queue();
    let others = [finished(1, "x"), text(2, "y"), event(1, 2, Event::Text("z".to_owned()))];
    for notice in [text(1, "a"), others[0].clone(), others[1].clone(), thinking(1, "b"), others[2].clone()] {
        queue.push(notice);
    }
    let reply = queue.take_reply(ConversationId(1), RequestId(1));
    assert_eq!(reply, [Event::Text("a".to_owned()), Event::Thinking("b".to_owned())]);
    assert_eq!(drain_all(&queue), others);
}

fn drain_all(queue: &Queue) -> Vec<Notice> {
    let mut all = Vec::new();
    loop {
        let (notices, next) = queue.drain();
        all.extend(notices);
        if next != NextDrain::Now {
            return all;
        }
    }
}

#[test]
fn pieces_of_one_text_join() {
    let (queue, _) = queue();
    for words in ["one ", "two ", "three"] {
        queue.push(text(1, words));
    }
    assert_eq!(queue.drain(), (vec![text(1, "one two three")], NextDrain::After(PAUSE)));
    assert_eq!(queue.drain(), (vec![], NextDrain::Woken));
}

#[test]
fn nothing_else_joins() {
    let notices = [
        text(2, "b"),
        thinking(2, "c"),
        text(2, "d"),
        event(2, 2, Event::Text("e".into())),
        event(2, 2, Event::ThinkingStarted),
        event(2, 2, Event::Text("f".into())),
        finished(2, "g"),
        finished(2, "h"),
        Notice::Job("a job"),
        progress("read", 10),
        progress("write", 20),
        progress("write", 4),
        text(2, "i"),
    ];
    let (queue, _) = queue();
    for notice in &notices {
        queue.push(notice.clone());
    }
    assert_eq!(queue.drain().0, notices);
}

#[test]
fn a_later_count_takes_the_place_of_an_earlier_one() {
    let (queue, _) = queue();
    for notice in [used(1), used(2), progress("read", 10), progress("read", 30), used(3), used(4)] {
        queue.push(notice);
    }
    assert_eq!(queue.drain().0, [used(2), progress("read", 30), used(4)]);
}

#[test]
fn pieces_of_several_replies_join_however_they_alternate() {
    let (queue, _) = queue();
    for n in 0..300 {
        for conversation in 1..=10 {
            queue.push(text(conversation, &format!("{n} ")));
        }
    }
    let all: String = (0..300).map(|n| format!("{n} ")).collect();
    // Not all of them at once: each is a write to a buffer of its own.
    for (conversations, then) in [(1..=4, NextDrain::Now), (5..=8, NextDrain::Now), (9..=10, NextDrain::After(PAUSE))] {
        let expected: Vec<_> = conversations.map(|conversation| text(conversation, &all)).collect();
        assert_eq!(queue.drain(), (expected, then));
    }
    // What was drained is not joined to.
    queue.push(text(1, "more"));
    assert_eq!(queue.drain().0, [text(1, "more")]);
}

#[test]
fn pieces_that_arrive_during_a_drain_wait_for_the_pause() {
    let (queue, calls) = queue();
    for conversation in 1..=6 {
        queue.push(text(conversation, "one "));
    }
    assert_eq!(queue.drain().1, NextDrain::Now);
    for conversation in 1..=6 {
        queue.push(text(conversation, "two "));
    }
    assert_eq!(queue.drain(), (vec![text(5, "one two "), text(6, "one two ")], NextDrain::After(PAUSE)));
    queue.push(text(1, "three"));
    assert_eq!(calls.load(SeqCst), 1);
    let rest = [text(1, "two three"), text(2, "two "), text(3, "two "), text(4, "two ")];
    assert_eq!(queue.drain(), (rest.to_vec(), NextDrain::After(PAUSE)));
    // What cannot wait is taken as soon as the round is over.
    for conversation in 1..=6 {
        queue.push(text(conversation, "four "));
    }
    assert_eq!(queue.drain().1, NextDrain::Now);
    queue.push(text(1, "five"));
    queue.push(finished(1, "done"));
    assert_eq!(queue.drain().1, NextDrain::Now);
    assert_eq!(queue.drain(), (vec![text(1, "five"), finished(1, "done")], NextDrain::After(PAUSE)));
}

#[test]
fn many_pushes_make_one_wake_up() {
    let (queue, calls) = queue();
    for n in 0..1000 {
        queue.push(if n % 2 == 0 { text(1, "a") } else { thinking(1, "b") });
    }
    assert_eq!(calls.load(SeqCst), 1);
    drain_all(&queue);
    queue.push(finished(1, "again"));
    assert_eq!(calls.load(SeqCst), 2);
}

#[test]
fn the_first_piece_wakes_at_once_and_others_wait() {
    let (queue, calls) = queue();
    queue.push(text(1, "first "));
    assert_eq!(calls.load(SeqCst), 1);
    assert_eq!(queue.drain().1, NextDrain::After(PAUSE));
    for notice in [text(1, "second "), thinking(2, "of another"), used(3), progress("read", 1), text(1, "third")] {
        queue.push(notice);
    }
    assert_eq!(calls.load(SeqCst), 1, "the drain comes after the pause by itself");
    assert_eq!(
        queue.drain(),
        (
            vec![text(1, "second third"), thinking(2, "of another"), used(3), progress("read", 1)],
            NextDrain::After(PAUSE)
        )
    );
    // Nothing came in this pause: the next piece is a first one again.
    assert_eq!(queue.drain(), (vec![], NextDrain::Woken));
    queue.push(text(1, "later"));
    assert_eq!(calls.load(SeqCst), 2);
}

#[test]
fn what_cannot_wait_ends_the_pause() {
    let ends = [
        finished(1, "done"),
        event(1, 1, Event::Finished(StopReason::EndTurn)),
        event(1, 1, Event::ThinkingStarted),
        Notice::Job("a job"),
    ];
    for end in ends {
        let (queue, calls) = queue();
        queue.push(text(1, "a"));
        queue.drain();
        queue.push(text(1, "b"));
        queue.push(end.clone());
        queue.push(text(1, "c"));
        assert_eq!(calls.load(SeqCst), 2, "{end:?}");
        assert_eq!(queue.drain().0, [text(1, "b"), end, text(1, "c")]);
    }
}

#[test]
fn a_drain_takes_a_bounded_number_and_says_that_there_is_more() {
    let (queue, calls) = queue();
    for _ in 0..SLICE_NOTICES + 1 {
        queue.push(finished(1, ""));
    }
    let (first, next) = queue.drain();
    assert_eq!((first.len(), next), (SLICE_NOTICES, NextDrain::Now));
    // Whoever was told comes back; nobody calls them again.
    queue.push(finished(2, ""));
    assert_eq!(calls.load(SeqCst), 1);
    let (rest, next) = queue.drain();
    assert_eq!((rest.len(), next), (1, NextDrain::Now));
    let (rest, next) = queue.drain();
    assert_eq!((rest.len(), next), (1, NextDrain::Woken));
}

#[test]
fn a_drain_takes_a_bounded_amount_of_text() {
    let (queue, _) = queue();
    let piece = "x".repeat(10_000);
    for _ in 0..100 {
        queue.push(text(1, &piece));
    }
    let mut length = 0;
    loop {
        let (notices, next) = queue.drain();
        let taken: usize = notices.iter().map(|notice| words(notice).len()).sum();
        assert!(taken <= 2 * SLICE_BYTES, "{taken}");
        length += taken;
        if next != NextDrain::Now {
            break;
        }
    }
    assert_eq!(length, 1_000_000);
}

#[test]
fn one_notice_larger_than_a_slice_still_comes() {
    let (queue, _) = queue();
    let notice = finished(1, &"x".repeat(10 * SLICE_BYTES));
    queue.push(notice.clone());
    queue.push(text(1, "after"));
    assert_eq!(queue.drain(), (vec![notice], NextDrain::Now));
    assert_eq!(queue.drain(), (vec![text(1, "after")], NextDrain::After(PAUSE)));
}

#[test]
fn a_wake_up_may_drain_at_once() {
    // The lock is not held while the waker is called.
    let (sender, receiver) = mpsc::channel();
    let queue = Arc::new_cyclic(|queue: &std::sync::Weak<Queue>| {
        let queue = queue.clone();
        Queue::new(move || {
            if let Some(queue) = queue.upgrade() {
                let _ = sender.send(queue.drain().0.len());
            }
        })
    });
    let pushing = Arc::clone(&queue);
    thread::spawn(move || pushing.push(text(1, "a")));
    assert_eq!(receiver.recv_timeout(Duration::from_secs(30)), Ok(1));
}

#[test]
fn nothing_is_lost_while_several_threads_push_and_one_drains() {
    const THREADS: u64 = 4;
    const PIECES: usize = 5_000;
    let (sender, woken) = mpsc::channel();
    let queue = Arc::new(Queue::new(move || _ = sender.send(())));
    let start = Arc::new(Barrier::new(THREADS as usize));
    let pushers: Vec<_> = (1..=THREADS)
        .map(|conversation| {
            let (queue, start) = (Arc::clone(&queue), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                for n in 0..PIECES {
                    queue.push(text(conversation, &format!("{n} ")));
                    if n % 100 == 0 {
                        queue.push(event(conversation, 1, Event::ThinkingStarted));
                    }
                }
                queue.push(text(conversation, "done"));
            })
        })
        .collect();

    // The reader comes when it is woken or told to, so that a wake-up too few shows as a wait without an end.
    let mut texts = HashMap::<u64, String>::new();
    let mut next = NextDrain::Woken;
    while texts.values().filter(|text| text.ends_with("done")).count() < THREADS as usize {
        match next {
            NextDrain::Woken => woken.recv_timeout(Duration::from_secs(30)).expect("a wake-up for what is there"),
            NextDrain::After(pause) => _ = woken.recv_timeout(pause),
            NextDrain::Now => {}
        }
        let notices;
        (notices, next) = queue.drain();
        for notice in notices {
            let Notice::Input(ConversationId(conversation), _) = notice else { continue };
            texts.entry(conversation).or_default().push_str(words(&notice));
        }
    }
    for pusher in pushers {
        pusher.join().unwrap();
    }
    let expected = (0..PIECES).map(|n| format!("{n} ")).collect::<String>() + "done";
    assert_eq!(texts.len() as u64, THREADS);
    assert!(texts.values().all(|text| *text == expected), "each conversation's text, whole and in order");
}

proptest! {
    /// Whatever is pushed and drained in between: each conversation gets what was pushed for it, in order.
    #[test]
    fn joining_never_shows(
        steps in proptest::collection::vec((0u64..3, 0u64..2, any::<bool>(), "[a-z]{0,5}", 0u8..10), 0..100)
    ) {
        let (queue, _) = queue();
        let (mut pushed, mut drained) = (Vec::new(), Vec::new());
        for (conversation, request, thinks, words, then) in steps {
            let piece = if thinks { Event::Thinking(words) } else { Event::Text(words) };
            let notice = event(conversation, request, piece);
            pushed.push(notice.clone());
            queue.push(notice);
            match then {
                0 => drained.extend(queue.drain().0),
                1 => {
                    pushed.push(finished(conversation, "x"));
                    queue.push(finished(conversation, "x"));
                }
                2 => {
                    // There is time for one only.
                    let (mut slice, _) = queue.drain();
                    let rest = slice.split_off(slice.len().min(1));
                    drained.extend(slice);
                    queue.give_back(rest);
                }
                _ => {}
            }
        }
        drained.extend(drain_all(&queue));
        // What came behind something that was given back waits for another round.
        drained.extend(drain_all(&queue));
        prop_assert_eq!(letters(&pushed), letters(&drained));
    }
}

/// What each conversation is told, letter by letter, so that it does not matter how it was joined.
fn letters(notices: &[Notice]) -> Vec<String> {
    let mut letters = Vec::new();
    for notice in notices {
        let Notice::Input(ConversationId(conversation), input) = notice else { continue };
        match input {
            Input::Event { request, event: Event::Text(text) } => {
                letters.extend(text.chars().map(|letter| format!("{conversation} {} text {letter}", request.0)));
            }
            Input::Event { request, event: Event::Thinking(text) } => {
                letters.extend(text.chars().map(|letter| format!("{conversation} {} thinking {letter}", request.0)));
            }
            other => letters.push(format!("{conversation} {other:?}")),
        }
    }
    // Stable, so that each conversation's own order stays.
    letters.sort_by_key(|letter| letter.split(' ').next().map(str::to_owned));
    letters
}
