//! What is known of the calls on the screen, so that it is found out once and not each time they are drawn.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use flemma_journal::CallKey;
use flemma_tools::Summary;

/// The number of calls that are kept.
const KEPT: usize = 512;

/// What is known of a call from its input.
#[derive(Debug)]
pub(crate) struct CallFacts {
    pub(crate) summary: Summary,
    pub(crate) key: CallKey,
    /// The path of the file that it names, as the model wrote it.
    pub(crate) path: Option<String>,
    /// The path of the file that the result shows.
    pub(crate) shows: Option<String>,
}

/// The calls that were drawn, by the state of the tools and the hashes of the calls' lines.
#[derive(Debug, Default)]
pub(crate) struct KnownCalls(RefCell<HashMap<(u64, u64), Rc<CallFacts>>>);

impl KnownCalls {
    /// What is known of the call with this hash, or else what `find` says of it.
    pub(crate) fn get_or_find(
        &self,
        hash: (u64, u64),
        find: impl FnOnce() -> Option<CallFacts>,
    ) -> Option<Rc<CallFacts>> {
        if let Some(facts) = self.0.borrow().get(&hash) {
            return Some(Rc::clone(facts));
        }
        let facts = Rc::new(find()?);
        let mut known = self.0.borrow_mut();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(hash, Rc::clone(&facts));
        Some(facts)
    }
}
