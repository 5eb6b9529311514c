//! The state of all calls, according to their records.

use flemma_journal::{Actor, Binding, CallKey, Event, Ledger, Life, Record};
use flemma_model::CallId;
use proptest::prelude::*;

use super::{approved, asked, histories, key, record, rejected, result};

fn replay(events: impl IntoIterator<Item = Event>) -> Ledger {
    let numbered = events.into_iter().zip(1..);
    Ledger::replay(numbered.map(|(event, second)| record(key(0), second, event)))
}

fn approver(ledger: &Ledger, key: &CallKey) -> Option<Actor> {
    match ledger.of(key).life.clone() {
        Life::Open { approved, .. } => approved,
        Life::Unknown | Life::Ended => None,
    }
}

fn is_approved(ledger: &Ledger) -> bool {
    approver(ledger, &key(0)).is_some()
}

fn starts(ledger: &Ledger) -> Vec<i64> {
    ledger.unfinished().map(|(_, at)| at.as_second()).collect()
}

fn resolved(output: &str) -> Event {
    Event::Resolved(result(output))
}

#[test]
fn a_call_lives_from_its_categorisation_to_its_result() {
    assert_eq!(replay([]).of(&key(0)).life, Life::Unknown);
    assert_eq!(replay([Event::Opened]).of(&key(0)).life, Life::Open { approved: None, started: None });
    let ledger = replay([Event::Opened, approved(), Event::Started]);
    assert!(is_approved(&ledger));
    assert_eq!(starts(&ledger), [3]);
    let ledger = replay([Event::Opened, approved(), Event::Started, resolved("done")]);
    assert_eq!((ledger.of(&key(0)).life.clone(), ledger.of(&key(0)).endings), (Life::Ended, 1));
    assert_eq!(ledger.of(&key(0)).last_result.as_ref(), Some(&result("done")));
    assert!(starts(&ledger).is_empty());
}

/// Vendors use ids again, also with the same input.
#[test]
fn what_was_approved_in_an_earlier_life_is_not_for_the_next() {
    let bound = || Event::Bound { shown: Binding { revision: "1".to_owned(), ..Binding::default() } };
    for begins in [Event::Opened, Event::Started] {
        let ledger = replay([Event::Opened, bound(), approved(), Event::Started, resolved("done"), begins]);
        assert_eq!(ledger.last_binding(&key(0)), None);
    }
    // It is for the same life after a new question.
    let ledger = replay([Event::Opened, bound(), approved(), Event::Opened]);
    assert!(ledger.last_binding(&key(0)).is_some());
}

#[test]
fn the_latest_end_of_an_id_says_who_ended_it() {
    let id = key(0).id;
    assert_eq!(replay([Event::Opened]).last_ending(&id), None);
    let ledger = replay([Event::Opened, resolved("done"), resolved("late"), Event::Opened]);
    let ending = ledger.last_ending(&id).unwrap().clone();
    assert!(!ending.is_error, "the first end counts");
    let ledger = replay([Event::Opened, resolved("done"), Event::Opened, Event::Started, resolved("again")]);
    assert!(ledger.last_ending(&id).unwrap().at > ending.at, "the latest life");
    assert_eq!(ledger.last_ending(&CallId("another".to_owned())), None);
}

#[test]
fn an_approval_counts_in_its_own_life_and_for_its_own_input() {
    assert!(!is_approved(&replay([approved()])), "nothing was asked");
    assert!(!is_approved(&replay([Event::Opened, approved(), rejected()])));
    assert!(!is_approved(&replay([Event::Opened, approved(), Event::Opened])), "it was categorised again");
    assert!(!is_approved(&replay([Event::Opened, approved(), resolved(""), Event::Opened])), "an id was reused");
    assert!(!is_approved(&replay([Event::Opened, resolved(""), approved(), Event::Opened])), "it came too late");
    assert!(!is_approved(&replay([Event::Opened, resolved(""), approved(), Event::Started])), "it came too late");
    let ledger = Ledger::replay([record(key(0), 1, Event::Opened), record(key(0), 2, approved())]);
    for other in 1..4 {
        assert_eq!(ledger.of(&key(other)).life, Life::Unknown, "another input, id or tool");
    }
}

#[test]
fn a_start_is_known_until_its_end() {
    assert_eq!(starts(&replay([Event::Started])), [1], "wherever it stands");
    assert_eq!(starts(&replay([Event::Opened, Event::Started, Event::Opened])), [2]);
    assert_eq!(starts(&replay([Event::Opened, Event::Started, Event::Opened, rejected()])), [2]);
    assert_eq!(starts(&replay([Event::Opened, Event::Started, Event::Opened, approved(), Event::Started])), [5]);
    assert_eq!(starts(&replay([Event::Opened, resolved(""), Event::Started])), [3]);
    assert!(starts(&replay([Event::Opened, Event::Started, resolved(""), Event::Opened])).is_empty());
}

#[test]
fn a_start_is_withdrawn_by_the_next_record_only() {
    let ledger = replay([Event::Opened, approved(), Event::Started, Event::Withdrawn]);
    assert_eq!(ledger.of(&key(0)).life, Life::Open { approved: None, started: None });
    // An earlier start happened, and stays.
    let again = [Event::Opened, Event::Started, Event::Opened, approved(), Event::Started, Event::Withdrawn];
    assert_eq!(starts(&replay(again)), [2]);
    let twice = [Event::Opened, Event::Started, Event::Opened, Event::Withdrawn, Event::Withdrawn];
    assert_eq!(starts(&replay(twice)), [2]);
    assert_eq!(replay([Event::Withdrawn]).of(&key(0)).life, Life::Unknown);
    assert_eq!(replay([Event::Opened, resolved(""), Event::Withdrawn]).of(&key(0)).life, Life::Ended);
}

#[test]
fn the_first_end_of_a_life_counts() {
    let ledger = replay([Event::Opened, Event::Expired(result("late")), resolved("an answer")]);
    assert_eq!((ledger.of(&key(0)).last_result.as_ref(), ledger.of(&key(0)).endings), (Some(&result("late")), 1));
    let ledger = replay([Event::Opened, resolved("1"), resolved("2"), Event::Opened, resolved("3"), resolved("4")]);
    assert_eq!((ledger.of(&key(0)).last_result.as_ref(), ledger.of(&key(0)).endings), (Some(&result("3")), 2));
    let ledger = replay([resolved("an answer"), Event::Opened]);
    assert_eq!((ledger.of(&key(0)).last_result.as_ref(), ledger.of(&key(0)).endings), (Some(&result("an answer")), 1));
}

/// It only says what a call waits for, and changes nothing else.
fn is_question(record: &Record) -> bool {
    matches!(record.event, Event::Asked(_))
}

#[test]
fn a_question_is_that_of_the_latest_life() {
    let title = |events: &[Event]| {
        let ledger = replay(events.iter().cloned());
        ledger.of(&key(0)).asked.as_ref().and_then(|asked| asked.schema.as_ref()?["title"].as_str().map(str::to_owned))
    };
    assert_eq!(title(&[Event::Opened]), None);
    assert_eq!(title(&[Event::Opened, asked("1"), asked("2")]).as_deref(), Some("2"));
    assert_eq!(title(&[Event::Opened, asked("1"), resolved(""), Event::Opened]), None, "an id was reused");
    assert_eq!(title(&[asked("1"), Event::Started, asked("2"), Event::Withdrawn]).as_deref(), Some("2"));
    let ledger = replay([Event::Opened, Event::Started, asked("1"), Event::Withdrawn]);
    assert!(starts(&ledger).is_empty(), "a question does not come between a start and its withdrawal");
}

proptest! {
    #[test]
    fn a_replay_can_be_continued_at_any_record(history in histories(), at in any::<prop::sample::Index>()) {
        let at = at.index(history.len() + 1);
        let mut ledger = Ledger::replay(history[..at].iter().cloned());
        history[at..].iter().for_each(|record| ledger.apply(record));
        prop_assert_eq!(ledger, Ledger::replay(history));
    }

    #[test]
    fn keys_do_not_affect_each_other(history in histories()) {
        let whole = Ledger::replay(history.clone());
        for key in (0..4).map(key) {
            let own = Ledger::replay(history.iter().filter(|record| record.key == key).cloned());
            prop_assert_eq!(&own.of(&key).life, &whole.of(&key).life);
            prop_assert_eq!(own.of(&key).endings, whole.of(&key).endings);
            prop_assert_eq!(&own.of(&key).last_result, &whole.of(&key).last_result);
        }
    }

    /// Walks through a history, and holds each step against what must never happen.
    #[test]
    fn no_step_forgets_a_start_or_grants_anything(history in histories()) {
        let mut ledger = Ledger::default();
        for (at, record) in history.iter().enumerate() {
            let key = &record.key;
            let latest = history[..at].iter().rfind(|record| record.key == *key && !is_question(record));
            let is_undone = record.event == Event::Withdrawn && latest.is_some_and(|latest| latest.event == Event::Started);
            let (before, endings) = (ledger.of(key).life.clone(), ledger.of(key).endings);
            let last = ledger.of(key).last_result.clone();
            ledger.apply(record);
            let (after, is_end) = (ledger.of(key).life.clone(), matches!(record.event, Event::Resolved(_) | Event::Expired(_)));
            let started = |life: &Life| matches!(life, Life::Open { started: Some(_), .. });
            prop_assert!(!started(&before) || is_end || is_undone || started(&after), "a start was forgotten");
            prop_assert!(record.event != Event::Started || started(&after), "a start was ignored");
            prop_assert!(!is_end || after == Life::Ended, "an end was ignored");
            let ended = usize::from(is_end && before != Life::Ended);
            prop_assert_eq!(ledger.of(key).endings, endings + ended, "one end per life");
            match &record.event {
                Event::Resolved(result) | Event::Expired(result) if ended == 1 => {
                    prop_assert_eq!(ledger.of(key).last_result.as_ref(), Some(result));
                }
                _ => prop_assert_eq!(ledger.of(key).last_result.as_ref(), last.as_ref(), "the first end counts"),
            }
            if matches!((&before, &after), (Life::Ended, Life::Open { .. })) {
                prop_assert!(matches!(record.event, Event::Opened | Event::Started), "nothing else begins a life");
            }
        }
    }

    #[test]
    fn an_approval_is_the_last_word_about_an_open_call(history in histories()) {
        let ledger = Ledger::replay(history.clone());
        for key in (0..4).map(key) {
            let own: Vec<&Record> = history.iter().filter(|record| record.key == key && !is_question(record)).collect();
            let last = own.iter().rposition(|record| record.event != Event::Started);
            let approval = last.filter(|last| {
                // It belongs to a life that had begun before it.
                let begun = own[..*last].iter().rfind(|record| !matches!(record.event, Event::Decided(_) | Event::Withdrawn));
                own[*last].event == approved() && begun.is_some_and(|begun| matches!(begun.event, Event::Opened | Event::Started))
            });
            prop_assert_eq!(approver(&ledger, &key), approval.map(|approval| own[approval].by.clone()));
        }
    }

    #[test]
    fn broken_lines_and_lines_of_newer_versions_change_nothing(
        history in histories(),
        noise in prop::collection::vec((any::<prop::sample::Index>(), 0..5_usize), 0..20),
    ) {
        let mut lines: Vec<String> = history.iter().map(Record::to_line).collect();
        for (at, kind) in noise {
            let line = record(key(0), 1, approved()).to_line();
            let noise = match kind {
                0 => line.replace("\"v\":1", "\"v\":9"),
                1 => line.replace("approved", "permitted"),
                2 => line[..line.len() - 1].to_owned(),
                3 => line[1..].to_owned(),
                _ => line.replace("\"user\"", "\"admin\""),
            };
            let at = at.index(lines.len() + 1);
            lines.insert(at, noise);
        }
        let read = Ledger::replay(lines.iter().filter_map(|line| Record::from_line(line.as_bytes()).ok()));
        prop_assert_eq!(read, Ledger::replay(history));
    }
}
