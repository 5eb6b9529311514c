//! What a file is to tools that write: one like any other, one that asks every time, or one that no tool writes. Whatever leads to it.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use flemma_tools::{FileClass, Owner};
use tempfile::TempDir;

/// A home folder with Flemma's state in it, and a project.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        for file in [
            ".local/state/nvim/flemma/trust.jsonl",
            ".local/state/nvim/flemma/journal/a.jsonl",
            ".local/state/nvim/flemma/outbox/a.jsonl",
            ".local/state/nvim/flemma/changes/contents/ab",
            ".local/state/nvim/flemma/locks/a",
            ".local/state/nvim/flemma/outputs/bash.txt",
            ".local/state/nvim/flemma/conversations/p/a.chat",
            ".local/state/other/flemma/journal/a.jsonl",
            ".config/nvim/init.lua",
            ".bashrc",
            "project/.git/HEAD",
            "project/.git/objects/x",
            "project/main.rs",
            "project/open.chat",
            "bare.git/HEAD",
            "bare.git/refs/x",
            "bare.git/tree/main.rs",
            "plugin.nvim/lua/plugin/init.lua",
            "plugin.nvim/src/lib.rs",
            "part/core.lua",
            "part/deep/core.lua",
        ] {
            place.put(file, "text");
        }
        place.put(".config/nvim/lua/plugins/ai.lua", "return { 'Flemma.nvim', opts = {} }");
        place.put("bare.git/tree/.git", "gitdir: ../worktrees/tree");
        symlink("../../part", place.at("plugin.nvim/lua/part")).unwrap();
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn owner(&self) -> Owner {
        let state = Some(self.at(".local/state/nvim/flemma"));
        Owner {
            home: Some(self.at("")),
            state,
            open: vec![self.at("project/open.chat")],
            runtime: vec![self.at("plugin.nvim")],
        }
    }

    /// `ordinary`, `asks` or `refused`.
    fn class(&self, path: &Path) -> &'static str {
        match self.owner().class_of(path) {
            FileClass::Ordinary => "ordinary",
            FileClass::StartUp => "asks",
            FileClass::Refused(_) => "refused",
        }
    }
}

const FILES: [(&str, &str); 38] = [
    (".local/state/nvim/flemma/trust.jsonl", "refused"),
    (".local/state/nvim/flemma/journal/a.jsonl", "refused"),
    (".local/state/nvim/flemma/outbox/a.jsonl", "refused"),
    (".local/state/nvim/flemma/changes/contents/ab", "refused"),
    (".local/state/nvim/flemma/locks/a", "refused"),
    (".local/state/nvim/flemma/messages.jsonl", "refused"),
    (".local/state/other/flemma/journal/a.jsonl", "refused"),
    (".local/state/new/flemma/trust.jsonl", "refused"),
    (".local/state/deep/app/flemma/trust.jsonl", "refused"),
    (".local/state/nvim/flemma/outputs/bash.txt", "asks"),
    (".local/state/nvim/flemma/conversations/p/a.chat", "asks"),
    (".config/nvim/lua/plugins/ai.lua", "refused"),
    (".config/nvim/init.lua", "asks"),
    (".config/nvim/new.lua", "asks"),
    (".bashrc", "asks"),
    ("project/.nvim.lua", "asks"),
    ("project/.git/config", "asks"),
    ("bare.git/config", "asks"),
    ("bare.git/tree/main.rs", "ordinary"),
    ("project/main.rs", "ordinary"),
    ("project/open.chat", "refused"),
    ("project/.open.chat.flemma-lock", "refused"),
    ("plugin.nvim/lua/plugin/init.lua", "asks"),
    ("plugin.nvim/lua/plugin/new.lua", "asks"),
    ("plugin.nvim/plugin/new.vim", "asks"),
    ("plugin.nvim/after/ftplugin/new.lua", "asks"),
    ("plugin.nvim/queries/lua/highlights.scm", "asks"),
    ("plugin.nvim/build/new.so", "asks"),
    ("plugin.nvim/init.lua", "asks"),
    ("plugin.nvim/filetype.lua", "asks"),
    ("part/core.lua", "asks"),
    ("part/deep/core.lua", "asks"),
    ("part/new.lua", "asks"),
    ("plugin.nvim/src/lib.rs", "ordinary"),
    ("plugin.nvim/doc/new.txt", "ordinary"),
    ("plugin.nvim/tests/lua/new.lua", "ordinary"),
    ("plugin.nvim/README.md", "ordinary"),
    ("plugin.nvim/build.rs", "ordinary"),
];

#[test]
fn a_file_is_what_it_is_by_every_name() {
    for (file, expected) in FILES {
        let place = Place::new();
        let own = place.at(file);
        assert_eq!(place.class(&own), expected, "{file}");
        let names = place.at("project/names");
        fs::create_dir(&names).unwrap();
        symlink(&own, names.join("link")).unwrap();
        symlink(own.parent().unwrap(), names.join("folder")).unwrap();
        let upward = place.at("project/names/..").join("..").join(file);
        for name in [names.join("link"), names.join("folder").join(own.file_name().unwrap()), upward] {
            assert_eq!(place.class(&name), expected, "{file} by {}", name.display());
        }
        // The lock and what is in a repository have no other name than their own. Nobody is there to give them one.
        let has_other = own.exists() && !file.contains(".git/") && fs::hard_link(&own, names.join("twin")).is_ok();
        if has_other && !file.contains("outputs") && !file.contains("conversations") {
            assert_eq!(place.class(&names.join("twin")), expected, "{file} by a hard link");
            assert_eq!(place.class(&own), expected, "{file} with a hard link");
        }
    }
}

#[test]
fn what_configures_flemma_is_refused_where_links_have_it() {
    let place = Place::new();
    fs::rename(place.at(".config/nvim"), place.at("dotfiles")).unwrap();
    symlink("../dotfiles", place.at(".config/nvim")).unwrap();
    assert_eq!(place.class(&place.at("dotfiles/lua/plugins/ai.lua")), "refused");
    assert_eq!(place.class(&place.at("dotfiles/init.lua")), "asks");
    assert_eq!(place.class(&place.at("dotfiles/new/x.lua")), "asks");
}
