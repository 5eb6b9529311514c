//! The vendor's row, its options, and where its endpoints are.

use std::time::Duration;

use serde_json::json;

use super::{
    decode::GeminiReply,
    encode,
    signature::{self, SignedPart},
    thinking, token,
};
use crate::{
    ErrorKind, Exchange, ProviderError, Request, Server,
    attachment::AttachmentLimits,
    connection::{base_url, read_headers},
    credential::{KeySource, Program},
    hosted::{HostedProblem, HostedTool},
    vendor::Vendor,
    vendor_error::{Facts, Peer, VendorFailure},
};
use flemma_model::{
    MediaKind,
    options::{
        Kind,
        kinds::{TEXT, whole},
    },
};

/// The name in the configuration, and the owner of the signatures that this protocol brings.
pub(super) const NAME: &str = "vertex";

/// The variable that holds an access token.
const TOKEN_VARIABLE: &str = "VERTEX_AI_ACCESS_TOKEN";

/// The variable that holds the project where the configuration names none, as in Google's own libraries.
pub(super) const PROJECT_VARIABLE: &str = "GOOGLE_CLOUD_PROJECT";

/// The location that is asked when the configuration names none: it has every model.
const DEFAULT_LOCATION: &str = "global";

/// The host of the location `global`.
const GLOBAL_HOST: &str = "https://aiplatform.googleapis.com";

/// Locations that are more than one region, each with a host of its own form.
const MULTI_REGIONS: [&str; 2] = ["eu", "us"];

/// Vertex AI.
pub(crate) static VENDOR: Vendor = Vendor {
    title: "Vertex AI",
    default_model: "gemini-3.8-flash",
    models: Some(&["gemini-3.8-flash", "gemini-3.5-flash-lite", "gemini-3.1-pro-preview", "gemini-2.5-pro"]),
    key_variable: TOKEN_VARIABLE,
    key_word: "access token",
    no_key: Some(|_| {
        format!(
            "no access token for Vertex AI: point {} at a service account's key file, or sign in with \
             `gcloud auth login`, or set {TOKEN_VARIABLE} in the shell that starts Neovim",
            token::FILE_VARIABLE
        )
    }),
    key_sources: &[KeySource::KeyFile(token::FILE_VARIABLE), KeySource::Program(&GCLOUD)],
    other_secrets: &[token::FILE_VARIABLE],
    base_url: GLOBAL_HOST,
    limits: Some(LIMITS),
    other_names: &[("thinking", "thinking_budget")],
    // Base64, and perhaps a word behind it that says what a signature is about.
    reads_signature: Some(|signature| {
        signature::read(signature).is_some_and(|(value, _)| !value.is_empty() && !value.contains(char::is_whitespace))
    }),
    signs_text: |signature| signature::read(signature).is_some_and(|(_, signed)| signed == SignedPart::Thought),
    hosts,
    models_endpoint: |server| endpoint(server, "").map(Some),
    failure,
    headline,
    begins_with: |event| event.pointer("/candidates/0").is_some(),
    ..Vendor::new(
        NAME,
        |table| {
            json!({
                "base_url": table.some("base_url", &BASE_URL),
                "project_id": table.some("project_id", &TEXT),
                "location": table.get("location", DEFAULT_LOCATION.to_owned(), &TEXT),
                "thinking_budget": table.some("thinking_budget", &BUDGET),
                "headers": read_headers(table),
            })
        },
        prepare,
    )
};

/// What the API takes of images and PDFs
/// (<https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding>, `…/document-understanding`,
/// and the pages of the models): no GIF, images of 7 MB inside a request, 900 files with the newest models, any number
/// of pixels. A whole request has 20 MB, with the files in base64, which is a third longer than they are.
const LIMITS: AttachmentLimits = AttachmentLimits {
    vendor: "Vertex AI",
    kinds: &[MediaKind::Png, MediaKind::Jpeg, MediaKind::Webp, MediaKind::Pdf],
    image_bytes: 7 << 20,
    files: 900,
    total_bytes: 13 << 20,
    ..AttachmentLimits::NONE
};

/// Google's command line, which gives no token that is valid for less than about four minutes.
static GCLOUD: Program = Program {
    line: &["gcloud", "auth", "print-access-token"],
    fix: "sign in with `gcloud auth login`",
    lifetime: Duration::from_secs(180),
};

/// A host without the version, as Google's own library has it.
const BASE_URL: Kind<String> = Kind {
    expected: r#"a URL such as "https://aiplatform.googleapis.com", without /v1/projects, which is added to it"#,
    read: |value| base_url(value, &["/v1", "/v1beta1"], |bare| !bare.contains("/projects")),
};

/// Tokens to think with; 0 for as few as the model can do with. It beats `parameters.thinking`.
const BUDGET: Kind<u32> =
    Kind { expected: "a whole number of tokens", read: |value| value.as_number().and_then(whole) };

/// A search can leave out domains and do no more; Gemini 3 takes it beside tools that run here, older models refuse
/// (<https://github.com/BerriAI/litellm/pull/38650>).
fn hosts(tool: &HostedTool, model: &str, alone: bool) -> Result<(), HostedProblem> {
    let HostedTool::WebSearch(limits) = tool else { return Err(HostedProblem::NoSuchTool) };
    if !limits.allowed_domains.is_empty() {
        Err(HostedProblem::Restriction("allowed_domains"))
    } else if limits.max_uses.is_some() {
        Err(HostedProblem::Restriction("max_uses"))
    } else if !alone && !thinking::wants_signatures(model) {
        Err(HostedProblem::OnlyAlone)
    } else {
        Ok(())
    }
}

/// The models of the project in its location, and what follows that.
fn endpoint(server: &Server, rest: &str) -> Result<Peer, ProviderError> {
    let location: String = server.options.get("location").unwrap_or_else(|| DEFAULT_LOCATION.to_owned());
    segment("parameters.vertex.location", &location, "-", "as in global or europe-west4")?;
    let host = match location.as_str() {
        DEFAULT_LOCATION => GLOBAL_HOST.to_owned(),
        region if MULTI_REGIONS.contains(&region) => format!("https://aiplatform.{region}.rep.googleapis.com"),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    };
    let project = project(server)?;
    let path = format!("/v1/projects/{project}/locations/{location}/publishers/google/models{rest}");
    Ok(Peer { scope: (project, location), ..server.endpoint(&host, &path)? })
}

fn prepare(server: &Server, request: &Request) -> Result<Exchange, ProviderError> {
    let model = request.model.as_str();
    segment("model", model, "-._@", "as in gemini-2.5-flash")?;
    let peer = endpoint(server, &format!("/{model}:streamGenerateContent?alt=sse"))?;
    let body = encode::body(request, &server.dialect(model))?;
    peer.exchange(request, &body, GeminiReply::new(request), encode::limit(request))
}

/// The project that pays: the one in the options, else the environment's or the key file's own.
fn project(server: &Server) -> Result<String, ProviderError> {
    let project = server.options.get("project_id").or_else(|| server.environment.value(PROJECT_VARIABLE));
    let project = project.unwrap_or_default().trim().to_owned();
    if project.is_empty() {
        let message = format!(
            "no project for Vertex AI: set `parameters.vertex.project_id`, or {PROJECT_VARIABLE} in the shell \
             that starts Neovim"
        );
        return Err(ProviderError::new(ErrorKind::Options, message));
    }
    // A project of an organisation's domain has that before a colon.
    segment("parameters.vertex.project_id", &project, ":.-_", "as in my-project-123")?;
    Ok(project)
}

/// Refuses what cannot be part of a path as it is: nothing, or other characters than letters, digits and `marks`.
fn segment(option: &str, value: &str, marks: &str, example: &str) -> Result<(), ProviderError> {
    if !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c)) {
        return Ok(());
    }
    let message = format!("`{option}` is \"{value}\": write letters and digits, {example}");
    Err(ProviderError::new(ErrorKind::Options, message))
}

/// What the API's errors mean (<https://cloud.google.com/apis/design/errors>). `status` names the kind.
fn failure(name: &str) -> Option<VendorFailure> {
    Some(match name {
        "UNAUTHENTICATED" => VendorFailure::Key,
        "PERMISSION_DENIED" => VendorFailure::Forbidden,
        "NOT_FOUND" => VendorFailure::NotFound,
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" | "ALREADY_EXISTS" | "UNIMPLEMENTED" => {
            VendorFailure::Refused
        }
        "RESOURCE_EXHAUSTED" => VendorFailure::RateLimit,
        "UNAVAILABLE" => VendorFailure::Overloaded,
        "DEADLINE_EXCEEDED" | "504" => VendorFailure::Timeout,
        "INTERNAL" | "UNKNOWN" | "DATA_LOSS" | "ABORTED" | "CANCELLED" => VendorFailure::Server,
        _ => return None,
    })
}

fn headline(failure: VendorFailure, facts: &Facts<'_>) -> Option<String> {
    let Facts { host, key, code, scope: (project, location) } = facts;
    Some(match failure {
        VendorFailure::Key => {
            format!("{host} does not accept {key} ({code}); access tokens expire after an hour; get a new one")
        }
        VendorFailure::Forbidden => format!(
            "{host} does not allow this with {key} ({code}); check that the Vertex AI API is enabled in the project \
             {project} and that the account has the role Vertex AI User there"
        ),
        VendorFailure::RateLimit => {
            format!("{host} has no quota left for this model in project {project}, location {location} ({code})")
        }
        VendorFailure::NotFound => format!(
            "{host} has no such model in project {project}, location {location} ({code}); check `model`, \
             `parameters.vertex.location` and `parameters.vertex.project_id`"
        ),
        _ => return None,
    })
}
