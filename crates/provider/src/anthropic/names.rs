//! Names that the vendor's protocol and its options share.

/// The name in the configuration, and the owner of the signatures that this protocol brings.
pub const NAME: &str = "anthropic";

/// Where requests go when the configuration names no other host.
pub const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// The variable that holds the key.
pub const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
