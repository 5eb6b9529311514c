//! The body of a request.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it
//! grew: the vendor's prompt cache compares prefixes. So the keys have one order, what changes least
//! comes first, and `messages` is last. The body borrows from the request; nothing is copied before
//! it is written.
//!
//! What the API refuses is not sent: text without a visible character, an empty error result, a call's
//! input that is not an object, thinking that another vendor signed, what another provider ran, half of what this
//! one ran (see [`whole`]).

use std::{borrow::Cow, collections::HashMap};

use serde::Serialize;
use serde_json::Value;

use super::{
    NAME, cited,
    family::{self, ThinkingParameter, ThinkingSettings},
};
use crate::{
    CacheRetention, HostedToolSpec, ProviderError, Request, ToolSpec,
    call_ids::{self, CallIds},
    signature::from_base64,
    wire::{self, Base64, SILENT_ERROR, is_visible, object},
};
use flemma_model::{Attachment, CallId, Message, Part, Role, Signature};

/// The user, as the API calls them.
const USER: &str = "user";

/// The fewest letters that a signature of the vendor's has: shorter ones may be base64 of text by chance.
const LEAST_SIGNATURE: usize = 16;

/// The most letters of a call's id. The vendor's own have about thirty.
const MAX_CALL_ID: usize = 64;

/// The field of a hosted call that holds its id, and the one of its result.
const CALL: &str = "id";
const ANSWERED: &str = "tool_use_id";

/// Why an error shows no file.
const TEXT_ONLY: &str = "an error can only have text.";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingParameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<System<'a>>,
    messages: Vec<WireTurn<'a>>,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

/// Marks the end of what the vendor is to keep. Everything before the mark is kept with it
/// (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>).
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral {
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl: Option<&'static str>,
    },
}

impl CacheControl {
    fn of(retention: CacheRetention) -> Option<Self> {
        match retention {
            CacheRetention::None => None,
            CacheRetention::Short => Some(Self::Ephemeral { ttl: None }),
            CacheRetention::Long => Some(Self::Ephemeral { ttl: Some("1h") }),
        }
    }
}

/// The system prompt: a plain string, or a block where it carries a mark.
#[derive(Serialize)]
#[serde(untagged)]
enum System<'a> {
    Plain(&'a str),
    Marked([SystemBlock<'a>; 1]),
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

/// A block, and the mark behind it.
#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    block: ContentBlock<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// A tool, and the mark behind it.
#[derive(Serialize)]
struct Tool<'a> {
    #[serde(flatten)]
    tool: AnyTool<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnyTool<'a> {
    Own { name: &'a str, description: &'a str, input_schema: &'a Value },
    Hosted(WireHostedTool<'a>),
}

/// A tool of the vendor's own; see [`crate::hosted`].
#[derive(Serialize)]
#[serde(tag = "type")]
enum WireHostedTool<'a> {
    #[serde(rename = "code_execution_20250825")]
    CodeExecution { name: &'static str },
    #[serde(rename = "web_search_20250305")]
    WebSearch {
        name: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_uses: Option<u32>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        allowed_domains: &'a [String],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        blocked_domains: &'a [String],
    },
}

#[derive(Serialize)]
struct WireTurn<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a Value>,
    },
    Thinking {
        thinking: &'a str,
        signature: Cow<'a, str>,
    },
    RedactedThinking {
        data: Cow<'a, str>,
    },
    ToolUse {
        id: String,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "ToolResultContent::is_nothing")]
        content: ToolResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        source: FileSource<'a>,
    },
    Document {
        source: FileSource<'a>,
    },
    #[serde(untagged)]
    Raw(Cow<'a, Value>),
}

/// What a tool said: text alone, or with what it shows.
#[derive(Serialize)]
#[serde(untagged)]
enum ToolResultContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<ContentBlock<'a>>),
}

impl ToolResultContent<'_> {
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

/// A file, in the body itself.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum FileSource<'a> {
    Base64 { media_type: &'a str, data: Base64<'a> },
}

/// The body of a streamed request.
///
/// # Errors
/// When the conversation has nothing to send.
pub(super) fn body(request: &Request) -> Result<Vec<u8>, ProviderError> {
    let mark = CacheControl::of(request.parameters.cache_retention);
    let mut messages = turns(&request.messages);
    if messages.is_empty() {
        return Err(wire::nothing_to_send());
    }
    let ThinkingSettings { max_tokens, thinking, effort, temperature } =
        family::ask(&request.model, &request.parameters);
    // The marks: behind the tools, behind the system prompt, and behind what the user said last.
    let last = messages.iter_mut().rfind(|turn| turn.role == USER).and_then(|turn| turn.content.last_mut());
    if let Some(last) = last {
        last.cache_control = mark;
    }
    let mut tools: Vec<_> = request.tools.iter().map(tool).chain(request.hosted.iter().map(hosted)).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = mark;
    }
    let body = Body {
        model: &request.model,
        max_tokens,
        stream: true,
        thinking,
        output_config: effort.map(|effort| OutputConfig { effort }),
        temperature,
        tools,
        system: request.system.as_deref().filter(|text| is_visible(text)).map(|text| match mark {
            Some(cache_control) => System::Marked([SystemBlock { r#type: "text", text, cache_control }]),
            None => System::Plain(text),
        }),
        messages,
    };
    wire::to_json(&body)
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let ToolSpec { name, description, input_schema, .. } = spec;
    Tool { tool: AnyTool::Own { name, description, input_schema }, cache_control: None }
}

fn hosted(tool: &HostedToolSpec) -> Tool<'_> {
    let name = tool.tool().name();
    let tool = match tool {
        HostedToolSpec::CodeExecution => WireHostedTool::CodeExecution { name },
        HostedToolSpec::WebSearch(limits) => WireHostedTool::WebSearch {
            name,
            max_uses: limits.max_uses,
            allowed_domains: &limits.allowed_domains,
            blocked_domains: &limits.blocked_domains,
        },
    };
    Tool { tool: AnyTool::Hosted(tool), cache_control: None }
}

/// The messages as turns, which alternate.
fn turns<'a, M: AsRef<Message>>(messages: &'a [M]) -> Vec<WireTurn<'a>> {
    let mut whole = whole(messages).into_iter();
    let encode = |part: &'a Part, ids: &mut CallIds<'a>| match part {
        Part::HostedUse { .. } | Part::HostedResult { .. } if whole.next() != Some(true) => None,
        part => piece(part, ids),
    };
    let is_result = |piece: &Piece<'_>| matches!(piece, Piece::Block(ContentBlock::ToolResult { .. }));
    let parts = |message| wire::thinking_first(message, NAME, |_| true);
    let turns = wire::turns(messages, parts, &mut wire::plain_ids::<MAX_CALL_ID>(), encode, is_result);
    let mut turns: Vec<_> = turns.into_iter().map(|(role, pieces)| (role, cite(pieces))).collect();
    // A turn of nothing but citations has lost what it cites.
    turns.retain(|(_, blocks)| !blocks.is_empty());
    // A reply that is to be continued must not end in white space.
    if let Some((Role::Assistant, blocks)) = turns.last_mut()
        && let Some(ContentBlock::Text { text, .. }) = blocks.last_mut()
    {
        *text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
            Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
        };
    }
    turns
        .into_iter()
        .map(|(role, content)| WireTurn {
            role: match role {
                Role::User => USER,
                Role::Assistant => "assistant",
            },
            content: content.into_iter().map(|block| Content { block, cache_control: None }).collect(),
        })
        .collect()
}

/// A part of a message, before its citations have found their text.
enum Piece<'a> {
    Block(ContentBlock<'a>),
    /// What the text before it cites.
    Citations(&'a Value),
}

/// Gives citations back to the words that they belong to.
fn cite(pieces: Vec<Piece<'_>>) -> Vec<ContentBlock<'_>> {
    let mut blocks = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Block(block) => blocks.push(block),
            Piece::Citations(raw) => {
                let before = blocks.pop_if(|block| matches!(block, ContentBlock::Text { citations: None, .. }));
                match before {
                    Some(ContentBlock::Text { text: Cow::Borrowed(text), .. }) => {
                        let passages = cited::cut(text, raw).into_iter();
                        blocks.extend(passages.map(|passage| plain(passage.text, passage.citations)));
                    }
                    other => blocks.extend(other),
                }
            }
        }
    }
    blocks
}

fn plain<'a>(text: &'a str, citations: Option<&'a Value>) -> ContentBlock<'a> {
    ContentBlock::Text { text: Cow::Borrowed(text), citations }
}

/// Whether each hosted call and each hosted result has its other half, in the order of the conversation: the API
/// refuses a call that has lost its result, and a result that has lost its call. A result belongs to the nearest call
/// before it that has its id. In the reply that is still going on a call has no result yet: the vendor has paused, or
/// waits for a tool of ours.
fn whole<M: AsRef<Message>>(messages: &[M]) -> Vec<bool> {
    let is_reply = |message: &M| message.as_ref().role == Role::Assistant;
    let end = messages.iter().rposition(is_reply).map_or(0, |last| last + 1);
    let begin = messages[..end].iter().rposition(|message| !is_reply(message)).map_or(0, |last| last + 1);
    let answers = |message: &M| message.as_ref().parts.iter().any(|part| matches!(part, Part::ToolResult { .. }));
    let goes_on = messages[end..].is_empty() || messages[end..].iter().any(answers);
    let mut whole = Vec::new();
    // The places of the calls without a result so far.
    let mut open: HashMap<&CallId, Vec<usize>> = HashMap::new();
    for (nth, message) in messages.iter().enumerate() {
        for part in &message.as_ref().parts {
            match part {
                Part::HostedUse { id, .. } => {
                    open.entry(id).or_default().push(whole.len());
                    whole.push(goes_on && (begin..end).contains(&nth));
                }
                Part::HostedResult { id, .. } => {
                    let call = open.get_mut(id).and_then(Vec::pop);
                    if let Some(call) = call {
                        whole[call] = true;
                    }
                    whole.push(call.is_some());
                }
                _ => {}
            }
        }
    }
    whole
}

/// The part as the API has it; `None` for what it does not take.
fn piece<'a>(part: &'a Part, ids: &mut CallIds<'a>) -> Option<Piece<'a>> {
    Some(Piece::Block(match part {
        Part::Text(text) => plain(Some(text).filter(|text| is_visible(text))?, None),
        Part::Attachment(attachment) => {
            let note =
                || ContentBlock::Text { text: attachment.in_words().unwrap_or_default().into(), citations: None };
            shown(attachment).unwrap_or_else(note)
        }
        Part::Thinking { text, signature } => {
            ContentBlock::Thinking { thinking: text, signature: ours(signature.as_ref()?)? }
        }
        Part::RedactedThinking(signature) => ContentBlock::RedactedThinking { data: ours(signature)? },
        Part::ToolUse { id, name, input } => ContentBlock::ToolUse { id: ids.call(id).id, name, input: object(input) },
        Part::ToolResult { id, output, is_error, attachments } => ContentBlock::ToolResult {
            tool_use_id: ids.result(id),
            content: said(output, *is_error, attachments),
            is_error: *is_error,
        },
        Part::HostedUse { provider, raw, .. } => {
            let raw = Some(raw).filter(|_| provider == NAME)?;
            ContentBlock::Raw(match raw.get(CALL).and_then(Value::as_str) {
                Some(id) => call_ids::with_id(raw, CALL, &ids.hosted_call(id)),
                None => Cow::Borrowed(raw),
            })
        }
        Part::HostedResult { provider, raw, .. } => {
            let raw = Some(raw).filter(|_| provider == NAME)?;
            ContentBlock::Raw(match raw.get(ANSWERED).and_then(Value::as_str) {
                Some(id) => call_ids::with_id(raw, ANSWERED, &ids.hosted_result(id)),
                None => Cow::Borrowed(raw),
            })
        }
        Part::Citations { provider, raw, .. } => {
            return raw.as_ref().filter(|_| provider == NAME).map(Piece::Citations);
        }
    }))
}

/// The content of a tool's result. The API takes nothing but text in an error.
fn said<'a>(output: &'a str, is_error: bool, attachments: &'a [Attachment]) -> ToolResultContent<'a> {
    let output = if is_error && !is_visible(output) { SILENT_ERROR } else { output };
    let mut text = Cow::Borrowed(output);
    let mut blocks = Vec::new();
    for attachment in attachments {
        match shown(attachment).filter(|_| !is_error) {
            Some(block) => blocks.push(block),
            None => {
                let note = attachment.note();
                let note = note.unwrap_or_else(|| format!("[{} was left out: {TEXT_ONLY}]", attachment.path.display()));
                let gap = if is_visible(&text) { "\n\n" } else { "" };
                text.to_mut().push_str(&format!("{gap}{note}"));
            }
        }
    }
    if blocks.is_empty() {
        return ToolResultContent::Text(text);
    }
    if is_visible(&text) {
        blocks.insert(0, ContentBlock::Text { text, citations: None });
    }
    ToolResultContent::Blocks(blocks)
}

/// An image or a PDF; `None` if it is not to be sent.
fn shown(attachment: &Attachment) -> Option<ContentBlock<'_>> {
    let data = Base64(attachment.bytes()?);
    let source = FileSource::Base64 { media_type: &attachment.media_type, data };
    Some(if attachment.is_pdf() { ContentBlock::Document { source } } else { ContentBlock::Image { source } })
}

/// The signature's value, if this vendor signed.
///
/// The vendor's own value is base64 of bytes that are not text. Other tools encode it in base64 once more: then what
/// comes out of it is base64 again.
fn ours(signature: &Signature) -> Option<Cow<'_, str>> {
    let value = wire::signed_by(NAME, signature)?;
    let inner = from_base64(value).and_then(|bytes| String::from_utf8(bytes).ok());
    let twice = inner.filter(|inner| inner.len() >= LEAST_SIGNATURE && from_base64(inner).is_some());
    Some(twice.map_or(Cow::Borrowed(value), Cow::Owned))
}
