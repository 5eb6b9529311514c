//! Limits on money: for a turn, for a conversation, and for a day (`budget`).
//!
//! Before each request it is looked at what was spent. Where a limit is reached, the conversation pauses, and the user's next key is the
//! answer: it allows as much again. What requests cost that are already out comes on top. A day's sum is that of all editors, as far as
//! their requests have ended.

use std::{
    cell::{Cell, RefCell},
    io,
};

use crate::{Conversation, components::Accounting};
use flemma_agent::Overrun;
use flemma_config::{Budget, Config};
use flemma_model::UserError;

/// What a conversation has spent, and what the user has allowed beyond the limits.
#[derive(Default)]
pub(crate) struct Spent {
    turn: Cell<f64>,
    /// Up to where the user goes on: in the turn, in the conversation and on the day.
    allowed: Cell<[f64; 3]>,
    /// Whether the sum of the day is being read, and whether it was, for the input that is looked at.
    pub(crate) is_reading: Cell<bool>,
    is_day_read: Cell<bool>,
    /// What the user was told, which their next key answers.
    told: RefCell<Option<Reason>>,
    /// The model for which the user goes on without a price.
    unpriced: RefCell<Option<String>>,
}

/// Why a conversation pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Over(Overrun),
    /// The model has no price, so that no limit counts it.
    NoPrice(String),
}

impl Accounting {
    /// The limit that is reached, for requests that go out without a key.
    pub(crate) fn overrun(&self, conversation: &Conversation, config: &Config) -> Option<Overrun> {
        self.over(conversation, &config.budget)
    }

    /// The user was told that a limit is reached.
    pub(crate) fn was_told(&self, conversation: &Conversation, overrun: Overrun) {
        conversation.accounts.spent.told.replace(Some(Reason::Over(overrun)));
    }

    /// The user sends a conversation: what they should know first, after which their next key goes on. A key begins a turn.
    ///
    /// # Errors
    /// Why nothing is sent, with what the key does.
    pub(crate) fn begin_turn(&self, conversation: &Conversation, config: &Config) -> Result<(), UserError> {
        let spent = &conversation.accounts.spent;
        spent.turn.set(0.0);
        let [_, of_conversation, of_day] = spent.allowed.get();
        spent.allowed.set([0.0, of_conversation, of_day]);
        let Some(reason) = self.reason(conversation, config) else {
            spent.told.take();
            return Ok(());
        };
        if spent.told.borrow().as_ref().is_some_and(|told| told.is_like(&reason)) {
            spent.told.take();
            match reason {
                Reason::Over(Overrun { of, .. }) => {
                    let place = LIMITS.iter().position(|name| *name == of).unwrap_or_default();
                    let mut allowed = spent.allowed.get();
                    allowed[place] = self.sums(conversation)[place] + limits(&config.budget)[place].unwrap_or_default();
                    spent.allowed.set(allowed);
                }
                Reason::NoPrice(model) => drop(spent.unpriced.replace(Some(model))),
            }
            return self.begin_turn(conversation, config);
        }
        let words = match &reason {
            Reason::Over(overrun) => format!("Not sent: {overrun}."),
            Reason::NoPrice(model) => {
                format!(
                    "Not sent: the price of {model} is not known, so `budget` does not count it. `pricing` sets it."
                )
            }
        };
        spent.told.replace(Some(reason));
        Err(UserError::new(words).with_advice("Press Ctrl-] again to send it all the same."))
    }

    fn reason(&self, conversation: &Conversation, config: &Config) -> Option<Reason> {
        if let Some(overrun) = self.over(conversation, &config.budget) {
            return Some(Reason::Over(overrun));
        }
        let spent = &conversation.accounts.spent;
        let model = config.model();
        let is_allowed = spent.unpriced.borrow().as_deref() == Some(model) || super::accounts::price(config).is_some();
        (config.budget.is_set() && !is_allowed).then(|| Reason::NoPrice(model.to_owned()))
    }

    fn over(&self, conversation: &Conversation, budget: &Budget) -> Option<Overrun> {
        if !budget.is_set() {
            return None;
        }
        let (limits, sums) = (limits(budget), self.sums(conversation));
        let allowed = conversation.accounts.spent.allowed.get();
        let over = |place: usize| {
            let limit = limits[place]?.max(allowed[place]);
            (sums[place] >= limit).then(|| Overrun {
                of: LIMITS[place],
                spent: cents(sums[place]),
                limit: cents(limit),
            })
        };
        (0..LIMITS.len()).find_map(over)
    }

    /// What was spent: in the turn, in the conversation and on the day.
    fn sums(&self, conversation: &Conversation) -> [f64; 3] {
        let of_conversation = self.ledger.borrow().totals_of(conversation.buffer).cost;
        let of_day = self.day.borrow().as_ref().map_or(0.0, |(_, sum)| *sum);
        [conversation.accounts.spent.turn.get(), of_conversation, of_day]
    }

    /// Counts what a request has cost.
    pub(crate) fn spend(&self, conversation: &Conversation, cost: f64) {
        let turn = &conversation.accounts.spent.turn;
        turn.set(turn.get() + cost);
        let (day, file) = (self.today(), self.spending.clone());
        self.background.run(move || (file.add(&day, cost), day), |this: &Self, (sum, day)| this.has_read(day, sum));
    }

    /// Whether the sum of the day has to be read first: other editors may have spent more. Then it is, and `then` is called.
    pub(crate) fn reads_spending(
        &self,
        conversation: &Conversation,
        config: &Config,
        then: impl FnOnce(&Self, &Conversation) + Send + 'static,
    ) -> bool {
        let day = self.today();
        if config.budget.day.is_none() || conversation.accounts.spent.is_day_read.replace(false) {
            return false;
        }
        conversation.accounts.spent.is_reading.set(true);
        let (file, today) = (self.spending.clone(), day.clone());
        self.background.run_for(
            conversation.id,
            move || file.of(&today),
            move |this: &Self, conversation, sum| {
                this.has_read(day, sum);
                // The user may have taken it back.
                if conversation.accounts.spent.is_reading.take() {
                    conversation.accounts.spent.is_day_read.set(true);
                    then(this, conversation);
                }
            },
        );
        true
    }

    fn has_read(&self, day: String, sum: io::Result<f64>) {
        match sum {
            Ok(sum) => drop(self.day.replace(Some((day, sum)))),
            Err(error) => {
                self.shared.warn(&format!("`budget.day` does not hold: what was spent today is not known ({error})"))
            }
        }
    }

    fn today(&self) -> String {
        self.shared.host.local_time(self.shared.host.now()).split(' ').next().unwrap_or_default().to_owned()
    }
}

/// The limits of the turn, the conversation and the day.
fn limits(budget: &Budget) -> [Option<f64>; 3] {
    [budget.turn, budget.conversation, budget.day]
}

/// The limits, by the names of their options.
const LIMITS: [&str; 3] = ["turn", "conversation", "day"];

impl Reason {
    /// Whether the user's answer to one is an answer to the other.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Over(told), Self::Over(overrun)) => told.of == overrun.of,
            (one, other) => one == other,
        }
    }
}

/// Dollars in cents.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an amount of money is small and not negative"
)]
fn cents(dollars: f64) -> u64 {
    (dollars * 100.0).round() as u64
}
