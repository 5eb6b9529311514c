//! Status blocks: the fence that stands in the place of a result that is not there yet.

/// The first word on where a call stands. Written `status=S` in the fence's info string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Waits for the user.
    Pending,
    /// May run.
    Approved,
    /// Refused by policy.
    Denied,
    /// Refused by the user; text in the block is the reason.
    Rejected,
    /// Runs now.
    Running,
}

/// The info string of a status block, with every attribute as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusBlock {
    /// The status; one that nobody knows reads as [`Status::Pending`].
    pub status: Status,
    /// The other attributes, in order, unquoted.
    pub attributes: Vec<(String, String)>,
}
