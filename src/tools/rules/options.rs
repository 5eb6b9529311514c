//! What a wildcard never matches: arguments by which a program runs something else, or writes where it usually reads.
//!
//! The table says, program by program, which options those are; what it says was taken from the programs' manuals.
//! Written out in a rule, such an option is the user's own will and matches. Short options are found inside clusters
//! (`-uo`), long ones by any beginning (`--outp=x`), as `getopt_long` takes them.

use super::{
    never,
    pattern::Match,
    word::{DESCRIPTOR, Word},
    wrappers,
};

/// What is dangerous in the arguments of a program.
struct Guard {
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

const GUARDS: [Guard; 63] = [
    Guard {
        programs: &["git"],
        long: &[
            "config",
            "config-env",
            "exec",
            "exec-path",
            "ext-diff",
            "extcmd",
            "git-dir",
            "open-files-in-pager",
            "output",
            "output-directory",
            "receive-pack",
            "separate-git-dir",
            "template",
            "textconv",
            "upload-archive",
            "upload-pack",
            "work-tree",
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
            "checkpoint-action",
            "info-script",
            "new-volume-script",
            "rmt-command",
            "rsh-command",
            "to-command",
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
            "basetemp",
            "confcutdir",
            "override-ini",
            "rootdir",
            "config-file",
            "junit-xml",
            "junitxml",
            "log-file",
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
            "config",
            "cookie-jar",
            "create-dirs",
            "dump-header",
            "engine",
            "etag-save",
            "hsts",
            "libcurl",
            "output",
            "output-dir",
            "remote-header-name",
            "remote-name",
            "remote-name-all",
            "stderr",
            "trace",
            "trace-ascii",
            "upload-file",
            "alt-svc",
        ],
        ..NONE
    },
    Guard {
        programs: &["wget"],
        short: "oOPeai",
        long: &[
            "append-output",
            "config",
            "execute",
            "output-document",
            "output-file",
            "use-askpass",
            "directory-prefix",
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

/// The subcommands of git that a wildcard matches. Any other may be an alias, which runs what it likes, or runs
/// programs that its arguments or the repository name.
const GIT_SUBCOMMANDS: [&str; 58] = [
    "add",
    "annotate",
    "apply",
    "blame",
    "branch",
    "cat-file",
    "check-attr",
    "check-ignore",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "commit",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "fsck",
    "gc",
    "grep",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "name-rev",
    "notes",
    "pull",
    "push",
    "range-diff",
    "rebase",
    "reflog",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "stash",
    "status",
    "switch",
    "symbolic-ref",
    "tag",
    "version",
    "whatchanged",
    "worktree",
];

/// Git's own options that may stand before a subcommand, under a wildcard.
const GIT_OPTIONS: [&str; 6] =
    ["--no-pager", "--version", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "-P"];

/// Git's own options whose value is the next word.
const GIT_VALUES: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"];

/// Options of sed that a wildcard matches.
const SED_OPTIONS: [&str; 11] =
    ["-n", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--regexp-extended", "--separate", "--debug"];

/// Where git's subcommand stands in a command.
pub(super) fn subcommand(words: &[Word]) -> Option<usize> {
    let mut place = 1;
    while let Some(text) = words.get(place)?.known() {
        match text {
            _ if GIT_VALUES.contains(&text) => place += 2,
            _ if text.starts_with('-') => place += 1,
            _ => return Some(place),
        }
    }
    None
}

/// Whether a wildcard may have had the part in a command that it had.
pub(super) fn allows(words: &[Word], found: &Match) -> bool {
    let Some(program) = words.first().and_then(Word::known).map(never::program) else { return false };
    let guards: Vec<&Guard> =
        GUARDS.iter().filter(|guard| guard.programs.contains(&program.as_str()) && concerns(guard, words)).collect();
    let runner = wrappers::is_runner(&program);
    found.wild.iter().all(|(place, literal)| {
        let text = match &words[*place] {
            Word::Known(text) => text,
            // Its end may make it anything: a subcommand, `NAME=value`, an option. Only a descriptor's path is itself.
            Word::Filled(start) => {
                let guarded = !guards.is_empty() || is_special(&program);
                return !runner
                    && (!guarded || is_message(words, *place) || (start == DESCRIPTOR && !is_special(&program)));
            }
            Word::Unknown => return false,
        };
        !runner
            && is_ascii_text(text)
            && !guards.iter().any(|guard| guard.forbids(text, literal, &program, *place))
            && {
                match program.as_str() {
                    "git" => git(words, *place, text),
                    "make" | "gmake" | "bmake" => !text.contains('=') || text.starts_with('-'),
                    "sed" | "gsed" => sed(words, *place, text),
                    "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk(text),
                    "uniq" | "xxd" => words.iter().skip(1).filter(|word| !is_option(word)).count() < 2,
                    _ if never::code(words).is_some() => interpreter(words, *place, text),
                    _ => true,
                }
            }
    })
}

/// Whether the options before the script, which may load code, are left alone.
fn interpreter(words: &[Word], place: usize, text: &str) -> bool {
    let before = words[1..place].iter().all(is_option);
    !before || !text.starts_with(['-', '+']) || matches!(text, "--version" | "--help" | "-V" | "-h")
}

fn is_option(word: &Word) -> bool {
    word.known().is_some_and(|text| text.starts_with('-') && text.len() > 1)
}

/// Whether the arguments of a program are code, or decide by their number.
fn is_special(program: &str) -> bool {
    ["sed", "gsed", "awk", "gawk", "mawk", "nawk", "original-awk", "uniq", "xxd"].contains(&program)
}

/// Whether a word is the message of `git commit -m`, which is text whatever is in it.
fn is_message(words: &[Word], place: usize) -> bool {
    let known: Vec<Option<&str>> = words[..place].iter().map(Word::known).collect();
    matches!(known.as_slice(), [Some("git"), Some("commit"), Some("-m" | "-am" | "--message")])
}

/// Whether a text has nothing in it that looks like something else.
pub(super) fn is_ascii_text(text: &str) -> bool {
    text.chars().all(|character| matches!(character, ' '..='~' | '\n' | '\t'))
}

/// Whether a guard is about the subcommand, if there is one.
fn concerns(guard: &Guard, words: &[Word]) -> bool {
    guard.subcommand.is_empty()
        || subcommand(words).is_none_or(|place| words[place].known().is_none_or(|word| word == guard.subcommand))
}

impl Guard {
    /// Whether a word is an option of this table that the rule does not write out. `literal` is the text that the
    /// word of the rule begins with, before its wildcard.
    fn forbids(&self, text: &str, literal: &str, program: &str, place: usize) -> bool {
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

/// Whether a word of `git …` is harmless: before the subcommand, as one, or after it.
fn git(words: &[Word], place: usize, text: &str) -> bool {
    match subcommand(words) {
        Some(subcommand) if place == subcommand => GIT_SUBCOMMANDS.contains(&text),
        Some(subcommand) if place > subcommand => !text.contains("::"),
        _ => GIT_OPTIONS.contains(&text),
    }
}

/// Whether a word of `sed …` neither writes nor runs anything.
fn sed(words: &[Word], place: usize, text: &str) -> bool {
    if text.starts_with('-') {
        return SED_OPTIONS.contains(&text);
    }
    let script = words.iter().skip(1).position(|word| !is_option(word)).map(|place| place + 1);
    script != Some(place) || is_harmless_sed(text)
}

/// Whether a sed script is a single command that prints, deletes, quits or substitutes, with plain addresses.
fn is_harmless_sed(script: &str) -> bool {
    let mut rest = script;
    loop {
        let digits = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '$' || letter == '~');
        let after = match digits.strip_prefix('/') {
            Some(expression) if digits.len() == rest.len() => match delimited(expression, '/') {
                Some(after) => after.trim_start_matches('I'),
                None => return false,
            },
            _ => digits,
        };
        match after.strip_prefix(',') {
            Some(next) => rest = next.trim_start_matches('+'),
            None => {
                rest = after.trim_start_matches('!');
                break;
            }
        }
    }
    if matches!(rest, "p" | "d" | "=" | "q") {
        return true;
    }
    let Some(delimiter) = rest.strip_prefix('s').and_then(|rest| rest.chars().next()) else { return false };
    if !"/|#,:@".contains(delimiter) || rest.contains('\n') {
        return false;
    }
    delimited(&rest[2..], delimiter)
        .and_then(|replacement| delimited(replacement, delimiter))
        .is_some_and(|flags| flags.chars().all(|flag| flag.is_ascii_digit() || "gpIi".contains(flag)))
}

/// What comes after the next delimiter. Brackets and backslashes, in which it may hide, are not taken apart.
fn delimited(text: &str, delimiter: char) -> Option<&str> {
    let (before, after) = text.split_once(delimiter)?;
    (!before.ends_with('\\') && !before.contains(['[', '\n'])).then_some(after)
}

/// Whether a word of `awk …` neither runs nor writes anything: a program without `system`, pipes and redirections.
fn awk(text: &str) -> bool {
    if text.starts_with('-') {
        return matches!(text, "-F" | "-v") || (text.starts_with("-F") && is_harmless_awk(text));
    }
    is_harmless_awk(text)
}

fn is_harmless_awk(text: &str) -> bool {
    !["system", "getline", "close", "|", ">", "@"].iter().any(|part| text.contains(part))
}
