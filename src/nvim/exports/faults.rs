//! For tests: panics on demand, and what nothing else tells. The functions are there only with `FLEMMA_FAULTS` in the
//! environment.

use super::table::Exports;

/// Adds the functions.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    if std::env::var_os("FLEMMA_FAULTS").is_none() {
        return Ok(());
    }
    // own_lines(buffer) -> for each line, whether the user wrote it in this session
    exports.add("own_lines", |_, binding, buffer: i32| {
        let conversation = binding.workspace.conversation(buffer);
        Ok(conversation.map(|conversation| conversation.own_lines()).unwrap_or_default())
    })?;
    exports.add("fault", |_, binding, place: String| {
        if place == "drain" {
            binding.workspace.post(Box::new(|_| panic!("a fault on demand, in the drain")));
            return Ok(());
        }
        panic!("a fault on demand, in an export")
    })
}
