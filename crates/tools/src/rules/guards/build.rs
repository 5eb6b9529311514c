//! Compilers, linkers and build tools.

use super::guard::{Guard, NONE};

#[rustfmt::skip]
pub(super) const GUARDS: &[Guard] = &[
    Guard {
        programs: &["cargo"],
        short: "CZ",
        long: &[
            "artifact-dir", "config", "logfile", "lockfile-path", "manifest-path", "out-dir", "root", "target-dir",
            "timings",
        ],
        words: &["install"],
        prefixes: &["+"],
        ..NONE
    },
    Guard {
        programs: &["cargo"],
        subcommand: "rustdoc",
        short: "o",
        long: &["output", "test-builder", "test-builder-wrapper", "test-run-directory", "test-runtool"],
        ..NONE
    },
    Guard {
        programs: &["cargo"],
        subcommand: "fmt",
        long: &["backup", "config", "config-path", "emit", "manifest-path", "print-config"],
        ..NONE
    },
    Guard { programs: &["cargo"], subcommand: "clippy", short: "oL", long: &["codegen", "emit", "extern", "sysroot"], ..NONE },
    Guard { programs: &["cargo"], subcommand: "rustc", short: "oL", long: &["codegen", "emit", "extern", "sysroot"], ..NONE },
    Guard {
        programs: &["rustc", "rustdoc"],
        short: "oCZL",
        long: &[
            "codegen", "emit", "extern", "out-dir", "output", "print", "remap-path-prefix", "runner", "runtool", "sysroot",
            "test-builder", "test-run-directory", "test-runtool",
        ],
        prefixes: &["@", "+"],
        ..NONE
    },
    Guard { programs: &["rustup"], words: &["run", "toolchain"], prefixes: &["+"], ..NONE },
    Guard {
        programs: &["rustfmt", "gofmt", "goimports"],
        short: "w",
        long: &["config-path", "config", "backup", "cpuprofile", "memprofile", "trace"],
        prefixes: &["+"],
        ..NONE
    },
    Guard {
        programs: &["make", "gmake", "bmake", "remake"],
        short: "fCIEoV",
        long: &["directory", "eval", "file", "include-dir", "makefile", "old-file"],
        ..NONE
    },
    Guard {
        programs: &["just", "task", "mage"],
        short: "fdtce",
        long: &[
            "justfile", "working-directory", "shell", "shell-arg", "set", "command", "chooser", "dotenv-path",
            "dotenv-filename", "edit", "global-justfile", "dir", "taskfile", "entrypoint", "tempdir",
        ],
        parts: &["="],
        ..NONE
    },
    Guard { programs: &["ninja", "samu"], short: "fC", ..NONE },
    Guard {
        programs: &["scons", "waf"],
        short: "fCDuUY",
        long: &["file", "makefile", "sconstruct", "directory", "site-dir", "include-dir", "repository", "top", "out"],
        parts: &["="],
        ..NONE
    },
    Guard {
        programs: &["meson"],
        short: "CD",
        long: &["native-file", "cross-file", "wrap-mode", "pkg-config-path", "wrapper", "gdb-path", "setup"],
        words: &["devenv", "install", "wrap", "dist"],
        ..NONE
    },
    Guard {
        programs: &["cmake", "ctest", "cpack"],
        short: "BCDEOPSGTMU",
        long: &[
            "build", "build-and-test", "build-generator", "build-makeprogram", "debugger-pipe", "graphviz", "install",
            "open", "output-junit", "output-log", "overwrite", "preset", "profiling-output", "resource-spec-file",
            "script", "submit-index", "test-command", "test-dir", "toolchain", "trace-redirect", "trace-source",
            "workflow", "config", "extra-submit",
        ],
        ..NONE
    },
    Guard {
        programs: &["go"],
        long: &[
            "C", "asmflags", "blockprofile", "compiler", "coverprofile", "cpuprofile", "exec", "gccgoflags", "gcflags",
            "ldflags", "memprofile", "modfile", "mutexprofile", "o", "outputdir", "overlay", "pgo", "pkgdir", "toolexec",
            "trace", "vettool", "test.outputdir", "test.coverprofile", "test.cpuprofile", "test.memprofile",
            "test.blockprofile", "test.mutexprofile", "test.trace", "test.testlogfile", "test.gocoverdir",
        ],
        plain: &["cover"],
        words: &["env", "generate", "get", "install", "run", "tool", "work", "telemetry"],
        ..NONE
    },
    Guard {
        programs: &[
            "gcc", "g++", "cc", "c++", "clang", "clang++", "clang-cl", "cpp", "gfortran", "gnat", "gdc", "ldc2", "icc",
            "icx", "nvcc", "hipcc", "emcc", "em++", "tcc", "flang", "gccgo",
        ],
        long: &[
            "aux-info", "ccbin", "config", "config-system-dir", "config-user-dir", "dumpbase", "dumpdir",
            "gcc-install-dir", "gcc-toolchain", "gen-reproducer", "iplugindir", "ld-path", "load", "output",
            "rtlib", "save-temps", "serialize-diagnostics", "specs", "sysroot", "use-ld", "wrapper", "compiler-bindir",
            "ivfsoverlay", "vfsoverlay", "MF", "MJ", "MD", "MMD", "write-dependencies", "write-user-dependencies",
        ],
        prefixes: &[
            "@", "-B", "-o", "-cc1", "-time", "-fdiagnostics-format", "-Wa,", "-Wl,", "-Wp,", "-X", "-T", "-M", "-ccc", "-fcallgraph-info", "-fcrash-diagnostics", "-fdebug-prefix",
            "-fdump", "-fmodule", "-fopt-info", "-fpass-plugin", "-fplugin", "-fprebuilt", "-fprofile", "-fsave-optimization",
            "-fuse-ld", "-foptimization-record", "-ftime-trace", "-ftest-coverage", "-fada-spec", "-fdiagnostics-add-output",
            "-mllvm", "-stack-usage", "-fstack-usage", "--for-linker", "--for-assembler", "-isysroot", "-resource-dir", "-z",
            "--coverage", "-dump", "-index", "-emit", "-foffload", "-flto", "-working-directory",
        ],
        ..NONE
    },
    Guard {
        programs: &["ld", "gold", "lld", "ld.lld", "ld.bfd", "ld.gold", "mold", "as", "link", "wasm-ld"],
        short: "oTRMcm",
        long: &[
            "Map", "dependency-file", "just-symbols", "mri-script", "out-implib", "output", "output-def", "plugin",
            "plugin-opt", "plugin-save-temps", "print-map", "run", "script", "default-script", "version-script", "MD",
            "dynamic-list", "emit-stub", "reproduce", "retain-symbols-file", "chroot", "lto", "load-pass-plugin",
        ],
        prefixes: &["@", "-a=", "-a"],
        ..NONE
    },
    Guard {
        programs: &[
            "ar", "ranlib", "nm", "objdump", "objcopy", "strip", "size", "strings", "readelf", "addr2line", "c++filt",
            "elfedit", "gprof", "gcov", "llvm-nm", "llvm-objdump", "llvm-ar", "dlltool", "windres", "windmc",
        ],
        short: "o",
        long: &["plugin", "output", "output-target", "preprocessor", "dwp", "debug-file-directory", "dump-section"],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["clang-tidy", "clang-format", "clang-check", "clangd", "cppcheck", "scan-build", "iwyu", "clang-query"],
        short: "pi",
        long: &[
            "load", "fix", "fix-errors", "fix-notes", "export-fixes", "extra-arg", "extra-arg-before", "config-file", "style",
            "vfsoverlay", "compile-commands-dir", "query-driver", "addon", "addon-python", "library", "platform", "project",
            "output-file", "plist-output", "rule-file", "rule-texts", "cppcheck-build-dir", "dump", "use-cc", "use-c++",
            "use-analyzer", "clang-tidy", "exename", "path-mappings", "checks-file", "store-check-profile", "plugins",
            "preload", "executor",
        ],
        prefixes: &["@"],
        ..NONE
    },
    Guard {
        programs: &["javac", "javadoc", "jar", "jlink", "jdeps", "kotlinc", "scalac", "groovyc", "jshell", "keytool", "java"],
        short: "Jd",
        long: &[
            "processor", "processorpath", "processor-path", "plugin", "Xplugin", "Xpluginsdir", "cp", "classpath",
            "class-path", "module-path", "doclet", "docletpath", "taglet", "tagletpath", "agentlib", "agentpath", "javaagent",
            "providerpath", "providerclass", "provider-path", "toolpath", "bootclasspath", "sourcepath", "save-opts",
            "output", "kotlin-home", "jdk-home", "script",
        ],
        prefixes: &["@", "-X", "-P", "-s"],
        ..NONE
    },
    Guard {
        programs: &["gradle", "gradlew"],
        short: "IbcpgDPM",
        long: &[
            "build-file", "gradle-user-home", "include-build", "init-script", "project-cache-dir", "project-dir", "project-prop",
            "settings-file", "system-prop", "write-locks", "write-verification-metadata", "export-keys",
        ],
        ..NONE
    },
    Guard {
        programs: &["mvn", "mvnw", "mvnd"],
        short: "fsgtDlP",
        long: &[
            "define", "file", "global-settings", "global-toolchains", "install-settings", "log-file", "settings", "toolchains",
            "raw-streams", "builder",
        ],
        parts: &[":"],
        ..NONE
    },
    Guard {
        programs: &["ant"],
        short: "flDs",
        long: &[
            "buildfile", "file", "find", "inputhandler", "lib", "listener", "logfile", "logger", "main", "propertyfile", "autoproxy",
        ],
        ..NONE
    },
    Guard {
        programs: &["dotnet", "msbuild", "csc", "vbc", "fsc", "nuget"],
        short: "o",
        long: &[
            "additionalprobingpath", "additional-deps", "collect", "configfile", "diag", "fx-version", "logger", "output", "property",
            "results-directory", "roll-forward", "runtimeconfig", "settings", "test-adapter-path", "artifacts-path", "analyzer",
            "tool-path", "add-source", "bl", "binaryLogger", "distributedlogger", "getProperty", "fileLogger", "flp", "out",
        ],
        words: &["exec", "run", "tool", "fsi", "script", "new", "workload", "nuget", "add"],
        prefixes: &["@", "-p:", "/p:", "/", "-l:", "-dl:"],
        ..NONE
    },
    Guard {
        programs: &["swift", "swiftc", "zig", "ghc", "stack", "cabal", "dune", "mix", "rebar3", "dart", "flutter", "nim", "crystal"],
        short: "oCDFe",
        long: &[
            "package-path", "toolchain", "sdk", "Xcc", "Xlinker", "Xswiftc", "load-plugin-library", "load-plugin-executable",
            "plugin-path", "build-file", "build-runner", "test-cmd", "test-cmd-bin", "with-compiler", "with-ghc", "project-file",
            "project-dir", "ghc-options", "pgm", "fplugin", "stack-yaml", "work-dir", "root", "workspace", "eval", "require",
            "packages", "enable-experiment", "output", "passC", "passL", "cc", "config-file", "package", "main-thread",
        ],
        words: &["run", "exec", "repl", "eval", "script", "runghc", "ghci", "do", "cmd", "escript", "shell", "e", "r"],
        prefixes: &["@", "-pgm", "-fplugin", "-f", "--gcc"],
        ..NONE
    },
];
