//! The body of a request: what every server takes, and nothing else.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it grew, so that a
//! server finds what it has computed already. So the keys have one order and `messages` is last.
//!
//! Content is a plain string wherever there is no file, roles alternate (the templates of many models want both),
//! results are messages of the role `tool` right behind the calls that they answer (text alone: the files of a result
//! follow in the user's next message, which says whose they are), and `max_tokens` has its old name. Thinking goes back
//! in the field that it came in, to the server that it came from, and only with calls: some models go on from it
//! (<https://api-docs.deepseek.com/guides/thinking_mode>), others refuse it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{NAME, THINKING_FIELDS};
use crate::{
    ProviderError, Request, Thinking, ThinkingLevel, ToolSpec,
    call_ids::CallIds,
    wire::{self, DataUrl, is_visible},
};
use flemma_model::{Attachment, Part, Role, Signature};

/// The most letters of a call's id.
const MAX_CALL_ID: usize = 40;

/// The separator between two pieces of prose in one message.
const PROSE_BREAK: &str = "\n\n";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// `null` where there are only calls.
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

/// What the user says: a plain string, or parts where there are files.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Plain(String),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: String },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct File<'a> {
    filename: Cow<'a, str>,
    file_data: DataUrl<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Call<'a> {
    id: String,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: String,
}

/// A part of a message, before they are gathered.
enum Piece<'a> {
    Text(&'a str),
    Thinking { field: &'a str, text: &'a str },
    Call(Call<'a>),
    Result { id: String, output: Cow<'a, str>, shows: &'a [Attachment] },
    Attachment(&'a Attachment),
}

/// The body of a streamed request to `host`.
///
/// # Errors
/// When the conversation has nothing to send.
pub(super) fn body(request: &Request, host: &str) -> Result<Vec<u8>, ProviderError> {
    let Request { parameters, .. } = request;
    let mut messages = Vec::new();
    if let Some(content) = request.system.as_deref().filter(|text| is_visible(text)) {
        messages.push(WireMessage::System { content });
    }
    let preface = messages.len();
    let turns = wire::turns(
        &request.messages,
        |message| message.parts.iter().collect(),
        &mut wire::plain_ids::<MAX_CALL_ID>(),
        |part, ids| piece(part, host, ids),
        |piece| matches!(piece, Piece::Result { .. }),
    );
    for (role, pieces) in turns {
        match role {
            Role::User => said_by_user(pieces, &mut messages),
            Role::Assistant => messages.extend(said_by_model(pieces)),
        }
    }
    if messages.len() == preface {
        return Err(wire::nothing_to_send());
    }
    wire::to_json(&Body {
        model: &request.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens: limit(request),
        temperature: parameters.temperature.filter(|value| value.is_finite()),
        reasoning_effort: effort(parameters.thinking),
        tools: request.tools.iter().map(tool).collect(),
        messages,
    })
}

/// The most tokens that the reply to a request may have; `None` leaves it to the server.
pub(super) fn limit(request: &Request) -> Option<u32> {
    let room = request.parameters.thinking.budget().unwrap_or(0);
    request.parameters.max_tokens.map(|tokens| wire::with_room(tokens, room))
}

/// One of the three words that all servers know which know any.
fn effort(thinking: Thinking) -> Option<&'static str> {
    thinking.level().map(|level| match level {
        ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High | ThinkingLevel::Max => "high",
    })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let parameters = wire::with_properties(&spec.input_schema);
    Tool { function: Function { name: &spec.name, description: &spec.description, parameters } }
}

/// The part as the API has it; `None` for what it does not take.
fn piece<'a>(part: &'a Part, host: &str, ids: &mut CallIds<'a>) -> Option<Piece<'a>> {
    Some(match part {
        Part::Text(text) => Piece::Text(Some(text).filter(|text| is_visible(text))?),
        Part::Thinking { text, signature } => {
            let text = Some(text.trim()).filter(|text| !text.is_empty())?;
            Piece::Thinking { field: field(signature.as_ref()?, host)?, text }
        }
        Part::ToolUse { id, name, input } => Piece::Call(Call {
            id: ids.call(id).id,
            function: CallFunction { name, arguments: wire::object(input).to_string() },
        }),
        Part::ToolResult { id, output, is_error, attachments } => Piece::Result {
            id: ids.result(id),
            output: wire::with_notes(wire::marked(output, *is_error), attachments),
            shows: attachments,
        },
        Part::Attachment(attachment) => Piece::Attachment(attachment),
        // Servers of this kind sign nothing and run no tools.
        Part::RedactedThinking(_) => return None,
        Part::HostedUse { .. } | Part::HostedResult { .. } | Part::Citations { .. } => return None,
    })
}

/// The field in which this host sent a thinking block.
fn field<'a>(signature: &'a Signature, host: &str) -> Option<&'a str> {
    let (field, from) = wire::signed_by(NAME, signature)?.split_once('@')?;
    (from == host && THINKING_FIELDS.contains(&field)).then_some(field)
}

/// The results, then one message with everything else; joined with the one before, should nothing have been left of
/// what was between the two.
fn said_by_user<'a>(pieces: Vec<Piece<'a>>, messages: &mut Vec<WireMessage<'a>>) {
    let (mut shown, mut said) = (Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Result { id, output, shows } => {
                let mut files: Vec<_> = shows.iter().filter_map(file).collect();
                if !files.is_empty() {
                    let text = format!("What the result of the call {id} shows:");
                    shown.push(ContentPart::Text { text });
                    shown.append(&mut files);
                }
                messages.push(WireMessage::Tool { tool_call_id: id, content: output });
            }
            Piece::Text(text) => said.push(ContentPart::Text { text: text.to_owned() }),
            Piece::Attachment(attachment) => said.push(
                file(attachment)
                    .unwrap_or_else(|| ContentPart::Text { text: attachment.in_words().unwrap_or_default() }),
            ),
            Piece::Thinking { .. } | Piece::Call(_) => {}
        }
    }
    shown.append(&mut said);
    if shown.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(WireMessage::User { content }) => {
            let mut parts = std::mem::replace(content, Content::Plain(String::new())).into_parts();
            parts.append(&mut shown);
            *content = Content::of(parts);
        }
        _ => messages.push(WireMessage::User { content: Content::of(shown) }),
    }
}

impl<'a> Content<'a> {
    /// One string of them all, if all are text.
    fn of(parts: Vec<ContentPart<'a>>) -> Self {
        let texts: Option<Vec<&str>> = parts
            .iter()
            .map(|part| match part {
                ContentPart::Text { text } => Some(text.as_str()),
                ContentPart::ImageUrl { .. } | ContentPart::File { .. } => None,
            })
            .collect();
        match texts {
            Some(texts) => Self::Plain(texts.join(PROSE_BREAK)),
            None => Self::Parts(parts),
        }
    }

    fn into_parts(self) -> Vec<ContentPart<'a>> {
        match self {
            Self::Plain(text) => vec![ContentPart::Text { text }],
            Self::Parts(parts) => parts,
        }
    }
}

/// A file; `None` if it is not to be sent.
fn file(attachment: &Attachment) -> Option<ContentPart<'_>> {
    let data = DataUrl::of(attachment)?;
    Some(if attachment.is_pdf() {
        ContentPart::File { file: File { filename: attachment.name(), file_data: data } }
    } else {
        ContentPart::ImageUrl { image_url: ImageUrl { url: data } }
    })
}

/// One message of all that the model said; `None` where only thinking is left.
fn said_by_model(pieces: Vec<Piece<'_>>) -> Option<WireMessage<'_>> {
    let (mut prose, mut thoughts, mut tool_calls) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => prose.push(text),
            Piece::Thinking { field, text } => thoughts.push((field, text)),
            Piece::Call(call) => tool_calls.push(call),
            Piece::Result { .. } | Piece::Attachment(_) => {}
        }
    }
    if prose.is_empty() && tool_calls.is_empty() {
        return None;
    }
    let thought_in = |field: &str| {
        let texts: Vec<_> = thoughts.iter().filter(|(of, _)| *of == field).map(|(_, text)| *text).collect();
        Some(texts.join(PROSE_BREAK)).filter(|text| !text.is_empty() && !tool_calls.is_empty())
    };
    let [reasoning_content, reasoning] = THINKING_FIELDS.map(thought_in);
    let content = (!prose.is_empty()).then(|| prose.join(PROSE_BREAK));
    Some(WireMessage::Assistant { content, reasoning_content, reasoning, tool_calls })
}
