//! Why a call does not take a resolution.

use std::fmt;

use jiff::Timestamp;

use flemma_chat::AwaitKind;
use flemma_journal::Actor;
use flemma_model::CallId;
use flemma_text::{escape_controls, one_line};

/// How many calls a message names.
const LISTED: usize = 5;

/// The longest name in a message, in characters.
const NAME: usize = 80;

/// Why a call does not take a resolution. `Display` gives the words of the command line, which name its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// There is no such call. These wait.
    Missing(CallId, Vec<CallId>),
    /// Its reply was cut off.
    CutOff,
    /// It has its result; who gave it, and when, if that is recorded.
    Resolved(Option<(Actor, Timestamp)>),
    /// It was approved before.
    Approved(Option<(Actor, Timestamp)>),
    /// It waits for this instead.
    WaitsFor(AwaitKind),
    /// Nothing here says what it waits for, except its block, which anybody may have written.
    Unknown(String),
    /// It was asked about with another input.
    Changed,
    /// Nobody was asked about it.
    Undecided,
    /// Its block says that it may not run.
    Refused,
    /// Another resolution of it is on its way, it is running, or a reply arrives.
    Busy,
    /// Its deadline has not passed.
    NotDue,
    /// Something has happened to it in the meantime.
    Overtaken,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(id, pending) => {
                write!(f, "there is no call `{}` here", name(id))?;
                let listed: Vec<String> = pending.iter().take(LISTED).map(name).collect();
                match (listed.len(), pending.len() - listed.len()) {
                    (0, _) => f.write_str(" (nothing waits)"),
                    (_, 0) => write!(f, " (pending: {})", listed.join(", ")),
                    (_, more) => write!(f, " (pending: {}, and {more} more)", listed.join(", ")),
                }
            }
            Self::CutOff => f.write_str("its reply was cut off, so it never runs"),
            Self::Resolved(by) => write!(f, "it was resolved before{}", By(by)),
            Self::Approved(by) => write!(f, "it was approved before{}", By(by)),
            Self::WaitsFor(AwaitKind::Approval) => f.write_str("it waits for your approval: use --approve or --reject"),
            Self::WaitsFor(AwaitKind::Elicitation) => f.write_str("it waits for an answer: use --result or --error"),
            Self::WaitsFor(AwaitKind::ClientExec) => {
                f.write_str("it waits for the editor, which runs it: use --result or --error to answer in its place")
            }
            Self::Unknown(tool) => write!(
                f,
                "it is not known here what the tool `{}` does, and only the file says that the call waits for approval. \
                 Open the conversation once in an editor that has the tool, or use --reject",
                escape_controls(&one_line(tool, NAME))
            ),
            Self::Changed => f.write_str(
                "its input has changed since it was asked about: look at it with `flemma show`, and let `flemma run` or an \
                 editor ask again, or use --reject",
            ),
            Self::Undecided => f.write_str(
                "nobody was asked about it yet: open the conversation in an editor, or carry it on with `flemma run`; your \
                 policies decide there",
            ),
            Self::Refused => f.write_str(
                "its block says that it may not run; open the conversation in an editor to change or send that",
            ),
            Self::Busy => f.write_str("it is running or being resolved now"),
            Self::NotDue => f.write_str("its deadline has not passed"),
            Self::Overtaken => f.write_str("it was stopped, started or changed in the meantime"),
        }
    }
}

/// Who did something, and when.
struct By<'a>(&'a Option<(Actor, Timestamp)>);

impl fmt::Display for By<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((by, at)) = self.0 else { return Ok(()) };
        write!(f, " by {} ({}), {}", by.role.name(), by.host, at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

fn name(id: &CallId) -> String {
    one_line(&escape_controls(&id.0), NAME)
}
