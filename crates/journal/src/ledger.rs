//! The state of all calls of a conversation, according to its records.
//!
//! A key has one life after another, since vendors reuse ids. A life is open until its first end. What would be lost or
//! granted by mistake decides each doubtful case:
//!
//! - An approval counts only in an open life, and only until the call is categorised again.
//! - A start is kept until there is an end, wherever its record stands: a start without [`Event::Opened`] before it begins
//!   a life. Only [`Event::Withdrawn`] takes it back, and only as the very next record of its key.
//! - What a running call wants to write counts until the decision about it was carried out, or the life ends. An approval
//!   after it is for that.
//! - An end without [`Event::Opened`] before it is kept too. The end of a life that has ended is ignored.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Actor, Asked, Binding, CallKey, Decision, Event, Proposed, Record, RecordedResult, Taken};
use flemma_model::CallId;

/// The state of all calls of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    calls: BTreeMap<CallKey, Lives>,
    /// What is said of a call without records.
    unknown: Lives,
}

/// The state of a key.
#[expect(missing_docs, reason = "what is said of a life says what its fields are")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// There is no record of it that counts.
    #[default]
    Unknown,
    /// It has no end yet. Here are who approved it, `None` if nobody has since it was last categorised, or if it was rejected
    /// afterwards, and its latest start.
    Open { approved: Option<Actor>, started: Option<Timestamp> },
    /// It has a result.
    Ended,
}

/// What the records say of a key: its lives, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lives {
    /// The latest one.
    pub life: Life,
    /// If the latest record is a start: the start before it.
    before_start: Option<Option<Timestamp>>,
    /// Whether the latest record is a rejection.
    is_rejected: bool,
    /// How many have ended.
    pub endings: usize,
    /// The result of the latest one that has ended.
    pub last_result: Option<RecordedResult>,
    /// How that ended.
    pub ending: Option<Ending>,
    /// What the latest one waits for, as far as that was recorded.
    pub asked: Option<Asked>,
    /// When it was approved, if that counts.
    approved_at: Option<Timestamp>,
    /// Whether it was approved after its latest start.
    is_approved_again: bool,
    /// What the user was shown, until the next record.
    shown: Option<Binding>,
    /// What the approval is for.
    bound: Option<Binding>,
    /// What the user has made of an open call's change, in a review in which they have decided nothing or for an approval that does
    /// not count any more; `None` if it is as proposed.
    pub made: Option<Binding>,
    /// What it wants to write, since it was started; `None` if it waits for no decision about that.
    pub proposed: Option<Proposed>,
}

/// How a life ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// When.
    pub at: Timestamp,
    /// When it had started, if it had.
    pub started: Option<Timestamp>,
    /// Who ended it.
    pub by: Actor,
    /// Whether its result is an error: it was rejected, cancelled or failed, or it expired.
    pub is_error: bool,
    /// Whether it was rejected.
    pub is_rejected: bool,
    /// How much the user took of what the call proposed.
    pub taken: Taken,
}

impl Ledger {
    /// The state after the records, which are in the order of the events.
    pub fn replay(records: impl IntoIterator<Item = Record>) -> Self {
        let mut ledger = Self::default();
        records.into_iter().for_each(|record| ledger.apply(&record));
        ledger
    }

    /// Takes one more record into account.
    pub fn apply(&mut self, record: &Record) {
        self.calls.entry(record.key.clone()).or_default().apply(record);
    }

    /// What the records say of a key.
    pub fn of(&self, key: &CallKey) -> &Lives {
        self.calls.get(key).unwrap_or(&self.unknown)
    }

    /// Whether a call of this id was asked about with another input, and not with this one.
    pub fn is_changed(&self, key: &CallKey) -> bool {
        let is_open = |lives: &Lives| matches!(lives.life, Life::Open { .. });
        let is_known = is_open(self.of(key)) || self.of(key).asked.is_some();
        !is_known && self.calls.iter().any(|(other, lives)| other.id == key.id && is_open(lives))
    }

    /// Who has approved the latest life of a key, and when; `None` if that does not count.
    pub fn approval(&self, key: &CallKey) -> Option<(&Actor, Timestamp)> {
        let Lives { life: Life::Open { approved: Some(by), .. }, approved_at, .. } = self.of(key) else { return None };
        Some((by, (*approved_at)?))
    }

    /// What the approval of the latest life of a key is for; `None` if it is not approved, or for whatever the call writes.
    pub fn binding(&self, key: &CallKey) -> Option<&Binding> {
        self.bound(key).filter(|bound| bound.is_shown())
    }

    /// What is recorded with the approval of the latest life of a key; `None` if it is not approved, or nothing is.
    pub fn bound(&self, key: &CallKey) -> Option<&Binding> {
        self.approval(key)?;
        self.of(key).bound.as_ref()
    }

    /// What the latest approval was for, also if it does not count any more.
    pub fn last_binding(&self, key: &CallKey) -> Option<&Binding> {
        self.of(key).bound.as_ref().filter(|bound| bound.is_shown())
    }

    /// Whether a call was started, and approved again since: whoever did that knew that it was interrupted.
    pub fn is_approved_again(&self, key: &CallKey) -> bool {
        self.approval(key).is_some() && self.of(key).is_approved_again
    }

    /// How the latest life with this id ended, whatever its input was; `None` if none has ended.
    pub fn last_ending(&self, id: &CallId) -> Option<&Ending> {
        let lives = self.calls.iter().filter(|(key, _)| key.id == *id);
        lives.filter_map(|(_, lives)| lives.ending.as_ref()).max_by_key(|ending| ending.at)
    }

    /// The calls that have started and have no end, in the order of their keys, with their latest start. Nobody knows what
    /// they did if nothing runs them any more.
    pub fn unfinished(&self) -> impl Iterator<Item = (&CallKey, Timestamp)> {
        self.calls.iter().filter_map(|(key, lives)| match lives.life {
            Life::Open { started: Some(started), .. } => Some((key, started)),
            _ => None,
        })
    }

    /// The calls that have started and ended, in the order of their keys, with the latest start.
    pub fn finished(&self) -> impl Iterator<Item = (&CallKey, Timestamp)> {
        let ended = self.calls.iter().filter(|(_, lives)| lives.life == Life::Ended);
        ended.filter_map(|(key, lives)| Some((key, lives.ending.as_ref()?.started?)))
    }
}

impl Lives {
    /// A life begins: what was decided in an earlier one is not about it.
    fn forget_decisions(&mut self) {
        self.proposed = None;
        self.bound = None;
        self.made = None;
        self.approved_at = None;
        self.is_approved_again = false;
    }

    /// Its approval does not count any more. What the user has made of its change for that stays theirs.
    fn withdraw(&mut self) {
        if let Life::Open { approved, .. } = &mut self.life
            && approved.take().is_some()
        {
            self.made = self.bound.clone().filter(Binding::is_changed);
        }
    }

    fn apply(&mut self, record: &Record) {
        let before_start = match &record.event {
            Event::Asked(_) => None,
            _ => self.before_start.take(),
        };
        let shown = self.shown.take();
        let is_rejected = std::mem::replace(&mut self.is_rejected, record.event == Event::Decided(Decision::Rejected));
        match (&record.event, &mut self.life) {
            (Event::Bound { shown }, _) => self.shown = Some(shown.clone()),
            (Event::Made { shown }, Life::Open { .. }) => self.made = shown.is_changed().then(|| shown.clone()),
            (Event::Asked(asked), _) => self.asked = Some(asked.clone()),
            (Event::Opened, life) => {
                self.asked = None;
                if matches!(life, Life::Open { .. }) {
                    self.withdraw();
                } else {
                    *life = Life::Open { approved: None, started: None };
                    self.forget_decisions();
                }
            }
            (Event::Decided(decision), Life::Open { approved, .. }) => {
                *approved = (*decision == Decision::Approved).then(|| record.by.clone());
                self.approved_at = Some(record.at);
                self.bound = shown;
                self.made = None;
                self.is_approved_again = true;
            }
            (Event::Started, Life::Open { started, .. }) => {
                self.is_approved_again = false;
                self.before_start = Some(started.replace(record.at));
            }
            (Event::Started, life) => {
                *life = Life::Open { approved: None, started: Some(record.at) };
                self.before_start = Some(None);
                self.forget_decisions();
            }
            (Event::Proposed { proposed }, Life::Open { approved, .. }) => {
                // What was approved before was the call itself.
                *approved = None;
                self.bound = None;
                self.made = None;
                self.proposed = Some(proposed.clone());
            }
            (Event::WentOn, life) => {
                self.proposed = None;
                self.is_approved_again = false;
                if let Life::Open { approved, .. } = life {
                    *approved = None;
                }
            }
            (Event::Withdrawn, Life::Open { started, .. }) => {
                *started = before_start.unwrap_or(*started);
                self.withdraw();
            }
            // There is nothing to decide about, and the first end counts.
            (Event::Made { .. } | Event::Decided(_) | Event::Proposed { .. } | Event::Withdrawn, _)
            | (Event::Resolved(_) | Event::Expired(_), Life::Ended) => {}
            (Event::Resolved(result) | Event::Expired(result), life) => {
                let started = if let Life::Open { started, .. } = life { *started } else { None };
                let is_approved = matches!(life, Life::Open { approved: Some(_), .. });
                let bound = self.bound.as_ref().filter(|_| is_approved);
                let taken = bound.map(Binding::taken).unwrap_or_default();
                *life = Life::Ended;
                self.proposed = None;
                self.endings += 1;
                self.last_result = Some(result.clone());
                let (at, by) = (record.at, record.by.clone());
                self.ending = Some(Ending { at, started, by, is_error: result.is_error, is_rejected, taken });
            }
        }
    }
}
