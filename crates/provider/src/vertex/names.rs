//! Names that the vendor's protocol and its options share.

/// The name in the configuration, and the owner of the signatures that this protocol brings.
pub const NAME: &str = "vertex";

/// The variable that holds an access token.
pub const TOKEN_VARIABLE: &str = "VERTEX_AI_ACCESS_TOKEN";

/// The variable that holds the project where the configuration names none, as in Google's own libraries.
pub const PROJECT_VARIABLE: &str = "GOOGLE_CLOUD_PROJECT";
