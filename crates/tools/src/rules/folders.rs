//! What a command line may run after changing the folder.
//!
//! What most programs do depends on the folder: git runs commands from the repository's configuration, make, cargo and npm
//! run commands from a file there, and a relative path is another file. So if a line changes to any folder other than the
//! one in which it runs, only programs that read and print are approved, and none if `PATH` finds programs in that folder. To
//! let a program run elsewhere, write a rule with the program's own option for it: `git -C sub status`.

use std::path::{Component, Path};

use super::{
    PathBase, filters, git, guards,
    programs::NAMES,
    script::CommandRun,
    unapprovable,
    word::Word,
    wrappers::{self, InnerCommand, MAX_DEPTH},
};

/// Whether the rules for each of these commands also apply to the whole line.
pub(super) fn keeps_its_meaning(runs: &[CommandRun], path_base: &PathBase) -> bool {
    !runs.iter().any(|run| leaves(run, path_base))
        || (!path_base.looks_in_the_folder && runs.iter().all(is_the_same_anywhere))
}

/// Whether a command may take a folder for a repository of another machine: pushing to it runs its hooks.
pub(super) fn may_reach_a_folder(run: &CommandRun, path_base: &PathBase) -> bool {
    let (run, _) = innermost(run);
    git::remotes(&run.words).any(|name| path_base.disk.is_there(&path_base.folder.join(name)))
}

/// Whether a command changes to a folder other than the one in which the line runs.
fn leaves(run: &CommandRun, path_base: &PathBase) -> bool {
    let (run, _) = innermost(run);
    let Some(program) = run.program() else { return true };
    match program.as_str() {
        "cd" | "chdir" => !matches!(run.words.as_slice(), [_, folder] if is_here(folder, path_base)),
        "pushd" | "popd" => true,
        _ => false,
    }
}

/// Whether a folder is certainly the one in which the line runs. No links are followed that a command could change.
fn is_here(folder: &Word, path_base: &PathBase) -> bool {
    let Some(folder) = folder.known().map(Path::new) else { return false };
    let is_plain = !folder.components().any(|part| part == Component::ParentDir);
    let is_dot = folder.components().eq([Component::CurDir]);
    is_dot
        || (is_plain
            && path_base.folder.is_absolute()
            && (folder == path_base.folder || path_base.disk.surely(|disk| folder == disk.real(&path_base.folder))))
}

/// Whether a command does the same in every folder.
fn is_the_same_anywhere(run: &CommandRun) -> bool {
    let (run, is_whole) = innermost(run);
    is_whole && reads_and_prints(&run)
}

/// Whether a command, which is not a wrapper, only reads and prints.
pub(super) fn reads_and_prints(run: &CommandRun) -> bool {
    quiet_program(run).is_some_and(|program| {
        let mut words = run.words.iter().enumerate().skip(1);
        let is_plain = |(place, word): (usize, &Word)| {
            word.known().is_some_and(|text| filters::allows(&program, &run.words, place, text))
        };
        NAMES.readers.contains(&program) && (!filters::is_one(&program) || words.all(is_plain))
    })
}

/// The program of a command, if it is not looked up relative to the folder, and has no option that writes or runs
/// something. Such an option counts even if the rule contains it.
pub(super) fn quiet_program(run: &CommandRun) -> Option<String> {
    let word = run.words.first().and_then(Word::known)?;
    let program = unapprovable::program(word);
    let is_found = !word.contains('/') || word.starts_with('/');
    let guards = guards::of(&program, &run.words);
    let is_guarded = |(place, word): (usize, &Word)| {
        word.known().is_none_or(|text| guards.iter().any(|guard| guard.forbids(text, "", &program, place)))
    };
    let is_quiet = guards.is_empty() || !run.words.iter().enumerate().skip(1).any(is_guarded);
    (is_found && is_quiet).then_some(program)
}

/// The command that a wrapper finally runs, if it is a wrapper, and whether it could be determined.
pub(super) fn innermost(run: &CommandRun) -> (CommandRun, bool) {
    let mut run = run.clone();
    for _ in 0..MAX_DEPTH {
        match wrappers::unwrap(&run) {
            Some(InnerCommand::Run(inner)) => run = inner,
            // The word `time` before more than a simple command has none of its own.
            Some(InnerCommand::Unclear) => {
                let is_keyword = run.keyword;
                return (run, is_keyword);
            }
            Some(InnerCommand::Nothing) | None => return (run, true),
        }
    }
    (run, false)
}
