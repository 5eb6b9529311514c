//! Names that the vendor's protocol and its options share.

/// The name in the configuration, and the owner of the marks at thinking that goes back.
pub const NAME: &str = "openai_compatible";

/// The variable that holds the key, for a server that wants one. It is a name of its own, so that OpenAI's key is
/// never sent to another server.
pub const KEY_VARIABLE: &str = "OPENAI_COMPATIBLE_API_KEY";

/// An address as it should be: Ollama's on this machine.
pub const EXAMPLE_BASE_URL: &str = "http://localhost:11434/v1";

/// The fields in which servers send thinking, and want it back. Which one it was, and whose, is noted in the
/// signature of the thinking block as `field@host`.
pub(super) const THINKING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];
