//! What runs for one conversation, and how it is stopped.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::oneshot, task::AbortHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{execution::lua_outcome::ToolAnswer, generation::Generation};
use flemma_agent::RequestId;
use flemma_journal::CallKey;
use flemma_model::CallId;
use flemma_runtime::Sent;
use flemma_text::ansi;
use flemma_tools::{Commitment, Judged, LuaError, LuaRef, SeenPages};

/// The requests and tools of one conversation that run now.
#[derive(Default)]
pub(crate) struct Tasks {
    request: RefCell<Option<(RequestId, Sent)>>,
    tools: RefCell<HashMap<CallId, RunningTool>>,
    /// Runs that wait for the user's decision about what they want to write.
    suspended: RefCell<HashMap<CallId, Suspended>>,
    runs: Generation,
    /// Which files a policy has judged when it approved a call.
    judged: RefCell<HashMap<CallKey, Judged>>,
    /// Becomes ready, with an error, when the last call that writes files is over.
    last_write: RefCell<Option<oneshot::Receiver<()>>>,
}

/// The tool's own function that stops a call.
pub type StopTool = Box<dyn FnOnce() -> Result<(), LuaError>>;

/// A tool that runs.
struct RunningTool {
    started: Instant,
    latest: LatestOutput,
    run: u64,
    stop: Stop,
    ends: Ends,
    /// Decide whether it changes files: one of a native tool, and one of each write of a tool in Lua that is under way.
    commitments: Vec<Commitment>,
    /// Why it ends after what it is writing now, if its time is up.
    last_words: Option<String>,
}

/// Tells what a run has asked for that it is over, when this is dropped.
struct Ends {
    token: CancellationToken,
    /// What the run has read of the notes.
    seen: Arc<SeenPages>,
    /// Which files were judged when it started.
    judged: Option<Arc<Judged>>,
    _guard: DropGuard,
}

impl Default for Ends {
    fn default() -> Self {
        let token = CancellationToken::new();
        Self { _guard: token.clone().drop_guard(), token, seen: Arc::default(), judged: None }
    }
}

/// A run of a tool that waits for the user's decision about what it wants to write.
struct Suspended {
    key: CallKey,
    tool: RunningTool,
    /// Hears of the decision.
    callback: LuaRef,
    /// Nothing of it is written, and the tool is about to hear why.
    rejection: Option<String>,
}

/// How a running tool is stopped.
pub(crate) enum Stop {
    /// Not at all: its start is on its way to the disk.
    NotStarted,
    /// Not at all: it waits for the journal to be read, or for a user interface.
    Waits,
    /// Not at all: it is a function in Lua that has not returned.
    Begins,
    /// By a token, unless it has begun to change files.
    Native(CancellationToken),
    /// By taking the right to answer from it, and by the function that it gave for the purpose. The timer watches its time.
    Lua { answer: ToolAnswer, function: Option<StopTool>, timer: Option<AbortHandle> },
}

impl RunningTool {
    /// See [`Tasks::drop_unless_changing`].
    fn drop_unless_changing(&self) -> bool {
        !self.is_changing_files() && self.commitments.iter().all(Commitment::drop_unless_begun)
    }

    fn is_changing_files(&self) -> bool {
        self.commitments.iter().any(Commitment::has_begun)
    }

    /// Asks for the end of a run that has begun to change files; `false` if it has not.
    fn hurry_if_changing(&self) -> bool {
        let is_changing = !self.drop_unless_changing();
        if is_changing {
            self.end().cancel();
        }
        is_changing
    }

    /// What is cancelled to ask for its end.
    fn end(&self) -> &CancellationToken {
        if let Stop::Native(token) = &self.stop { token } else { &self.ends.token }
    }

    /// Stops it; its answer, if one still comes, is dropped.
    ///
    /// # Errors
    /// What its own function threw.
    fn stop(self) -> Result<(), LuaError> {
        self.commitments.iter().for_each(Commitment::abandon);
        match self.stop {
            Stop::NotStarted | Stop::Waits | Stop::Begins => Ok(()),
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
    pub(crate) fn add_request(&self, request: RequestId, sent: Sent) {
        self.request.replace(Some((request, sent)));
    }

    /// Ends a request. What is left of its reply is in the queue then, and nothing more comes of it.
    pub(crate) fn stop_request(&self, request: RequestId) {
        let sent = self.request.borrow_mut().take_if(|(of, _)| *of == request);
        if let Some((_, sent)) = sent {
            sent.stop();
        }
    }

    /// The number for the next run.
    pub(crate) fn next_run(&self) -> u64 {
        self.runs.begin()
    }

    /// The turn of one more call that writes files. It comes when those before are over; what it gives is dropped at its end.
    pub(crate) fn next_write(&self) -> impl Future<Output = oneshot::Sender<()>> + Send + use<> {
        let (done, over) = oneshot::channel();
        let before = self.last_write.replace(Some(over));
        async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            done
        }
    }

    /// Remembers a tool that was started.
    pub(crate) fn add_tool(&self, call: &CallId, run: u64, latest: LatestOutput, stop: Stop) {
        let mut tools = self.tools.borrow_mut();
        // What a run has asked for while it started belongs to it.
        let before = tools.remove(call).filter(|tool| tool.run == run);
        let (ends, commitments) = before.map(|tool| (tool.ends, tool.commitments)).unwrap_or_default();
        let started = Instant::now();
        tools.insert(call.clone(), RunningTool { started, latest, run, stop, ends, commitments, last_words: None });
    }

    /// A run is about to change files, unless it is stopped before that. `false` if it is over.
    pub(crate) fn begin_write(&self, call: &CallId, run: u64, commitment: Commitment) -> bool {
        let mut tools = self.tools.borrow_mut();
        let tool = tools.get_mut(call).filter(|tool| tool.run == run);
        tool.map(|tool| tool.commitments.push(commitment)).is_some()
    }

    /// A write of a run is over, which may have another one under way. Gives why the run ends with it, if it does: `cancelled`, or that
    /// its time was up.
    pub(crate) fn end_write(&self, call: &CallId, commitment: &Commitment, cancelled: &str) -> Option<String> {
        let mut tools = self.tools.borrow_mut();
        let tool = tools.get_mut(call)?;
        tool.commitments.retain(|other| !other.is_same(commitment));
        let is_last = !tool.is_changing_files() && tool.end().is_cancelled();
        is_last.then(|| tool.last_words.take().unwrap_or_else(|| cancelled.to_owned()))
    }

    /// The time of a run is up. If it is changing files, it ends with these words after that; `false` if it can be stopped now.
    pub(crate) fn end_after_write(&self, call: &CallId, words: &str) -> bool {
        let mut tools = self.tools.borrow_mut();
        let Some(tool) = tools.get_mut(call).filter(|tool| tool.hurry_if_changing()) else { return false };
        tool.last_words = Some(words.to_owned());
        true
    }

    /// Remembers a call that cannot be started yet.
    pub(crate) fn wait(&self, call: &CallId) {
        self.add_tool(call, self.next_run(), LatestOutput::default(), Stop::Waits);
    }

    /// Drops a run, unless it has begun to change files: then `false`, it ends by itself, and its result says what it has changed.
    pub(crate) fn drop_unless_changing(&self, call: &CallId) -> bool {
        self.tools.borrow().get(call).is_none_or(RunningTool::drop_unless_changing)
    }

    /// Stops a tool. One that has begun to change files is told to hurry, and keeps its right to answer.
    ///
    /// # Errors
    /// What its own function for that threw.
    pub(crate) fn stop_tool(&self, call: &CallId) -> Result<(), LuaError> {
        if self.tools.borrow().get(call).is_some_and(RunningTool::hurry_if_changing) {
            return Ok(());
        }
        // Taken out first: the function may come back here.
        let tool = self.tools.borrow_mut().remove(call);
        tool.map_or(Ok(()), RunningTool::stop)
    }

    /// Forgets a tool that has answered.
    pub(crate) fn remove_tool(&self, call: &CallId) {
        let tool = self.tools.borrow_mut().remove(call);
        if let Some(RunningTool { stop: Stop::Lua { timer: Some(timer), .. }, .. }) = tool {
            timer.abort();
        }
    }

    /// Takes a call that waits to be started; says whether it is one.
    pub(crate) fn take_waiting(&self, call: &CallId) -> bool {
        let is_it = |id: &CallId, tool: &mut RunningTool| id == call && matches!(tool.stop, Stop::Waits);
        self.tools.borrow_mut().extract_if(is_it).next().is_some()
    }

    /// A run waits for the decision about what it wants to write. Its time does not count meanwhile. `false` if this is not the
    /// call's run.
    pub(crate) fn suspend(&self, key: CallKey, run: u64, callback: LuaRef) -> bool {
        let is_it = |id: &CallId, tool: &mut RunningTool| *id == key.id && tool.run == run;
        let taken = self.tools.borrow_mut().extract_if(is_it).next();
        let Some((call, mut tool)) = taken else { return false };
        if let Stop::Lua { timer, .. } = &mut tool.stop
            && let Some(timer) = timer.take()
        {
            timer.abort();
        }
        self.suspended.borrow_mut().insert(call, Suspended { key, tool, callback, rejection: None });
        true
    }

    /// Whether a run of exactly this call waits for a decision about what it wants to write.
    pub(crate) fn is_suspended(&self, key: &CallKey) -> bool {
        self.suspended.borrow().get(&key.id).is_some_and(|suspended| suspended.key == *key)
    }

    /// Nothing is written of what a run wants to write, and this is why.
    pub(crate) fn reject(&self, call: &CallId, reason: String) {
        if let Some(suspended) = self.suspended.borrow_mut().get_mut(call) {
            suspended.rejection = Some(reason);
        }
    }

    /// Takes why nothing is written of what a run wants to write; `None` if that was not decided.
    pub(crate) fn take_rejection(&self, call: &CallId) -> Option<String> {
        self.suspended.borrow_mut().get_mut(call)?.rejection.take()
    }

    /// A run goes on that waited for a decision, in the time that `timer` watches. Gives the function that hears of the decision,
    /// and whether the tool has answered meanwhile; `None` if no run waits.
    pub(crate) fn wake(&self, call: &CallId, timer: impl FnOnce(u64) -> Option<AbortHandle>) -> Option<(LuaRef, bool)> {
        let Suspended { mut tool, callback, .. } = self.suspended.borrow_mut().remove(call)?;
        let run = tool.run;
        let mut is_answered = false;
        if let Stop::Lua { timer: own, answer, .. } = &mut tool.stop {
            *own = timer(run);
            is_answered = answer.is_answered();
        }
        self.tools.borrow_mut().insert(call.clone(), tool);
        Some((callback, is_answered))
    }

    /// Stops a run that waits for a decision: nothing comes of it. Gives the function that waited.
    ///
    /// # Errors
    /// What its own function for that threw.
    pub(crate) fn drop_suspended(&self, call: &CallId) -> Option<(LuaRef, Result<(), LuaError>)> {
        let suspended = self.suspended.borrow_mut().remove(call)?;
        Some((suspended.callback, suspended.tool.stop()))
    }

    /// Whether this run of a call is still going on.
    pub(crate) fn is_run(&self, call: &CallId, run: u64) -> bool {
        self.tools.borrow().get(call).is_some_and(|tool| tool.run == run)
    }

    /// What belongs to a run of a call as long as it goes on: what is cancelled when it is over, and what it has read of the notes.
    pub(crate) fn run_of(&self, call: &CallId, run: u64) -> Option<(CancellationToken, Arc<SeenPages>)> {
        let tools = self.tools.borrow();
        let ends = &tools.get(call).filter(|tool| tool.run == run)?.ends;
        Some((ends.token.clone(), Arc::clone(&ends.seen)))
    }

    /// A policy has approved a call. What it judged first counts.
    pub(crate) fn note_judged(&self, key: CallKey, judged: Judged) {
        self.judged.borrow_mut().entry(key).or_insert(judged);
    }

    /// Whether a policy has approved a call, and nobody has decided otherwise since.
    pub(crate) fn is_judged(&self, key: &CallKey) -> bool {
        self.judged.borrow().contains_key(key)
    }

    /// Whether a call names the same files as when a policy approved it, as far as that is known.
    pub(crate) fn is_as_judged(&self, key: &CallKey, now: &Judged) -> bool {
        self.judged.borrow().get(key).is_none_or(|before| before.leads_as(now))
    }

    /// A call is over, or waits: what a policy has approved does not count any more.
    pub(crate) fn forget_judged(&self, key: &CallKey) {
        self.judged.borrow_mut().remove(key);
    }

    /// Which files were judged when the run of this call started.
    pub(crate) fn judged(&self, call: &CallId) -> Option<Arc<Judged>> {
        self.tools.borrow().get(call)?.ends.judged.clone()
    }

    /// Remembers that.
    pub(crate) fn set_judged(&self, call: &CallId, judged: Option<Arc<Judged>>) {
        if let Some(tool) = self.tools.borrow_mut().get_mut(call) {
            tool.ends.judged = judged;
        }
    }

    /// What the run has read of the notes that waits for a decision about what exactly this call wants to write.
    pub(crate) fn seen_by_suspended(&self, key: &CallKey) -> Option<Arc<SeenPages>> {
        let suspended = self.suspended.borrow();
        suspended.get(&key.id).filter(|suspended| suspended.key == *key).map(|found| Arc::clone(&found.tool.ends.seen))
    }

    /// Whether a tool runs for this call.
    pub(crate) fn is_running(&self, call: &CallId) -> bool {
        self.tools.borrow().contains_key(call)
    }

    /// Whether the tool of this call has begun.
    pub(crate) fn has_begun(&self, call: &CallId) -> bool {
        let tools = self.tools.borrow();
        tools.get(call).is_some_and(|tool| !matches!(tool.stop, Stop::NotStarted | Stop::Waits))
    }

    /// Whether a tool runs, or waits for a user interface.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.borrow().is_empty()
    }

    /// For how long the tool of this call has been running.
    pub(crate) fn elapsed(&self, call: &CallId) -> Duration {
        self.tools.borrow().get(call).map(|tool| tool.started.elapsed()).unwrap_or_default()
    }

    /// The latest output of the tool of this call, with the sequences that set its colours.
    pub(crate) fn latest(&self, call: &CallId) -> String {
        self.tools.borrow().get(call).map(|tool| tool.latest.get()).unwrap_or_default()
    }

    /// The last lines that a command has printed. What a tool written in Lua shows of its progress is no output.
    pub(crate) fn printed(&self, call: &CallId) -> String {
        let tools = self.tools.borrow();
        let native = tools.get(call).filter(|tool| matches!(tool.stop, Stop::Native(..)));
        native.map(|tool| ansi::plain(&tool.latest.get()).into_owned()).unwrap_or_default()
    }

    /// Whether a run has begun to change files, and its result is waited for.
    pub(crate) fn is_changing_files(&self) -> bool {
        self.tools.borrow().values().any(RunningTool::is_changing_files)
    }

    /// Whether the user has cancelled a run, which has not ended yet.
    pub(crate) fn is_hurried(&self, call: &CallId) -> bool {
        let tools = self.tools.borrow();
        tools.get(call).is_some_and(|tool| tool.end().is_cancelled())
    }

    /// Stops everything that has not begun to change files.
    pub(crate) fn wind_down(&self) {
        let changing: HashMap<_, _> = self.tools.borrow_mut().extract_if(|_, tool| tool.hurry_if_changing()).collect();
        self.stop_all();
        self.tools.borrow_mut().extend(changing);
    }

    /// Stops everything. No result of it arrives.
    pub(crate) fn stop_all(&self) {
        if let Some((_, sent)) = self.request.take() {
            sent.stop();
        }
        for (_, tool) in self.tools.take() {
            let _ = tool.stop();
        }
        for (_, suspended) in self.suspended.take() {
            let _ = suspended.tool.stop();
        }
    }
}

/// The latest output of a running tool. The tool puts it here, and it is read when the screen is drawn, so that a tool
/// that prints a lot costs no more than one that does not.
#[derive(Clone, Debug, Default)]
pub struct LatestOutput(Arc<Mutex<String>>);

/// How much of a tool's latest output is kept.
const LATEST_LINES: usize = 5;
const LATEST_BYTES: usize = 2048;

impl LatestOutput {
    /// Puts the end of `text` in the place of what was there; `…` where that begins in the middle of a line.
    pub fn put(&self, text: &str) {
        let text = text.trim_end_matches('\n');
        let from = text.rmatch_indices('\n').nth(LATEST_LINES - 1).map_or(0, |(at, _)| at + 1);
        let room = text.ceil_char_boundary(text.len().saturating_sub(LATEST_BYTES));
        let is_cut = room > from && !text[..room].ends_with('\n');
        let from = from.max(room);
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clear();
        latest.push_str(if is_cut { "…" } else { "" });
        latest.push_str(&text[from..]);
    }

    /// The lines.
    pub fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
