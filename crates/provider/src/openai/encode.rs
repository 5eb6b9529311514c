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

use serde_json::{Value, json};

use super::{
    Effort, NAME,
    effort::{self, Family},
    reasoning,
};
use crate::{
    CacheRetention, HostedTool, ProviderError, Request, ToolSpec,
    call_ids::{CallIds, renamed},
    dialect::Dialect,
    reply::str_of,
    wire::{self, PieceKind, is_visible},
};
use flemma_model::{Attachment, HostedBlock, Part, Role};

/// The fewest tokens that the API takes as the reply's limit.
const MIN_OUTPUT_TOKENS: u32 = 16;

/// The most letters of the id of a call or an item.
const MAX_CALL_ID: usize = 64;

/// Letters of the cache key: enough that two conversations never meet.
const CACHE_KEY_LETTERS: usize = 32;

/// Whether it is a part of a message, and not an item of its own.
fn is_said(piece: &Value) -> bool {
    piece["type"].as_str().is_some_and(|kind| kind.starts_with("input_"))
}

impl wire::Piece for Value {
    fn kind(&self) -> PieceKind {
        match str_of(self, "type") {
            "function_call_output" => PieceKind::Result(0),
            "reasoning" => PieceKind::Thinking,
            _ if is_said(self) => PieceKind::Said,
            _ => PieceKind::Call,
        }
    }

    fn words(words: &'static str) -> Self {
        input_text(words)
    }
}

/// The body of a streamed request to `host`, which speaks this dialect. `effort` beats what the request says about thinking.
///
/// # Errors
/// When the conversation has nothing to send.
pub(super) fn body(
    request: &Request,
    effort: Option<Effort>,
    host: &str,
    dialect: &Dialect,
) -> Result<Value, ProviderError> {
    let Request { parameters, .. } = request;
    let family = Family::of(&request.model);
    let input = input(request, family, host, dialect);
    if input.is_empty() {
        return Err(wire::nothing_to_send());
    }
    let limit = limit(request, effort);
    let (effort, is_wanted) = asked(request, effort);
    let reasons = family.map_or(effort.is_some(), |family| family.reasons());
    let tools: Vec<_> = request.tools.iter().map(tool).chain(request.hosted.iter().map(hosted)).collect();
    let instructions = wire::system(request);
    let keep = family.map(|family| family.keep(parameters.cache_retention));
    let (kept_for, cache_options) = keep.unwrap_or_default();
    let caches = parameters.cache_retention != CacheRetention::None;
    let summary = is_wanted.then_some("auto");
    let reasoning = effort.map(|effort| wire::sparse(json!({ "effort": effort, "summary": summary })));
    let body = json!({
        "model": request.model,
        "stream": true,
        "store": false,
        "include": include(reasons, &request.hosted),
        "reasoning": reasoning,
        // The API takes no temperature for a model that reasons.
        "temperature": wire::temperature(request).filter(|_| !reasons),
        "max_output_tokens": limit,
        "prompt_cache_key": caches.then(|| cache_key(instructions, &tools, &input)),
        "prompt_cache_retention": kept_for,
        "prompt_cache_options": cache_options,
        "parallel_tool_calls": (!tools.is_empty()).then_some(true),
        // The API counts all hosted calls together: the searches are never more than that.
        "max_tool_calls": request.hosted.iter().find_map(|tool| match tool {
            HostedTool::WebSearch(limits) => limits.max_uses,
            HostedTool::CodeExecution => None,
        }),
        "tools": tools,
        "instructions": instructions,
        "input": input,
    });
    Ok(wire::body(body, dialect))
}

/// The most tokens that the reply to a request may have; `None` leaves it to the API.
pub(super) fn limit(request: &Request, effort: Option<Effort>) -> Option<u32> {
    let (effort, is_wanted) = asked(request, effort);
    let room = effort.filter(|_| is_wanted).map_or(0, Effort::room);
    request.parameters.max_tokens.map(|tokens| wire::with_room(tokens, room).max(MIN_OUTPUT_TOKENS))
}

/// The effort that is asked for, where the user's own is this, and whether thinking is wanted.
fn asked(request: &Request, effort: Option<Effort>) -> (Option<Effort>, bool) {
    let thinking = request.parameters.thinking;
    let is_wanted = effort.map_or(thinking.level().is_some(), |effort| effort != Effort::None);
    (effort.or_else(|| effort::effort(Family::of(&request.model), thinking)), is_wanted)
}

/// A key under which the vendor finds what it has read of this conversation: a hash of what its requests have in
/// common, so that it contains nothing of the user's. Of their first message that is the first part: it goes on where
/// the first reply has nothing that is sent.
fn cache_key(instructions: Option<&str>, tools: &[Value], input: &[Value]) -> String {
    let first = input.first().map(|first| first["content"].get(0).unwrap_or(first).to_string()).unwrap_or_default();
    let tools = Value::from(tools).to_string();
    let mut key = wire::hex(&[instructions.unwrap_or_default().as_bytes(), tools.as_bytes(), first.as_bytes()]);
    key.truncate(CACHE_KEY_LETTERS);
    key
}

/// A tool. `strict` is never left out: the API makes a schema strict on its own where nothing is said.
fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": wire::with_properties(&spec.input_schema),
        "strict": spec.strict,
    })
}

fn hosted(tool: &HostedTool) -> Value {
    match tool {
        HostedTool::CodeExecution => json!({ "type": "code_interpreter", "container": { "type": "auto" } }),
        HostedTool::WebSearch(limits) if limits.allowed_domains.is_empty() => json!({ "type": "web_search" }),
        HostedTool::WebSearch(limits) => {
            json!({ "type": "web_search", "filters": { "allowed_domains": limits.allowed_domains } })
        }
    }
}

/// What the items of a reply should bring in addition: where nothing is stored, it can never be fetched later.
fn include(reasons: bool, hosted: &[HostedTool]) -> Vec<&'static str> {
    let hosted = hosted.iter().map(|tool| match tool {
        HostedTool::CodeExecution => "code_interpreter_call.outputs",
        HostedTool::WebSearch(_) => "web_search_call.action.sources",
    });
    reasons.then_some("reasoning.encrypted_content").into_iter().chain(hosted).collect()
}

/// The conversation as items.
fn input(request: &Request, family: Option<&Family>, host: &str, dialect: &Dialect) -> Vec<Value> {
    let host = family.is_none_or(Family::reasons).then_some(host);
    let encode = |message, ids: &mut _| {
        let parts = wire::thinking_first(message, NAME, |part| matches!(part, Part::ToolUse { .. }));
        parts.into_iter().filter_map(|part| piece(part, host, ids)).collect()
    };
    let turns = wire::turns(&request.messages, dialect, wire::plain_ids::<MAX_CALL_ID>(), encode);
    let mut items = Vec::new();
    for (role, pieces) in turns {
        match role {
            Role::User => said_by_user(pieces, &mut items),
            Role::Assistant => said_by_model(pieces, family.is_some_and(|family| family.phases), &mut items),
        }
    }
    items
}

/// The part as the API has it, an item or a part of a message; `None` for what it does not take. `host` gets its own
/// reasoning, if the model does any.
fn piece<'a>(part: &'a Part, host: Option<&str>, ids: &mut CallIds<'a>) -> Option<Value> {
    Some(match part {
        Part::Text(text) => return is_visible(text).then(|| input_text(text)),
        Part::Attachment(attachment) => shown(attachment),
        Part::Thinking { signature: Some(signature), .. } | Part::RedactedThinking(signature) => {
            let item = reasoning::item(signature, Some(host?))?;
            // The API refuses an item that comes twice.
            renamed(&item, "id", |id| ids.unique(id.into()))
        }
        Part::ToolUse { id, name, input } => {
            let arguments = wire::object(input).to_string();
            json!({ "type": "function_call", "call_id": ids.call(id).id, "name": name, "arguments": arguments })
        }
        Part::ToolResult { id, output, is_error, attachments } => {
            let output = said(&wire::with_notes(wire::marked(output, *is_error), attachments), attachments);
            json!({ "type": "function_call_output", "call_id": ids.result(id), "output": output })
        }
        // The item of a hosted call is with its result; what is cited is in the text.
        Part::Hosted(hosted) => match hosted.block {
            HostedBlock::Result { .. } => renamed(hosted.raw_of(NAME)?, "id", |id| ids.unique(id.into())),
            HostedBlock::Call { .. } | HostedBlock::Citations { .. } => return None,
        },
        Part::Thinking { signature: None, .. } => return None,
    })
}

fn input_text(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

/// What a tool said: text alone, or with what it shows.
fn said(text: &str, attachments: &[Attachment]) -> Value {
    let files: Vec<_> = attachments.iter().filter(|attachment| attachment.bytes().is_some()).map(shown).collect();
    if files.is_empty() {
        return text.into();
    }
    let text = is_visible(text).then(|| input_text(text));
    text.into_iter().chain(files).collect()
}

/// A file, or what is said in its place. The SDK's types want `detail` said of a user's image.
fn shown(attachment: &Attachment) -> Value {
    match wire::data_url(attachment) {
        None => input_text(&attachment.in_words().unwrap_or_default()),
        Some(data) if attachment.is_pdf() => {
            json!({ "type": "input_file", "filename": attachment.name(), "file_data": data })
        }
        Some(url) => json!({ "type": "input_image", "image_url": url, "detail": "auto" }),
    }
}

/// The outputs, then one message with everything else.
fn said_by_user(pieces: Vec<Value>, items: &mut Vec<Value>) {
    let (parts, outputs): (Vec<_>, Vec<_>) = pieces.into_iter().partition(is_said);
    items.extend(outputs);
    if !parts.is_empty() {
        items.push(json!({ "type": "message", "role": "user", "content": parts }));
    }
}

/// What the model said, item by item: its words are a plain string, and it shows no files. Prose before a call is
/// commentary, prose behind the last one the answer: newer models mark theirs so and do worse when the mark is missing.
fn said_by_model(pieces: Vec<Value>, phases: bool, items: &mut Vec<Value>) {
    let last_call = pieces.iter().rposition(|piece| !is_said(piece));
    for (nth, piece) in pieces.into_iter().enumerate() {
        if piece["type"] == "input_text" {
            let mut message = json!({ "type": "message", "role": "assistant", "content": piece["text"] });
            if phases {
                let is_before = last_call.is_some_and(|call| nth < call);
                message["phase"] = if is_before { "commentary" } else { "final_answer" }.into();
            }
            items.push(message);
        } else if !is_said(&piece) {
            items.push(piece);
        }
    }
}
