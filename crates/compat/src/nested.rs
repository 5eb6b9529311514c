//! Words of a command that are read as code once more: `sh -c 'script'`, `eval script`, `python3 -c 'program'`; and what a shell
//! evaluates as an expression, in which it runs the commands of a subscript.

use flemma_model::ModelError;

/// Programs that run the word behind `-c`.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox"];

/// Programs that run another one with the environment that they have.
const PREFIXES: [&str; 12] =
    ["env", "command", "builtin", "exec", "nice", "nohup", "time", "timeout", "setsid", "ionice", "stdbuf", "xargs"];

/// Programs that run the word behind `-c` for somebody else.
const OTHERS: [&str; 3] = ["su", "runuser", "script"];

/// Programs that run the word behind such an option as a program in a language of their own.
const INTERPRETERS: [&str; 12] =
    ["python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "osascript"];

/// A word that is code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NestedScript {
    /// Whether the shell that reads it has the environment of the command.
    pub(super) sees_environment: bool,
    /// Whether the words behind it belong to it as well.
    pub(super) goes_on: bool,
    /// Whether a shell reads it.
    pub(super) is_shell: bool,
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
    let own = words.iter().position(|word| !["command", "builtin"].contains(&base(word)))?;
    match (base(&words[own]), words.len() - own - 1) {
        ("eval", _) => return Some(nested(true, true)),
        ("trap", 0) => return Some(nested(true, false)),
        // Behind the name of the host.
        ("ssh", more) if more > 0 && words[own + 1..].iter().any(|word| !is_option(word)) => {
            return Some(nested(false, true));
        }
        _ => {}
    }
    let is_option_first = matches!(first, b'-' | b'+');
    let shell = words.iter().rposition(|word| SHELLS.contains(&base(word)));
    if let Some(shell) = shell.filter(|_| !is_option_first) {
        let options = &words[shell + 1..];
        let is_only_options = options.iter().enumerate().all(|(at, word)| {
            is_option(word)
                || at > 0 && matches!(options[at - 1].as_slice(), b"-o" | b"+o" | b"--rcfile" | b"--init-file")
        });
        let has_c =
            options.iter().any(|word| word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'c'));
        if is_only_options && has_c {
            let first = base(&words[0]);
            let sees_environment = shell == 0 || PREFIXES.contains(&first) && !words[..shell].contains(&b"-i".to_vec());
            return Some(nested(sees_environment, false));
        }
    }
    let last: &[u8] = words.last()?;
    let is_other = words.iter().any(|word| OTHERS.contains(&base(word)));
    let is_interpreter = |word: &Vec<u8>| {
        INTERPRETERS
            .contains(&base(word).trim_end_matches(|character: char| character.is_ascii_digit() || character == '.'))
    };
    let is_program = matches!(last, [b'-', letters @ .., b'c' | b'e' | b'E' | b'p' | b'r'] if !letters.contains(&b'-'))
        || matches!(last, b"--eval" | b"--print" | b"eval");
    if is_other && matches!(last, b"-c" | b"--command" | b"-lc") {
        return Some(nested(false, false));
    }
    let is_program = is_program && words.iter().any(is_interpreter);
    is_program.then_some(NestedScript { is_shell: false, ..nested(false, false) })
}

const fn nested(sees_environment: bool, goes_on: bool) -> NestedScript {
    NestedScript { sees_environment, goes_on, is_shell: true }
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

/// Whether a value is read as one word, and as no code, wherever it stands.
pub(super) fn is_plain(value: &[u8]) -> bool {
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./:@%+,-".contains(byte);
    !value.is_empty() && value.iter().all(is_safe)
}

/// That a value cannot be given to the shell that it stands in.
pub(super) fn unreachable(name: &[u8]) -> ModelError {
    let name = String::from_utf8_lossy(name);
    ModelError::new(format!(
        "The command was not started: its text hands `${{{name}}}` to a program that could read the value as code. The tool \
         has to give the value to that program in another way, such as in a file; or call with a value of letters, digits and \
         `_./:@%+,-` only."
    ))
}

fn is_option(word: &[u8]) -> bool {
    word.starts_with(b"-") || word.starts_with(b"+")
}

/// The name of a program, without its folder.
fn base(word: &[u8]) -> &str {
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
