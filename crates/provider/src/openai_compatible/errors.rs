//! What errors mean: OpenAI's names for them, and those of llama.cpp's server
//! (<https://github.com/ggml-org/llama.cpp/tree/master/tools/server>).

use super::{EXAMPLE_BASE_URL, KEY_VARIABLE, NAME};
use crate::{
    openai,
    vendor_error::{Vendor, VendorFailure},
};

/// A server. It may not want a key.
pub(super) static VENDOR: Vendor = Vendor {
    name: NAME,
    title: "the server",
    key_variable: KEY_VARIABLE,
    no_key: None,
    base_url: EXAMPLE_BASE_URL,
    failure,
    ..Vendor::BEARER
};

fn failure(name: &str) -> Option<VendorFailure> {
    match name {
        // The model is still being loaded.
        "unavailable_error" => Some(VendorFailure::Overloaded),
        "not_supported_error" => Some(VendorFailure::Refused),
        _ => openai::errors::failure(name),
    }
}
