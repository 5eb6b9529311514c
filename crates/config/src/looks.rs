//! `looks`: how conversations are drawn.

use serde::Serialize;

use flemma_model::options::{Table, kinds::SWITCH};

/// Which signs stand before calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Icons {
    /// Those of a Nerd Font if `vim.g.have_nerd_font` says that there is one.
    #[default]
    Auto,
    /// Those of a Nerd Font.
    Nerd,
    /// Signs of ASCII only, also for what became of a call.
    Ascii,
}

/// `looks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Looks {
    /// Whether lines are drawn over markers and headers, and inputs and fences are hidden.
    pub enabled: bool,
    /// The signs.
    pub icons: Icons,
}

impl Looks {
    pub(super) fn read(table: &mut Table<'_>) -> Self {
        Self {
            enabled: table.get("enabled", true, &SWITCH),
            icons: table.choose("icons", &[Icons::Auto, Icons::Nerd, Icons::Ascii]).unwrap_or_default(),
        }
    }
}
