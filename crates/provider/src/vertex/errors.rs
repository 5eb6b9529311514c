//! What the API's errors mean (<https://cloud.google.com/apis/design/errors>). `status` names the kind.

use super::names::{NAME, TOKEN_VARIABLE};
use crate::vendor_error::{Facts, Vendor, VendorFailure};

/// The host of the location `global`.
pub(super) const GLOBAL_HOST: &str = "https://aiplatform.googleapis.com";

/// Vertex AI, for messages.
pub(super) static VENDOR: Vendor = Vendor {
    name: NAME,
    title: "Vertex AI",
    key_variable: TOKEN_VARIABLE,
    key_word: "access token",
    no_key: Some(|_| {
        format!(
            "no access token for Vertex AI: point {} at a service account's key file, or sign in with \
             `gcloud auth login`, or set {TOKEN_VARIABLE} in the shell that starts Neovim",
            super::token::FILE_VARIABLE
        )
    }),
    base_url: GLOBAL_HOST,
    failure,
    headline,
    ..Vendor::BEARER
};

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
