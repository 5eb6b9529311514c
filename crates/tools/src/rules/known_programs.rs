//! Programs of which a wildcard only matches arguments that are known to be harmless, since unknown ones may do anything.
//!
//! They take subcommands from elsewhere (plugins, scripts, aliases), or have so many options that run something that a list
//! of them would not be complete. A rule that contains a subcommand or an option approves it.

use std::{collections::HashSet, sync::LazyLock};

use serde::Deserialize;

use super::{git, guards, programs, word::Word};

/// The known arguments of programs: one row of the table.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct KnownProgram {
    programs: Vec<String>,
    /// Its harmless subcommands; empty if it has none.
    commands: HashSet<String>,
    /// Options before the subcommand whose value is the next word.
    values: HashSet<String>,
    /// Options that a wildcard may match before the subcommand; none has a value, unless it is among `values`.
    before: HashSet<String>,
    /// The options that a wildcard may match; `None` where [`guards`] decide.
    options: Option<HashSet<String>>,
    /// Whether arguments after `--` are passed to another program.
    hands_on: bool,
}

static KNOWN: LazyLock<Vec<KnownProgram>> = LazyLock::new(|| programs::table(include_str!("programs/known.json")));

/// The known arguments of a program, if it is one of these.
pub(super) fn of(program: &str) -> Option<&'static KnownProgram> {
    let names = guards::names(program);
    KNOWN.iter().find(|known| known.programs.iter().any(|name| names.contains(&name.as_str())))
}

impl KnownProgram {
    /// Whether a wildcard that begins with `literal` may match this word.
    pub(super) fn allows(&self, words: &[Word], place: usize, text: &str, literal: &str) -> bool {
        let is = |word: &Word, text: &str| word.known() == Some(text);
        let operands = words.iter().position(|word| is(word, "--")).unwrap_or(words.len());
        let command = if self.commands.is_empty() { None } else { git::command_behind(&self.values, words) };
        if place >= operands && self.hands_on {
            // It takes no options from there, but it may take its subcommand.
            return command.is_some_and(|command| command < operands);
        }
        if !text.starts_with('-') {
            return command != Some(place) || self.commands.contains(text);
        }
        let name = text.split('=').next().unwrap_or(text);
        let written = literal.starts_with('-') && literal.contains('=');
        let early = !self.commands.is_empty() && command.is_none_or(|command| place < command);
        written
            || if early {
                self.before.contains(name)
            } else {
                self.options.as_ref().is_none_or(|options| options.contains(name))
            }
    }
}
