//! Scripts in which data becomes code: `eval`, a shell that reads its input, `sh -c "$x"`, a client of a database. How a value comes
//! there is not followed. The text is looked through without its quotes, so that nothing that stands in a string is missed.

use memchr::memmem;

use super::nested::{self, PREFIXES, Reader, base};

/// Commands that take code in a way that is not followed any further, or in a language of their own.
const TAKE_CODE: &str = "source . trap alias ssh su runuser script parallel at batch watch crontab tmux screen \
                         sqlite3 psql mysql mariadb duckdb mongosh vi vim nvim view ex ed emacs emacsclient gdb lldb expect \
                         tclsh m4 gnuplot fish csh tcsh pwsh nu xonsh dc R Rscript julia";

/// The ends of names of variables that hold commands.
const HOLD_COMMANDS: [&str; 9] = ["COMMAND", "PAGER", "EDITOR", "VISUAL", "BROWSER", "ENV", "PS4", "LESSOPEN", "OPT"];

/// What `git` runs.
const GIT_RUNS: [&[u8]; 8] = [b"-c", b"-x", b"-O", b"--exec", b"run", b"foreach", b"filter-branch", b"config"];

/// Whether the script, in which a letter stands for each value, makes code of data.
pub(super) fn makes_code(script: &[u8]) -> bool {
    let has = |text: &str| memmem::find(script, text.as_bytes()).is_some();
    let (mut at, mut is_start, mut is_target) = (0, true, false);
    let (mut quote, mut before_quote) = (None, true);
    let (mut is_fed, mut is_run, mut is_shell) = (has("{}"), false, false);
    while let Some(byte) = script.get(at) {
        let length = word_length(&script[at..]);
        let word = &script[at..at + length];
        let name = base(word);
        match byte {
            _ if length > 0 && is_target => is_target = false,
            _ if length > 0 => {
                let rest = &script[at + length..];
                let reader = Reader::of(name);
                is_shell |= reader == Some(Reader::Shell);
                // `'$a'` is a command for a shell alone, and `"$a"` is one word.
                let is_text = at > 0
                    && match script[at - 1] {
                        b'"' => !matches!(word, [b'$', b'@' | b'*', ..]),
                        before => before == b'\'' && !is_shell,
                    };
                is_fed |= name == "xargs";
                is_run |= name != "xargs" && (reader.is_some() || PREFIXES.contains(&name));
                let is_code = is_start
                    && (word[0] == b'$' && !is_text
                        || TAKE_CODE.split(' ').any(|other| other == name)
                        || name == "git" && words(rest).any(|word| GIT_RUNS.contains(&word))
                        || reader.is_some_and(|reader| reads_data(script, reader, rest)));
                if word == b"eval" || holds_command(word) || is_code {
                    return true;
                }
                let goes_on = nested::is_reserved(name) || PREFIXES.contains(&name) || name == "sudo";
                is_start &= goes_on || word.contains(&b'=') || word[0] == b'-' || word[0].is_ascii_digit();
            }
            b'\\' if script.get(at + 1).is_some_and(|next| b"\\'\"$`".contains(next)) => at += 1,
            b'\'' | b'"' if quote == Some(*byte) => (quote, is_start) = (None, before_quote),
            b'\'' | b'"' => {
                (before_quote, is_start) = (if quote.is_none() { is_start } else { before_quote }, true);
                quote = quote.or(Some(*byte));
            }
            b'<' | b'>' => is_target = true,
            byte => is_start |= b";&|\n(){}`!".contains(byte),
        }
        at += length.max(1);
    }
    is_fed && is_run || ["/dev/stdin", "/dev/fd/", "/self/fd/"].into_iter().any(has)
}

/// How many bytes of this belong to one word, whatever quotes there are.
fn word_length(text: &[u8]) -> usize {
    let mut length = 0;
    while let Some(byte) =
        text.get(length).filter(|byte| !byte.is_ascii_whitespace() && !b";&|(){}`!'\"\\<>".contains(byte))
    {
        length += 1;
        if *byte == b'$' && text.get(length) == Some(&b'{') {
            let name =
                text[length + 1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            length += if text.get(length + 1 + name) == Some(&b'}') { name + 2 } else { 0 };
        }
    }
    length
}

/// Whether a word gives a value to a variable that holds a command.
fn holds_command(word: &[u8]) -> bool {
    let Some(equals) = memchr::memchr(b'=', word) else { return false };
    HOLD_COMMANDS.iter().any(|name| word[..equals].ends_with(name.as_bytes()))
}

/// Whether a shell, or another program that reads code, is given data for it: by its input, or by what the shell expands. `rest` is
/// what stands behind its name.
fn reads_data(script: &[u8], reader: Reader, rest: &[u8]) -> bool {
    if matches!(rest.first(), Some(b'\'' | b'"' | b'`')) {
        // What the program stands in ends here.
        return true;
    }
    let (mut is_given, mut is_code, mut is_skipped) = (false, false, false);
    for word in words(rest) {
        let is_option = matches!(word, [b'-' | b'+', _, ..]);
        if std::mem::take(&mut is_skipped) {
            continue;
        } else if std::mem::take(&mut is_code) || is_option && reader.has_code(word) && !reader.wants_code(word) {
            is_given = true;
            if expands(word) {
                return true;
            }
        } else if is_option {
            is_code = reader.wants_code(word);
            is_skipped = !is_code && reader.skips(word);
            if reader == Reader::Shell && !is_code && !word.starts_with(b"--") && word.contains(&b's') {
                return true;
            }
        } else if !is_given {
            is_given = true;
            // The command may write the file that it runs.
            let is_written = reader != Reader::Streamer && memmem::find_iter(script, word).nth(1).is_some();
            if word == b"-" || expands(word) || is_written {
                return true;
            }
        }
        if is_given && matches!(reader, Reader::Shell | Reader::Other) {
            return false;
        }
    }
    !is_given
}

/// The words of a command as they are written, up to its end, without redirections.
fn words(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        loop {
            rest = behind_blanks(rest);
            let length = raw_length(rest);
            let word = &rest[..length];
            rest = &rest[length..];
            if rest.first().is_some_and(|byte| b"<>".contains(byte)) {
                let redirection = rest.iter().take_while(|byte| b"<>&|".contains(byte)).count();
                rest = behind_blanks(&rest[redirection..]);
                rest = &rest[raw_length(rest)..];
                if word.is_empty() || word.iter().all(u8::is_ascii_digit) {
                    continue;
                }
            }
            return (!word.is_empty()).then_some(word);
        }
    })
}

fn behind_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &text[blanks..]
}

/// How long the word is that begins here, with its quotes.
fn raw_length(text: &[u8]) -> usize {
    let (mut at, mut quote) = (0, None);
    while let Some(byte) = text.get(at) {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => at += 1,
            (byte, Some(open)) if *byte == open => quote = None,
            (b'\'' | b'"', None) => quote = Some(*byte),
            (byte, None) if byte.is_ascii_whitespace() || b";&|<>()`".contains(byte) => break,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

/// Whether the shell puts something in the place of a part of this word.
fn expands(word: &[u8]) -> bool {
    let (mut at, mut quote) = (0, None);
    while let Some(byte) = word.get(at) {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => at += 1,
            (byte, Some(open)) if *byte == open => quote = None,
            (b'\'' | b'"', None) => quote = Some(*byte),
            (b'`', None | Some(b'"')) => return true,
            (b'$', None | Some(b'"')) => {
                let is_name = |next: &u8| next.is_ascii_alphanumeric() || b"_{(@*#?-".contains(next);
                if word.get(at + 1).is_some_and(is_name) {
                    return true;
                }
            }
            _ => {}
        }
        at += 1;
    }
    false
}
