//! Tools that a provider runs itself: what they are called here, and what each vendor takes of their options.
//!
//! A tool of this kind is offered by name and nothing of it runs here. It goes out in the vendor's own shape, its calls
//! and results come back inside the reply ([`Hosted`](flemma_model::Hosted)), and what the vendor
//! wants to see again goes back as it came. A restriction that the user has set is a promise: where a vendor cannot
//! keep it, the tool is left out and [`HostedProblem`] says why.
//!
//! | here             | Anthropic                 | OpenAI             | Vertex AI      |
//! |------------------|---------------------------|--------------------|----------------|
//! | `web_search`     | `web_search_20250305`     | `web_search`       | `googleSearch` |
//! | `code_execution` | `code_execution_20250825` | `code_interpreter` | none           |
//!
//! The shapes are those of the vendors' own SDKs: `WebSearchTool20250305Param` and `CodeExecutionTool20250825Param`
//! (anthropic 2.12), `WebSearchTool` and `CodeInterpreter` (openai 3.54), `GoogleSearch` (google-genai 3.4).
//! Anthropic's later searches run their own code between search and model; the one that is asked for works with every
//! model and on every platform (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool>).

/// A tool that providers run, as a request offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostedTool {
    /// Runs code, away from the user's machine.
    CodeExecution,
    /// Searches the web, in the user's limits.
    WebSearch(SearchLimits),
}

impl HostedTool {
    /// All of them in these limits, sorted by name.
    pub fn all(limits: &SearchLimits) -> [Self; 2] {
        [Self::CodeExecution, Self::WebSearch(limits.clone())]
    }

    /// The name in `tools`. Vendors may have other names for it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CodeExecution => "code_execution",
            Self::WebSearch(_) => "web_search",
        }
    }

    /// What it does, in words for the user.
    pub const fn description(&self) -> &'static str {
        match self {
            Self::CodeExecution => "Runs code on the provider's servers, in a container of its own",
            Self::WebSearch(_) => "Searches the web on the provider's servers and cites what it finds",
        }
    }

    /// The tool of this name, in these limits.
    pub fn named(name: &str, limits: &SearchLimits) -> Option<Self> {
        Self::all(limits).into_iter().find(|tool| tool.name() == name)
    }
}

/// `tools.web_search`: what a search may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchLimits {
    /// The most searches that one request may lead to.
    pub max_uses: Option<u32>,
    /// The only domains that are searched; all of them if there are none.
    pub allowed_domains: Vec<String>,
    /// Domains that are not searched.
    pub blocked_domains: Vec<String>,
}

/// Why a provider cannot be offered a hosted tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostedProblem {
    /// The vendor has no such tool.
    NoSuchTool,
    /// The vendor cannot keep to this option of `tools.web_search`.
    Restriction(&'static str),
    /// The model takes the tool only without other tools.
    OnlyAlone,
}

impl HostedProblem {
    /// The problem in words that follow the tool's name and a colon.
    pub fn describe(self, provider: &str, model: &str) -> String {
        match self {
            Self::NoSuchTool => format!("{provider} has no such tool"),
            Self::Restriction(option) => format!("{provider} does not support tools.web_search.{option}"),
            Self::OnlyAlone => format!("{model} accepts it only without other tools"),
        }
    }
}
