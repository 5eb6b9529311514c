//! The outbox, as the state machine sees it: what the user has written while the conversation was at work.
//!
//! The messages themselves are the shell's. The agent decides when they leave.
//!
//! | when                                          | what leaves                                               |
//! |-----------------------------------------------|-----------------------------------------------------------|
//! | the tools of a reply have finished            | the messages that steer, with the results                 |
//! | the turn has ended                            | the next message, and the next request is sent            |
//! | an error, a limit or the user ends it         | all of them, as text under the prompt, which is not sent  |
//! | a call waits for somebody                     | nothing                                                   |

/// What waits in an outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    /// Whether it has anything that can leave.
    pub has_any: bool,
    /// Whether the message whose turn it is may be sent. It may not while the user is changing it.
    pub is_ready: bool,
    /// Whether that message is to go out before the next request.
    pub steers: bool,
}

/// What leaves an outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The messages that steer, as one message.
    Steering,
    /// The next message. Messages that steer go out together.
    Next,
    /// Everything, as text that the user has not sent.
    Unsent,
    /// What came back from an earlier session, in the same way.
    Returned,
}
