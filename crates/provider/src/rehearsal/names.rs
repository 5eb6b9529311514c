//! Names that the vendor's protocol and its options share.

/// The name in the configuration.
pub const NAME: &str = "rehearsal";
