//! The body of a request.
//!
//! The same conversation always gives the same bytes, and a longer one the same bytes up to where it grew: the
//! vendor's prompt cache compares prefixes. So the keys have one order, what changes least comes first, and
//! `input` is last.
//!
//! The conversation is a list of items: what the user says, what the model says, calls and their outputs, and the
//! model's reasoning, which only this vendor can read. What the API refuses is not sent: text without a visible
//! character, reasoning that another vendor signed or that nothing follows, an option that the model does not take,
//! what another provider ran. A hosted tool's call and its outcome are one item, which goes back as it came.
//! The fields are those of `ResponseCreateParams` in the vendor's SDK.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{
    Effort, NAME,
    effort::{self, CachePolicy, Family},
    reasoning::{Reasoning, ReasoningItem},
};
use crate::{
    CacheRetention, HostedToolSpec, ProviderError, Request, SearchLimits, ToolSpec,
    call_ids::{self, CallIds},
    wire::{self, DataUrl, is_visible},
};
use flemma_model::{Attachment, Part, Role};

/// The fewest tokens that the API takes as the reply's limit.
const MIN_OUTPUT_TOKENS: u32 = 16;

/// The most letters of the id of a call or an item.
const MAX_CALL_ID: usize = 64;

/// Letters of the cache key: enough that two conversations never meet.
const CACHE_KEY_LETTERS: usize = 32;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_options: Option<CacheOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct ReasoningOptions {
    effort: Effort,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CacheOptions {
    Mode(&'static str),
    Ttl(&'static str),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: Cow<'a, Value>,
        /// Never left out: the API makes a schema strict on its own where nothing is said.
        strict: bool,
    },
    CodeInterpreter {
        container: Container,
    },
    WebSearch {
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<Filters<'a>>,
    },
}

/// Where the code runs: wherever the vendor likes.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Container {
    Auto,
}

#[derive(Serialize)]
struct Filters<'a> {
    allowed_domains: &'a [String],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'static str>,
    },
    FunctionCall {
        call_id: String,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: ToolOutput<'a>,
    },
    #[serde(untagged)]
    Reasoning(ReasoningItem),
    #[serde(untagged)]
    Hosted(Cow<'a, Value>),
}

/// What a message says: the model's words are a plain string, the user's may have parts of several kinds.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Plain(Cow<'a, str>),
    Parts(Vec<InputPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum InputPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image {
        image_url: DataUrl<'a>,
        /// The SDK's types want it said of a user's image.
        detail: &'static str,
    },
    #[serde(rename = "input_file")]
    File { filename: Cow<'a, str>, file_data: DataUrl<'a> },
}

/// What a tool said: text alone, or with what it shows.
#[derive(Serialize)]
#[serde(untagged)]
enum ToolOutput<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<InputPart<'a>>),
}

/// A part of a message, before the user's are gathered.
enum Piece<'a> {
    Said(InputPart<'a>),
    Item(Item<'a>),
}

/// The body of a streamed request. `effort` beats what the request says about thinking.
///
/// # Errors
/// When the conversation has nothing to send.
pub(super) fn body(request: &Request, effort: Option<Effort>) -> Result<Vec<u8>, ProviderError> {
    let Request { parameters, .. } = request;
    let family = Family::of(&request.model);
    let input = input(request, family.as_ref());
    if input.is_empty() {
        return Err(wire::nothing_to_send());
    }
    let limit = limit(request, effort);
    let wants_thinking = wants_thinking(request, effort);
    let effort = effort.or_else(|| effort::effort(family.as_ref(), parameters.thinking));
    let reasons = family.map_or(effort.is_some(), |family| family.reasons());
    let tools: Vec<_> = request.tools.iter().map(tool).chain(request.hosted.iter().map(hosted)).collect();
    let instructions = request.system.as_deref().filter(|text| is_visible(text));
    let keep = family.map_or(CachePolicy::Usual, |family| family.keep(parameters.cache_retention));
    let caches = parameters.cache_retention != CacheRetention::None;
    let body = Body {
        model: &request.model,
        stream: true,
        store: false,
        include: include(reasons, &request.hosted),
        reasoning: effort.map(|effort| ReasoningOptions { effort, summary: wants_thinking.then_some("auto") }),
        // The API takes no temperature for a model that reasons.
        temperature: parameters.temperature.filter(|value| value.is_finite() && !reasons),
        max_output_tokens: limit,
        prompt_cache_key: if caches { Some(cache_key(instructions, &tools, &input)?) } else { None },
        prompt_cache_retention: (keep == CachePolicy::ADay).then_some("24h"),
        prompt_cache_options: match keep {
            CachePolicy::HalfADay => Some(CacheOptions::Ttl("12h")),
            CachePolicy::Nothing => Some(CacheOptions::Mode("explicit")),
            CachePolicy::Usual | CachePolicy::ADay => None,
        },
        parallel_tool_calls: (!tools.is_empty()).then_some(true),
        // The API counts all hosted calls together: the searches are never more than that.
        max_tool_calls: request.hosted.iter().find_map(|tool| match tool {
            HostedToolSpec::WebSearch(limits) => limits.max_uses,
            HostedToolSpec::CodeExecution => None,
        }),
        tools,
        instructions,
        input,
    };
    wire::to_json(&body)
}

/// The most tokens that the reply to a request may have; `None` leaves it to the API.
pub(super) fn limit(request: &Request, effort: Option<Effort>) -> Option<u32> {
    let wanted = wants_thinking(request, effort);
    let family = Family::of(&request.model);
    let effort = effort.or_else(|| effort::effort(family.as_ref(), request.parameters.thinking));
    let room = effort.filter(|_| wanted).map_or(0, Effort::room);
    request.parameters.max_tokens.map(|tokens| wire::with_room(tokens, room).max(MIN_OUTPUT_TOKENS))
}

fn wants_thinking(request: &Request, effort: Option<Effort>) -> bool {
    effort.map_or(request.parameters.thinking.level().is_some(), |effort| effort != Effort::None)
}

/// A key under which the vendor finds what it has read of this conversation: a hash of what its requests have in
/// common, so that it contains nothing of the user's. Of their first message that is the first part: it goes on where
/// the first reply has nothing that is sent.
fn cache_key(instructions: Option<&str>, tools: &[Tool<'_>], input: &[Item<'_>]) -> Result<String, ProviderError> {
    let first = match input.first() {
        Some(Item::Message { content: Content::Parts(parts), .. }) => wire::to_json(&parts.first())?,
        first => wire::to_json(&first)?,
    };
    let mut key = wire::hex(&[instructions.unwrap_or_default().as_bytes(), &wire::to_json(&tools)?, &first]);
    key.truncate(CACHE_KEY_LETTERS);
    Ok(key)
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let parameters = wire::with_properties(&spec.input_schema);
    Tool::Function { name: &spec.name, description: &spec.description, parameters, strict: spec.strict }
}

fn hosted(tool: &HostedToolSpec) -> Tool<'_> {
    match tool {
        HostedToolSpec::CodeExecution => Tool::CodeInterpreter { container: Container::Auto },
        HostedToolSpec::WebSearch(SearchLimits { allowed_domains, .. }) => {
            Tool::WebSearch { filters: (!allowed_domains.is_empty()).then_some(Filters { allowed_domains }) }
        }
    }
}

/// What the items of a reply should bring in addition: where nothing is stored, it can never be fetched later.
fn include(reasons: bool, hosted: &[HostedToolSpec]) -> Vec<&'static str> {
    let mut include = Vec::new();
    if reasons {
        include.push("reasoning.encrypted_content");
    }
    include.extend(hosted.iter().map(|tool| match tool {
        HostedToolSpec::CodeExecution => "code_interpreter_call.outputs",
        HostedToolSpec::WebSearch(_) => "web_search_call.action.sources",
    }));
    include
}

/// The conversation as items.
fn input<'a>(request: &'a Request, family: Option<&Family>) -> Vec<Item<'a>> {
    let takes_reasoning = family.is_none_or(Family::reasons);
    let turns = wire::turns(
        &request.messages,
        |message| wire::thinking_first(message, NAME, |part| matches!(part, Part::ToolUse { .. })),
        &mut wire::plain_ids::<MAX_CALL_ID>(),
        |part, ids| piece(part, takes_reasoning, ids),
        |piece| matches!(piece, Piece::Item(Item::FunctionCallOutput { .. })),
    );
    let mut items = Vec::new();
    for (role, pieces) in turns {
        match role {
            Role::User => said_by_user(pieces, &mut items),
            Role::Assistant => said_by_model(pieces, family.is_some_and(|family| family.phases), &mut items),
        }
    }
    items
}

/// The part as the API has it; `None` for what it does not take.
fn piece<'a>(part: &'a Part, takes_reasoning: bool, ids: &mut CallIds<'a>) -> Option<Piece<'a>> {
    let item = match part {
        Part::Text(text) => return is_visible(text).then(|| Piece::Said(InputPart::Text { text: text.into() })),
        Part::Attachment(attachment) => return Some(Piece::Said(shown(attachment))),
        Part::Thinking { signature: Some(signature), .. } | Part::RedactedThinking(signature) => {
            let item = Some(Reasoning::item(signature)?).filter(|_| takes_reasoning)?;
            Item::Reasoning(item.with_id(|id| ids.unique(id)))
        }
        Part::ToolUse { id, name, input } => {
            Item::FunctionCall { call_id: ids.call(id).id, name, arguments: wire::object(input).to_string() }
        }
        Part::ToolResult { id, output, is_error, attachments } => Item::FunctionCallOutput {
            call_id: ids.result(id),
            output: said(wire::marked(output, *is_error), attachments),
        },
        Part::HostedResult { provider, raw, .. } => {
            let raw = Some(raw).filter(|_| provider == NAME)?;
            Item::Hosted(match raw.get("id").and_then(Value::as_str) {
                Some(id) => call_ids::with_id(raw, "id", &ids.unique(id.into())),
                None => Cow::Borrowed(raw),
            })
        }
        // The item of a hosted call is with its result; what is cited is in the text.
        Part::HostedUse { .. } | Part::Citations { .. } | Part::Thinking { signature: None, .. } => return None,
    };
    Some(Piece::Item(item))
}

/// What a tool said, and what it shows.
fn said<'a>(output: Cow<'a, str>, attachments: &'a [Attachment]) -> ToolOutput<'a> {
    let text = wire::with_notes(output, attachments);
    let files: Vec<_> = attachments.iter().filter(|attachment| attachment.bytes().is_some()).map(shown).collect();
    if files.is_empty() {
        return ToolOutput::Text(text);
    }
    let text = is_visible(&text).then_some(InputPart::Text { text });
    ToolOutput::Parts(text.into_iter().chain(files).collect())
}

/// A file, or what is said in its place.
fn shown(attachment: &Attachment) -> InputPart<'_> {
    match DataUrl::of(attachment) {
        None => InputPart::Text { text: attachment.in_words().unwrap_or_default().into() },
        Some(file_data) if attachment.is_pdf() => InputPart::File { filename: attachment.name(), file_data },
        Some(image_url) => InputPart::Image { image_url, detail: "auto" },
    }
}

/// The outputs, then one message with everything else.
fn said_by_user<'a>(pieces: Vec<Piece<'a>>, items: &mut Vec<Item<'a>>) {
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Said(part) => parts.push(part),
            Piece::Item(item) => items.push(item),
        }
    }
    if !parts.is_empty() {
        items.push(Item::Message { role: "user", content: Content::Parts(parts), phase: None });
    }
}

/// What the model said, item by item. Prose before a call is commentary, prose behind the last one the answer: newer
/// models mark theirs so and do worse when the mark is missing.
fn said_by_model<'a>(mut pieces: Vec<Piece<'a>>, phases: bool, items: &mut Vec<Item<'a>>) {
    // Reasoning that nothing follows is refused: an interrupted reply may end in it.
    let followed = pieces.iter().rposition(|piece| !matches!(piece, Piece::Item(Item::Reasoning(_))));
    pieces.truncate(followed.map_or(0, |last| last + 1));
    let last_call = pieces.iter().rposition(|piece| matches!(piece, Piece::Item(_)));
    for (nth, piece) in pieces.into_iter().enumerate() {
        items.push(match piece {
            Piece::Item(item) => item,
            Piece::Said(InputPart::Text { text }) => {
                let phase = if last_call.is_some_and(|call| nth < call) { "commentary" } else { "final_answer" };
                Item::Message { role: "assistant", content: Content::Plain(text), phase: phases.then_some(phase) }
            }
            // A model shows no files.
            Piece::Said(_) => continue,
        });
    }
}
