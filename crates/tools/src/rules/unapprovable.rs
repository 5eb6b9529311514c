//! Commands that no rule can approve: built-in commands that change the meaning of later words, and interpreters that get
//! their program as text.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    programs::{self, NAMES},
    word::Word,
};

/// The name of the program in a command's first word: the last component of its path, in lower case, since some file
/// systems ignore case, and without the `g` of GNU's programs.
pub(super) fn program(word: &str) -> String {
    let name = word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase();
    name.strip_prefix('g').filter(|plain| NAMES.gnu.contains(*plain)).map(str::to_owned).unwrap_or(name)
}

/// Whether a program is one that no rule can approve: its arguments do not contain all that it runs.
pub(super) fn is_never_approved(program: &str) -> bool {
    NAMES.unapprovable.contains(program) || NAMES.deferring.contains(program)
}

/// How interpreters get their program: one row of the table.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Interpreter {
    /// The beginnings of their names; digits, dots and dashes may follow, as in `python3.12`.
    programs: Vec<String>,
    /// Letters of the options that contain a program, or make it read one from its input.
    code: String,
    /// The same, as long options.
    long: Vec<String>,
    /// Letters of options whose value is the next word, unless it follows in the same word.
    values: String,
    /// Whether it is a shell. All others have the commands [`CODE_COMMANDS`].
    shell: bool,
}

/// Commands of interpreters that are given a program: `deno eval`.
const CODE_COMMANDS: [&str; 2] = ["eval", "repl"];

static INTERPRETERS: LazyLock<Vec<Interpreter>> =
    LazyLock::new(|| programs::table(include_str!("programs/interpreters.json")));

fn interpreter_of(program: &str) -> Option<&'static Interpreter> {
    let is_version = |rest: &str| rest.chars().all(|character| character.is_ascii_digit() || ".-".contains(character));
    let is_meant = |name: &String| program.strip_prefix(name.as_str()).is_some_and(is_version);
    INTERPRETERS.iter().find(|interpreter| interpreter.programs.iter().any(is_meant))
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
            // A file follows, which may be the input.
            if name.is_empty() && interpreter.shell {
                return given(None);
            }
            if name.is_empty() || interpreter.long.iter().any(|code| code.starts_with(name)) {
                return given(rest.next());
            }
            if interpreter.shell && matches!(name, "rcfile" | "init-file") {
                rest.next();
            }
        } else if let Some(letters) = text.strip_prefix(['-', '+']) {
            if letters.is_empty() || letters.contains(|letter| interpreter.code.contains(letter)) {
                // The words that follow are arguments for the program in the input, or its file.
                if interpreter.shell && !letters.contains('c') {
                    return given(None);
                }
                let takes_value = |text: &str| text.contains(|letter| interpreter.values.contains(letter));
                let mut unclear = interpreter.shell && takes_value(letters);
                let text = rest.find(|word| {
                    let option = word.known().filter(|text| text.starts_with(['-', '+']));
                    unclear |= interpreter.shell && option.is_some_and(takes_value);
                    option.is_none()
                });
                return given(if unclear { Some(&Word::Unknown) } else { text });
            }
            if letters.ends_with(|letter| interpreter.values.contains(letter)) {
                let value = rest.next();
                // A Python module is a program with a name.
                if letters.ends_with('m') && value.is_some_and(|module| module.known().is_some()) {
                    return Some(CodeSource::Elsewhere);
                }
            }
        } else if !interpreter.shell && CODE_COMMANDS.contains(&text) {
            return given(rest.next());
        } else if text.contains("/dev/") || text.contains("/proc/") {
            return given(None);
        } else {
            return Some(CodeSource::Elsewhere);
        }
    }
    given(None)
}
