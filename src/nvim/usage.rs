//! What conversations use, on its way from the session to the ledger and to the screen.
//!
//! When a request goes out, a [`Bill`] notes whom it goes to and at what price: options may change before it ends. Its
//! count makes a record of that. An estimate reads the conversation in slices, as much at a time as the user does not
//! notice, and is made of it by another thread.

use std::{sync::Arc, time::SystemTime};

use mlua::{Lua, Table, Value};

use super::{conversation::Conversation, editor::Editor, exports::Exports, frontmatter, shell::At};
use crate::{
    agent::{Activity, Level},
    config::Config,
    model::Usage,
    provider::{
        CacheRetention,
        catalogue::{self, Price},
    },
    runtime::{Notice, Report},
    usage::{Estimate, Record, Totals, figures},
};

/// How many lines of a conversation an estimate reads at a time.
const SLICE: usize = 10_000;

/// Whom a request goes to, and at what price.
#[derive(Clone, Debug)]
pub(super) struct Bill {
    provider: &'static str,
    model: String,
    price: Option<Price>,
    retention: CacheRetention,
}

impl Bill {
    /// The bill of a request with these options that goes out now.
    pub(super) fn of(config: &Config) -> Self {
        let options = config.parameters_for(config.provider);
        let provider = config.provider.name();
        let known = || Some(catalogue::find(provider, &options.model)?.price(SystemTime::now()));
        let price = own_price(config).or_else(known);
        Self { provider, price, retention: options.parameters.cache_retention, model: options.model }
    }
}

/// The user's own price of the model.
fn own_price(config: &Config) -> Option<Price> {
    config.pricing.get(config.model()).copied()
}

/// Takes the count of a request that is over.
pub(super) fn account(editor: &Editor, conversation: &Conversation, usage: Usage, complete: bool) {
    let Some(Bill { provider, model, price, retention }) = conversation.bill.borrow().clone() else { return };
    let cost = price.map(|price| price.cost(&usage, retention));
    let record = Record { buffer: conversation.buffer, provider, model, usage, cost, complete, at: SystemTime::now() };
    let notify = editor.config().notify;
    editor.ledger.borrow_mut().add(record.clone());
    let lines = figures::after_reply(&record, &editor.ledger.borrow().totals());
    *conversation.accounted.borrow_mut() = Some(record);
    if notify.usage {
        editor.host.usage(conversation.buffer, &lines, notify.usage_timeout);
    }
}

/// A record as a table of the class `flemma.Usage`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn describe(lua: &Lua, record: &Record) -> mlua::Result<Table> {
    let table = counts(lua, &record.usage)?;
    table.set("buf", record.buffer)?;
    table.set("provider", record.provider)?;
    table.set("model", record.model.as_str())?;
    table.set("cost", record.cost)?;
    table.set("complete", record.complete)?;
    let since = record.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    table.set("time", since.as_secs())?;
    Ok(table)
}

fn counts(lua: &Lua, usage: &Usage) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("input", usage.input)?;
    table.set("output", usage.output)?;
    table.set("reasoning", usage.reasoning)?;
    table.set("cache_read", usage.cache_read)?;
    table.set("cache_write", usage.cache_write)?;
    Ok(table)
}

/// The sums of a buffer's conversation, or of everything, as a table of the class `flemma.Totals`.
pub(super) fn totals(lua: &Lua, editor: &Editor, buffer: Option<i32>) -> mlua::Result<Table> {
    let Totals { requests, usage, cost, unpriced } = {
        let ledger = editor.ledger.borrow();
        buffer.map_or_else(|| ledger.totals(), |buffer| ledger.totals_of(buffer))
    };
    let table = counts(lua, &usage)?;
    table.set("requests", requests)?;
    table.set("cost", cost)?;
    table.set("unpriced", unpriced)?;
    Ok(table)
}

/// The requests so far, oldest first.
pub(super) fn requests(lua: &Lua, editor: &Editor) -> mlua::Result<Vec<Table>> {
    editor.ledger.borrow().records().iter().map(|record| describe(lua, record)).collect()
}

/// The record of the request that has just ended, for the event; `nil` where the provider counted nothing.
pub(super) fn of_event(lua: &Lua, conversation: &Conversation) -> Value {
    let record = conversation.accounted.take();
    record.and_then(|record| describe(lua, &record).ok()).map_or(Value::Nil, Value::Table)
}

/// Reads on in order to estimate what the conversation would use; says whether there is more to read. What comes of
/// it is shown when it is there.
pub(super) fn estimate(editor: &Editor, conversation: &Conversation) -> bool {
    if conversation.session.is_busy() {
        editor.host.notify(Level::Info, "no estimate while a reply or a tool is at work here; Ctrl-C stops it");
        return false;
    }
    if conversation.parse_on() || conversation.with_document(|document, text| document.build_on(text, SLICE)) {
        return true;
    }
    let file = frontmatter::effective(editor, conversation);
    let fault = file.fault.as_ref().map(|fault| vec![fault.diagnostic()]);
    let built = fault.map_or_else(|| conversation.with_document(|document, text| document.conversation(text)), Err);
    let request = match built {
        Ok(built) => At { editor, conversation }.request(&file, built),
        Err(found) => {
            let first = found.first().map(|first| format!("line {}: {}", first.line + 1, first.message));
            let why = first.unwrap_or_else(|| "the conversation cannot be read".to_owned());
            editor.host.notify(Level::Warn, &format!("no estimate: {why}"));
            return false;
        }
    };
    let (provider, price) = (file.config.provider.name(), own_price(&file.config));
    let (queue, id) = (Arc::clone(editor.worker.queue()), conversation.id);
    match editor.worker.handle() {
        Ok(threads) => drop(threads.spawn_blocking(move || {
            let estimate = Estimate::of(&request, provider, price, SystemTime::now());
            queue.push(Notice { conversation: id, report: Report::Estimate(estimate) });
        })),
        Err(error) => editor.host.notify(Level::Error, &format!("no estimate: there is no thread for it ({error})")),
    }
    false
}

/// What a status line shows of a conversation: its model, what goes on, and what it has cost. Nothing is evaluated
/// for it, so the options are those of when they were last needed.
pub(super) fn status_line(editor: &Editor, conversation: &Conversation) -> String {
    let config = conversation.config(editor);
    let busy = match conversation.session.activity() {
        Activity::Idle => None,
        Activity::Loading => Some("loading tools".to_owned()),
        Activity::Waiting => Some("waiting".to_owned()),
        Activity::Retrying { attempt, .. } => Some(format!("attempt {attempt}")),
        Activity::Thinking => Some("thinking".to_owned()),
        Activity::Writing => Some("writing".to_owned()),
        Activity::Calling { tool, .. } => Some(format!("calling {tool}")),
        Activity::Hosting { tool } => Some(format!("running {tool}")),
        Activity::Executing { running: 1 } => Some("1 tool".to_owned()),
        Activity::Executing { running } => Some(format!("{running} tools")),
    };
    let used = editor.ledger.borrow().totals_of(conversation.buffer);
    let cost = (used.requests > used.unpriced).then(|| figures::cost(&used));
    let model = Some(config.model().to_owned()).filter(|model| !model.is_empty());
    [model, busy, cost].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// What conversations use.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // usage_totals(buffer or nil) -> a table as in `flemma.Totals`
    exports.add("usage_totals", |lua, editor, buffer: Option<i32>| totals(lua, editor, buffer))?;
    // usage_requests() -> tables as in `flemma.Usage`
    exports.add("usage_requests", |lua, editor, ()| requests(lua, editor))?;
    exports.add("usage_reset", |_, editor, ()| {
        editor.ledger.borrow_mut().reset();
        Ok(())
    })?;
    // usage_lines(buffer, width): the table that `:Flemma usage` shows
    exports.add("usage_lines", |_, editor, (buffer, width): (i32, usize)| {
        let own = editor.conversation(buffer).map(|_| buffer);
        Ok(figures::table(&editor.ledger.borrow(), own, Some(width)))
    })?;
    // usage_estimate(buffer) -> whether it has to be called again
    exports.add("usage_estimate", |_, editor, buffer: i32| {
        Ok(editor.conversation(buffer).is_some_and(|conversation| estimate(editor, &conversation)))
    })?;
    exports.add("status_line", |_, editor, buffer: i32| {
        Ok(editor.conversation(buffer).map(|conversation| status_line(editor, &conversation)))
    })
}
