//! Where two contents differ: the lines that go, and those that come in their place.

use std::{ops::Range, time::Duration};

use similar::DiffOp;

use super::diff::{changes, ends};

/// A place where two contents differ. Lines are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkPlace {
    /// The lines that go.
    pub old: Range<usize>,
    /// The lines that come.
    pub new: Range<usize>,
    /// The bytes that go.
    pub old_bytes: Range<usize>,
    /// The bytes that come.
    pub new_bytes: Range<usize>,
}

impl HunkPlace {
    /// All places, in order. After `time`, the rest is compared less closely. The contents may be of any bytes.
    pub fn between(old: &[u8], new: &[u8], time: Duration) -> Vec<Self> {
        let lines_of = |content| <[u8]>::split_inclusive(content, |byte| *byte == b'\n').collect::<Vec<_>>();
        let (old, new) = (lines_of(old), lines_of(new));
        let (old_ends, new_ends) = (ends(0, &old), ends(0, &new));
        let place = |op: DiffOp| {
            let (old, new) = (op.old_range(), op.new_range());
            let bytes = |lines: &Range<usize>, ends: &[usize]| ends[lines.start]..ends[lines.end];
            let (old_bytes, new_bytes) = (bytes(&old, &old_ends), bytes(&new, &new_ends));
            Self { old, new, old_bytes, new_bytes }
        };
        changes(&old, &new, time).into_iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![&b"a"[..], b"b", b"\n", b"\n", b"\r\n", b"\xff", b"<FF>", b""]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn with_all_hunks_the_old_content_is_the_new_one(old in content(), new in content()) {
            let (mut merged, mut at) = (Vec::<u8>::new(), 0);
            for place in HunkPlace::between(&old, &new, Duration::from_secs(1)) {
                merged.extend(&old[at..place.old_bytes.start]);
                merged.extend(&new[place.new_bytes.clone()]);
                at = place.old_bytes.end;
            }
            merged.extend(&old[at..]);
            prop_assert_eq!(merged, new);
        }
    }
}
