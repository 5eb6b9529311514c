//! The decision about a call that has not run yet.

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Approve,
    /// It needs the user's approval.
    RequireApproval,
    /// It never runs; the model is told.
    Deny,
}
