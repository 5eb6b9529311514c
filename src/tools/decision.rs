//! What becomes of a call that nobody has run yet.

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Approve,
    /// It waits for the user.
    RequireApproval,
    /// It never runs; the model is told.
    Deny,
}
