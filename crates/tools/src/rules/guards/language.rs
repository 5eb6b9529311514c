//! Package managers, test runners, linters and formatters of languages.

use super::guard::{Guard, NONE};

#[rustfmt::skip]
pub(super) const GUARDS: &[Guard] = &[
    Guard {
        programs: &["npm", "pnpm", "yarn", "bun"],
        short: "C",
        long: &[
            "browser", "cache", "call", "config", "cwd", "dir", "editor", "git", "globalconfig", "init-module", "local-prefix",
            "node-gyp", "node-options", "npm-path", "package", "prefix", "preload", "python", "script-shell", "shell",
            "tmp", "userconfig", "viewer", "logs-dir", "pack-destination", "use-node-version", "modules-dir", "store-dir",
            "shell-emulator", "hooks-dir", "pnpmfile", "global-pnpmfile", "require", "import", "eval", "print", "outdir", "outfile",
            "lockfile-dir", "virtual-store-dir", "global-dir", "global-bin-dir", "node-version", "registry", "use-yarnrc",
            "modules-folder", "cache-folder", "scripts-prepend-node-path", "env-file", "install-strategy",
        ],
        words: &[
            "config", "create", "dlx", "exec", "explore", "init", "x", "edit", "set", "set-script", "pkg", "node", "link",
            "env", "setup", "upgrade", "add",
        ],
        ..NONE
    },
    Guard { programs: &["prettier", "biome"], short: "w", long: &["write"], ..NONE },
    Guard {
        programs: &["deno"],
        short: "AcP",
        long: &[
            "allow-all", "allow-env", "allow-ffi", "allow-import", "allow-net", "allow-read", "allow-run", "allow-scripts", "allow-sys", "allow-write",
            "cert", "config", "coverage", "env-file", "import-map", "junit-path", "lock", "output", "permission-set", "preload", "require", "v8-flags",
        ],
        ..NONE
    },
    Guard {
        programs: &["forge", "cast", "chisel"],
        long: &["cache-path", "config-path", "ffi", "out", "root", "use"],
        words: &["clone", "create", "init", "install", "script", "send", "update"],
        ..NONE
    },
    Guard {
        programs: &["wp"],
        long: &["exec", "http", "path", "require", "ssh"],
        words: &["cli", "config", "core", "db", "eval", "eval-file", "package", "plugin", "scaffold", "server", "shell", "theme"],
        ..NONE
    },
    Guard { programs: &["npm", "pnpm"], subcommand: "audit", words: &["fix"], long: &["fix"], ..NONE },
    Guard {
        programs: &["pip"],
        short: "fitUbrec",
        long: &[
            "build-option", "cache-dir", "cert", "client-cert", "config-settings", "editable", "extra-index-url", "find-links",
            "global-option", "index-url", "install-option", "keyring-provider", "log", "prefix", "proxy", "python", "report",
            "requirement", "root", "src", "target", "trusted-host", "build-constraint", "dest", "constraint", "use-feature",
        ],
        words: &["config", "download", "wheel"],
        ..NONE
    },
    Guard {
        programs: &[
            "uv", "poetry", "pipx", "pipenv", "bundle", "hatch", "pdm", "mise", "asdf", "rye", "pixi", "conda", "mamba",
            "micromamba", "volta", "fnm", "rbenv", "pyenv", "nodenv", "direnv", "devbox", "flox",
        ],
        short: "Cp",
        long: &[
            "directory", "project", "python", "config-file", "index-url", "index", "default-index", "extra-index-url", "find-links",
            "prefix", "root", "cwd", "cd", "env-file", "with", "with-editable", "with-requirements", "exec", "gemfile", "name",
            "manifest-path", "allow-insecure-host", "build-constraints", "config-setting", "cache-dir", "target", "env", "spec",
        ],
        words: &["run", "exec", "x", "shell", "tool", "config", "self", "plugin", "init", "add", "build", "publish", "global", "set"],
        ..NONE
    },
    Guard { programs: &["uv", "poetry", "pipx", "pipenv", "hatch", "pdm", "rye", "pixi"], words: &["python"], ..NONE },
    Guard {
        programs: &["pytest", "py.test"],
        short: "pco",
        long: &[
            "basetemp", "cache-dir", "capture-log", "confcutdir", "config-file", "cov-config", "cov-report", "debug",
            "html", "import-mode", "junit-xml", "junitxml", "log-file", "looponfail", "override-ini", "pastebin", "pdbcls", "px",
            "plugin", "pyargs", "report-log", "result-log", "resultlog", "rootdir", "rsyncdir", "self-contained-html", "tx",
            "alluredir", "csv", "json-report-file", "profile-svg", "benchmark-json", "benchmark-save", "benchmark-storage",
            "basetempdir", "ds", "dc", "driver", "splinter-webdriver",
        ],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["pylint", "pyreverse", "epylint"],
        short: "fdopE",
        long: &[
            "analyse-fallback-blocks", "extension-pkg-allow-list", "extension-pkg-whitelist", "generate-rcfile", "import-graph",
            "ext-import-graph", "int-import-graph", "init-hook", "load-plugins", "output", "output-directory", "output-format",
            "rcfile", "source-roots", "spelling-private-dict-file", "spelling-store-unknown-words", "unsafe-load-any-extension",
            "project", "property-classes",
        ],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["mypy", "dmypy", "stubtest", "stubgen", "pyright", "basedpyright", "pyre", "pytype", "pyrefly", "ty"],
        short: "pocfP",
        long: &[
            "any-exprs-report", "cache-dir", "cobertura-xml-report", "config-file", "custom-typeshed-dir", "custom-typing-module",
            "html-report", "install-types", "junit-xml", "linecount-report", "lineprecision-report", "linecoverage-report",
            "lineprecision", "python-executable", "shadow-file", "txt-report", "xml-report", "xslt-html-report", "xslt-txt-report",
            "status-file", "log-file", "perf-stats-file", "output", "project", "pythonpath", "venvpath", "typeshedpath", "createstub",
            "binary", "typeshed", "search-path", "config", "python", "daemon", "timeout-file", "export-types", "inspect-mode",
        ],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["flake8", "pycodestyle", "pydocstyle", "bandit", "black", "isort", "ruff", "autopep8", "yapf", "blue", "vulture",
            "pyupgrade", "djlint", "sqlfluff", "codespell", "interrogate", "radon", "xenon"],
        short: "cop",
        long: &[
            "append-config", "config", "config-file", "configfile", "custom-configuration", "enable-extensions", "format-plugin",
            "global-config", "isolated-plugins", "jobs-file", "msg-template", "output-file", "profile", "require-plugins",
            "settings-file", "settings-path", "sp", "style", "tee", "templater", "library-path", "load-macros-from-path", "ini",
            "output", "cache-dir", "baseline", "resolve-all-configs", "config-root", "formatter", "sphinx", "rule",
        ],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["coverage"],
        short: "do",
        long: &["rcfile", "data-file", "directory", "debug", "plugins"],
        words: &["run", "debug", "erase"],
        ..NONE
    },
    Guard {
        programs: &["tox", "nox", "invoke", "inv", "fab", "doit"],
        short: "cxfdrs",
        long: &[
            "conf", "override", "root", "workdir", "noxfile", "envdir", "collection", "search-root", "config", "shell", "dir", "file",
            "installpkg", "develop", "result-json", "report", "default-venv-backend", "force-venv-backend", "db-file", "seek-file",
            "pre", "listenv", "exit-and-dump", "prompt-for-sudo-password", "identity", "ssh-config", "hosts", "extra-python",
        ],
        words: &["exec", "e", "--", "devenv", "d"],
        ..NONE
    },
    Guard {
        programs: &["sphinx-build", "sphinx-autobuild", "mkdocs", "jupyter", "jupyter-nbconvert", "cython", "cythonize", "f2py"],
        short: "cCDdwfo",
        long: &[
            "conf-dir", "define", "doctree-dir", "warning-file", "config-file", "config", "pre-build", "post-build", "open-browser",
            "execute", "template", "template-file", "to", "output", "output-dir", "nbconvert-exporter", "kernel", "allow-errors",
            "inplace", "ipython-dir", "f2cmap", "compiler", "build-dir", "fcompiler", "isolated", "preprocessors", "theme",
        ],
        ..NONE
    },
    Guard {
        programs: &["eslint", "eslint_d", "prettier", "stylelint", "standard", "xo", "biome", "oxlint", "tslint", "jshint", "htmlhint",
            "markdownlint", "markdownlint-cli2", "remark", "textlint", "cspell", "commitlint"],
        short: "cfoprsux",
        long: &[
            "cache-file", "cache-location", "config", "config-path", "configuration", "custom-formatter", "custom-syntax", "extends",
            "flag", "format", "formatter", "ignore-path", "output", "output-file", "parser", "parser-opts", "parserOptions", "plugin",
            "plugins", "plugin-search-dir", "rc-path", "report", "reporter", "resolve-plugins-relative-to", "rulesdir", "rules-dir",
            "rulePaths", "setting", "syntax", "tsconfig", "use", "cwd", "working-directory", "env-info", "config-basedir", "globby", "init", "inspect-config", "suppressions-location",
            "stdin-file-path", "prelude", "preset", "rule", "edit", "parser-preset", "file", "out", "log-path", "vcs-root",
        ],
        plain: &["ext", "fix"],
        ..NONE
    },
    Guard {
        programs: &["jest", "vitest", "mocha", "ava", "tap", "karma", "jasmine", "nyc", "c8", "playwright", "cypress", "qunit", "tape",
            "uvu", "wdio", "cucumber-js"],
        short: "crRuopfC",
        long: &[
            "api", "browser", "browser-executable", "cacheDirectory", "config", "config-file", "coverageDirectory", "coverageProvider",
            "cwd", "dependencyExtractor", "dir", "env", "environment", "execArgv", "experimental-loader", "extension", "file", "filter",
            "globals", "global-setup", "globalSetup", "globalTeardown", "haste", "import", "loader", "moduleDirectories",
            "moduleNameMapper", "modulePathIgnorePatterns", "modulePaths", "node-arg", "node-arguments", "node-option", "node-options",
            "nodeArguments", "open", "output", "outputFile", "package", "pool", "preset", "prettierPath", "project", "projects",
            "report-dir", "reporter", "reporters", "require", "resolver", "root", "rootDir", "roots", "runner", "setupFiles",
            "setupFilesAfterEnv", "setup-files", "snapshotSerializers", "spec", "standalone", "temp-dir", "temp-directory",
            "testEnvironment", "testPathPattern-file", "testResultsProcessor", "testRunner", "testSequencer", "transform", "typecheck",
            "ui", "vmThreads", "watchPlugins", "workspace", "before", "after", "plugin", "save-fixture", "helper", "loaders", "exporter",
            "reporter-options", "reporter-option", "reporters-file", "launch", "world-parameters", "color-scheme-file",
        ],
        plain: &["coverage", "run", "watch"],
        ..NONE
    },
    Guard {
        programs: &["tsc", "vue-tsc", "webpack", "rollup", "vite", "esbuild", "parcel", "babel", "swc", "gulp", "grunt", "next", "nuxt",
            "astro", "ng", "turbo", "nx", "lerna", "tsup", "rspack", "storybook", "postcss", "sass", "tailwindcss", "browserify"],
        short: "pcrodefu",
        long: &[
            "base", "build", "config", "config-file", "config-node-resolve", "configLoader", "configPlugin", "configRegister",
            "cwd", "declarationDir", "declaration-dir", "entry", "env-file", "external-helpers", "footer", "banner", "gruntfile", "gulpfile", "inject",
            "generateCpuProfile", "generateTrace", "json", "loader", "node-env", "open", "out-dir", "outDir", "outFile", "out-file", "outfile",
            "outdir", "output", "output-path", "plugin", "plugins", "presets", "project", "require", "resolve", "root", "rootDir",
            "servedir", "serve", "transform", "tasks", "npm", "target-dir", "tsBuildInfoFile", "watch.onstart", "watch.onend", "watch.onEnd", "syntax",
            "parser", "stringifier", "use", "load-path", "pkg-importer", "import", "preload", "preflight", "cache-dir", "graph", "host",
        ],
        plain: &["watch"],
        words: &["exec", "run", "run-many", "create", "init", "add", "generate", "g", "new", "dlx", "x"],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["rspec", "rubocop", "standardrb", "cucumber", "minitest", "reek", "brakeman", "erblint"],
        short: "rIOfoPcC",
        long: &[
            "require", "options", "format", "formatter", "out", "output", "config", "default-path", "drb", "plugin", "server", "bisect",
            "profile", "cache-root", "output-file", "auto-gen-config", "add-libs-path", "config-file", "plugin-path", "custom-checks",
            "add-checks-path", "display-only-fail-level-offenses-file", "editor-mode", "stdin-file",
        ],
        ..NONE
    },
    Guard {
        programs: &["rake", "thor", "rails", "gem"],
        short: "ferEpICRgNi",
        long: &[
            "rakefile", "execute", "execute-continue", "execute-print", "libdir", "rakelibdir", "require", "system", "backtrace-file",
            "directory", "template", "config-file", "install-dir", "bindir", "source", "trust-policy", "build-root", "http-proxy",
        ],
        words: &["runner", "r", "console", "c", "dbconsole", "db", "generate", "g", "new", "plugin", "exec", "install", "i", "open",
            "push", "destroy", "app:template", "credentials:edit", "encrypted:edit", "fetch", "update"],
        // An environment variable for the program that it runs.
        parts: &["="],
        ..NONE
    },
    Guard {
        programs: &["prove", "perlcritic", "perltidy", "perldoc", "cover", "yath"],
        short: "ePIMTwnDdow",
        long: &[
            "exec", "ext-exec", "source", "formatter", "harness", "archive", "state", "rc", "norc", "lib", "tapversion", "profile",
            "theme", "pager", "backup-and-modify-in-place", "outfile", "outpath", "option-file", "select", "report", "coverage", "plugin",
        ],
        prefixes: &["+"],
        ..NONE
    },
    Guard {
        programs: &["composer", "phpunit", "phpstan", "phpcs", "phpcbf", "psalm", "pest", "paratest", "php-cs-fixer", "rector", "phan"],
        short: "dcap",
        long: &[
            "autoload-file", "bootstrap", "cache-directory", "cache-file", "cache-result-file", "config", "configuration", "coverage",
            "coverage-cache", "coverage-clover", "coverage-cobertura", "coverage-crap4j", "coverage-html", "coverage-php", "coverage-text",
            "coverage-xml", "extension", "extensions", "generate-baseline", "generate-configuration", "include-path", "installed-paths",
            "loader", "log-events-text", "log-events-verbose-text", "log-junit", "log-teamcity", "phpunit", "plugin", "printer", "report",
            "report-file", "rule-custom-path", "rules", "root", "runner", "runtime-set", "standard", "stdin-path", "testdox-html",
            "testdox-text", "testdox-xml", "use-baseline", "working-dir", "migrate-configuration", "generate-report", "repository",
            "set-baseline", "basepath", "filter", "ini-defaults", "passthru", "passthru-php", "tmp-dir",
        ],
        words: &["exec", "global", "create-project", "config", "init", "self-update", "selfupdate", "require", "run", "run-script", "repl"],
        ..NONE
    },
    Guard {
        programs: &["shellcheck", "shfmt", "hadolint", "yamllint", "ansible-lint", "actionlint", "golangci-lint", "staticcheck", "tflint",
            "checkov", "semgrep", "pre-commit", "lefthook", "husky", "trivy", "vale"],
        short: "cwdprR",
        long: &[
            "rcfile", "write", "config", "config-file", "config-data", "path-prefix", "fix", "shellcheck", "pyflakes", "rulesdir", "out",
            "output", "output-file", "init", "plugin-dir", "external-checks-dir", "external-checks-git", "cpu-profile-path", "trace-path",
            "mem-profile-path", "project-dir", "filter", "format", "autofix", "module-download-mode", "config-policy", "external-sources",
            "ignore-config-file",
        ],
        words: &["custom", "try-repo", "install", "init", "add", "set", "plugin"],
        ..NONE
    },
];
