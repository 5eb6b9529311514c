//! What a provider signs its thinking with.

/// A provider's signature under its own thinking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the provider that signed.
    pub provider: String,
    /// The opaque value.
    pub value: String,
}
