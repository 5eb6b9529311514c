//! Words of a command that a shell reads as code once more: `sh -c 'script'`, `eval script`.

use crate::model::ModelError;

/// Programs that run the word behind `-c`.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox"];

/// Programs that run another one with the environment that they have.
const PREFIXES: [&str; 12] =
    ["env", "command", "builtin", "exec", "nice", "nohup", "time", "timeout", "setsid", "ionice", "stdbuf", "xargs"];

/// Programs that run the word behind `-c` for somebody else.
const OTHERS: [&str; 3] = ["su", "runuser", "script"];

/// A word that is code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NestedScript {
    /// Whether the shell that reads it has the environment of the command.
    pub(super) sees_environment: bool,
    /// Whether the words behind it belong to it as well.
    pub(super) goes_on: bool,
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
        ("eval", _) => return Some(NestedScript { sees_environment: true, goes_on: true }),
        ("trap", 0) => return Some(NestedScript { sees_environment: true, goes_on: false }),
        // Behind the name of the host.
        ("ssh", more) if more > 0 && words[own + 1..].iter().any(|word| !is_option(word)) => {
            return Some(NestedScript { sees_environment: false, goes_on: true });
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
            return Some(NestedScript { sees_environment, goes_on: false });
        }
    }
    let last: &[u8] = words.last()?;
    let is_other = words.iter().any(|word| OTHERS.contains(&base(word)));
    (is_other && matches!(last, b"-c" | b"--command" | b"-lc"))
        .then_some(NestedScript { sees_environment: false, goes_on: false })
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
        "The command was not started: its text hands `${{{name}}}` to a shell that could read the value as code. The tool \
         has to give the value to that shell in another way, such as in a file; or call with a value of letters, digits and \
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
