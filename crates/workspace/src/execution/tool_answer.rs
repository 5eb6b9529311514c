//! Where the answer of one run of a tool goes. The first one counts: an answer that comes twice, or after the call was
//! cancelled or its time was up, is dropped.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::runtime::Handle;

use crate::execution::lua_outcome::{FilePlaces, LuaOutcome};
use flemma_tools::Rendered;

/// Takes the result of a call. It may be called from any thread.
pub(crate) type Deliver = Arc<dyn Fn(Rendered) + Send + Sync>;

/// The right to answer one run of a tool written in Lua. It may be used from any thread.
#[derive(Clone)]
pub struct ToolAnswer {
    tool: String,
    is_answered: Arc<AtomicBool>,
    deliver: Deliver,
    /// The threads that render long answers; `None` where the system gives none.
    threads: Option<Handle>,
    places: FilePlaces,
}

impl ToolAnswer {
    /// The right to answer a call of `tool`.
    pub(crate) fn new(tool: String, deliver: Deliver, threads: Option<Handle>, places: FilePlaces) -> Self {
        Self { tool, is_answered: Arc::default(), deliver, threads, places }
    }

    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Takes the right to answer; `false` if it was taken before.
    pub(crate) fn claim(&self) -> bool {
        !self.is_answered.swap(true, Ordering::SeqCst)
    }

    /// Whether the run was answered, or stopped.
    pub(crate) fn is_answered(&self) -> bool {
        self.is_answered.load(Ordering::SeqCst)
    }

    /// Answers, unless that was done before: then the outcome comes back. What may take long is done on another thread.
    pub fn finish(&self, outcome: LuaOutcome) -> Option<LuaOutcome> {
        if !self.claim() {
            return Some(outcome);
        }
        match self.threads.as_ref().filter(|_| !outcome.is_small()) {
            Some(threads) => {
                let answer = self.clone();
                threads.spawn_blocking(move || (answer.deliver)(outcome.render(&answer.tool, &answer.places)));
            }
            None => (self.deliver)(outcome.render(&self.tool, &self.places)),
        }
        None
    }
}
