//! Finding out what the calls of a conversation would write, from the first to the last: what a call would write is made from what
//! those above it would leave. It looks at the disk, away from the main thread.
//!
//! Each tool is asked on a thread of its own. If it takes long, because a file does not answer, the calls below are
//! looked at without it, apart from those that may be about a file that it may write. Its answer leads to another survey.

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant, SystemTime},
};

use serde_json::Value;
use tokio::task;

use crate::reviews::{
    made::{self, Made},
    proposals::Delay,
    ready::{Found, Ready},
};
use flemma_journal::CallKey;
use flemma_model::ModelError;
use flemma_tools::{Approved, Context, Earlier, NativeTool, Proposal, paths::real};

/// How long a survey waits for a tool before it goes on to the calls below, and how long for each one after that.
const PATIENCE: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(50)];

/// A call that would write something.
pub(crate) struct Candidate {
    pub(crate) key: CallKey,
    pub(crate) tool: Arc<dyn NativeTool>,
    pub(crate) input: Value,
    pub(crate) context: Context,
    /// What is known of it, unless that has to be found out again.
    pub(crate) known: Option<Arc<Ready>>,
    /// What the user has decided about it before.
    pub(crate) decision: Option<Approved>,
    /// Whether it is being carried out. Nobody knows then whether its change is on the disk yet, and its tool is not asked.
    pub(crate) is_at_work: bool,
    /// What an earlier survey has asked its tool.
    pub(crate) asked: Option<SurveyQuestion>,
}

/// A tool that was asked what a call would write.
#[derive(Clone)]
pub(crate) struct SurveyQuestion {
    /// Gives the answer, once.
    answer: Arc<Mutex<Receiver<Answer>>>,
    /// The files that the call may write, with links resolved, once that is known.
    places: Arc<OnceLock<Vec<PathBuf>>>,
}

impl SurveyQuestion {
    fn wait(&self, patience: Duration) -> Result<Answer, RecvTimeoutError> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(patience)
    }
}

/// What the tool of a call says.
struct Answer {
    found: Found,
    /// The proposal with all its bytes; `None` if there is none.
    proposal: Option<Proposal>,
    /// What it was made from.
    seen: Earlier,
    /// Whether it is what was known of the call before.
    is_known: bool,
}

/// What a survey says about a call.
pub(crate) enum Surveyed {
    /// It is what was known.
    Known,
    /// What it would write. It is stale if there is nothing to be found because the call has made its change from contents that the
    /// files do not have, or would not have after the calls above. It cannot make it anew.
    Found { found: Found, is_stale: bool },
    /// It is not known yet: its tool, which was asked this, takes long, or a call above holds it up.
    Delayed(Delay, Option<SurveyQuestion>),
}

/// Finds out what calls would write, in the order of the calls. `tell` hears of all of which that was not known, or may be
/// something else now. `late` is called when a tool answers that nobody may wait for any more. It must be called on a thread of the
/// runtime.
pub(crate) fn survey(
    candidates: &[Arc<Candidate>],
    tell: impl Fn(&CallKey, Surveyed),
    late: impl Fn() + Clone + Send + 'static,
) {
    let asked = candidates.iter().map(|candidate| candidate.asked.clone()).collect();
    let survey = Survey { candidates, asked: RefCell::new(asked), tell, late };
    // Of large files only the digests are known. If a call needs the bytes, everything above it is made once more.
    if !survey.go_through(false) {
        survey.go_through(true);
    }
}

struct Survey<'a, Tell, Late> {
    candidates: &'a [Arc<Candidate>],
    /// What the tool of each one was asked last.
    asked: RefCell<Vec<Option<SurveyQuestion>>>,
    tell: Tell,
    late: Late,
}

impl<Tell: Fn(&CallKey, Surveyed), Late: Fn() + Clone + Send + 'static> Survey<'_, Tell, Late> {
    /// `false` if a call needs bytes of what is known of a call above it. `is_afresh` takes nothing for known.
    fn go_through(&self, is_afresh: bool) -> bool {
        let (mut earlier, mut above) = (Earlier::default(), Vec::new());
        let mut patience = PATIENCE[0];
        for (at, candidate) in self.candidates.iter().enumerate() {
            let key = &candidate.key;
            let mut targets = candidate.targets();
            let named = targets.iter().flatten().find_map(|target| earlier.unclear_writer(target).cloned());
            let answer = match named {
                _ if candidate.is_at_work => {
                    earlier.add_unclear(&key.id, targets);
                    above.push(key.clone());
                    continue;
                }
                Some(call) => Err(Some(call)),
                None => match self.ask(at, &earlier, &above, is_afresh, patience) {
                    None => Err(None),
                    Some(answer) => answer.seen.waits_for().map_or(Ok(answer), |call| Err(Some(call))),
                },
            };
            match answer {
                Ok(answer) => {
                    if answer.seen.lacks_bytes() && !is_afresh {
                        return false;
                    }
                    let is_stale = answer.seen.is_stale();
                    let found = Surveyed::Found { found: answer.found, is_stale };
                    (self.tell)(key, if answer.is_known { Surveyed::Known } else { found });
                    if let Some(proposal) = answer.proposal {
                        earlier.add(&key.id, &candidate.decided(&proposal));
                    }
                }
                Err(Some(call)) => {
                    if let Some(waited) = self.candidates[..at].iter().rfind(|other| other.key.id == call) {
                        let delay = if waited.is_at_work { Delay::Write } else { Delay::Proposal };
                        (self.tell)(key, Surveyed::Delayed(delay(waited.key.clone()), None));
                    }
                    earlier.add_unclear(&key.id, targets);
                }
                Err(None) => {
                    patience = PATIENCE[1];
                    if let Some(question) = self.asked.borrow()[at].clone() {
                        let places = question.places.get().cloned().unwrap_or_default();
                        targets = targets.map(|targets| [targets, places].concat());
                        (self.tell)(key, Surveyed::Delayed(Delay::Slow, Some(question)));
                    }
                    earlier.add_unclear(&key.id, targets);
                }
            }
            above.push(key.clone());
        }
        true
    }

    /// What a call would write; `None` if its tool does not say it in time.
    fn ask(
        &self,
        at: usize,
        earlier: &Earlier,
        above: &[CallKey],
        is_afresh: bool,
        patience: Duration,
    ) -> Option<Answer> {
        let before = self.asked.borrow()[at].clone();
        match before.map(|question| question.wait(Duration::ZERO)) {
            // Its answer leads to another survey.
            Some(Err(RecvTimeoutError::Timeout)) => return None,
            // One that was made from something else does not count any more.
            Some(Ok(answer)) if earlier.is_still(&answer.seen.base()) && !(is_afresh && answer.is_known) => {
                return Some(answer);
            }
            _ => {}
        }
        let (candidate, late, begun) = (Arc::clone(&self.candidates[at]), self.late.clone(), Instant::now());
        let (seen, above, places) = (earlier.for_next_call(), above.to_vec(), Arc::<OnceLock<_>>::default());
        let (resolved, (tell, told)) = (Arc::clone(&places), mpsc::channel());
        task::spawn_blocking(move || {
            let _ = resolved.set(candidate.targets().iter().flatten().map(|target| real(target)).collect());
            let _ = tell.send(candidate.answer(seen, &above, is_afresh));
            // Nobody waits any more, or only just.
            if begun.elapsed() >= patience {
                late();
            }
        });
        let question = SurveyQuestion { answer: Arc::new(Mutex::new(told)), places };
        self.asked.borrow_mut()[at] = Some(question.clone());
        question.wait(patience).ok()
    }
}

impl Candidate {
    /// The files that it may write; `None` if it may be any.
    fn targets(&self) -> Option<Vec<PathBuf>> {
        let known = self.known.as_ref().filter(|_| self.is_at_work).map(|ready| ready.places());
        let named = self.tool.targets(&self.input, &self.context);
        match (known, named) {
            (Some(known), named) => Some([known, named.unwrap_or_default()].concat()),
            (None, named) => named,
        }
    }

    /// Finds out what it would write, after what these calls above it would write.
    fn answer(&self, seen: Earlier, above: &[CallKey], is_afresh: bool) -> Answer {
        let is_known = |ready: &&Arc<Ready>| {
            !is_afresh
                && ready.made.is_of(self.decision.as_ref().map(|decision| &decision.binding))
                && seen.is_still(&ready.base)
                && !ready.is_doubtful(&self.context.unsaved)
        };
        if let Some(ready) = self.known.as_ref().filter(is_known) {
            let proposal = Some(ready.proposal.clone());
            return Answer { found: Ok(Arc::clone(ready)), proposal, seen, is_known: true };
        }
        let since = SystemTime::now();
        let proposed = self.propose(&seen);
        let proposal = proposed.as_ref().ok().cloned();
        let found = proposed.map(|proposal| {
            let made = Made::of(&proposal, self.decision.as_ref());
            Arc::new(Ready::of(proposal, made, &seen, above, since))
        });
        Answer { found, proposal, seen, is_known: false }
    }

    fn propose(&self, earlier: &Earlier) -> Result<Proposal, ModelError> {
        let context = Context { earlier: earlier.clone(), ..self.context.clone() };
        let name = &self.key.tool;
        let proposed = catch_unwind(AssertUnwindSafe(|| self.tool.propose(&self.input, &context)));
        let crashed = |_| {
            let words = format!("The tool `{name}` crashed. This is a bug in Flemma, not in the call.");
            Some(Err(ModelError::new(words)))
        };
        let nothing = || Err(ModelError::new(format!("The tool `{name}` proposes nothing.")));
        proposed.unwrap_or_else(crashed).unwrap_or_else(nothing)
    }

    /// What the call will write, as far as the user has decided about that.
    fn decided(&self, proposal: &Proposal) -> Proposal {
        let decided = self.decision.as_ref().and_then(|decision| made::carried_out(decision, proposal));
        decided.unwrap_or_else(|| proposal.clone())
    }
}
