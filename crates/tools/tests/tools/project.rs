//! Where `$default` lets files be written: below the conversation's project, and nothing there that runs later or is
//! secret.
//!
//! The oracle is the tool itself. Whatever path a model spells, what was approved is written by the real `write`, and
//! then the tree is looked through: nothing may have changed that the user would have wanted to be asked about.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, lchown, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use flemma_tools::{
    Context, Executor, Policy, Preset, Presets, Runner,
    approval::{ApprovalCall, Decision},
    project,
    rules::{PathBase, Target},
};
use proptest::{prelude::*, sample::select};
use serde_json::json;
use tempfile::TempDir;

use crate::workshop::BUILTINS;

/// A home folder with projects in it.
struct Home {
    _dir: TempDir,
    root: PathBuf,
}

impl Home {
    fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { root: dir.path().canonicalize().unwrap(), _dir: dir }
    }

    fn new() -> Self {
        let home = Self::empty();
        for folder in [
            "project/.git/hooks",
            "project/src",
            "project/nested/.git",
            "project/nested/src",
            "project/.vscode",
            "jj/.jj/repo",
            "worktree/src",
            "plain/sub",
            "dotted.git",
            ".config/nvim",
            ".ssh",
        ] {
            fs::create_dir_all(home.at(folder)).unwrap();
        }
        fs::create_dir_all(home.at("worktree")).unwrap();
        fs::write(home.at("worktree/.git"), "gitdir: ../project/.git\n").unwrap();
        for file in [
            ".bashrc",
            ".ssh/config",
            "other.txt",
            "project/main.rs",
            "project/src/lib.rs",
            "project/.git/config",
            "project/nested/.git/config",
            "project/nested/x",
            "plain/notes",
            "linked",
        ] {
            fs::write(home.at(file), "old").unwrap();
        }
        for (link, to) in [
            ("project/out", "../plain"),
            ("project/rc", "../.bashrc"),
            ("project/new", "../new.txt"),
            ("project/in", "src"),
            ("project/main", "main.rs"),
            ("project/dot", ".git"),
            ("project/hook", ".git/hooks/pre-commit"),
            ("project/chain", "rc"),
            ("project/up", ".."),
            ("project/loop", "loop"),
            ("project/.exrc", "main.rs"),
            ("project/nested/back", "../src"),
            ("plain/into", "../project/src"),
        ] {
            symlink(to, home.at(link)).unwrap();
        }
        fs::hard_link(home.at("linked"), home.at("project/twin")).unwrap();
        home
    }

    fn root(&self) -> PathBuf {
        self.root.clone()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn path_base(&self, base: &str) -> PathBase {
        PathBase { folder: self.at(base), home: Some(self.root()), ..PathBase::default() }
    }

    /// What the list says of writing a path, spelled in this way, for a conversation in the folder `base`.
    fn decide(&self, list: &[&str], presets: &Presets, base: &str, path: &str) -> Option<Decision> {
        let list: Vec<String> = list.iter().map(|&entry| entry.to_owned()).collect();
        let (path_base, input) = (self.path_base(base), json!({ "path": path, "content": "new" }));
        let target = Target::of(BUILTINS.get("write").unwrap(), &input, &path_base);
        let id = "a".into();
        let call = ApprovalCall {
            subject: target.subject(),
            path_base: &path_base,
            ..ApprovalCall::new("write", &input, &id, 1)
        };
        Policy::new(&list, &[], presets).decide(&call)
    }

    fn by_default(&self, base: &str, path: &str) -> bool {
        self.decide(&["$default"], &Presets::builtin(), base, path) == Some(Decision::Approve)
    }

    /// Every file, by where it is, with what it says and how many names it has.
    fn files(&self) -> BTreeMap<PathBuf, (String, u64)> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                if metadata.is_dir() {
                    folders.push(path);
                } else if metadata.is_file() {
                    files.insert(path.clone(), (fs::read_to_string(&path).unwrap(), metadata.nlink()));
                }
            }
        }
        files
    }

    /// Writes with the tool, as a conversation in the folder `base` does.
    fn write(&self, base: &str, path: &str) {
        let mut context = Context::new(self.root(), Duration::from_secs(20), self.at("state"));
        context.chat_dir = Some(self.at(base));
        let Executor::Server(Runner::Native(tool)) = BUILTINS.get("write").unwrap().executor.clone() else {
            panic!("no native tool")
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(tool.run(json!({ "label": null, "path": path, "content": "new" }), context));
    }
}

/// The project of each folder in which a conversation may lie.
const PROJECTS: [(&str, Option<&str>); 9] = [
    ("project", Some("project")),
    ("project/src", Some("project")),
    ("project/in", Some("project")),
    ("project/nested", Some("project/nested")),
    ("project/nested/src", Some("project/nested")),
    ("jj", Some("jj")),
    ("worktree/src", Some("worktree")),
    ("plain/sub", Some("plain/sub")),
    ("", None),
];

#[test]
fn a_project_is_the_nearest_repository_and_never_the_home() {
    let home = Home::new();
    let found = |base: &PathBase| project::root(&base.folder, base.home.as_deref());
    let root = |base: &str| found(&home.path_base(base));
    for (base, expected) in PROJECTS {
        assert_eq!(root(base), expected.map(|name| home.at(name)), "{base}");
    }
    assert_eq!(root("project/up"), None, "links are followed");
    assert_eq!(found(&PathBase { folder: "/".into(), home: None, ..PathBase::default() }), None);
    assert_eq!(
        found(&PathBase {
            folder: home.root().parent().unwrap().into(),
            home: Some(home.root()),
            ..PathBase::default()
        }),
        None
    );
    // A home folder that is a repository is still none.
    fs::create_dir(home.at(".git")).unwrap();
    assert_eq!(root("plain/sub"), Some(home.at("plain/sub")));
    assert_eq!(root(""), None);
}

#[test]
fn what_is_written_unasked_is_an_ordinary_file_of_the_project() {
    let home = Home::new();
    for path in [
        "main.rs",
        "./src/lib.rs",
        "src//lib.rs",
        "src/../src/new/deep/file",
        "in/lib.rs",
        "main",
        "Makefile",
        "package.json",
        ".gitignore",
        "nested/x",
        "up/project/main.rs",
        "dot/../main.rs",
    ] {
        assert!(home.by_default("project", path), "{path}");
    }
    assert!(home.by_default("project/src", "../main.rs"), "from the folder up to the project's top");
    assert!(home.by_default("project", home.at("project/x").to_str().unwrap()), "an absolute path");
    for path in [
        "../other.txt",
        "../project2/x",
        "out/notes",
        "rc",
        "chain",
        "new",
        "dot/config",
        "hook",
        "twin",
        ".exrc",
        ".nvim.lua",
        ".git/config",
        ".GIT/config",
        ".git/hooks/pre-commit",
        "nested/.git/config",
        "sub/.git/config",
        ".envrc",
        ".env",
        ".vscode/tasks.json",
        ".github/workflows/ci.yml",
        "key.pem",
        "up/.bashrc",
        "src/../../.bashrc",
        "/etc/hosts",
        "/",
    ] {
        assert!(!home.by_default("project", path), "{path}");
    }
    assert!(!home.by_default("worktree/src", "../.git"), "the file of a worktree");
    assert!(!home.by_default("project/nested", "../main.rs"), "the repository around a nested one");
    assert!(!home.by_default("project/nested", "back/lib.rs"), "by a link, too");
    assert!(!home.by_default("plain/sub", "../notes"), "a folder is its own project");
    for base in ["", "project/up"] {
        assert!(!home.by_default(base, "other.txt") && !home.by_default(base, "project/main.rs"), "the home folder");
    }
    assert!(!home.by_default(".config/nvim", "init.lua"), "the editor's own folder");
    assert!(!home.by_default("dotted.git", "description"), "a bare repository");
}

/// A shared folder: anybody can put a mark there.
#[test]
fn a_mark_of_another_user_or_to_nowhere_widens_nothing() {
    let home = Home::new();
    let folder = home.at("shared/mine");
    fs::create_dir_all(&folder).unwrap();
    let mark = home.at("shared/.git");
    for kind in ["dangling", "pointer", "foreign", "foreign link", "own"] {
        match kind {
            "dangling" => symlink("nowhere", &mark).unwrap(),
            "pointer" => fs::write(&mark, "gitdir: /no/such/folder\n").unwrap(),
            "foreign link" => symlink(home.at("project/.git"), &mark).unwrap(),
            _ => fs::create_dir(&mark).unwrap(),
        }
        // Only root can give a file away.
        let is_given = kind.starts_with("foreign") && lchown(&mark, Some(12345), None).is_ok();
        let is_own = kind == "own" || (kind.starts_with("foreign") && !is_given);
        assert_eq!(
            project::root(&home.path_base("shared/mine").folder, home.path_base("").home.as_deref()),
            Some(if is_own { home.at("shared") } else { folder.clone() }),
            "{kind}"
        );
        assert_eq!(home.by_default("shared/mine", "../other"), is_own, "{kind}");
        fs::remove_file(&mark).or_else(|_| fs::remove_dir(&mark)).unwrap();
    }
}

#[test]
fn what_well_known_places_lead_to_asks_under_every_name() {
    for (link, to, file) in [
        (".config/nvim", "dotfiles/nvim", "nvim/init.lua"),
        (".config/nvim", "dotfiles/nvim", "nvim/new/deep/x.lua"),
        (".config/nvim/lua/plugins/x.lua", "dotfiles/x.lua", "x.lua"),
        (".config", "dotfiles/config", "config/nvim/init.lua"),
        (".bashrc", "dotfiles/bashrc", "bashrc"),
        (".gitconfig", "dotfiles/git/config", "git/config"),
        (".ssh/config", "dotfiles/ssh/config", "ssh/config"),
        (".config/fish/conf.d", "dotfiles/fish", "fish/a.fish"),
        (".direnvrc", "dotfiles/direnvrc", "direnvrc"),
        (".foorc", "dotfiles/foorc", "foorc"),
        ("bin/tool", "dotfiles/tool", "tool"),
        (".vim", "dotfiles/vim", "vim/after/x.vim"),
    ] {
        let home = Home::empty();
        let at = |path: &str| home.at(path);
        fs::create_dir_all(at("dotfiles/.git")).unwrap();
        fs::create_dir_all(at(link).parent().unwrap()).unwrap();
        fs::create_dir_all(at("dotfiles").join(file).parent().unwrap()).unwrap();
        let is_ordinary = |path: &str| home.by_default("dotfiles", path);
        symlink(at(to), at(link)).unwrap();
        fs::create_dir_all(at("elsewhere")).unwrap();
        symlink(at("dotfiles"), at("elsewhere/again")).unwrap();
        assert!(!is_ordinary(file), "{link}: {file}");
        assert!(!is_ordinary(&format!("../elsewhere/again/{file}")), "{link}: {file} by another link");
        assert!(is_ordinary("README") && is_ordinary("other/a.lua"), "{link}");
    }
}

/// Caches of another program do not use up what is looked at.
#[test]
fn links_are_found_beside_folders_with_many_files() {
    let home = Home::empty();
    fs::create_dir_all(home.at(".config/aaa/cache")).unwrap();
    // Links to one file take a fraction of the time of as many files, and count as much.
    let first = home.at(".config/aaa/cache/0");
    fs::write(&first, "").unwrap();
    (1..5_100).for_each(|n| fs::hard_link(&first, home.at(&format!(".config/aaa/cache/{n}"))).unwrap());
    fs::create_dir_all(home.at(".config/nvim/lua/config")).unwrap();
    fs::create_dir_all(home.at("dotfiles/.git")).unwrap();
    fs::write(home.at("dotfiles/opts.lua"), "").unwrap();
    symlink(home.at("dotfiles/opts.lua"), home.at(".config/nvim/lua/config/opts.lua")).unwrap();
    assert!(!home.by_default("dotfiles", "opts.lua"));
    assert!(home.by_default("dotfiles", "README"));
}

/// Runs git, which has to be there.
fn git(folder: &Path, arguments: &[&str]) {
    let told = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
    let done = Command::new("git").current_dir(folder).args(told).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_repository_is_known_by_what_it_is_and_not_by_its_name() {
    let home = Home::new();
    let top = home.at("separate");
    fs::create_dir_all(top.join("src")).unwrap();
    git(&top, &["init", "-q", "--separate-git-dir=gitdata", "."]);
    git(&top, &["commit", "-q", "--allow-empty", "-m", "a"]);
    git(&top, &["init", "-q", "--bare", "data/store"]);
    git(&top, &["clone", "-q", "--mirror", "gitdata", "mirror"]);
    git(&top, &["worktree", "add", "-q", "tree"]);
    git(&top, &["submodule", "--quiet", "add", "./mirror", "part"]);
    symlink("../gitdata", top.join("src/link")).unwrap();
    // A git directory that is not complete yet.
    fs::create_dir_all(top.join("late/inside")).unwrap();
    fs::write(top.join("late/.git"), "gitdir: inside\n").unwrap();
    for folder in ["gitdata", "data/store", "mirror", "late/inside", "src/link", "gitdata/modules/part"] {
        for name in ["hooks/pre-commit", "hooks/own", "config", "info/attributes", "new/deep/file", "modules/x/config"]
        {
            let path = format!("{folder}/{name}");
            assert!(!home.by_default("separate", &path), "{path}");
            assert!(!home.by_default("separate", top.join(&path).to_str().unwrap()), "{path}");
        }
    }
    for path in ["gitdata/worktrees/tree/config.worktree", "gitdata/modules/part/config", "part/.git", "tree/.git"] {
        assert!(!home.by_default("separate", path), "{path}");
    }
    assert!(!home.by_default("separate/gitdata", "config"), "a conversation in the repository's inside");
    assert!(!home.by_default("separate/data/store", "config"), "a conversation in a bare repository");
    for path in ["src/main.rs", "data/x", "part/x", "tree/x", "late/x", "new/refs/x", "objects/x"] {
        assert!(home.by_default("separate", path), "{path}");
    }
    // What is no such file does not hold anything up.
    for content in ["", "gitdir:", "gitdir: ", "other", "gitdir: /no/such"] {
        fs::write(top.join("late/.git"), content).unwrap();
        assert!(home.by_default("separate", "late/x"), "{content:?}");
    }
}

#[test]
fn a_virtual_environment_is_known_by_what_is_in_it() {
    let home = Home::new();
    for file in ["project/own/pyvenv.cfg", "project/other/bin/activate", "project/other/bin/python"] {
        fs::create_dir_all(home.at(file).parent().unwrap()).unwrap();
        fs::write(home.at(file), "").unwrap();
    }
    for path in ["own/bin/pytest", "own/lib/a.py", "other/bin/pip", "new/pyvenv.cfg"] {
        assert!(!home.by_default("project", path), "{path}");
    }
    assert!(home.by_default("project", "bin/run") && home.by_default("project", "src/bin/main.rs"));
}

#[test]
fn the_users_own_word_means_every_file() {
    let home = Home::new();
    let approve = Some(Decision::Approve);
    let builtin = Presets::builtin();
    let own = |name: &str| {
        let mut presets = Presets::builtin();
        presets.define(name, Preset { approve: vec!["write".into()], deny: vec![] }).unwrap();
        presets
    };
    for path in ["../.bashrc", ".git/config", "../other.txt"] {
        assert_eq!(home.decide(&["$default"], &builtin, "project", path), None, "{path}");
        assert_eq!(home.decide(&["write"], &builtin, "project", path), approve, "{path}");
        assert_eq!(home.decide(&["$default", "write(*)"], &builtin, "project", path), approve, "{path}");
        assert_eq!(home.decide(&["$mine"], &own("$mine"), "project", path), approve, "{path}");
        assert_eq!(home.decide(&["$default"], &own("$default"), "project", path), approve, "{path}");
        assert_eq!(home.decide(&["$default"], &builtin.clone().unbounded(), "project", path), approve, "{path}");
        let denied = home.decide(&["$default", "!write(.git/**)"], &builtin.clone().unbounded(), "project", path);
        assert_eq!(denied, if path.contains("git") { Some(Decision::Deny) } else { approve }, "{path}");
    }
    let rule = ["$default", "write(../plain/**)"];
    assert_eq!(home.decide(&rule, &builtin, "project", "out/notes"), approve, "a rule adds to it");
    assert_eq!(home.decide(&rule, &builtin, "project", "main.rs"), approve);
    assert_eq!(home.decide(&rule, &builtin, "project", "../other.txt"), None);
}

/// What a path of a model's is made of.
#[rustfmt::skip]
fn part() -> impl Strategy<Value = &'static str> {
    select(vec![
        "project", "src", "nested", "plain", "sub", "worktree", "main.rs", "lib.rs", "x", "new", "out", "rc", "in", "main",
        "dot", "hook", "hooks", "chain", "up", "loop", "twin", "back", "into", ".git", ".GIT", ".Git", ".jj", ".exrc", ".bashrc",
        ".BASHRC", ".ssh", "config", ".config", "nvim", "..", "..", "..", ".", "", ".env", ".vscode", "HEAD", "notes",
        "other.txt", "linked",
    ])
}

/// Names that the oracle knows to be dangerous: fewer than the table, and written down a second time.
fn is_dangerous(path: &Path) -> bool {
    let folders = [".git", ".jj", ".ssh", ".config", ".vscode", "dotted.git"];
    let files = [".exrc", ".bashrc", ".env", "head"];
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
    names.iter().any(|name| folders.contains(&name.as_str()))
        || names.last().is_some_and(|name| files.contains(&name.as_str()))
}

thread_local! {
    /// A home in which nothing was written.
    static UNCHANGED: Cell<Option<Home>> = const { Cell::new(None) };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    #[ignore = "slow"]
    fn no_spelling_of_a_path_bypasses_the_question_to_write(
        parts in proptest::collection::vec(part(), 1..6),
        project in select(&PROJECTS[..]),
        absolute in any::<bool>(),
    ) {
        let home = UNCHANGED.take().unwrap_or_else(Home::new);
        let (base, root) = project;
        let mut path = parts.join("/");
        if absolute {
            path = format!("{}/{path}", home.root().display());
        }
        let before = home.files();
        if !home.by_default(base, &path) {
            prop_assert_eq!(home.files(), before);
            UNCHANGED.set(Some(home));
            return Ok(());
        }
        home.write(base, &path);
        let after = home.files();
        let root = home.at(root.expect("nothing is approved without a project"));
        for (file, (content, names)) in &after {
            let changed = before.get(file).is_none_or(|(old, _)| old != content);
            if changed {
                prop_assert!(file.starts_with(&root), "{path} from {base} changed {}", file.display());
                prop_assert!(!is_dangerous(file.strip_prefix(home.root()).unwrap()), "{path} changed {}", file.display());
                prop_assert_eq!(*names, 1, "{} changed {} under another name", path, file.display());
            }
        }
        prop_assert!(before.keys().all(|file| after.contains_key(file)), "{path} took a file away");
    }
}
