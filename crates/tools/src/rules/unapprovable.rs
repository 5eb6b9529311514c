//! Commands that no rule can approve: built-in commands that change the meaning of later words, and interpreters that get
//! their program as text.

use super::word::Word;

/// Built-in commands of the shell that run text, or change the meaning of later commands and files. Several of them
/// evaluate a subscript in a variable name, and so run its contents.
#[rustfmt::skip]
const COMMANDS: [&str; 35] = [
    ".", "[[", "alias", "bind", "compgen", "complete", "compopt", "coproc", "declare", "enable", "eval", "exec", "export",
    "fc", "function", "getopts", "hash", "history", "let", "local", "mapfile", "read", "readarray", "readonly", "select",
    "set", "shopt", "source", "trap", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
];

/// Programs that are also installed with a `g` before their name, as Homebrew does.
#[rustfmt::skip]
const GNU: [&str; 42] = [
    "basename", "cat", "chmod", "cp", "csplit", "cut", "date", "dd", "du", "echo", "env", "expr", "find", "head", "install", "ln", "ls", "mkdir",
    "mv", "nice", "nohup", "od", "printf", "ptx", "readlink", "rm", "rmdir", "sed", "shuf", "sort", "split", "stat", "stdbuf", "tail", "tar", "tee",
    "test", "time", "timeout", "uniq", "wc", "xargs",
];

/// The name of the program in a command's first word: the last component of its path, in lower case, since some file
/// systems ignore case, and without the `g` of GNU's programs.
pub(super) fn program(word: &str) -> String {
    let name = word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase();
    name.strip_prefix('g').filter(|plain| GNU.contains(plain)).map(str::to_owned).unwrap_or(name)
}

/// Whether a command is one that no rule can approve.
pub(super) fn is_never_approved(program: &str) -> bool {
    COMMANDS.contains(&program)
}

/// How an interpreter gets its program.
struct Interpreter {
    /// The beginning of its name; digits, dots and dashes may follow, as in `python3.12`.
    name: &'static str,
    /// Letters of the options that contain a program, or make it read one from its input.
    code: &'static str,
    /// The same, as long options.
    long: &'static [&'static str],
    /// The same, as commands: `deno eval`.
    commands: &'static [&'static str],
    /// Letters of options whose value is the next word, unless it follows in the same word.
    values: &'static str,
    /// Whether it is a shell.
    shell: bool,
}

const fn shell(name: &'static str) -> Interpreter {
    Interpreter { name, code: "cs", long: &["command", "init-command"], commands: &[], values: "oO", shell: true }
}

const fn interpreter(
    name: &'static str,
    code: &'static str,
    long: &'static [&'static str],
    values: &'static str,
) -> Interpreter {
    Interpreter { name, code, long, commands: &["eval", "repl"], values, shell: false }
}

const INTERPRETERS: [Interpreter; 60] = [
    shell("sh"),
    shell("bash"),
    shell("rbash"),
    shell("dash"),
    shell("ash"),
    shell("ksh"),
    shell("mksh"),
    shell("zsh"),
    shell("fish"),
    shell("csh"),
    shell("tcsh"),
    shell("yash"),
    shell("elvish"),
    shell("xonsh"),
    shell("nu"),
    shell("pwsh"),
    interpreter("python", "c", &[], "WXm"),
    interpreter("pypy", "c", &[], "WXm"),
    interpreter("perl", "eE", &[], "IMmx"),
    interpreter("ruby", "e", &[], "rICEFKTxW"),
    interpreter("node", "ep", &["eval", "print"], "rC"),
    interpreter("nodejs", "ep", &["eval", "print"], "rC"),
    interpreter("bun", "ep", &["eval", "print"], "r"),
    interpreter("deno", "ep", &["eval", "print"], "r"),
    interpreter("php", "rBRE", &["run", "process-begin", "process-code", "process-end"], "dcz"),
    interpreter("lua", "e", &[], "l"),
    interpreter("luajit", "e", &[], "lj"),
    interpreter("tclsh", "", &[], ""),
    interpreter("osascript", "e", &[], "l"),
    interpreter("r", "e", &[], ""),
    interpreter("rscript", "e", &[], ""),
    interpreter("julia", "eE", &["eval", "print"], "L"),
    interpreter("elixir", "e", &["eval", "rpc-eval"], "r"),
    interpreter("guile", "c", &[], "l"),
    interpreter("racket", "e", &["eval"], "lt"),
    interpreter("octave", "", &["eval"], ""),
    interpreter("groovy", "e", &[], ""),
    interpreter("scala", "e", &[], ""),
    interpreter("ipython", "c", &[], ""),
    interpreter("bpython", "c", &[], ""),
    interpreter("micropython", "c", &[], "m"),
    interpreter("jython", "c", &[], "m"),
    interpreter("jruby", "e", &[], "rI"),
    interpreter("ts-node", "ep", &["eval", "print"], "rOPC"),
    interpreter("tsx", "ep", &["eval", "print"], "r"),
    interpreter("qjs", "e", &["eval"], "I"),
    interpreter("irb", "", &[], "rI"),
    interpreter("ghci", "e", &[], ""),
    interpreter("runghc", "e", &[], ""),
    interpreter("sbcl", "", &["eval", "load"], ""),
    interpreter("clisp", "x", &[], ""),
    interpreter("ocaml", "e", &[], "I"),
    interpreter("erl", "", &["eval"], ""),
    interpreter("iex", "e", &["eval", "rpc-eval"], "r"),
    interpreter("clojure", "e", &["eval"], ""),
    interpreter("clj", "e", &["eval"], ""),
    interpreter("bb", "e", &["eval"], ""),
    interpreter("raku", "e", &[], "IM"),
    interpreter("swipl", "gt", &[], "s"),
    interpreter("java", "", &[], ""),
];

fn interpreter_of(program: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|interpreter| {
        program
            .strip_prefix(interpreter.name)
            .is_some_and(|rest| rest.chars().all(|character| character.is_ascii_digit() || ".-".contains(character)))
    })
}

/// Where an interpreter gets its program from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodeSource<'a> {
    /// It is in a named file, or there is none.
    Elsewhere,
    /// It is in the command line or in the input, or its place is unknown.
    Given {
        /// Whether it is a shell script.
        shell: bool,
        /// The program, if it is one of the words.
        text: Option<&'a Word>,
    },
}

/// Where an interpreter gets its program from; `None` for every other command.
pub(super) fn code(words: &[Word]) -> Option<CodeSource<'_>> {
    let program = program(words.first()?.known()?);
    let interpreter = interpreter_of(&program)?;
    let given = |text| Some(CodeSource::Given { shell: interpreter.shell, text });
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { return given(None) };
        if matches!(text, "--version" | "--help" | "-V" | "-h") && words.len() == 2 {
            return Some(CodeSource::Elsewhere);
        }
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            if name.is_empty() || interpreter.long.iter().any(|code| code.starts_with(name)) {
                return given(rest.next());
            }
        } else if let Some(letters) = text.strip_prefix(['-', '+']) {
            if letters.is_empty() || letters.contains(|letter| interpreter.code.contains(letter)) {
                return given(rest.find(|word| !word.known().is_some_and(|text| text.starts_with('-'))));
            }
            if letters.ends_with(|letter| interpreter.values.contains(letter)) {
                let value = rest.next();
                // A Python module is a program with a name.
                if letters.ends_with('m') && value.is_some_and(|module| module.known().is_some()) {
                    return Some(CodeSource::Elsewhere);
                }
            }
        } else if interpreter.commands.contains(&text) {
            return given(rest.next());
        } else if text.contains("/dev/") || text.contains("/proc/") {
            return given(None);
        } else {
            return Some(CodeSource::Elsewhere);
        }
    }
    given(None)
}
