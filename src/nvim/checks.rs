//! What `:checkhealth flemma` asks of the library.

use super::exports::Exports;
use crate::provider::auth::Environment;

/// The function that Lua calls.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    exports.add("check", |lua, editor, ()| {
        let config = editor.config();
        let options = config.parameters_for(config.provider);
        let (level, message) = options.vendor.health(&options.model, &Environment::of_process()).into_parts();
        let item = lua.create_table()?;
        item.set("level", level)?;
        item.set("message", message)?;
        Ok(vec![item])
    })
}
