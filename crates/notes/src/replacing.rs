//! Replacing text in a page.

use memchr::memmem;

use super::content::{line_of, with_breaks_of};
use flemma_model::ModelError;

/// Which occurrences are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first one.
    First,
    /// All of them.
    All,
    /// This one, from 1.
    Nth(usize),
}

/// A content with text replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The new content.
    pub content: Vec<u8>,
    /// The lines where something was replaced, from 1.
    pub lines: Vec<usize>,
    /// How often the text occurred.
    pub of: usize,
}

/// Replaces occurrences of `old`, which do not overlap. The line breaks of both texts are taken as those of the page,
/// where all of its lines end in the same.
///
/// # Errors
/// If the text does not occur, or not as often, or nothing would change.
pub fn replace(content: &[u8], old: &str, new: &str, which: Which) -> Result<Replaced, ModelError> {
    ModelError::when(old.is_empty(), "`search` is empty: give the text to replace.")?;
    ModelError::when(old == new, "`search` and `replace` are the same: there is nothing to change.")?;
    let (old, new) = (with_breaks_of(content, old), with_breaks_of(content, new));
    let places: Vec<usize> = memmem::find_iter(content, old.as_bytes()).collect();
    let chosen: Vec<usize> = match which {
        _ if places.is_empty() => {
            return Err(ModelError::new(
                "`search` does not occur in the page. Nothing was changed. Read the page again.",
            ));
        }
        Which::First => places[..1].to_vec(),
        Which::All => places.clone(),
        Which::Nth(0) => return Err(ModelError::new("`occurrence` must be at least 1.")),
        Which::Nth(nth) => match places.get(nth - 1) {
            Some(&at) => vec![at],
            None => {
                let times = if places.len() == 1 { "once".to_owned() } else { format!("{} times", places.len()) };
                return Err(ModelError::new(format!(
                    "`occurrence` is {nth}, but `search` occurs {times}. Nothing was changed."
                )));
            }
        },
    };
    let mut written = Vec::with_capacity(content.len());
    let mut copied = 0;
    for &at in &chosen {
        written.extend_from_slice(&content[copied..at]);
        written.extend_from_slice(new.as_bytes());
        copied = at + old.len();
    }
    written.extend_from_slice(&content[copied..]);
    let mut lines: Vec<usize> = chosen.iter().map(|&at| line_of(content, at)).collect();
    lines.dedup();
    Ok(Replaced { content: written, lines, of: places.len() })
}
