//! `conversations`: where the conversations of a project are, and in which window they are shown.

use std::path::{Component, Path};

use serde::Serialize;

use super::declare::{one_of, options, or, some};
use flemma_model::options::{
    Kind,
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

options! {
    /// `conversations`.
    pub struct ConversationOptions {
        /// The folder below a project's root that has its conversations; a folder of the user's own when it is not set.
        pub folder: Option<String> = some(&BELOW);
        /// The files and folders that mark the root of a project.
        pub markers: Vec<String> = or([".git", ".jj"].map(str::to_owned).into(), &NAMES);
        /// The window.
        pub layout: Layout = one_of(&[Layout::Vertical, Layout::Horizontal, Layout::Tab]);
        /// Its width; up to 1, a part of the screen's.
        pub width: Option<f64> = some(&SIZE);
        /// Its height; up to 1, a part of the screen's.
        pub height: Option<f64> = some(&SIZE);
    }
}
