//! What runs for one conversation, and how it is stopped.

use std::{
    cell::RefCell,
    collections::HashMap,
    time::{Duration, Instant},
};

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::{agent::RequestId, provider::CallId};

/// The requests and tools of one conversation that run now.
#[derive(Default)]
pub(super) struct Tasks {
    requests: RefCell<HashMap<RequestId, AbortHandle>>,
    tools: RefCell<HashMap<CallId, RunningTool>>,
}

struct RunningTool {
    cancel: CancellationToken,
    started: Instant,
}

impl Tasks {
    /// Remembers a request. A later one takes the place of all before it: there is one at a time.
    pub(super) fn add_request(&self, request: RequestId, handle: AbortHandle) {
        let mut requests = self.requests.borrow_mut();
        requests.clear();
        requests.insert(request, handle);
    }

    /// Ends a request without a word.
    pub(super) fn abort_request(&self, request: RequestId) {
        if let Some(handle) = self.requests.borrow_mut().remove(&request) {
            handle.abort();
        }
    }

    /// Remembers a tool, and gives the token that stops it.
    pub(super) fn add_tool(&self, call: &CallId) -> CancellationToken {
        let cancel = CancellationToken::new();
        let tool = RunningTool { cancel: cancel.clone(), started: Instant::now() };
        self.tools.borrow_mut().insert(call.clone(), tool);
        cancel
    }

    /// Stops a tool.
    pub(super) fn cancel_tool(&self, call: &CallId) {
        if let Some(tool) = self.tools.borrow_mut().remove(call) {
            tool.cancel.cancel();
        }
    }

    /// A tool has finished.
    pub(super) fn remove_tool(&self, call: &CallId) {
        self.tools.borrow_mut().remove(call);
    }

    /// Whether a tool runs for this call.
    pub(super) fn is_running(&self, call: &CallId) -> bool {
        self.tools.borrow().contains_key(call)
    }

    /// For how long the tool of this call has been running.
    pub(super) fn elapsed(&self, call: &CallId) -> Duration {
        self.tools.borrow().get(call).map(|tool| tool.started.elapsed()).unwrap_or_default()
    }

    /// Stops everything.
    pub(super) fn stop_all(&self) {
        for (_, handle) in self.requests.borrow_mut().drain() {
            handle.abort();
        }
        for (_, tool) in self.tools.borrow_mut().drain() {
            tool.cancel.cancel();
        }
    }
}
