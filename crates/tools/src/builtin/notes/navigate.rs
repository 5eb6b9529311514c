//! `navigate`: shows the user a page in their editor. The editor answers it (`lua/flemma/tools/client/navigate.lua`).

use flemma_model::ModelError;
use flemma_notes::{Outline, sections};

/// The line of a section in the text of a page, from 1.
///
/// # Errors
/// If there is no such section, with the sections that there are.
pub fn locate_section(text: &str, heading: &str) -> Result<usize, ModelError> {
    let outline = Outline::new(text.as_bytes());
    sections::find(&outline, heading, None).map(|found| found.section.line)
}
