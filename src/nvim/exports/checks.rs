//! What `:checkhealth flemma` asks of the library.

use super::table::Exports;
use crate::provider::auth::Environment;

/// Adds the function.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // check() -> { level, message } for each thing that was looked at
    exports.add("check", |lua, binding, ()| {
        let config = binding.workspace.config();
        let options = config.parameters_for(config.provider);
        let (level, message) = options.vendor.health(&options.model, &Environment::of_process()).into_parts();
        let item = lua.create_table()?;
        item.set("level", level)?;
        item.set("message", message)?;
        Ok(vec![item])
    })
}
