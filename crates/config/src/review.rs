//! `tools.review`: how the user sees what a call would change in files.

use serde::Serialize;

use flemma_model::options::{Kind, Table, kinds::whole};

/// The most lines of a diff below a call.
const MOST: u32 = 500;

/// A number of lines; 0 for none.
const LINES: Kind<u32> = Kind {
    expected: "a whole number from 0 up to 500",
    read: |value| value.as_number().and_then(whole).filter(|lines| *lines <= MOST),
};

/// `tools.review`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewOptions {
    /// How many lines of the diff are shown below a call that waits; 0 for none.
    pub lines: u32,
    /// Where the whole change is shown.
    pub view: ReviewView,
}

impl ReviewOptions {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            lines: table.get("lines", 12, &LINES),
            view: table.choose("view", &[ReviewView::Tab, ReviewView::Inline]).unwrap_or_default(),
        }
    }
}

/// Where the whole change of a call is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewView {
    /// Side by side, in a tab page of its own.
    #[default]
    Tab,
    /// In a window of the file, as virtual lines.
    Inline,
}
