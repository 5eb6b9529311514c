//! Programs of which a wildcard only matches arguments that are known to be harmless, since unknown ones may do anything.
//!
//! They take subcommands from elsewhere (plugins, scripts, aliases), or have so many options that run something that a list
//! of them would not be complete. A rule that contains a subcommand or an option approves it.

use super::{guards, word::Word};

/// The known arguments of a program.
pub(super) struct KnownProgram {
    programs: &'static [&'static str],
    /// Its harmless subcommands; empty if it has none.
    commands: &'static [&'static str],
    /// Options before the subcommand whose value is the next word.
    values: &'static [&'static str],
    /// Options that a wildcard may match before the subcommand; none has a value, unless it is among `values`.
    before: &'static [&'static str],
    /// The options that a wildcard may match; `None` where [`guards`] decide.
    options: Option<&'static [&'static str]>,
    /// Whether arguments after `--` are passed to another program.
    hands_on: bool,
}

const NONE: KnownProgram =
    KnownProgram { programs: &[], commands: &[], values: &[], before: &[], options: None, hands_on: false };

/// Options that only print information about the program.
const ABOUT: &[&str] = &["--version", "--help", "-h", "-V"];

#[rustfmt::skip]
const KNOWN: &[KnownProgram] = &[
    KnownProgram {
        programs: &["npm"],
        commands: &[
            "audit", "bin", "doctor", "explain", "fund", "help", "info", "la", "list", "ll", "ls", "outdated", "ping", "prefix", "query", "restart", "root",
            "run", "run-script", "search", "show", "start", "stop", "t", "test", "tst", "v", "view", "whoami", "why",
        ],
        values: &["--prefix", "-C", "--workspace", "-w", "--loglevel", "--userconfig", "--script-shell", "--cache", "--registry"],
        before: &["--version", "--help", "-h", "-v", "-s", "--silent", "-q", "--quiet"],
        options: Some(&[
            "--all", "--color", "--depth", "--dry-run", "--if-present", "--ignore-scripts", "--include-workspace-root", "--json", "--loglevel",
            "--long", "--no-audit", "--no-color", "--no-fund", "--omit", "--parseable", "--production", "--quiet", "--silent", "--verbose", "--version",
            "--help", "--workspace", "--workspaces", "-a", "-d", "-h", "-l", "-p", "-q", "-s", "-v", "-w", "-ws",
        ]),
        hands_on: true,
    },
    KnownProgram {
        programs: &["pnpm", "yarn", "bun"],
        commands: &[
            "audit", "build", "check", "dev", "format", "help", "info", "la", "licenses", "lint", "list", "ll", "ls", "outdated", "root", "run", "run-script", "start",
            "stop", "t", "test", "tst", "typecheck", "versions", "why",
        ],
        values: &["--prefix", "-C", "--cwd", "--dir", "--filter", "-F", "--loglevel", "--reporter"],
        before: &["--version", "--help", "-h", "-v", "-s", "--silent", "-r", "--recursive", "-w", "--workspace-root"],
        options: Some(&[
            "--all", "--color", "--depth", "--dev", "--dry-run", "--filter", "--if-present", "--json", "--long", "--no-bail", "--no-color", "--parallel", "--prod",
            "--production", "--recursive", "--silent", "--stream", "--verbose", "--version", "--help", "--watch", "--workspace-root", "-D", "-F", "-P", "-h", "-r", "-s", "-v", "-w",
        ]),
        hands_on: true,
    },
    KnownProgram {
        programs: &["cargo"],
        commands: &[
            "b", "bench", "build", "c", "check", "clean", "clippy", "d", "deny", "doc", "fetch", "fix", "fmt", "generate-lockfile", "help", "info", "llvm-cov", "locate-project",
            "metadata", "nextest", "pkgid", "r", "read-manifest", "report", "rm", "run", "search", "t", "test", "tree", "update", "verify-project", "version",
        ],
        values: &["--color", "--config", "-C", "-Z", "--explain"],
        before: &["--version", "--help", "-h", "-V", "-v", "-vv", "-q", "--verbose", "--quiet", "--locked", "--offline", "--frozen", "--list"],
        options: Some(&[
            "--all", "--all-features", "--all-targets", "--allow-dirty", "--allow-no-vcs", "--allow-staged", "--benches", "--bench", "--bin", "--bins", "--broken-code",
            "--charset", "--check", "--color", "--depth", "--doc", "--document-private-items", "--dry-run", "--duplicates", "--edges", "--edition", "--edition-idioms", "--example", "--examples",
            "--exclude", "--features", "--fix", "--format", "--format-version", "--frozen", "--future-incompat-report", "--help", "--ignore-rust-version", "--invert",
            "--jobs", "--keep-going", "--lib", "--limit", "--list", "--locked", "--message-format", "--no-default-features", "--no-deps", "--no-fail-fast", "--no-run",
            "--offline", "--package", "--precise", "--prefix", "--profile", "--quiet", "--recursive", "--release", "--target", "--test", "--tests", "--verbose", "--version",
            "--workspace", "-F", "-V", "-d", "-e", "-h", "-i", "-j", "-p", "-q", "-r", "-v", "-vv",
        ]),
        hands_on: true,
    },
    KnownProgram {
        programs: &["rustup"],
        commands: &["check", "component", "help", "show", "target", "update", "which"],
        before: &["--version", "--help", "-h", "-V", "-v", "-q"],
        ..NONE
    },
    KnownProgram {
        programs: &["go"],
        commands: &["build", "clean", "doc", "fmt", "help", "list", "mod", "test", "version", "vet"],
        values: &["-C"],
        ..NONE
    },
    KnownProgram {
        programs: &["pip"],
        commands: &["check", "freeze", "hash", "help", "inspect", "list", "search", "show"],
        values: &["--python", "--log", "--proxy", "--cache-dir", "--timeout", "--retries"],
        before: ABOUT,
        ..NONE
    },
    KnownProgram {
        programs: &["kubectl", "oc"],
        commands: &["api-resources", "api-versions", "auth", "cluster-info", "describe", "diff", "events", "explain", "get", "logs", "rollout", "top", "version", "wait"],
        values: &[
            "-n", "--namespace", "--context", "--cluster", "--user", "--kubeconfig", "-s", "--server", "--as", "--as-group", "--token", "-v", "--request-timeout",
            "--certificate-authority", "--client-certificate", "--client-key", "--cache-dir",
        ],
        before: &["--help", "-h", "-n", "--namespace", "--context"],
        ..NONE
    },
    KnownProgram {
        programs: &["helm"],
        commands: &["env", "get", "help", "hist", "history", "inspect", "lint", "list", "ls", "search", "show", "status", "template", "verify", "version"],
        values: &["-n", "--namespace", "--kube-context", "--kubeconfig", "--registry-config", "--repository-cache", "--repository-config"],
        before: &["--help", "-h", "--debug", "-n", "--namespace"],
        ..NONE
    },
    KnownProgram {
        programs: &["docker", "podman", "nerdctl"],
        commands: &[
            "container", "diff", "events", "help", "history", "image", "images", "info", "inspect", "kill", "logs", "network", "port", "ps", "pull", "push", "rm", "rmi", "search",
            "stats", "stop", "system", "tag", "top", "version", "volume", "wait",
        ],
        values: &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "--root", "--url", "--connection"],
        before: &["--version", "--help", "-h", "-v"],
        ..NONE
    },
    KnownProgram {
        programs: &["terraform", "tofu"],
        commands: &["fmt", "get", "graph", "help", "output", "plan", "providers", "show", "validate", "version"],
        before: &["-help", "--help", "-version", "--version", "-h", "-v"],
        ..NONE
    },
    KnownProgram {
        programs: &["gh", "glab"],
        commands: &["cache", "gist", "help", "issue", "label", "mr", "org", "pr", "project", "release", "repo", "ruleset", "run", "search", "status", "variable", "version", "workflow", "ci"],
        values: &["-R", "--repo"],
        before: &["--version", "--help", "-h"],
        ..NONE
    },
    KnownProgram {
        programs: &["brew"],
        commands: &["cat", "config", "deps", "desc", "doctor", "help", "home", "info", "leaves", "list", "ls", "outdated", "search", "uses"],
        before: &["--version", "--help", "-h", "--prefix", "--cellar", "--cache", "--repository"],
        ..NONE
    },
    KnownProgram {
        programs: &["hg", "sl"],
        commands: &[
            "annotate", "blame", "bookmarks", "branch", "branches", "cat", "diff", "files", "grep", "heads", "help", "id", "identify", "locate", "log", "manifest",
            "parents", "paths", "phase", "root", "st", "status", "sum", "summary", "tags", "tip", "version",
        ],
        values: &["-R", "--repository", "--cwd", "--config", "--encoding", "--color", "--pager"],
        before: &["--version", "-q", "--quiet", "-v", "--verbose", "-y"],
        options: Some(&[
            "--quiet", "--verbose", "-q", "-v", "-l", "--limit", "-p", "--patch", "-r", "--rev", "--stat", "-T", "--template", "-G", "--graph", "-b", "--branch", "-u", "--user", "-k",
            "--keyword", "-M", "--no-merges", "-f", "--follow", "-n", "-m", "-a", "-c", "-i", "-A", "--all", "-g", "--git", "-U", "--unified", "-w", "-B", "-t", "-C", "-I", "-X",
            "--version", "--help",
        ]),
        ..NONE
    },
    KnownProgram {
        programs: &["jj"],
        commands: &["diff", "evolog", "help", "log", "root", "show", "st", "status", "version"],
        values: &["-R", "--repository", "--config", "--config-file", "--config-toml", "--color", "--at-op", "--at-operation"],
        before: &["--version", "--help", "-h", "-V", "--no-pager", "--quiet", "--ignore-working-copy"],
        ..NONE
    },
    KnownProgram {
        programs: &["bazel", "bazelisk"],
        commands: &["aquery", "build", "cquery", "help", "info", "query", "test", "version"],
        before: &["--version", "--help"],
        options: Some(&["--verbose_failures", "--keep_going", "-k", "-c", "--jobs", "--nobuild", "--test_output", "--test_filter", "--nocache_test_results", "--cache_test_results"]),
        ..NONE
    },
    KnownProgram {
        programs: &["tex", "latex", "pdftex", "pdflatex", "xetex", "xelatex", "luatex", "lualatex", "luahbtex", "etex"],
        options: Some(&[
            "-draftmode", "--draftmode", "-file-line-error", "--file-line-error", "-halt-on-error", "--halt-on-error", "-help", "--help", "-interaction", "--interaction",
            "-no-shell-escape", "--no-shell-escape", "-synctex", "--synctex", "-version", "--version", "-no-pdf",
        ]),
        ..NONE
    },
    KnownProgram {
        programs: &["latexmk", "context", "tectonic", "arara", "texi2dvi", "texi2pdf", "texi2any", "mf", "mpost", "texfot"],
        options: Some(&[
            "-pdf", "-pdfxe", "-pdflua", "-dvi", "-ps", "-f", "-g", "-gg", "-c", "-C", "-silent", "-quiet", "-verbose", "-version", "--version", "-help", "--help",
            "-interaction", "-halt-on-error", "-file-line-error", "-synctex", "-norc", "-recorder",
        ]),
        ..NONE
    },
];

/// The known arguments of a program, if it is one of these.
pub(super) fn of(program: &str) -> Option<&'static KnownProgram> {
    let names = guards::names(program);
    KNOWN.iter().find(|known| known.programs.iter().any(|name| names.contains(name)))
}

impl KnownProgram {
    /// Whether a wildcard that begins with `literal` may match this word.
    pub(super) fn allows(&self, words: &[Word], place: usize, text: &str, literal: &str) -> bool {
        let is = |word: &Word, text: &str| word.known() == Some(text);
        let operands = words.iter().position(|word| is(word, "--")).unwrap_or(words.len());
        let command = if self.commands.is_empty() { None } else { self.command(words) };
        if place >= operands && self.hands_on {
            // It takes no options from there, but it may take its subcommand.
            return command.is_some_and(|command| command < operands);
        }
        if !text.starts_with('-') {
            return command != Some(place) || self.commands.contains(&text);
        }
        let name = text.split('=').next().unwrap_or(text);
        let written = literal.starts_with('-') && literal.contains('=');
        let early = !self.commands.is_empty() && command.is_none_or(|command| place < command);
        written
            || if early {
                self.before.contains(&name)
            } else {
                self.options.is_none_or(|options| options.contains(&name))
            }
    }

    /// The position of the subcommand.
    fn command(&self, words: &[Word]) -> Option<usize> {
        let mut place = 1;
        while let Some(text) = words.get(place)?.known() {
            match text {
                _ if self.values.contains(&text) => place += 2,
                _ if text.starts_with('-') => place += 1,
                _ => return Some(place),
            }
        }
        None
    }
}
