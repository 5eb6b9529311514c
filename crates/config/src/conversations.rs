//! `conversations`: where the conversations of a project are, and in which window they are shown.

use std::path::{Component, Path};

use serde::Serialize;

use flemma_model::options::{
    self, Kind, Table,
    kinds::{NAMES, text, within},
};

/// The window in which a project's conversation is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Beside the other windows.
    #[default]
    Vertical,
    /// Below the other windows.
    Horizontal,
    /// A tab page of its own.
    Tab,
}

/// A folder below another one.
const BELOW: Kind<String> = Kind {
    expected: r#"the path of a folder below the project's root, such as ".chats""#,
    read: |value| {
        let path = text(value)?;
        let mut components =
            Path::new(path).components().filter(|component| *component != Component::CurDir).peekable();
        components.peek()?;
        components.all(|component| matches!(component, Component::Normal(_))).then(|| path.to_owned())
    },
};

/// The size of a window.
const SIZE: Kind<f64> = Kind {
    expected: "a part of the screen above 0 and up to 1, or a whole number of cells",
    read: |value| within(value, 0.0..=10_000.0).filter(|size| *size > 0.0 && (*size <= 1.0 || size.fract() == 0.0)),
};

/// `conversations`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationOptions {
    /// The folder below a project's root that has its conversations; a folder of the user's own when it is not set.
    pub folder: Option<String>,
    /// The files and folders that mark the root of a project.
    pub markers: Vec<String>,
    /// The window.
    pub layout: Layout,
    /// Its width; up to 1, a part of the screen's.
    pub width: Option<f64>,
    /// Its height; up to 1, a part of the screen's.
    pub height: Option<f64>,
}

impl Default for ConversationOptions {
    fn default() -> Self {
        options::defaults(Self::read)
    }
}

impl ConversationOptions {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            folder: table.some("folder", &BELOW),
            markers: table.get("markers", [".git", ".jj"].map(str::to_owned).into(), &NAMES),
            layout: table.choose("layout", &[Layout::Vertical, Layout::Horizontal, Layout::Tab]).unwrap_or_default(),
            width: table.some("width", &SIZE),
            height: table.some("height", &SIZE),
        }
    }
}
