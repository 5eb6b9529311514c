//! Vertex AI as a provider.

use std::time::Duration;

use super::{
    decode::GeminiReply,
    encode,
    errors::{GLOBAL_HOST, VENDOR},
    names::{NAME, PROJECT_VARIABLE, TOKEN_VARIABLE},
    options::{DEFAULT_LOCATION, Options},
    signature::{self, SignedPart},
    thinking, token,
};
use crate::{
    ErrorKind, Exchange, Provider, ProviderError, Request,
    access::Access,
    attachment::AttachmentLimits,
    auth::Environment,
    credential::{Credential, KeySource, Program},
    hosted::{HostedProblem, HostedToolSpec},
};
use flemma_model::{MediaKind, Signature};

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

/// Locations that are more than one region, each with a host of its own form.
const MULTI_REGIONS: [&str; 2] = ["eu", "us"];

/// A search can leave out domains and do no more; Gemini 3 takes it beside tools that run here, older models refuse
/// (<https://github.com/BerriAI/litellm/pull/38650>).
pub(crate) fn hosts(tool: &HostedToolSpec, model: &str, alone: bool) -> Result<(), HostedProblem> {
    let HostedToolSpec::WebSearch(limits) = tool else { return Err(HostedProblem::NoSuchTool) };
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

/// Google's command line, which gives no token that is valid for less than about four minutes.
static GCLOUD: Program = Program {
    line: &["gcloud", "auth", "print-access-token"],
    fix: "sign in with `gcloud auth login`",
    lifetime: Duration::from_secs(180),
};

/// Where the access token comes from when [`TOKEN_VARIABLE`] is not set.
#[must_use]
pub fn credential() -> Credential {
    Credential {
        variable: TOKEN_VARIABLE,
        sources: vec![KeySource::TokenFile(&token::FILE), KeySource::Program(&GCLOUD)],
    }
}

/// Gemini models in one project and location.
#[derive(Debug)]
pub struct Vertex {
    options: Options,
    environment: Environment,
}

impl Vertex {
    /// Models as `options` say. The token, and the project if need be, are looked up in `environment` for each request;
    /// see [`credential`] for a token that is not there yet.
    #[must_use]
    pub fn new(options: Options, environment: Environment) -> Self {
        Self { options, environment }
    }

    fn project(&self) -> Result<String, ProviderError> {
        let project = self.options.project_id.clone().or_else(|| self.environment.value(PROJECT_VARIABLE));
        let project = project.map(|project| project.trim().to_owned()).filter(|project| !project.is_empty());
        let Some(project) = project else {
            let message = format!(
                "no project for Vertex AI: set `parameters.vertex.project_id`, or {PROJECT_VARIABLE} in the shell \
                 that starts Neovim"
            );
            return Err(ProviderError::new(ErrorKind::Options, message));
        };
        // A project of an organisation's domain has that before a colon.
        segment("parameters.vertex.project_id", &project, ":.-_", "as in my-project-123")?;
        Ok(project)
    }

    /// The host of the location.
    fn base_url(&self) -> Result<String, ProviderError> {
        let location = self.options.location.as_str();
        segment("parameters.vertex.location", location, "-", "as in global or europe-west4")?;
        Ok(match &self.options.base_url {
            Some(base) => base.clone(),
            None if location == DEFAULT_LOCATION => GLOBAL_HOST.to_owned(),
            None if MULTI_REGIONS.contains(&location) => format!("https://aiplatform.{location}.rep.googleapis.com"),
            None => format!("https://{location}-aiplatform.googleapis.com"),
        })
    }
}

/// Refuses what cannot be part of a path as it is: nothing, or other characters than letters, digits and `marks`.
fn segment(option: &str, value: &str, marks: &str, example: &str) -> Result<(), ProviderError> {
    if !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c)) {
        return Ok(());
    }
    let message = format!("`{option}` is \"{value}\": write letters and digits, {example}");
    Err(ProviderError::new(ErrorKind::Options, message))
}

/// Whether a signature of this vendor's can be one: base64, and perhaps a word behind it.
pub(crate) fn reads(signature: &Signature) -> bool {
    signature::read(signature).is_some_and(|(value, _)| !value.is_empty() && !value.contains(char::is_whitespace))
}

/// What a signature is about stands in it.
pub(crate) fn signs_text(signature: &Signature) -> bool {
    signature::read(signature).is_some_and(|(_, signed)| signed == SignedPart::Thought)
}

impl Provider for Vertex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attachment_limits(&self) -> Option<AttachmentLimits> {
        Some(LIMITS)
    }

    fn prepare(&self, request: &Request) -> Result<Exchange, ProviderError> {
        let (base_url, project, location) = (self.base_url()?, self.project()?, self.options.location.clone());
        let model = request.model.as_str();
        segment("model", model, "-._@", "as in gemini-2.5-flash")?;
        let access = Access::new(&VENDOR, &base_url, self.environment.clone(), self.options.headers.clone());
        let mut call = access.call(&format!(
            "/v1/projects/{project}/locations/{location}/publishers/google/models/{model}:streamGenerateContent?alt=sse"
        ))?;
        call.scope = (project, location);
        Ok(call.exchange(encode::body(request)?, GeminiReply::new(request), encode::limit(request)))
    }
}
