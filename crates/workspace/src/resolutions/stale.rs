//! Why a call does not take a resolution.

use jiff::Timestamp;
use thiserror::Error;

use flemma_chat::AwaitKind;
use flemma_journal::Actor;
use flemma_model::CallId;
use flemma_text::{escape_controls, one_line};

/// How many calls a message names.
const LISTED: usize = 5;

/// The longest name in a message, in characters.
const NAME: usize = 80;

/// Why a call does not take a resolution. `Display` gives the words of the command line, which name its options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Stale {
    /// There is no such call. These wait.
    #[error("there is no call `{}` here{}", name(.0), listed(.1))]
    Missing(CallId, Vec<CallId>),
    /// Its reply was cut off.
    #[error("its reply was cut off, so it never runs")]
    CutOff,
    /// It has its result; who gave it, and when, if that is recorded.
    #[error("it was resolved before{}", by(.0.as_ref()))]
    Resolved(Option<(Actor, Timestamp)>),
    /// It was approved before.
    #[error("it was approved before{}", by(.0.as_ref()))]
    Approved(Option<(Actor, Timestamp)>),
    /// It waits for this instead.
    #[error("it waits for {}", way_out(*.0))]
    WaitsFor(AwaitKind),
    /// Nothing here says what it waits for, except its block, which anybody may have written.
    #[error("it is not known here what the tool `{}` does, and only the file says that the call waits for approval. \
             Open the conversation once in an editor that has the tool, or use --reject", escape_controls(&one_line(.0, NAME)))]
    Unknown(String),
    /// It was asked about with another input.
    #[error(
        "its input has changed since it was asked about: look at it with `flemma show`, and let `flemma run` or an \
             editor ask again, or use --reject"
    )]
    Changed,
    /// Nobody was asked about it.
    #[error(
        "nobody was asked about it yet: open the conversation in an editor, or carry it on with `flemma run`; your \
             policies decide there"
    )]
    Undecided,
    /// Its block says that it may not run.
    #[error("its block says that it may not run; open the conversation in an editor to change or send that")]
    Refused,
    /// Another resolution of it is on its way, it is running, or a reply arrives.
    #[error("it is running or being resolved now")]
    Busy,
    /// Its deadline has passed, then. The user is told so.
    #[error("its deadline passed at {0}")]
    Late(Timestamp),
    /// Its deadline has not passed.
    #[error("its deadline has not passed")]
    NotDue,
    /// Something has happened to it in the meantime.
    #[error("it was stopped, started or changed in the meantime")]
    Overtaken,
}

/// The calls that wait, with how many more there are.
fn listed(pending: &[CallId]) -> String {
    let listed: Vec<String> = pending.iter().take(LISTED).map(name).collect();
    match (listed.len(), pending.len() - listed.len()) {
        (0, _) => " (nothing waits)".to_owned(),
        (_, 0) => format!(" (pending: {})", listed.join(", ")),
        (_, more) => format!(" (pending: {}, and {more} more)", listed.join(", ")),
    }
}

/// What a call waits for, and how it gets that.
fn way_out(kind: AwaitKind) -> &'static str {
    match kind {
        AwaitKind::Approval => "your approval: use --approve or --reject",
        AwaitKind::Elicitation => "an answer: use --result or --error",
        AwaitKind::ClientExec => "the editor, which runs it: use --result or --error to answer in its place",
    }
}

/// Who did something, and when.
fn by(who: Option<&(Actor, Timestamp)>) -> String {
    who.map_or_else(String::new, |(by, at)| {
        format!(" by {} ({}), {}", by.role.name(), by.host, at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    })
}

fn name(id: &CallId) -> String {
    one_line(&escape_controls(&id.0), NAME)
}
