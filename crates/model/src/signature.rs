//! Signatures under thinking.

/// A provider's signature, which shows that thinking is the provider's own and unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the provider that signed.
    pub provider: String,
    /// The opaque value.
    pub value: String,
}
