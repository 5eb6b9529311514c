//! What conversations have used, as Lua is given it.

use std::time::SystemTime;

use mlua::{Lua, Table};

use super::convert::table;
use flemma_model::Usage;
use flemma_provider::usage::{Record, Totals};

/// A record as a table of the class `flemma.Usage`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn record(lua: &Lua, record: &Record) -> mlua::Result<Table> {
    let since = record.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(table!(lua, counts(lua, &record.usage)?, {
        buf: record.buffer, provider: record.provider, model: record.model.as_str(), time: since.as_secs(),
        cost: record.cost, complete: record.complete
    }))
}

/// Sums as a table of the class `flemma.Totals`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn totals(lua: &Lua, totals: Totals) -> mlua::Result<Table> {
    let Totals { requests, usage, cost, unpriced } = totals;
    Ok(table!(lua, counts(lua, &usage)?, { requests: requests, cost: cost, unpriced: unpriced }))
}

fn counts(lua: &Lua, usage: &Usage) -> mlua::Result<Table> {
    let Usage { input, output, reasoning, cache_read, cache_write } = *usage;
    Ok(table!(lua, {
        input: input, output: output, reasoning: reasoning, cache_read: cache_read, cache_write: cache_write
    }))
}
