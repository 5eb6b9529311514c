//! Programs that run the command in their arguments: `env`, `timeout`, `sudo`, `xargs`, `find -exec`.
//!
//! For approval, a wrapper is only taken apart if all of its options are known ([`unwrap`]). For denial, everything that might
//! be a command in it is treated as one ([`inside`]).

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    guards,
    programs::{self, NAMES},
    script::CommandRun,
    word::{Word, assigned},
};

/// The maximum depth of nested commands that are examined.
pub(super) const MAX_DEPTH: usize = 8;

/// How a wrapper's own arguments end and the command begins: one row of the table.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wrapper {
    name: String,
    /// Options without a value.
    flags: Vec<String>,
    /// Options whose value is the next word.
    values: Vec<String>,
    /// Beginnings of options that contain their value.
    attached: Vec<String>,
    /// The number of its own arguments after the options.
    operands: usize,
    /// Whether `NAME=value` may come before the command.
    assigns: bool,
}

static WRAPPERS: LazyLock<Vec<Wrapper>> = LazyLock::new(|| programs::table(include_str!("programs/wrappers.json")));

/// Options of `find`, `fd` and the like that are followed by a command.
pub(super) const EXEC: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// The maximum number of words of a command that are searched for other commands.
const MAX_WORDS: usize = 64;

/// What a wrapper runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InnerCommand {
    /// This.
    Run(CommandRun),
    /// Nothing: it only prints information.
    Nothing,
    /// It is not known exactly.
    Unclear,
}

/// Whether a wildcard never matches an argument of this program.
pub(super) fn is_runner(program: &str) -> bool {
    guards::names(program).iter().any(|name| NAMES.runners.contains(*name))
}

/// What a wrapper runs; `None` for every other command.
pub(super) fn unwrap(run: &CommandRun) -> Option<InnerCommand> {
    let program = run.program()?;
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == program)?;
    Some(take_apart(wrapper, run).unwrap_or(InnerCommand::Unclear))
}

fn take_apart(wrapper: &Wrapper, run: &CommandRun) -> Option<InnerCommand> {
    let mut rest = &run.words[1..];
    if wrapper.name == "command"
        && let Some("-v" | "-V") = rest.first().and_then(Word::known)
    {
        return Some(InnerCommand::Nothing);
    }
    while let Some(option) = rest.first().and_then(Word::known).filter(|text| text.starts_with('-')) {
        let used = if wrapper.flags.iter().any(|flag| option == flag) {
            1
        } else if wrapper.values.iter().any(|value| option == value) {
            2
        } else if wrapper.attached.iter().any(|prefix| option.len() > prefix.len() && option.starts_with(prefix)) {
            1
        } else {
            return None;
        };
        rest = rest.get(used..)?;
    }
    rest = rest.get(wrapper.operands..)?;
    let mut inner = run.running(Vec::new());
    while let Some(word) = rest.first().filter(|word| wrapper.assigns && word.known().and_then(assigned).is_some()) {
        inner.assignments.push(word.clone());
        rest = &rest[1..];
    }
    if rest.is_empty() {
        return (wrapper.name == "env" && inner.assignments.is_empty()).then_some(InnerCommand::Nothing);
    }
    inner.words = rest.to_vec();
    Some(InnerCommand::Run(inner))
}

/// The commands that the arguments of another command may run, for comparison with the denying rules; `None` if there are
/// too many.
pub(super) fn inside(run: &CommandRun) -> Option<Vec<CommandRun>> {
    let Some(program) = run.program() else {
        return Some(Vec::new());
    };
    let from = |start: usize| run.running(run.words[start..].to_vec());
    let few = run.words.len() <= MAX_WORDS;
    let any = || few.then(|| (1..run.words.len()).map(from).collect());
    match program.as_str() {
        "find" | "fd" | "fdfind" | "bfs" => {
            let execs = |word: &Word| word.known().is_some_and(|word| EXEC.contains(&word));
            let places = (1..run.words.len()).filter(|place| execs(&run.words[place - 1]));
            few.then(|| places.map(from).collect())
        }
        // `git -C elsewhere push` is a `git push` as well.
        "git" => {
            let place = super::git::subcommand(&run.words).filter(|place| *place > 1);
            let plain = place.map(|place| {
                let mut inner = from(place);
                inner.words.insert(0, run.words[0].clone());
                inner
            });
            Some(plain.into_iter().collect())
        }
        _ => match unwrap(run) {
            Some(InnerCommand::Run(inner)) => Some(vec![inner]),
            Some(InnerCommand::Nothing) => Some(Vec::new()),
            Some(InnerCommand::Unclear) => any(),
            None if is_runner(&program) || NAMES.deferring.contains(&program) || program == "exec" => any(),
            None => Some(Vec::new()),
        },
    }
}
