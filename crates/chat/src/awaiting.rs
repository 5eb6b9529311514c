//! What a pending call waits for, as its status block says it.
//!
//! ````text
//! ```flemma:tool status=pending kind=elicitation executor=human expires=2026-12-01T10:00:00Z question="Which port?"
//! ```
//! ````
//!
//! A block without `kind` waits for approval, and one without `executor` is a server tool's. The deadline is an absolute
//! time in UTC (RFC 3339). The words inform the reader of the file and other programs; they authorise nothing.

use jiff::{SignedDuration, Timestamp};

use super::{Status, StatusBlock, words::words};

/// The attributes of a pending block, in the order in which they are written.
const KEYS: [&str; 4] = ["kind", "executor", "expires", "question"];

words! {
    /// What a pending call waits for.
    #[derive(Default)]
    pub enum AwaitKind {
        /// The user's decision whether it may run.
        #[default]
        Approval = "approval",
        /// The user's answer, which is the result.
        Elicitation = "elicitation",
        /// The editor's user interface, which runs it.
        ClientExec = "client_exec",
    }
}

impl AwaitKind {
    /// The kind of this name, ignoring case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }
}

/// What a pending call waits for, how long, and what it asks. The default is a wait for the approval of a server tool, without a
/// deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaiting {
    /// What it waits for.
    pub kind: AwaitKind,
    /// The tool's executor; empty for a server tool.
    pub executor: String,
    /// The first moment at which an answer comes too late; `None` if it waits for ever.
    pub expires: Option<Timestamp>,
    /// The question, on one line.
    pub question: Option<String>,
}

impl Awaiting {
    /// Whether an answer comes too late at this time.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }

    /// The attributes that say this. What is the default is left out.
    fn attributes(&self) -> Vec<(String, String)> {
        let is_plain = self.kind == AwaitKind::Approval && self.executor.is_empty();
        let values = [
            (!is_plain).then(|| self.kind.to_string()),
            (!self.executor.is_empty()).then(|| self.executor.clone()),
            self.expires.map(|expires| expires.to_string()),
            self.question.clone(),
        ];
        let named = KEYS.into_iter().zip(values);
        named.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// A deadline after this time, rounded up to a whole second, which is how the document shows it. `None` if it lies beyond
/// the years that a date can have.
pub fn deadline(now: Timestamp, wait: std::time::Duration) -> Option<Timestamp> {
    let exact = now.checked_add(SignedDuration::try_from(wait).ok()?).ok()?;
    let seconds = exact.as_second() + i64::from(exact.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).ok()
}

impl StatusBlock {
    /// A pending block that waits for this.
    pub fn pending(awaiting: &Awaiting) -> Self {
        Self { status: Status::Pending, attributes: awaiting.attributes() }
    }

    /// This block with another status. What it waited for goes, and `awaiting` comes in its place; attributes that Flemma
    /// does not know stay.
    pub fn moved_to(&self, status: Status, awaiting: Option<&Awaiting>) -> Self {
        let mut attributes = awaiting.map(Awaiting::attributes).unwrap_or_default();
        attributes.extend(self.attributes.iter().filter(|(key, _)| !KEYS.contains(&key.as_str())).cloned());
        Self { status, attributes }
    }

    /// Whether it says what a call waits for.
    pub fn names_a_wait(&self) -> bool {
        self.attributes.iter().any(|(key, _)| KEYS.contains(&key.as_str()))
    }

    /// What the block says that the call waits for. A word that is not valid counts as absent; a diagnostic reports it.
    pub fn awaiting(&self) -> Awaiting {
        Awaiting {
            kind: self.kind(),
            executor: self.get("executor").unwrap_or_default().to_owned(),
            expires: self.expires(),
            question: self.get("question").map(str::to_owned),
        }
    }

    /// What the call waits for.
    pub fn kind(&self) -> AwaitKind {
        self.get("kind").and_then(AwaitKind::parse).unwrap_or_default()
    }

    /// The first moment at which an answer comes too late; `None` if it waits for ever.
    pub fn expires(&self) -> Option<Timestamp> {
        self.get("expires").and_then(|expires| expires.parse().ok())
    }

    /// What is wrong with what the block says about a wait, for the user.
    pub(super) fn wait_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let kind = self.get("kind").map(|word| (word, AwaitKind::parse(word)));
        let kinds = || AwaitKind::ALL.map(|kind| format!("`{kind}`")).join(", ");
        match kind {
            Some((word, None)) => faults.push(format!("There is no kind `{word}`. The kinds are {}.", kinds())),
            Some((_, Some(AwaitKind::Elicitation))) if matches!(self.status, Status::Approved | Status::Running) => {
                faults.push(format!(
                    "`{}` does not answer a question. Write your answer in the block, or press Alt-Enter for the form.",
                    self.status
                ));
            }
            _ => {}
        }
        if let Some(word) = self.get("expires").filter(|word| word.parse::<Timestamp>().is_err()) {
            faults.push(format!(
                "`{word}` is not a time. Write `expires=` like 2026-12-01T10:00:00Z, or remove it to wait for ever."
            ));
        }
        faults
    }
}
