//! Parts of a request that a host has refused and that it can do without.
//!
//! Where the words of an error say so ([`Optional::refused`]), the error has a [`Refusal`]. Whoever sends requests
//! keeps it in [`Refusals`] for the session, so that the next request to that host for that model goes without the part.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::{
    ProviderError, Request, Server,
    context_overflow::numbers,
    dialect::{Dialect, USER},
    reply::items,
    wire,
};
use flemma_model::Part;

/// A part that a host has refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A field of the body.
    Field(&'static str),
    /// Images and PDFs: those that the request had, as the document names them, and the end of a sentence that says why
    /// they are left out.
    Files(Vec<PathBuf>, String),
    /// The form that something has; it gets this one.
    Form(Form),
}

/// A form that hosts take in the place of the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The limit of a reply in this field.
    Limit(&'static str),
    /// The instructions in front of what the user says first.
    SystemInUser,
    /// No part that a server has signed.
    Unsigned,
    /// Calls with a placeholder where their thinking is not known.
    ThinkingWithCalls,
    /// An empty text where a message has only calls.
    EmptyContent,
}

/// The fields that a request can do without, and the words that servers have for them. They are looked for in lower case.
const FIELDS: [(&str, &[&str]); 13] = [
    ("stream_options", &["stream_options", "include_usage", "stream options"]),
    ("max_completion_tokens", &["max_completion_tokens"]),
    ("max_tokens", &["max_tokens"]),
    ("max_output_tokens", &["max_output_tokens"]),
    ("temperature", &["temperature"]),
    ("reasoning_effort", &["reasoning_effort", "reasoningeffort", "thinking"]),
    ("reasoning", &["reasoning"]),
    ("thinking", &["thinking"]),
    ("output_config", &["output_config", "effort"]),
    ("parallel_tool_calls", &["parallel_tool_calls"]),
    ("prompt_cache_options", &["prompt_cache_options"]),
    ("prompt_cache_retention", &["prompt_cache_retention"]),
    // A word of the language as well.
    ("include", &["'include'", "`include`", "\"include\""]),
];

/// The fields for the limit of a reply in Chat Completions.
const LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// How servers say that they do not take a field, whatever its value.
const NOT_TAKEN: [&str; 14] = [
    "not support",
    "n't support",
    "unsupported",
    "not permitted",
    "not allowed",
    "extra_forbidden",
    "unknown",
    "unrecognized",
    "unexpected",
    "deprecated",
    "must be one of",
    "cannot both",
    "can only be",
    // What Anthropic writes about a reply whose thinking was left out.
    "must start with a thinking block",
];

/// How they say that it is about who asks, and not about what is asked.
const ABOUT_SENDER: [&str; 5] = ["policy", "policies", "region", "country", "this user"];

/// How they call images and PDFs.
const FILES: [&str; 10] = [
    "image",
    "vision",
    "multimodal",
    "multi-modal",
    "mmproj",
    "pdf",
    "`file`",
    "content type",
    "content part",
    "content must be a string",
];

/// How they say that they do not take those, besides [`NOT_TAKEN`].
const NOT_SEEN: [&str; 8] = [
    "only supported by",
    "support image input",
    "not a multimodal",
    "at most 0",
    "not enabled",
    "mmproj",
    "missing data required for",
    "content must be a string",
];

/// What says that they do not take one of them, for what it is.
const NOT_THIS: [&str; 6] = ["format", "mime", "media type", "media_type", "too large", "exceed"];

/// How they call the thinking that led to a call.
const THINKING: &str = "reasoning_content";

/// How they call the instructions.
const SYSTEM: [&str; 9] = [
    "system role",
    "role 'system'",
    "system message",
    "system prompt",
    "system instruction",
    "developer instruction",
    "developer role",
    "only user and assistant roles",
    "roles must alternate",
];

/// How they say that they do not take those, besides [`NOT_TAKEN`].
const NO_SYSTEM: [&str; 3] = ["not enabled", "only user and assistant roles", "roles must alternate"];

/// How they call the tools, and say that they have none, besides [`NOT_TAKEN`].
const TOOLS: [&str; 9] = [
    "tools",
    "tool use",
    "tool choice",
    "tool_choice",
    "tool calling",
    "tool calls",
    "function calling",
    "tool role",
    "`tool`",
];
const NO_TOOLS: [&str; 2] = ["requires --", "no endpoints found"];

/// How they say that a reply may not be as long as it is asked to be, and how they call its length.
const TOO_LONG: [&str; 8] = ["too large", "too high", "at most", "less than", "exceed", "range", "fewer", "maximum"];
const LENGTH: [&str; 6] =
    ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens", "max tokens", "completion tokens"];

/// What a request has that it can do without, or have in another form.
#[derive(Default)]
pub(super) struct Optional {
    fields: Vec<&'static str>,
    files: Vec<PathBuf>,
    /// The host and the model.
    taker: String,
    has_tools: bool,
    has_system: bool,
    has_signed: bool,
    /// Calls whose message has no thinking, or no text.
    has_unthought: bool,
    has_null: bool,
    max_tokens: Option<u32>,
}

impl Optional {
    /// What is optional in `request`, which is sent to `host` as `body`.
    pub fn of(request: &Request, host: &str, body: &Value) -> Self {
        let fields = FIELDS.iter().map(|(field, _)| *field).filter(|field| body.get(field).is_some());
        let parts = || request.messages.iter().flat_map(|message| &message.parts);
        let files = parts().flat_map(Part::attachments).filter(|attachment| attachment.bytes().is_some());
        let calls: Vec<_> =
            items(body, "messages").iter().filter(|message| message.get("tool_calls").is_some()).collect();
        Self {
            fields: fields.collect(),
            files: files.map(|attachment| attachment.path.clone()).collect(),
            taker: format!("{host} with the model {}", request.model),
            has_tools: !request.tools.is_empty(),
            has_system: wire::system(request).is_some(),
            has_signed: parts().any(Request::is_signed),
            has_unthought: calls.iter().any(|message| message.get(THINKING).is_none()),
            has_null: calls.iter().any(|message| message["content"].is_null()),
            max_tokens: request.parameters.max_tokens,
        }
    }

    /// The part that the words of an error refuse. `names` are those of the error. Words that only quote what was sent
    /// refuse nothing.
    pub fn refused(&self, words: &str, names: &[String]) -> Option<Refusal> {
        if words.contains("\"messages\":") || self.advice(words, names).is_some() {
            return None;
        }
        let is_this = NOT_THIS.iter().any(|sign| words.to_ascii_lowercase().contains(sign));
        let found = clauses(words, names).iter().find_map(|clause| self.refused_by(clause));
        found.filter(|found| !(is_this && matches!(found, Refusal::Files(..))))
    }

    fn refused_by(&self, words: &str) -> Option<Refusal> {
        let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
        let is_taken = !says(&NOT_TAKEN) || says(&ABOUT_SENDER);
        let fields = FIELDS.iter().filter(|(field, _)| self.fields.contains(field));
        // The first that is named: others may be what to use in its place.
        let named = fields
            .filter_map(|(field, names)| Some((names.iter().filter_map(|name| position(words, name)).min()?, *field)));
        if let Some((_, field)) = named.min().filter(|_| !is_taken) {
            return Some(Refusal::Field(field));
        }
        let forms = [
            (self.has_system && says(&SYSTEM) && (!is_taken || says(&NO_SYSTEM)), Form::SystemInUser),
            (
                self.has_signed
                    && (says(&["signature"]) && says(&["thinking", "thought"])
                        || says(&["encrypted content", "encrypted_content"]))
                    && says(&["invalid", "verif", "decrypt", "corrupt"]),
                Form::Unsigned,
            ),
            (self.has_unthought && says(&[THINKING]) && says(&["missing", "passed back"]), Form::ThinkingWithCalls),
            (
                self.has_null
                    && self.files.is_empty()
                    && says(&["content"])
                    && says(&["must be a string", "<nil>", "null", "none"]),
                Form::EmptyContent,
            ),
        ];
        if let Some((_, form)) = forms.into_iter().find(|(is_refused, _)| *is_refused) {
            return Some(Refusal::Form(form));
        }
        let takes_none = (!is_taken || says(&NOT_SEEN)) && !says(&ABOUT_SENDER);
        let is_about_files = !self.files.is_empty() && says(&FILES) && takes_none;
        is_about_files.then(|| Refusal::Files(self.files.clone(), format!("{} takes no images or PDFs", self.taker)))
    }

    /// What the user can do about the words of an error that the next request cannot do itself.
    pub fn advice(&self, words: &str, names: &[String]) -> Option<String> {
        let is_without_tools = |clause: &String| {
            let says = |signs: &[&str]| signs.iter().any(|sign| clause.contains(sign));
            TOOLS.iter().any(|name| position(clause, name).is_some()) && (says(&NOT_TAKEN) || says(&NO_TOOLS))
        };
        if self.has_tools && clauses(words, names).iter().any(is_without_tools) {
            return Some(
                "with this model it takes no tools; turn them off with `flemma.opt.tools = {}`, or have the model write \
                 its calls with `parameters.tool_protocol = \"xml\"`"
                    .to_owned(),
            );
        }
        let asked = self.max_tokens?;
        let words = words.to_ascii_lowercase();
        let is_about_length = LENGTH.iter().any(|name| position(&words, name).is_some());
        if !is_about_length || !TOO_LONG.iter().any(|sign| words.contains(sign)) {
            return None;
        }
        // Where it depends on the conversation, no number in the words is the limit.
        let least =
            numbers(&words).filter(|number| *number < u64::from(asked) && !words.contains("context length")).max();
        let to = least.map(|least| format!(" to at most {least}")).unwrap_or_default();
        Some(format!("lower `parameters.max_tokens`{to}; it is {asked}"))
    }
}

/// The clauses of an error, in lower case, each with what the error names.
fn clauses(words: &str, names: &[String]) -> Vec<String> {
    let names: String = names.iter().map(|name| format!(" '{name}'")).collect();
    words.split(". ").map(|clause| format!("{clause}{names}").to_ascii_lowercase()).collect()
}

/// Where a name stands as a word of its own, and neither as one of a path nor as a key of JSON: that quotes a request.
fn position(words: &str, name: &str) -> Option<usize> {
    let is_inside = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_key = |rest: &str| {
        let value =
            rest.trim_start_matches('\\').strip_prefix('"').and_then(|rest| rest.trim_start().strip_prefix(':'));
        let value = value.map_or("", str::trim_start);
        value.starts_with(|c: char| "{[\"-".contains(c) || c.is_ascii_digit())
            || ["true", "false", "null"].iter().any(|word| value.starts_with(word))
    };
    let is_index = |rest: &str| {
        rest.starts_with('[')
            || rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut found = words.match_indices(name).map(|(at, _)| (at, &words[at + name.len()..]));
    let (at, _) = found.find(|(at, rest)| {
        !words[..*at].ends_with(is_inside) && !rest.starts_with(is_inside) && !is_key(rest) && !is_index(rest)
    })?;
    Some(at)
}

impl Refusal {
    /// The same, where the words of the error name the field to use in its place.
    pub(super) fn or_other(self, words: &str) -> Self {
        match self {
            Self::Field(field) if LIMITS.contains(&field) => {
                let other = LIMITS.into_iter().find(|other| *other != field && position(words, other).is_some());
                other.map_or(self, |other| Self::Form(Form::Limit(other)))
            }
            _ => self,
        }
    }

    /// What the user is told, as the end of a sentence.
    pub(super) fn sentence(&self) -> String {
        let sentence = match self {
            Self::Field(field) => return format!("it does not take `{field}`, which is left out from now on"),
            Self::Form(Form::Limit(field)) => {
                return format!("it takes `{field}`, which is sent from now on (`dialect.limit`)");
            }
            Self::Files(..) => "with this model it takes no images or PDFs, which are left out from now on",
            Self::Form(Form::SystemInUser) => {
                "it takes no system message, whose text goes in front of your first message from now on"
            }
            Self::Form(Form::Unsigned) => {
                "it does not take thinking that another server or organisation has signed; signed thinking is left out from now on"
            }
            Self::Form(Form::ThinkingWithCalls) => {
                "it wants the thinking that led to each call; a placeholder is sent from now on where it is not known"
            }
            Self::Form(Form::EmptyContent) => {
                "it wants a text in each message; an empty one is sent from now on where there are only calls"
            }
        };
        sentence.to_owned()
    }

    /// The dialect without the part.
    pub(super) fn apply(&self, dialect: &mut Dialect) {
        match self {
            Self::Field(field) => dialect.without.push((*field).to_owned()),
            Self::Files(..) => dialect.files = false,
            Self::Form(Form::Limit(field)) => dialect.limit = (*field).to_owned(),
            Self::Form(Form::SystemInUser) => USER.clone_into(&mut dialect.system_role),
            Self::Form(Form::Unsigned) => dialect.signed = false,
            Self::Form(Form::ThinkingWithCalls) => dialect.thinking_with_calls = true,
            Self::Form(Form::EmptyContent) => dialect.null_content = false,
        }
    }
}

/// What hosts have refused in this session.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<HashMap<(String, String), Vec<Refusal>>>);

impl Refusals {
    fn known(&self) -> MutexGuard<'_, HashMap<(String, String), Vec<Refusal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server, which leaves out what its host has refused for a model.
    pub fn tell(&self, server: Server, model: &str) -> Server {
        let refused = self.known().get(&(server.host(), model.to_owned())).cloned().unwrap_or_default();
        Server { refused, ..server }
    }

    /// Keeps what an error of the server says about a model.
    pub fn learn(&self, server: &Server, model: &str, error: &ProviderError) {
        if let Some(refused) = &error.refused {
            self.known().entry((server.host(), model.to_owned())).or_default().push(refused.clone());
        }
    }
}
