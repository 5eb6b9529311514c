//! `tool_protocol`: how a model calls tools.

use globset::Glob;
use serde::Serialize;
use serde_json::Value;

use flemma_model::options::Kind;
use flemma_text::bounds;

/// How a model calls tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolProtocol {
    /// In the way of its provider.
    #[default]
    Native,
    /// In XML in its reply: for models that know no tools.
    Xml,
    /// Models whose names match one of these patterns in XML, and the others in the way of the provider.
    #[serde(untagged)]
    XmlFor(Vec<String>),
}

impl ToolProtocol {
    /// Whether this model calls tools in XML.
    pub fn is_xml(&self, model: &str) -> bool {
        match self {
            Self::Native => false,
            Self::Xml => true,
            Self::XmlFor(patterns) => {
                let matches =
                    |pattern: &String| Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(model));
                patterns.iter().any(matches)
            }
        }
    }
}

/// The values of the option.
pub(super) const TOOL_PROTOCOL: Kind<ToolProtocol> = Kind {
    expected: r#""native", "xml", or a list of the models that use XML, such as { "gemma*" }"#,
    read: |value| match value {
        Value::String(word) if word == "native" => Some(ToolProtocol::Native),
        Value::String(word) if word == "xml" => Some(ToolProtocol::Xml),
        Value::Array(patterns) if !patterns.is_empty() => {
            let pattern = |value: &Value| {
                let is_glob = |pattern: &&str| bounds::glob(pattern).is_ok() && Glob::new(pattern).is_ok();
                let pattern = value.as_str().filter(|pattern| !pattern.is_empty()).filter(is_glob);
                pattern.map(str::to_owned)
            };
            patterns.iter().map(pattern).collect::<Option<Vec<_>>>().map(ToolProtocol::XmlFor)
        }
        _ => None,
    },
};
