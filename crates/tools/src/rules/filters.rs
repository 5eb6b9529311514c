//! `sed` and `awk`: their argument is a program, and some of these are simple enough for a wildcard.

use super::word::Word;

/// Whether the arguments of a program are a program for one of these.
pub(super) fn is_one(program: &str) -> bool {
    program == "sed" || is_awk(program)
}

fn is_awk(program: &str) -> bool {
    matches!(program, "awk" | "gawk" | "mawk" | "nawk" | "original-awk")
}

/// Whether a word of a command neither writes nor runs anything, as far as it is for one of these.
pub(super) fn allows(program: &str, words: &[Word], place: usize, text: &str) -> bool {
    (program != "sed" || sed(words, place, text)) && (!is_awk(program) || awk(text))
}

/// Options of sed that a wildcard matches.
const SED_OPTIONS: [&str; 11] =
    ["-n", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--regexp-extended", "--separate", "--debug"];

/// Whether a word of `sed …` neither writes nor runs anything.
fn sed(words: &[Word], place: usize, text: &str) -> bool {
    if text.starts_with('-') {
        return SED_OPTIONS.contains(&text);
    }
    let script = words.iter().skip(1).position(|word| !word.is_option()).map(|place| place + 1);
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

/// The text after the next delimiter. Brackets and backslashes, which may contain it, are not parsed.
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
