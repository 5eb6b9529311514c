//! What runs for one conversation, and how it is stopped.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    time::{Duration, Instant},
};

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::{latest_output::LatestOutput, tool_answer::ToolAnswer};
use crate::{agent::RequestId, model::CallId, tools::LuaError};

/// The requests and tools of one conversation that run now.
#[derive(Default)]
pub(super) struct Tasks {
    requests: RefCell<HashMap<RequestId, AbortHandle>>,
    tools: RefCell<HashMap<CallId, RunningTool>>,
    last_run: Cell<u64>,
}

/// The tool's own function that stops a call.
pub type StopTool = Box<dyn FnOnce() -> Result<(), LuaError>>;

/// A tool that runs.
struct RunningTool {
    started: Instant,
    latest: LatestOutput,
    run: u64,
    stop: Stop,
}

/// How a running tool is stopped.
pub(super) enum Stop {
    /// Not at all: its start is on its way to the disk.
    NotStarted,
    /// Not at all: it waits for the journal to be read, or for a user interface.
    Waits,
    /// By a token.
    Native(CancellationToken),
    /// By taking the right to answer from it, and by the function that it gave for the purpose.
    Lua {
        /// Its right to answer.
        answer: ToolAnswer,
        /// Its own function.
        function: Option<StopTool>,
        /// The task that watches the time.
        timer: Option<AbortHandle>,
    },
}

impl RunningTool {
    /// Stops it; its answer, if one still comes, is dropped.
    ///
    /// # Errors
    /// What its own function threw.
    fn stop(self) -> Result<(), LuaError> {
        match self.stop {
            Stop::NotStarted | Stop::Waits => Ok(()),
            Stop::Native(token) => {
                token.cancel();
                Ok(())
            }
            Stop::Lua { answer, function, timer } => {
                if let Some(timer) = timer {
                    timer.abort();
                }
                let was_waited_for = answer.claim();
                function.filter(|_| was_waited_for).map_or(Ok(()), |function| function())
            }
        }
    }
}

impl Tasks {
    /// Remembers a request. A later one takes the place of all before it: there is one at a time.
    pub(super) fn add_request(&self, request: RequestId, handle: AbortHandle) {
        let mut requests = self.requests.borrow_mut();
        requests.clear();
        requests.insert(request, handle);
    }

    /// Ends a request; nothing more comes of it.
    pub(super) fn abort_request(&self, request: RequestId) {
        if let Some(handle) = self.requests.borrow_mut().remove(&request) {
            handle.abort();
        }
    }

    /// The number for the next run.
    pub(super) fn next_run(&self) -> u64 {
        self.last_run.set(self.last_run.get() + 1);
        self.last_run.get()
    }

    /// Remembers a tool that was started.
    pub(super) fn add_tool(&self, call: &CallId, run: u64, latest: LatestOutput, stop: Stop) {
        let tool = RunningTool { started: Instant::now(), latest, run, stop };
        self.tools.borrow_mut().insert(call.clone(), tool);
    }

    /// Remembers a call that cannot be started yet.
    pub(super) fn wait(&self, call: &CallId) {
        self.add_tool(call, self.next_run(), LatestOutput::default(), Stop::Waits);
    }

    /// Stops a tool.
    ///
    /// # Errors
    /// What its own function for that threw.
    pub(super) fn stop_tool(&self, call: &CallId) -> Result<(), LuaError> {
        // Taken out first: the function may come back here.
        let tool = self.tools.borrow_mut().remove(call);
        tool.map_or(Ok(()), RunningTool::stop)
    }

    /// Forgets a tool that has answered.
    pub(super) fn remove_tool(&self, call: &CallId) {
        let tool = self.tools.borrow_mut().remove(call);
        if let Some(RunningTool { stop: Stop::Lua { timer: Some(timer), .. }, .. }) = tool {
            timer.abort();
        }
    }

    /// Takes a call that waits to be started; says whether it is one.
    pub(super) fn take_waiting(&self, call: &CallId) -> bool {
        let mut tools = self.tools.borrow_mut();
        let waits = tools.get(call).is_some_and(|tool| matches!(tool.stop, Stop::Waits));
        if waits {
            tools.remove(call);
        }
        waits
    }

    /// Whether this run of a call is still going on.
    pub(super) fn is_run(&self, call: &CallId, run: u64) -> bool {
        self.tools.borrow().get(call).is_some_and(|tool| tool.run == run)
    }

    /// Whether a tool runs for this call.
    pub(super) fn is_running(&self, call: &CallId) -> bool {
        self.tools.borrow().contains_key(call)
    }

    /// Whether a tool runs, or waits for a user interface.
    pub(super) fn has_tools(&self) -> bool {
        !self.tools.borrow().is_empty()
    }

    /// For how long the tool of this call has been running.
    pub(super) fn elapsed(&self, call: &CallId) -> Duration {
        self.tools.borrow().get(call).map(|tool| tool.started.elapsed()).unwrap_or_default()
    }

    /// The latest output of the tool of this call.
    pub(super) fn latest(&self, call: &CallId) -> String {
        self.tools.borrow().get(call).map(|tool| tool.latest.get()).unwrap_or_default()
    }

    /// The last lines that a command has printed. What a tool written in Lua shows of its progress is no output.
    pub(super) fn printed(&self, call: &CallId) -> String {
        let tools = self.tools.borrow();
        let native = tools.get(call).filter(|tool| matches!(tool.stop, Stop::Native(_)));
        native.map(|tool| tool.latest.get()).unwrap_or_default()
    }

    /// Stops everything.
    pub(super) fn stop_all(&self) {
        for (_, handle) in self.requests.take() {
            handle.abort();
        }
        for (_, tool) in self.tools.take() {
            let _ = tool.stop();
        }
    }
}
