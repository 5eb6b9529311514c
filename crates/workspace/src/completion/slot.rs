//! The place of the cursor in code that sets options.

/// What belongs where the cursor is. Paths are those of options in a file; the empty one is that of all options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// `flemma.opt`.
    Root,
    /// What follows `flemma.`.
    Opt,
    /// The name of an option in this table.
    Name(String),
    /// The value of this option; for a list, one of its entries.
    Value(String),
    /// An operation on a list, as a method.
    Method,
}

/// The place of the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// What belongs there.
    pub(crate) slot: Slot,
    /// How many bytes before the cursor already belong to it.
    pub(crate) typed: usize,
    /// Whether the cursor is in a string.
    pub(crate) is_quoted: bool,
}

/// The path of an option in a table.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}
