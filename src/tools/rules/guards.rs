//! The arguments by which a program runs something else, or writes where it usually reads, program by program.
//!
//! What the table says was taken from the programs' manuals. Short options are found inside clusters (`-uo`), long ones
//! by any beginning (`--outp=x`), as `getopt_long` takes them.

use super::{options::subcommand, word::Word};

/// What is dangerous in the arguments of a program.
pub(super) struct Guard {
    /// Its names.
    programs: &'static [&'static str],
    /// Its subcommand that this is about; empty for all.
    subcommand: &'static str,
    /// Letters of short options.
    short: &'static str,
    /// Long options, with two dashes.
    long: &'static [&'static str],
    /// Options that are words after one or two dashes, and may hold a value after `=`.
    dashed: &'static [&'static str],
    /// Whole words.
    words: &'static [&'static str],
    /// Beginnings of words.
    prefixes: &'static [&'static str],
}

const NONE: Guard =
    Guard { programs: &[], subcommand: "", short: "", long: &[], dashed: &[], words: &[], prefixes: &[] };

#[rustfmt::skip]
const GUARDS: &[Guard] = &[
    Guard {
        programs: &["git"],
        long: &[
            "config", "config-env", "exec", "exec-path", "ext-diff", "extcmd", "git-dir", "open-files-in-pager",
            "output", "output-directory", "receive-pack", "separate-git-dir", "template", "textconv",
            "upload-archive", "upload-pack", "work-tree",
        ],
        ..NONE
    },
    Guard { programs: &["git"], subcommand: "grep", short: "O", ..NONE },
    Guard { programs: &["git"], subcommand: "rebase", short: "x", ..NONE },
    Guard { programs: &["git"], subcommand: "difftool", short: "x", ..NONE },
    Guard { programs: &["git"], subcommand: "archive", short: "o", long: &["remote"], ..NONE },
    Guard { programs: &["git"], subcommand: "format-patch", short: "o", ..NONE },
    Guard { programs: &["git"], subcommand: "clone", short: "uc", ..NONE },
    Guard { programs: &["git"], subcommand: "fetch-pack", short: "u", ..NONE },
    Guard { programs: &["git"], subcommand: "bisect", words: &["run"], ..NONE },
    Guard { programs: &["git"], subcommand: "submodule", words: &["foreach", "add", "update"], ..NONE },
    Guard { programs: &["git"], subcommand: "remote", words: &["add", "set-url"], ..NONE },
    Guard {
        programs: &["find", "bfs"],
        dashed: &["delete", "exec", "execdir", "files0-from", "fls", "fprint", "fprint0", "fprintf", "ok", "okdir"],
        ..NONE
    },
    Guard { programs: &["fd", "fdfind"], short: "xX", long: &["exec", "exec-batch"], ..NONE },
    Guard { programs: &["sort"], short: "oT", long: &["output", "compress-program", "temporary-directory"], ..NONE },
    Guard { programs: &["shuf", "sdiff"], short: "o", long: &["output", "diff-program"], ..NONE },
    Guard { programs: &["diff3"], long: &["diff-program"], ..NONE },
    Guard { programs: &["split"], long: &["filter"], ..NONE },
    Guard { programs: &["tree"], short: "oR", long: &["output"], ..NONE },
    Guard {
        programs: &["tar", "bsdtar", "gtar"],
        short: "IF",
        long: &[
            "checkpoint-action", "info-script", "new-volume-script", "rmt-command", "rsh-command", "to-command",
            "use-compress-program",
        ],
        ..NONE
    },
    Guard { programs: &["zip"], short: "T", long: &["test", "unzip-command"], ..NONE },
    Guard { programs: &["rsync"], short: "eM", long: &["rsh", "rsync-path", "remote-option", "config"], ..NONE },
    Guard { programs: &["ssh", "scp", "sftp"], short: "oFSEIDJbw", ..NONE },
    Guard { programs: &["rg"], long: &["pre", "hostname-bin", "search-zip"], short: "z", ..NONE },
    Guard { programs: &["ag", "ack", "bat", "batcat", "delta"], long: &["pager", "output", "ackrc"], ..NONE },
    Guard {
        programs: &["less", "more", "most", "pg"],
        short: "koOT",
        long: &["lesskey-file", "lesskey-src", "lesskey-content", "log-file", "LOG-FILE", "tag-file"],
        prefixes: &["+"],
        ..NONE
    },
    Guard { programs: &["man"], short: "PHCBX", long: &["pager", "html", "config-file", "gxditview"], ..NONE },
    Guard {
        programs: &["cargo"],
        short: "CZ",
        long: &["artifact-dir", "config", "manifest-path", "out-dir", "root", "target-dir"],
        words: &["install"],
        prefixes: &["+"],
        ..NONE
    },
    Guard {
        programs: &["rustc", "rustdoc"],
        short: "oCZL",
        long: &["codegen", "emit", "extern", "out-dir", "sysroot", "test-builder", "runtool", "runner"],
        prefixes: &["@", "+"],
        ..NONE
    },
    Guard { programs: &["rustup"], words: &["run", "toolchain"], prefixes: &["+"], ..NONE },
    Guard {
        programs: &["make", "gmake", "bmake"],
        short: "fCIEo",
        long: &["directory", "eval", "file", "include-dir", "makefile"],
        ..NONE
    },
    Guard { programs: &["ninja"], short: "fC", ..NONE },
    Guard {
        programs: &["cmake", "ctest"],
        short: "CDEPSG",
        long: &["build", "install", "preset", "script", "build-and-test", "overwrite"],
        ..NONE
    },
    Guard {
        programs: &["npm", "pnpm", "yarn", "bun"],
        short: "C",
        long: &["call", "config", "cwd", "dir", "globalconfig", "node-options", "prefix", "script-shell", "userconfig"],
        words: &["config", "create", "dlx", "exec", "explore", "init", "x", "edit", "set", "set-script"],
        ..NONE
    },
    Guard {
        programs: &["pip", "pip3"],
        long: &["config-settings", "prefix", "target", "python"],
        words: &["config"],
        ..NONE
    },
    Guard {
        programs: &["uv", "poetry", "pipx", "pipenv", "bundle", "hatch", "pdm", "mise", "asdf", "rye", "pixi", "conda"],
        words: &["run", "exec", "x", "shell", "tool", "--exec"],
        ..NONE
    },
    Guard {
        programs: &["pytest", "py.test"],
        short: "pco",
        long: &[
            "basetemp", "confcutdir", "override-ini", "rootdir", "config-file", "junit-xml", "junitxml", "log-file",
        ],
        ..NONE
    },
    Guard {
        programs: &["go"],
        dashed: &["C", "exec", "modfile", "o", "overlay", "toolexec", "vettool", "ldflags", "gcflags", "pkgdir"],
        words: &["generate", "run", "tool", "env"],
        ..NONE
    },
    Guard {
        programs: &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        short: "oB",
        dashed: &["wrapper", "specs", "load", "Xclang", "dumpdir"],
        prefixes: &["@", "-fplugin", "-fuse-ld", "--specs", "-fpass-plugin"],
        ..NONE
    },
    Guard { programs: &["ld", "as"], short: "o", dashed: &["plugin"], prefixes: &["@"], ..NONE },
    Guard {
        programs: &["curl"],
        short: "oOJKcDET",
        long: &[
            "config", "cookie-jar", "create-dirs", "dump-header", "engine", "etag-save", "hsts", "libcurl", "output",
            "output-dir", "remote-header-name", "remote-name", "remote-name-all", "stderr", "trace", "trace-ascii",
            "upload-file", "alt-svc",
        ],
        ..NONE
    },
    Guard {
        programs: &["wget"],
        short: "oOPeai",
        long: &[
            "append-output", "config", "execute", "output-document", "output-file", "use-askpass", "directory-prefix",
        ],
        ..NONE
    },
    Guard {
        programs: &["docker", "podman", "nerdctl"],
        words: &["run", "exec", "cp", "create", "compose", "build", "buildx", "plugin", "context"],
        ..NONE
    },
    Guard {
        programs: &["kubectl", "oc"],
        long: &["kubeconfig"],
        words: &["exec", "run", "cp", "debug", "edit", "plugin", "config", "attach"],
        ..NONE
    },
    Guard { programs: &["gh", "glab"], words: &["alias", "extension", "ext", "codespace", "config", "api"], ..NONE },
    Guard { programs: &["ip"], short: "b", words: &["netns", "exec"], dashed: &["b", "batch"], ..NONE },
    Guard {
        programs: &["systemctl"],
        short: "H",
        long: &["host"],
        words: &["edit", "set-environment", "link"],
        ..NONE
    },
    Guard { programs: &["journalctl"], long: &["cursor-file", "rotate", "vacuum-size", "vacuum-time"], ..NONE },
    Guard { programs: &["tcpdump"], short: "zwC", ..NONE },
    Guard { programs: &["nmap"], dashed: &["script", "oN", "oX", "oG", "oA", "oS"], ..NONE },
    Guard { programs: &["openssl"], dashed: &["engine", "out", "provider", "config"], ..NONE },
    Guard {
        programs: &["gpg", "gpg2"],
        short: "o",
        long: &["agent-program", "exec-path", "output", "photo-viewer", "pinentry-mode", "keyserver-options"],
        ..NONE
    },
    Guard { programs: &["yq"], short: "is", long: &["inplace", "in-place", "split-exp"], ..NONE },
    Guard { programs: &["printf"], short: "v", ..NONE },
    Guard { programs: &["test", "["], words: &["-v", "-R"], ..NONE },
    Guard { programs: &["jobs"], short: "x", ..NONE },
    Guard { programs: &["date"], short: "s", long: &["set"], ..NONE },
    Guard {
        programs: &["nc", "ncat", "netcat"],
        short: "ec",
        long: &["exec", "sh-exec", "lua-exec", "output"],
        ..NONE
    },
    Guard {
        programs: &["gradle", "gradlew"],
        short: "Ibpg",
        long: &["init-script", "build-file", "project-dir", "gradle-user-home", "include-build"],
        ..NONE
    },
    Guard {
        programs: &["mvn", "mvnw"],
        short: "fsgt",
        long: &["file", "settings", "global-settings", "toolchains"],
        ..NONE
    },
    Guard { programs: &["dd"], prefixes: &["of="], ..NONE },
    Guard {
        programs: &["nix"],
        short: "c",
        long: &["command", "extra-experimental-features", "expr", "impure"],
        words: &["run", "shell", "develop", "repl", "eval"],
        ..NONE
    },
    Guard {
        programs: &["terraform", "tofu"],
        dashed: &["chdir", "out"],
        words: &["apply", "destroy", "console"],
        ..NONE
    },
    Guard { programs: &["file", "ctags"], short: "Co", long: &["compile", "options", "magic-file"], ..NONE },
];

/// What is to be minded in a command of this program.
pub(super) fn of(program: &str, words: &[Word]) -> Vec<&'static Guard> {
    GUARDS.iter().filter(|guard| guard.programs.contains(&program) && concerns(guard, words)).collect()
}

/// Whether a guard is about the subcommand, if there is one.
fn concerns(guard: &Guard, words: &[Word]) -> bool {
    guard.subcommand.is_empty()
        || subcommand(words).is_none_or(|place| words[place].known().is_none_or(|word| word == guard.subcommand))
}

impl Guard {
    /// Whether a word is an option of this table that the rule does not write out. `literal` is the text that the
    /// word of the rule begins with, before its wildcard.
    pub(super) fn forbids(&self, text: &str, literal: &str, program: &str, place: usize) -> bool {
        if self.words.contains(&text) || self.prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            return true;
        }
        let name = text.trim_start_matches('-').split('=').next().unwrap_or_default();
        if text.starts_with('-') && self.dashed.contains(&name) && !literal.contains('=') {
            return true;
        }
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            return !name.is_empty()
                && !literal.contains('=')
                && self.long.iter().any(|option| option.starts_with(name));
        }
        // The first word of `tar xf` is a cluster as well.
        let bundled = program.ends_with("tar") && place == 1;
        match text.strip_prefix('-').or(bundled.then_some(text)) {
            Some(letters) => {
                let written = |letter: char| literal.len() > 1 && literal.contains(letter);
                letters.chars().any(|letter| self.short.contains(letter) && !written(letter))
            }
            None => false,
        }
    }
}
