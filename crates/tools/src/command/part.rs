//! The end of a long output, and what a result says of the rest.

use std::{io, path::Path};

use crate::overflow;
use flemma_process::{Captured, SavedOutput};
use flemma_text::truncate::{Truncation, format_size};

/// What a result says of a process that was left running.
pub const LEFT_RUNNING: &str =
    "[A process that the command started in the background is still running. Its further output is lost.]";

/// How much of an output a result shows: its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPart {
    /// Lines; a partial one counts.
    pub lines: usize,
    /// Bytes.
    pub bytes: usize,
    /// Whether it is only the end of the last line.
    pub is_partial: bool,
}

impl ShownPart {
    /// What a truncated text has.
    pub fn of(tail: &Truncation<'_>) -> Self {
        Self { lines: tail.output_lines, bytes: tail.output_bytes, is_partial: tail.last_line_partial }
    }

    /// The note of a result that shows this much of `output`. The output is saved in a file whose name begins with `tool`,
    /// unless it is already.
    pub async fn note(self, output: Captured, overflow_dir: &Path, tool: &'static str) -> String {
        let saved = match output.saved {
            SavedOutput::InMemory => save(output.tail, overflow_dir, tool).await,
            saved => saved,
        };
        let range = if self.is_partial {
            format!("the last {} of line {}, which is the last line", format_size(self.bytes as u64), output.lines)
        } else {
            format!("lines {}-{} of {}", output.lines + 1 - self.lines as u64, output.lines, output.lines)
        };
        let whole = match saved {
            SavedOutput::InMemory => String::new(),
            SavedOutput::InFile(path) => {
                format!("The full output ({}) is in {}", format_size(output.bytes), path.display())
            }
            SavedOutput::Beginning(path, bytes) => format!(
                "The full output was {}; only the first {} were saved, in {}",
                format_size(output.bytes),
                format_size(bytes),
                path.display()
            ),
            SavedOutput::Lost(error) => format!("The rest could not be saved: {error}"),
        };
        format!("[Showing {range}. {whole}]")
    }
}

/// Saves an output that fits in memory but is too long for the result.
async fn save(output: Vec<u8>, dir: &Path, tool: &'static str) -> SavedOutput {
    let dir = dir.to_owned();
    let saved = tokio::task::spawn_blocking(move || overflow::save(&dir, tool, &output)).await;
    match saved.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok(path) => SavedOutput::InFile(path),
        Err(error) => SavedOutput::Lost(error.to_string()),
    }
}
