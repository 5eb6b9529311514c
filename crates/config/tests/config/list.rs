//! Lists that are changed step by step.

use std::collections::BTreeSet;

use flemma_config::ListOption;
use proptest::prelude::*;

fn names(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn shown(list: &ListOption) -> String {
    list.items().join(" ")
}

#[test]
fn what_is_added_again_moves() {
    let mut list = ListOption::new(names("bash read write"));
    list.append(names("bash"));
    assert_eq!(shown(&list), "read write bash");
    list.prepend(names("bash edit"));
    assert_eq!(shown(&list), "bash edit read write");
    list.append(names("x y x"));
    assert_eq!(shown(&list), "bash edit read write y x");
    list.prepend(names("a b a"));
    assert_eq!(shown(&list), "b a bash edit read write y x");
}

#[test]
fn a_removal_is_remembered_until_the_name_or_list_is_set_again() {
    let mut list = ListOption::new(names("$default"));
    list.remove(names("write"));
    assert_eq!((shown(&list).as_str(), list.removed()), ("$default", &names("write")[..]));
    list.append(names("write"));
    assert_eq!((shown(&list).as_str(), list.removed()), ("$default write", &[][..]));
    list.remove(names("read write"));
    list.prepend(names("read"));
    assert_eq!((shown(&list).as_str(), list.removed()), ("read $default", &names("write")[..]));
    list.set(names("$default"));
    assert_eq!((shown(&list).as_str(), list.removed()), ("$default", &[][..]));
}

#[derive(Clone, Debug)]
enum Step {
    Set(Vec<String>),
    Append(Vec<String>),
    Prepend(Vec<String>),
    Remove(Vec<String>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || prop::collection::vec("[a-e]", 0..4);
    let step = prop_oneof![
        1 => some().prop_map(Step::Set),
        3 => some().prop_map(Step::Append),
        3 => some().prop_map(Step::Prepend),
        3 => some().prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 0..12)
}

/// The same in the simplest terms: every name has a place on a number line, or is out, or was never named.
#[derive(Default)]
struct Model {
    places: std::collections::BTreeMap<String, i64>,
    out: BTreeSet<String>,
    clock: i64,
}

impl Model {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Set(names) => {
                (self.places, self.out) = Default::default();
                self.step(&Step::Append(names.clone()));
            }
            Step::Append(names) => {
                for name in names {
                    self.clock += 1;
                    self.out.remove(name);
                    self.places.insert(name.clone(), self.clock);
                }
            }
            Step::Prepend(names) => {
                // Written from the back, so that the first ends up in front; of a name that comes twice the last counts.
                let mut seen = BTreeSet::new();
                for name in names.iter().rev().filter(|name| seen.insert((*name).clone())) {
                    self.clock += 1;
                    self.out.remove(name);
                    self.places.insert(name.clone(), -self.clock);
                }
            }
            Step::Remove(names) => {
                for name in names {
                    self.places.remove(name);
                    self.out.insert(name.clone());
                }
            }
        }
    }

    fn items(&self) -> Vec<String> {
        let mut items: Vec<_> = self.places.iter().collect();
        items.sort_by_key(|(_, place)| **place);
        items.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

proptest! {
    #[test]
    fn every_sequence_of_steps_agrees_with_a_simple_model(steps in steps()) {
        let (mut list, mut model) = (ListOption::default(), Model::default());
        for step in steps {
            model.step(&step);
            match step {
                Step::Set(names) => list.set(names),
                Step::Append(names) => list.append(names),
                Step::Prepend(names) => list.prepend(names),
                Step::Remove(names) => list.remove(names),
            }
            prop_assert_eq!(list.items(), model.items());
            prop_assert_eq!(list.removed().iter().cloned().collect::<BTreeSet<_>>(), model.out.clone());
            prop_assert_eq!(list.removed().len(), model.out.len());
        }
    }
}
