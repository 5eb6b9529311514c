//! What a shorter journal still needs.

use flemma_journal::{Event, Ledger, Life, Record, kept};
use proptest::prelude::*;

use super::{approved, histories, key, record, result};

fn shorter(records: &[Record], wanted: &[bool]) -> Vec<Record> {
    let is_kept = kept(records, |key| (0..4).any(|index| super::key(index) == *key && wanted[index]));
    records.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept).map(|(record, _)| record.clone()).collect()
}

#[test]
fn lives_that_ended_and_that_nobody_wants_are_left_out() {
    let end = || Event::Resolved(result("done"));
    let life =
        |index: usize| [Event::Opened, approved(), Event::Started, end()].map(|event| record(key(index), 1, event));
    let open = record(key(0), 2, Event::Opened);
    let records = [life(0).as_slice(), &life(1), std::slice::from_ref(&open), &life(2)].concat();
    let expected = [[open].as_slice(), &life(2)].concat();
    assert_eq!(shorter(&records, &[false, false, true, false]), expected);
}

proptest! {
    #[test]
    fn a_shorter_journal_says_the_same_of_what_matters(
        history in histories(),
        wanted in prop::collection::vec(any::<bool>(), 4),
    ) {
        let short = shorter(&history, &wanted);
        prop_assert_eq!(&shorter(&short, &wanted), &short, "once is enough");
        let (before, after) = (Ledger::replay(history.clone()), Ledger::replay(short.clone()));
        for (index, is_wanted) in wanted.iter().enumerate() {
            let key = key(index);
            if *is_wanted {
                prop_assert_eq!(&after.of(&key).life, &before.of(&key).life);
                prop_assert_eq!(after.of(&key).endings, before.of(&key).endings);
                prop_assert_eq!(&after.of(&key).last_result, &before.of(&key).last_result);
            } else if let Life::Open { .. } = before.of(&key).life {
                prop_assert_eq!(&after.of(&key).life, &before.of(&key).life);
                prop_assert_eq!(after.of(&key).endings, 0);
            } else {
                prop_assert!(short.iter().all(|record| record.key != key));
            }
        }
    }
}
