//! Words of a command that are read as code once more: `sh -c 'script'`, `python3 -c 'program'`, `sed 'program'`; and what a shell
//! evaluates as an expression, in which it runs the commands of a subscript.

use flemma_model::ModelError;

/// Programs that run the word behind `-c`.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"];

/// Programs that run another one with the environment that they have.
pub(super) const PREFIXES: [&str; 14] = [
    "env", "command", "builtin", "exec", "nice", "nohup", "time", "timeout", "setsid", "ionice", "stdbuf", "xargs",
    "busybox", "toybox",
];

/// Programs that run the word behind such an option as a program in a language of their own.
const INTERPRETERS: [&str; 10] =
    ["python", "pypy", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "osascript"];

/// Such programs that take several of these options, and in whose programs more letters end a text.
const SCRIPTERS: [&str; 2] = ["perl", "ruby"];

/// Programs whose first word is a program.
const STREAMERS: [&str; 8] = ["sed", "gsed", "ssed", "awk", "gawk", "mawk", "nawk", "original-awk"];

/// What reads code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Shell,
    Other,
    Scripter,
    Streamer,
}

impl Reader {
    /// The program with this name, if it reads code.
    pub(super) fn of(name: &str) -> Option<Self> {
        let plain = name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
        match () {
            () if SHELLS.contains(&name) => Some(Self::Shell),
            () if INTERPRETERS.contains(&plain) => Some(Self::Other),
            () if SCRIPTERS.contains(&plain) => Some(Self::Scripter),
            () if STREAMERS.contains(&name) => Some(Self::Streamer),
            () => None,
        }
    }

    /// Whether the word behind this option is code.
    pub(super) fn wants_code(self, option: &[u8]) -> bool {
        match (self, option) {
            (Self::Shell, _) => !option.starts_with(b"--") && option.contains(&b'c'),
            (Self::Streamer, [b'-', letters @ .., b'e' | b'f']) => !letters.contains(&b'-'),
            (Self::Streamer, _) => matches!(option, b"--expression" | b"--file"),
            (_, [b'-', letters @ .., b'c' | b'e' | b'E' | b'p' | b'r' | b'm']) => !letters.contains(&b'-'),
            _ => matches!(option, b"--eval" | b"--print"),
        }
    }

    /// Whether this option has code in it.
    pub(super) fn has_code(self, option: &[u8]) -> bool {
        self != Self::Shell && !self.wants_code(option) && matches!(option, [b'-', b'e' | b'f' | b'-', _, ..])
    }

    /// Whether the word behind this option belongs to it, and is no code.
    pub(super) fn skips(self, option: &[u8]) -> bool {
        match self {
            Self::Shell => option.ends_with(b"o") || matches!(option, b"--rcfile" | b"--init-file"),
            Self::Streamer => matches!(option, b"-v" | b"-F" | b"-l"),
            _ => false,
        }
    }
}

/// A word that is code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NestedScript {
    /// Whether a shell reads it that has the environment of the command.
    pub(super) sees_environment: bool,
    pub(super) reader: Reader,
}

impl NestedScript {
    /// Whether a value stands in it as text and never as code.
    pub(super) fn takes(self, value: &[u8]) -> bool {
        let has_expressions = matches!(self.reader, Reader::Scripter | Reader::Streamer);
        is_plain(value) && !(has_expressions && value.iter().any(|byte| b"/:@%+,".contains(byte)))
    }
}

/// Whether the word that follows these, and begins with `first`, is code.
pub(super) fn script(words: &[Vec<u8>], first: u8) -> Option<NestedScript> {
    let is_assignment = |word: &[u8]| {
        word.iter()
            .position(|byte| *byte == b'=')
            .is_some_and(|at| at > 0 && word[..at].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
    };
    let start = words.iter().position(|word| !is_assignment(word))?;
    let words = &words[start..];
    let (at, reader) = words.iter().enumerate().rev().find_map(|(at, word)| Some((at, Reader::of(base(word))?)))?;
    let options = &words[at + 1..];
    let last = options.last().map_or(&b""[..], Vec::as_slice);
    let is_option_first = matches!(first, b'-' | b'+');
    let is_code = match reader {
        Reader::Shell => {
            let is_only_options = options
                .iter()
                .enumerate()
                .all(|(at, word)| is_option(word) || at > 0 && reader.skips(&options[at - 1]));
            !is_option_first && is_only_options && options.iter().any(|word| is_option(word) && reader.wants_code(word))
        }
        Reader::Streamer if is_option_first => true,
        Reader::Streamer if is_option(last) => !reader.skips(last),
        Reader::Streamer => !options
            .iter()
            .enumerate()
            .any(|(at, word)| !word.is_empty() && !is_option(word) && (at == 0 || !reader.skips(&options[at - 1]))),
        Reader::Other | Reader::Scripter => {
            is_option_first && options.iter().all(|word| is_option(word)) || reader.wants_code(last) || last == b"eval"
        }
    };
    let runs_here = at == 0 || PREFIXES.contains(&base(&words[0])) && !words[..at].contains(&b"-i".to_vec());
    is_code.then_some(NestedScript { sees_environment: reader == Reader::Shell && runs_here, reader })
}

/// Whether this value, at the beginning of a word that follows these, could be an option with code.
pub(super) fn is_option_with_code(words: &[Vec<u8>], value: &[u8]) -> bool {
    let reader = words.iter().rev().find_map(|word| Reader::of(base(word)));
    let is_anywhere = matches!(reader, Some(Reader::Scripter | Reader::Streamer));
    let is_first =
        reader.is_some() && words.last().is_some_and(|word| Reader::of(base(word)).is_some() || is_option(word));
    value.starts_with(b"-") && (is_anywhere || is_first) && !words.contains(&b"--".to_vec())
}

/// Whether the words between commands and their parts are of the language of the shell.
pub(super) fn is_reserved(word: &str) -> bool {
    ["then", "do", "else", "elif", "if", "while", "until", "{", "}", "!", "time"].contains(&word)
}

/// Whether `env` splits this word, which follows these, or an option before it, into a command and its arguments.
pub(super) fn is_split<'a>(words: &'a [Vec<u8>], word: &'a [u8]) -> bool {
    let splits = |word: &[u8]| match word {
        [b'-', b'-', name @ ..] => name.starts_with(b"s"),
        [b'-', letters @ ..] => letters.contains(&b'S'),
        _ => false,
    };
    let Some(env) = words.iter().position(|word| matches!(base(word), "env" | "genv")) else { return false };
    let mut words = words[env + 1..].iter().map(Vec::as_slice).chain([word]);
    while let Some(word) = words.next().filter(|word| word.starts_with(b"-")) {
        if splits(word) {
            return true;
        }
        if matches!(word, b"-u" | b"-C" | b"-P" | b"--unset" | b"--chdir") {
            words.next();
        }
    }
    false
}

/// Whether a value is read as one word, and as no code and no option, wherever it stands.
pub(super) fn is_plain(value: &[u8]) -> bool {
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./:@%+,-".contains(byte);
    value.first().is_some_and(|first| !b"-+".contains(first)) && value.iter().all(is_safe)
}

/// That a value cannot be given to the program that it stands in.
pub(super) fn unreachable(name: &[u8]) -> ModelError {
    let name = String::from_utf8_lossy(name);
    ModelError::new(format!(
        "The command was not started: its text hands `${{{name}}}` to a program that could read the value as code. The tool \
         has to give the value to that program in another way, such as in a file; or call with a value that begins with a \
         letter or a digit and has only letters, digits and `_.-`."
    ))
}

fn is_option(word: &[u8]) -> bool {
    word.starts_with(b"-") || word.starts_with(b"+")
}

/// The name of a program, without its folder.
pub(super) fn base(word: &[u8]) -> &str {
    let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or(word);
    std::str::from_utf8(name).unwrap_or_default()
}

/// The operators of `[[ ]]` whose operands are expressions or names.
const NUMBER_TESTS: [&str; 7] = [" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge ", " -v "];

/// Commands that give variables attributes. A variable may be one of integers, or stand for another one.
pub(super) const DECLARES: [&str; 3] = ["declare", "typeset", "local"];

/// What a script has anywhere.
#[derive(Clone, Copy)]
pub(super) struct Has {
    /// It compares numbers in a way that evaluates them.
    pub(super) number_tests: bool,
    /// It declares variables that evaluate what they are assigned.
    pub(super) evaluating_variables: bool,
}

impl Has {
    /// What this script has.
    pub(super) fn of(script: &[u8]) -> Self {
        let has = |operator: &&str| memchr::memmem::find(script, operator.as_bytes()).is_some();
        let evaluates = |word: &&str| {
            let options = |at| script[at + word.len()..].trim_ascii_start().split(u8::is_ascii_whitespace);
            let is_such = |option: &[u8]| option.contains(&b'i') || option.contains(&b'n');
            memchr::memmem::find_iter(script, word.as_bytes())
                .any(|at| options(at).take_while(|option| option.starts_with(b"-")).any(is_such))
        };
        Self { number_tests: NUMBER_TESTS.iter().any(has), evaluating_variables: DECLARES.iter().any(evaluates) }
    }
}

/// Whether a value behind this, which stands in `${ }`, would be evaluated: where no operator with a word comes before.
pub(super) fn is_expression(brace: &[u8]) -> bool {
    let name = brace.strip_prefix(b"#").or_else(|| brace.strip_prefix(b"!")).unwrap_or(brace);
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let length = if length == 0 && name.first().is_some_and(|byte| b"@*?$!-#".contains(byte)) { 1 } else { length };
    let operator = &name[length..];
    let operator = operator
        .strip_prefix(b":")
        .filter(|rest| rest.first().is_some_and(|byte| b"-=+?".contains(byte)))
        .unwrap_or(operator);
    length == 0 || !operator.first().is_some_and(|byte| b"-=+?#%/^,".contains(byte))
}
