//! Names that the vendor's protocol and its options share.

/// The name in the configuration, and the owner of the signatures that this protocol brings.
pub const NAME: &str = "openai";

/// Where requests go when the configuration names no other address.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The variable that holds the key.
pub const KEY_VARIABLE: &str = "OPENAI_API_KEY";
