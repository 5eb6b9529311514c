//! One event in the life of a call, and what it is about: a call and the input that it had.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Binding, Proposed};
use flemma_model::{Attachment, CallId, Digest, ToolInput};

/// One event in the life of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When it happened.
    pub at: Timestamp,
    /// The absolute path of the conversation.
    #[serde(rename = "chat")]
    pub conversation: String,
    /// The call.
    #[serde(flatten)]
    pub key: CallKey,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// Who did it.
    #[serde(flatten)]
    pub by: Actor,
}

/// A call by its id, its tool and the digest of its input. An edited input makes another key.
///
/// Vendors reuse ids, so a conversation may have several calls with the same key, one after another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    /// The vendor's id of the call.
    #[serde(rename = "call")]
    pub id: CallId,
    /// The name of the tool.
    pub tool: String,
    /// The digest of the input.
    pub input: Digest,
}

impl CallKey {
    /// The key of a call.
    pub fn of(id: &CallId, tool: &str, input: &ToolInput) -> Self {
        Self { id: id.clone(), tool: tool.to_owned(), input: input.digest() }
    }
}

/// What happened to a call.
#[expect(missing_docs, reason = "what is said of an event says what its fields are")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The call was categorised: a new life of its key begins.
    Opened,
    /// The call waits for an answer, or for the editor's user interface.
    Asked(Asked),
    /// What the user was shown of what the call would write, and which files it named. An approval that is recorded right after it, in
    /// the same batch, is for that only.
    Bound { shown: Binding },
    /// What the user has made of what the call would write, in a review in which they have decided nothing. If all of it is taken as it
    /// was proposed, they have made nothing of it. Only the memory has it; a journal of an earlier version may have it, too.
    Made { shown: Binding },
    /// The tool is about to run.
    Started,
    /// The tool, which was started, wants to write this, and waits for the user's decision.
    Proposed { proposed: Proposed },
    /// The decision about that was carried out, and the tool goes on.
    WentOn,
    /// What was recorded just before did not happen: the tool was not started, and the call waits again.
    Withdrawn,
    /// The call has a result: of the tool, an answer, a rejection or a cancellation.
    Resolved(RecordedResult),
    /// The call was not resolved in time.
    Expired(RecordedResult),
    /// It was decided whether the call may run. In the same batch, a rejection is followed by [`Event::Resolved`].
    #[serde(untagged)]
    Decided(Decision),
}

/// What a call waits for, for programs that do not know its tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The kind, as the conversation writes it: `elicitation` or `client_exec`.
    pub kind: String,
    /// The JSON Schema that the answer has to match, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// Whether a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Decision {
    /// It may.
    Approved,
    /// It may not.
    Rejected,
}

/// The result of a call, as far as it has to be written into the conversation again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedResult {
    /// The text.
    pub output: String,
    /// Whether it is an error.
    #[serde(rename = "error", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The language of the text's fence (`json`, `diff`); empty for plain text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// The files that are sent with it.
    #[serde(rename = "files", default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<RecordedFile>,
}

/// A file that is sent with a result. The conversation has only its name, so the journal has no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The path, as the conversation writes it.
    pub path: String,
    /// The media type; may be empty.
    #[serde(rename = "type")]
    pub media_type: String,
}

impl From<&Attachment> for RecordedFile {
    fn from(attachment: &Attachment) -> Self {
        // A conversation is UTF-8 too: it has the same path.
        let path = attachment.path.to_string_lossy().into_owned();
        Self { path, media_type: attachment.media_type.clone() }
    }
}

impl From<&RecordedFile> for Attachment {
    fn from(file: &RecordedFile) -> Self {
        Self::unread(PathBuf::from(&file.path), file.media_type.clone())
    }
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// In which role.
    pub role: Role,
    /// The number of the process.
    #[serde(rename = "pid")]
    pub process: u32,
    /// The name of the machine.
    pub host: String,
}

impl Role {
    /// All roles, each with the word for it in the journal and in Lua, and with who that is, in words for the user.
    const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Policy, "policy", "a policy"),
        (Self::User, "user", "you"),
        (Self::Document, "document", "a key, as the file said"),
        (Self::Script, "script", "a script"),
        (Self::CommandLine, "command-line", "the command line"),
        (Self::Clock, "clock", "the clock"),
        (Self::Tool, "tool", "the tool"),
        (Self::Client, "client", "the editor"),
    ];

    /// Who that is, in words for the user.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// The word for it in the journal and in Lua.
    pub const fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// In which role something was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A rule of the user's configuration or of a trusted frontmatter.
    Policy,
    /// The user, by a key or a command.
    User,
    /// The text of a file, which a key of the user carried out: anybody may have written it.
    Document,
    /// Lua code, by `resolve()`.
    Script,
    /// The command line.
    CommandLine,
    /// The clock: a deadline has passed.
    Clock,
    /// The tool itself.
    Tool,
    /// A client tool, in the editor's user interface.
    Client,
}
