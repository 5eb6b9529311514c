//! The kinds of values that options take.

use std::{ops::RangeInclusive, time::Duration};

use serde_json::{Number, Value};

use super::reader::Kind;

/// `true` or `false`.
pub const SWITCH: Kind<bool> = Kind { expected: "true or false", read: Value::as_bool };

/// A whole number from 1 up.
pub const COUNT: Kind<u32> = Kind {
    expected: "a whole number from 1 up",
    read: |value| value.as_number().and_then(whole).filter(|count| *count > 0),
};

/// A stretch of time, in seconds. A day is the most, so that no later arithmetic can overflow.
pub const SECONDS: Kind<Duration> = Kind {
    expected: "a number of seconds above 0 and up to 86400",
    read: |value| {
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0)?;
        Duration::try_from_secs_f64(seconds).ok()
    },
};

/// A string that is not empty.
pub const TEXT: Kind<String> =
    Kind { expected: "a string that is not empty", read: |value| text(value).map(str::to_owned) };

/// A list of strings. An empty Lua table may arrive as an empty map.
pub const NAMES: Kind<Vec<String>> = Kind {
    expected: "a list of strings",
    read: |value| match value {
        Value::Array(list) => list.iter().map(|name| text(name).map(str::to_owned)).collect(),
        Value::Object(map) if map.is_empty() => Some(Vec::new()),
        _ => None,
    },
};

/// The number, if it is one in that range.
pub fn within(value: &Value, range: RangeInclusive<f64>) -> Option<f64> {
    value.as_f64().filter(|number| range.contains(number))
}

/// The string, if it is one and not empty.
pub fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A number that is whole; Lua has no other numbers than floats, so `3.0` counts as 3.
pub fn whole(number: &Number) -> Option<u32> {
    match number.as_u64() {
        Some(whole) => u32::try_from(whole).ok(),
        None => {
            let float = number.as_f64()?;
            let fits = float.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&float);
            // The range was checked on the line above.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            fits.then_some(float as u32)
        }
    }
}
