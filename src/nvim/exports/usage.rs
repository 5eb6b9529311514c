//! What conversations have used.

use super::table::Exports;
use crate::nvim::{
    convert,
    usage_table::{record, totals},
};

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // usage_totals(buffer or nil) -> a table as in `flemma.Totals`
    exports.add("usage_totals", |lua, binding, buffer: Option<i32>| totals(lua, binding.workspace.totals(buffer)))?;
    // usage_requests() -> tables as in `flemma.Usage`
    exports.add("usage_requests", |lua, binding, ()| {
        convert::list(lua, binding.workspace.records().iter().map(|each| record(lua, each)))
    })?;
    exports.add("usage_reset", |_, binding, ()| {
        binding.workspace.reset_usage();
        Ok(())
    })?;
    // usage_estimate(buffer) -> whether it has to be called again
    exports.add("usage_estimate", |_, binding, buffer: i32| Ok(binding.workspace.estimate(buffer)))
}
