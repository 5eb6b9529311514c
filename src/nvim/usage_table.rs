//! What conversations have used, as Lua is given it.

use std::time::SystemTime;

use mlua::{Lua, Table};

use flemma_model::Usage;
use flemma_provider::usage::{Record, Totals};

/// A record as a table of the class `flemma.Usage`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn record(lua: &Lua, record: &Record) -> mlua::Result<Table> {
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

/// Sums as a table of the class `flemma.Totals`.
///
/// # Errors
/// When Lua is out of memory.
pub(super) fn totals(lua: &Lua, totals: Totals) -> mlua::Result<Table> {
    let Totals { requests, usage, cost, unpriced } = totals;
    let table = counts(lua, &usage)?;
    table.set("requests", requests)?;
    table.set("cost", cost)?;
    table.set("unpriced", unpriced)?;
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
