//! The accounts of conversations: whom a request went to, at what price, and what all of them have used.

use std::{
    cell::{Cell, RefCell},
    time::{Instant, SystemTime},
};

use super::budget::Spent;
use flemma_config::Config;
use flemma_model::Usage;
use flemma_provider::{
    CacheRetention, ProviderName,
    catalogue::{self, Price},
    usage::{Record, figures},
};

/// Whom a request goes to, at what price, and since when.
#[derive(Clone, Debug)]
pub(crate) struct PricedRequest {
    provider: ProviderName,
    model: String,
    price: Option<Price>,
    retention: CacheRetention,
    sent: Instant,
}

impl PricedRequest {
    /// A request with these options that goes out now.
    pub(crate) fn of(config: &Config) -> Self {
        let options = config.parameters_for(config.provider);
        let (provider, price) = (config.provider, price(config));
        let retention = options.parameters.cache_retention;
        Self { provider, price, retention, model: options.model, sent: Instant::now() }
    }
}

/// The user's own price of the model.
pub(crate) fn own_price(config: &Config) -> Option<Price> {
    config.pricing.get(config.model()).copied()
}

/// The price of the model; `None` if it is not known.
pub(crate) fn price(config: &Config) -> Option<Price> {
    let known = || Some(catalogue::find(config.provider.name(), config.model())?.price(SystemTime::now()));
    own_price(config).or_else(known)
}

/// The accounts of one conversation.
#[derive(Default)]
pub(crate) struct Accounts {
    /// The latest request.
    pub(crate) request: RefCell<Option<PricedRequest>>,
    /// What was spent, and what the user allows.
    pub(crate) spent: Spent,
    /// Whether the files are being read that the latest request shows.
    pub(crate) reads_files: Cell<bool>,
    /// What the request that ended last has used, until its end is announced; `None` where the provider counted nothing.
    pub(crate) ended: RefCell<Option<Record>>,
}

impl Accounts {
    /// The record of the latest request, which has used this; `None` if there was none.
    pub(crate) fn record(&self, buffer: i32, usage: Usage, complete: bool) -> Option<Record> {
        let PricedRequest { provider, model, price, retention, .. } = self.request.borrow().clone()?;
        let cost = price.map(|price| price.cost(&usage, retention));
        Some(Record { buffer, provider: provider.name(), model, usage, cost, complete, at: SystemTime::now() })
    }

    /// Whom the latest request went to.
    pub(crate) fn recipient(&self) -> Option<(ProviderName, String)> {
        self.request.borrow().as_ref().map(|request| (request.provider, request.model.clone()))
    }

    /// How long the latest request has taken so far and how much of its reply has arrived, for the screen. `tokens` says
    /// how many tokens there are at so many bytes each, and whether that is an estimate.
    pub(crate) fn progress(&self, tokens: impl FnOnce(f64) -> (u64, bool)) -> String {
        let request = self.request.borrow();
        let Some(request) = &*request else { return String::new() };
        let (tokens, is_estimate) = tokens(catalogue::bytes_per_token(request.provider.name(), &request.model));
        // `~` says that it is an estimate.
        let about = if is_estimate { "~" } else { "" };
        let noun = if tokens == 1 { "token" } else { "tokens" };
        let tokens = if tokens == 0 { String::new() } else { format!(", {about}{} {noun}", figures::grouped(tokens)) };
        format!(", {} s{tokens}", request.sent.elapsed().as_secs())
    }
}
