//! What the calls of one conversation that wait would write, as far as that is known.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use crate::{
    generation::Generation,
    reviews::{
        made::NotMade,
        ready::{Found, Ready, label},
        survey::SurveyQuestion,
    },
};
use flemma_journal::{Binding, CallKey};
use flemma_tools::{Content, Revision};

/// Why it is not known yet what a call would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    /// Its tool takes long.
    Slow,
    /// It may be about a file that this call above may write, whose tool takes long.
    Proposal(CallKey),
    /// It may be about a file that this call above writes just now.
    Write(CallKey),
}

impl Delay {
    fn words(&self) -> String {
        match self {
            Self::Slow => "The change of this call is still being computed.".to_owned(),
            Self::Proposal(call) => format!("Waits for the proposal of the call above, {}.", label(call)),
            Self::Write(call) => format!("Waits for the call above, {}, which is being carried out.", label(call)),
        }
    }
}

#[derive(Default)]
struct Entry {
    /// What was found out last.
    found: Option<Found>,
    /// Why the last survey has found out nothing.
    delay: Option<Delay>,
    /// What its tool was asked and had not answered by then.
    asked: Option<SurveyQuestion>,
    /// Whether it has to be found out again.
    is_due: bool,
    /// The last proposal that was possible.
    last: Option<Arc<Ready>>,
    /// What the user was shown last.
    shown: Option<Binding>,
    /// What the files had when a change of them was first found out.
    first: BTreeMap<PathBuf, Content>,
    /// The last survey that may still be about an earlier change of the call. What it finds out does not count.
    earlier_survey: u64,
    /// The buffer that has to be saved before a policy of the user's lets the call run.
    unsaved: Option<PathBuf>,
}

/// The proposals of one conversation. They are found out together, from the first call to the last ([`crate::survey`]).
#[derive(Default)]
pub(crate) struct Proposals {
    entries: RefCell<BTreeMap<CallKey, Entry>>,
    /// The calls that have come in this session and of which nothing was proposed yet.
    pub(crate) arrived: RefCell<HashSet<CallKey>>,
    /// The calls that the last survey was about, in order.
    pub(crate) surveyed: RefCell<Vec<CallKey>>,
    /// Those of them that no tool was asked about.
    pub(crate) skipped: RefCell<Vec<CallKey>>,
    /// The number of the survey that is under way.
    pub(crate) survey: Cell<Option<u64>>,
    /// Whether something has changed since it began.
    pub(crate) is_late: Cell<bool>,
    surveys: Generation,
    /// What files had when changes of them were first shown that the user has approved since, in another form.
    first: RefCell<BTreeMap<CallKey, BTreeMap<PathBuf, Content>>>,
    /// How many changes the calls of tools that run have wanted to make, one after the other. A call keeps its number while it runs
    /// and nothing else is known of it, so that a review of one change is never taken for a review of the next.
    changes: RefCell<BTreeMap<CallKey, u64>>,
}

/// What a survey has found out about a call.
pub(crate) struct News {
    /// Whether it says something new.
    pub(crate) is_news: bool,
    /// Whether the call has just come, and this is the first that is known of it.
    pub(crate) is_first: bool,
    /// The calls above that the last proposal followed.
    pub(crate) followed: Vec<CallKey>,
}

impl Proposals {
    /// Forgets all calls but these.
    pub(crate) fn retain(&self, keys: &[CallKey]) {
        self.arrived.borrow_mut().retain(|key| keys.contains(key));
        self.entries.borrow_mut().retain(|key, _| keys.contains(key));
    }

    /// What is known of a call has to be found out again. What the user was shown of it still is what they were shown.
    pub(crate) fn doubt(&self, key: &CallKey) {
        self.entries.borrow_mut().entry(key.clone()).or_default().is_due = true;
    }

    /// A call goes on when this buffer is saved.
    pub(crate) fn wait_for_save(&self, key: &CallKey, buffer: PathBuf) {
        self.entries.borrow_mut().entry(key.clone()).or_default().unsaved = Some(buffer);
    }

    /// The user has stopped everything: no call goes on by itself.
    pub(crate) fn wait_for_no_save(&self) {
        self.entries.borrow_mut().values_mut().for_each(|entry| entry.unsaved = None);
    }

    /// Takes the calls that wait for buffers that are saved now. `unsaved` says which are not.
    pub(crate) fn take_saved(&self, unsaved: impl FnOnce() -> Vec<PathBuf>) -> Vec<CallKey> {
        let mut entries = self.entries.borrow_mut();
        let waiting: Vec<_> = entries.iter_mut().filter(|(_, entry)| entry.unsaved.is_some()).collect();
        let unsaved = if waiting.is_empty() { Vec::new() } else { unsaved() };
        let saved = waiting.into_iter().filter_map(|(key, entry)| {
            entry.unsaved.take_if(|buffer| !unsaved.contains(buffer))?;
            Some(key.clone())
        });
        saved.collect()
    }

    /// A tool that runs wants to make another change now. What is known and was shown of the one before has nothing to do with it.
    pub(crate) fn begin_anew(&self, key: &CallKey) {
        *self.changes.borrow_mut().entry(key.clone()).or_default() += 1;
        let entry = Entry { earlier_survey: self.surveys.current(), is_due: true, ..Entry::default() };
        self.entries.borrow_mut().insert(key.clone(), entry);
        self.first.borrow_mut().remove(key);
    }

    /// Which of the changes it is that the call wants to make, one after the other.
    pub(crate) fn change(&self, key: &CallKey) -> u64 {
        self.changes.borrow().get(key).copied().unwrap_or(0)
    }

    /// What is known of a call.
    pub(crate) fn found(&self, key: &CallKey) -> Option<Found> {
        self.entries.borrow().get(key)?.found.clone()
    }

    /// Why nothing is known of a call, in words for the user; `None` if something is known, or nothing holds it up.
    pub(crate) fn delay_words(&self, key: &CallKey) -> Option<String> {
        let entries = self.entries.borrow();
        let entry = entries.get(key)?;
        entry.delay.as_ref().filter(|_| entry.found.is_none()).map(Delay::words)
    }

    /// Whether the last survey has not found out what a call would write, because its tool takes long, or that of a call above.
    pub(crate) fn is_slow(&self, key: &CallKey) -> bool {
        let entries = self.entries.borrow();
        matches!(entries.get(key).and_then(|entry| entry.delay.as_ref()), Some(Delay::Slow | Delay::Proposal(_)))
    }

    /// What a tool was asked and may not have answered.
    pub(crate) fn asked(&self, key: &CallKey) -> Option<SurveyQuestion> {
        self.entries.borrow().get(key)?.asked.clone()
    }

    /// A survey has found that what is known of a call still holds.
    pub(crate) fn confirm(&self, key: &CallKey, survey: u64) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(key).filter(|entry| self.counts(entry, survey)) {
            entry.delay = None;
        }
    }

    /// Something holds a survey up in finding out what a call would write: its tool, which was asked this, or a call above. Says
    /// whether that is news for the user.
    pub(crate) fn note_delay(&self, key: &CallKey, survey: u64, delay: Delay, asked: Option<SurveyQuestion>) -> bool {
        let mut entries = self.entries.borrow_mut();
        let Some(entry) = entries.get_mut(key).filter(|entry| self.counts(entry, survey)) else { return false };
        let is_news = entry.found.is_none() && entry.delay.as_ref() != Some(&delay);
        entry.delay = Some(delay);
        entry.asked = asked.or(entry.asked.take());
        is_news
    }

    /// What is known of a call and does not have to be found out again, to be checked by a survey that begins.
    pub(crate) fn take_known(&self, key: &CallKey) -> Option<Arc<Ready>> {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.entry(key.clone()).or_default();
        let is_due = std::mem::take(&mut entry.is_due);
        entry.found.clone().filter(|_| !is_due)?.ok()
    }

    /// The proposals of these calls, if all of them have one that does not have to be found out again.
    pub(crate) fn all_of(&self, keys: &[CallKey]) -> Option<Vec<Arc<Ready>>> {
        let entries = self.entries.borrow();
        let ready = |key: &CallKey| entries.get(key).filter(|entry| !entry.is_due)?.found.clone()?.ok();
        let skipped = self.skipped.borrow();
        keys.iter().filter(|key| !skipped.contains(key)).map(ready).collect()
    }

    /// Whether a call that has just come is still being looked at.
    pub(crate) fn is_looking(&self) -> bool {
        let (surveyed, skipped) = (self.surveyed.borrow(), self.skipped.borrow());
        let is_under_way = self.survey.get().is_some();
        let is_looked_at =
            |key: &CallKey| surveyed.contains(key) && !skipped.contains(key) && (is_under_way || self.is_slow(key));
        self.arrived.borrow().iter().any(is_looked_at)
    }

    /// Whether the last survey was about these calls, in this order, and none of them has to be found out again.
    pub(crate) fn is_about(&self, keys: &[CallKey]) -> bool {
        let entries = self.entries.borrow();
        *self.surveyed.borrow() == keys && !keys.iter().any(|key| entries.get(key).is_some_and(|entry| entry.is_due))
    }

    /// What the last survey has left known of the calls that it was about, apart from those that something holds up.
    pub(crate) fn surveyed(&self) -> Vec<(CallKey, Found)> {
        let entries = self.entries.borrow();
        let known = |key: &CallKey| {
            let entry = entries.get(key).filter(|entry| entry.delay.is_none())?;
            Some((key.clone(), entry.found.clone()?))
        };
        self.surveyed.borrow().iter().filter_map(known).collect()
    }

    /// A survey begins: its number. `None` if one is under way, which is repeated then.
    pub(crate) fn begin(&self) -> Option<u64> {
        if self.survey.get().is_some() {
            self.is_late.set(true);
            return None;
        }
        self.survey.set(Some(self.surveys.begin()));
        self.survey.get()
    }

    /// A survey has found out what a call would write; `None` if nobody wants to know any more. `is_final` says that nothing is
    /// going on that could change it.
    pub(crate) fn put(&self, key: &CallKey, survey: u64, found: Found, is_final: bool) -> Option<News> {
        let mut entries = self.entries.borrow_mut();
        let entry = entries.get_mut(key).filter(|entry| self.counts(entry, survey))?;
        let is_news = match (&entry.found, &found) {
            (Some(Ok(before)), Ok(now)) => {
                before.review != now.review || before.after != now.after || before.made.takes != now.made.takes
            }
            (Some(Err(before)), Err(now)) => before != now,
            _ => true,
        };
        if let Ok(ready) = &found {
            entry.last = Some(Arc::clone(ready));
            for (file, after) in ready.proposal.files.iter().zip(&ready.after) {
                if let Some(old) = file.old.as_ref().filter(|_| after.is_none()) {
                    entry.first.entry(file.path.clone()).or_insert_with(|| old.clone());
                }
            }
        }
        let is_first = (is_final || found.is_ok()) && self.arrived.borrow_mut().remove(key);
        entry.found = Some(found);
        entry.delay = None;
        let followed = entry.last.as_ref().map(|last| last.followed()).unwrap_or_default();
        Some(News { is_news, is_first, followed })
    }

    /// Whether what a survey says about a call is about the change that the call waits with now.
    fn counts(&self, entry: &Entry, survey: u64) -> bool {
        self.survey.get() == Some(survey) && entry.earlier_survey < survey
    }

    /// A survey is over: whether another one is needed.
    pub(crate) fn end(&self, survey: u64) -> bool {
        if self.survey.get() != Some(survey) {
            return false;
        }
        self.survey.set(None);
        self.is_late.take()
    }

    /// The user is shown now what is known of a call, and `made` is what they have made of it before.
    pub(crate) fn show(&self, key: &CallKey, made: Option<&Binding>) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(key) {
            entry.shown = match &entry.found {
                None => None,
                Some(Ok(ready)) => Some(match made {
                    // It is on the screen in a moment.
                    Some(made) if made.revision == ready.revision().as_str() && !ready.made.is_of(Some(made)) => {
                        made.clone()
                    }
                    _ => ready.binding(ready.made.takes.iter().cloned()),
                }),
                Some(Err(problem)) => {
                    Some(Binding { revision: Revision::of_problem(problem).to_string(), ..Binding::default() })
                }
            };
        }
    }

    /// The user has made this of what they were shown of a call.
    pub(crate) fn keep_made(&self, key: &CallKey, made: Binding) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(key) {
            entry.shown = Some(made);
            entry.is_due = true;
        }
    }

    /// Why what the user has made of a call is not what it would write now; `None` if it is, or if that is not known yet.
    pub(crate) fn why_not_made(&self, key: &CallKey, made: &Binding) -> Option<NotMade> {
        let entries = self.entries.borrow();
        match entries.get(key)?.found.as_ref()? {
            Err(_) => Some(NotMade::Impossible),
            Ok(ready) if made.revision != ready.revision().as_str() => Some(NotMade::Changed),
            Ok(ready) if ready.made.is_of(Some(made)) => ready.made.not_made,
            Ok(_) => None,
        }
    }

    /// The files of the last change of a call that was possible.
    pub(crate) fn places(&self, key: &CallKey) -> Vec<PathBuf> {
        let entries = self.entries.borrow();
        entries.get(key).and_then(|entry| entry.last.as_ref()).map(|last| last.places()).unwrap_or_default()
    }

    /// The user approves a call, in another form: what the files had at first, of which they may not have known.
    pub(crate) fn keep_first(&self, key: &CallKey, ready: &Ready) {
        let entries = self.entries.borrow();
        let Some(entry) = entries.get(key) else { return };
        let files = ready.proposal.files.iter().filter_map(|file| {
            let first = entry.first.get(&file.path)?;
            let is_other = file.old.as_ref().is_none_or(|old| old.digest != first.digest);
            is_other.then(|| (file.path.clone(), first.clone()))
        });
        self.first.borrow_mut().insert(key.clone(), files.collect());
    }

    /// What the files of a call had at first, where that is something else than what the user was shown when they approved it.
    pub(crate) fn take_first(&self, key: &CallKey) -> BTreeMap<PathBuf, Content> {
        self.first.borrow_mut().remove(key).unwrap_or_default()
    }

    /// What the user was shown last of a call; `None` if nothing was.
    pub(crate) fn shown(&self, key: &CallKey) -> Option<Binding> {
        self.entries.borrow().get(key)?.shown.clone()
    }
}
