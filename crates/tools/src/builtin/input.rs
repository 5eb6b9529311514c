//! Reading the input of a call.

use std::path::PathBuf;

use serde_json::Value;

use crate::Context;
use flemma_model::ModelError;

/// A string in the input.
pub(super) fn text<'a>(input: &'a Value, name: &str) -> Result<&'a str, ModelError> {
    input
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| ModelError::new(format!("`{name}` is missing: it must be a string.")))
}

/// The file that a call names.
pub(super) fn path(input: &Value) -> Result<&str, ModelError> {
    match text(input, "path")? {
        "" => bail!("`path` is empty: give the path of a file."),
        path if path.contains('\0') => bail!("`path` contains a NUL character, which a file name cannot contain."),
        path => Ok(path),
    }
}

/// The path that a call names, whatever it is.
pub(super) fn path_of(input: &Value) -> Option<String> {
    input.get("path")?.as_str().map(str::to_owned)
}

/// The file that a call names, as the only one that it may write.
pub(super) fn file_of(input: &Value, context: &Context) -> Option<Vec<PathBuf>> {
    path(input).ok().map(|name| vec![context.resolve(name)])
}

/// A string in the input that may be null. Models write an empty string for omitted arguments.
pub(super) fn optional_text<'a>(input: &'a Value, name: &str) -> Option<&'a str> {
    input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A boolean in the input that may be null, which means false.
pub(super) fn switch(input: &Value, name: &str) -> bool {
    input.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// A limit from 1 to `most`; `usual` if it is omitted.
pub(super) fn limit(input: &Value, (usual, most): (usize, usize)) -> Result<usize, ModelError> {
    match count(input, "limit")? {
        None => Ok(usual),
        Some(0) => bail!("`limit` must be at least 1."),
        Some(limit) if limit > most as u64 => bail!("`limit` must be at most {most}, not {limit}."),
        Some(limit) => Ok(limit as usize),
    }
}

/// A whole number in the input that may be null; models occasionally write `5.0` for `5`.
pub(super) fn count(input: &Value, name: &str) -> Result<Option<u64>, ModelError> {
    match input.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match (value.as_u64(), value.as_f64()) {
            (Some(number), _) => Ok(Some(number)),
            (None, Some(number)) if number >= 0.0 && number.fract() == 0.0 => Ok(Some(number as u64)),
            _ => bail!("`{name}` must be a non-negative whole number, not {value}."),
        },
    }
}
