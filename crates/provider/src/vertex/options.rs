//! `parameters.vertex`.

use serde::Serialize;

use crate::{
    Headers,
    connection::{read_headers, without_scheme},
};
use flemma_model::options::{
    self, Kind, Table,
    kinds::{TEXT, text, whole},
};

/// The location that is asked when the configuration names none: it has every model.
pub const DEFAULT_LOCATION: &str = "global";

/// A host without the version, as Google's own library has it.
const BASE_URL: Kind<String> = Kind {
    expected: r#"a URL such as "https://aiplatform.googleapis.com", without /v1/projects, which is added to it"#,
    read: |value| {
        let url = text(value)?;
        let bare = without_scheme(url)?;
        let carries_path = bare.ends_with("/v1") || bare.ends_with("/v1beta1") || bare.contains("/projects");
        (!carries_path).then(|| url.to_owned())
    },
};

const BUDGET: Kind<u32> =
    Kind { expected: "a whole number of tokens", read: |value| value.as_number().and_then(whole) };

/// `parameters.vertex`, without the general parameters in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// The host to ask instead of the location's own; `/v1/projects/…` is added to it.
    pub base_url: Option<String>,
    /// The project that pays; `$GOOGLE_CLOUD_PROJECT` or the key file's own where there is none.
    pub project_id: Option<String>,
    /// Where the models run: `global`, a region such as `europe-west4`, or `us` or `eu`.
    pub location: String,
    /// Tokens to think with; 0 for as few as the model can do with. Beats `parameters.thinking`.
    pub thinking_budget: Option<u32>,
    /// Headers that are added to every request. One that is named like the token's takes its place, and no token is
    /// looked up.
    pub headers: Headers,
}

impl Default for Options {
    fn default() -> Self {
        options::defaults(Self::read)
    }
}

impl Options {
    /// Reads the options out of the vendor's table.
    pub(crate) fn read(table: &mut Table<'_>) -> Self {
        Self {
            base_url: table.some("base_url", &BASE_URL),
            project_id: table.some("project_id", &TEXT),
            location: table.get("location", DEFAULT_LOCATION.to_owned(), &TEXT),
            thinking_budget: table.some("thinking_budget", &BUDGET),
            headers: read_headers(table),
        }
    }
}
