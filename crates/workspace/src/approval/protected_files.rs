//! Whose files tools write: what that of Flemma's own is.

use std::sync::Arc;

use crate::approval::permissions::Permissions;
use flemma_tools::{Owner, Protected};

impl Permissions {
    /// Whose files are judged: the user's, with the conversations that are open now and what Neovim runs files from now.
    pub(crate) fn owner(&self) -> Owner {
        let state = Some(self.trust.path().parent().unwrap_or_else(|| self.trust.path()).to_owned());
        let (open, runtime) = (self.shared.host.open_conversations(), self.shared.host.runtime_folders());
        Owner { home: std::env::home_dir(), state, open, runtime }
    }

    /// Says what a file is to tools that write.
    pub(crate) fn protected(&self) -> Protected {
        let owner = self.owner();
        Arc::new(move |path| owner.class_of(path))
    }
}
