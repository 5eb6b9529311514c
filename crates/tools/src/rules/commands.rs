//! The decision of the rules about a command line.
//!
//! To approve, every simple command must be matched by a rule, word by word; a wrapper must be, and what it runs as
//! well; and what it is given to read must be plain data for it ([`input`]). To deny, it is enough that one command anywhere is meant, and there everything is looked into that might run
//! something: wrappers, `find -exec`, the text that a shell is given. What stays dark is a question for the user.

use super::{
    PathBase, common, folders,
    indirect_runs::DeniedPrograms,
    input, options,
    pattern::{CommandPattern, Likeness},
    programs::NAMES,
    rule::Pattern,
    script::{self, CommandRun, ShellScript},
    unapprovable::{self, CodeSource},
    variables,
    word::{Word, assigned},
    wrappers::{self, InnerCommand, MAX_DEPTH},
};
use flemma_process::Grammar;

/// The maximum number of nested commands that are examined before the user is asked.
const MAX_LOOKS: usize = 500;

/// Whether rules deny a command line, and whether they approve it.
pub(super) fn judge(
    denying: &[&Pattern],
    approving: &[&Pattern],
    command: &str,
    path_base: &PathBase,
) -> (Likeness, bool) {
    let is_read_so = match path_base.grammar() {
        Grammar::Bash => true,
        Grammar::Posix => common::reads_alike(command),
        Grammar::Unknown => false,
    };
    if !is_read_so {
        return (Likeness::maybe(!denying.is_empty()), false);
    }
    let script = script::read(command);
    let denied = if denying.is_empty() {
        Likeness::No
    } else {
        let mut search = Search { denying, names: DeniedPrograms::of(denying), left: MAX_LOOKS };
        search.script(&script, 0)
    };
    (denied, approves(approving, &script, path_base))
}

/// Whether rules approve every command of a script.
fn approves(approving: &[&Pattern], script: &ShellScript, path_base: &PathBase) -> bool {
    !script.needs_approval
        && !script.hides
        && !script.runs.is_empty()
        && script.variables.iter().all(|name| variables::stays_within(name, &path_base.exported))
        && folders::keeps_its_meaning(&script.runs, path_base)
        && !script.runs.iter().any(|run| folders::may_reach_a_folder(run, path_base))
        && script.runs.iter().all(|run| approves_run(approving, run, 0))
}

fn approves_run(approving: &[&Pattern], run: &CommandRun, depth: usize) -> bool {
    if depth == MAX_DEPTH || is_beyond_rules(run) {
        return false;
    }
    let matched = approving.iter().filter_map(|pattern| pattern.command.as_ref()).any(|pattern| {
        sets_the_same(pattern, run)
            && pattern.matches(&run.words).is_some_and(|found| options::allows(&run.words, &found))
    });
    if !matched || run.keyword {
        return matched;
    }
    match wrappers::unwrap(run) {
        // Even written out, `find -exec` and the like cannot run what no rule can approve.
        None => {
            (!run.fed || input::is_data_for(run))
                && wrappers::inside(run).is_some_and(|inside| !inside.iter().any(is_beyond_rules))
        }
        Some(InnerCommand::Nothing) => true,
        Some(InnerCommand::Run(inner)) => approves_run(approving, &inner, depth + 1),
        Some(InnerCommand::Unclear) => false,
    }
}

/// Whether a command is one that no rule can approve, however it is written.
fn is_beyond_rules(run: &CommandRun) -> bool {
    let Some(program) = run.program() else { return true };
    unapprovable::is_never_approved(&program)
        || variables::touches(&program, run)
        || matches!(unapprovable::code(&run.words), Some(CodeSource::Given { .. }))
}

/// Whether a command sets exactly the variables in the pattern, none of which changes what runs.
fn sets_the_same(pattern: &CommandPattern, run: &CommandRun) -> bool {
    let harmless = |word: &Word| word.known().and_then(assigned).is_some_and(|name| !variables::is_powerful(name));
    run.assignments.len() == pattern.assignments.len()
        && run.assignments.iter().all(harmless)
        && run.assignments.iter().zip(&pattern.assignments).all(|(set, wanted)| set.known() == Some(wanted))
}

/// Searches for a denied command.
struct Search<'a> {
    denying: &'a [&'a Pattern],
    /// The programs that the denials name.
    names: DeniedPrograms,
    left: usize,
}

impl Search<'_> {
    fn script(&mut self, script: &ShellScript, depth: usize) -> Likeness {
        let runs_a_value = script.variables.iter().any(|name| NAMES.code_variables.contains(name));
        let hidden = Likeness::maybe(script.hides || runs_a_value || self.names.may_be_handed_on_in(script));
        script.runs.iter().map(|run| self.run(run, depth)).fold(hidden, Likeness::max)
    }

    fn run(&mut self, run: &CommandRun, depth: usize) -> Likeness {
        if depth == MAX_DEPTH || self.left == 0 {
            return Likeness::Maybe;
        }
        self.left -= 1;
        let means = |pattern: &&Pattern| match &pattern.command {
            Some(pattern) => is_like(pattern, run),
            // It is not a command rule, so its meaning is unknown.
            None => Likeness::Maybe,
        };
        let mut denied = self.denying.iter().map(means).max().unwrap_or(Likeness::No);
        if denied == Likeness::Yes {
            return denied;
        }
        denied = denied.max(self.text(run, depth)).max(Likeness::maybe(self.names.may_be_run_by(run)));
        match wrappers::inside(run) {
            Some(inside) => inside.iter().map(|inner| self.run(inner, depth + 1)).fold(denied, Likeness::max),
            None => denied.max(Likeness::Maybe),
        }
    }

    /// The commands in the text that a command runs.
    fn text(&mut self, run: &CommandRun, depth: usize) -> Likeness {
        if run.words.is_empty() {
            return Likeness::No;
        }
        // An unknown program may be any program.
        let Some(program) = run.program() else { return Likeness::Maybe };
        let joined =
            |words: &[Word]| words.iter().map(Word::known).collect::<Option<Vec<_>>>().map(|words| words.join(" "));
        let text = match (program.as_str(), unapprovable::code(&run.words)) {
            ("eval", _) => joined(&run.words[1..]),
            ("trap", _) => {
                let rest = &run.words[1..];
                let rest = rest.strip_prefix(&[Word::Known("--".into())]).unwrap_or(rest);
                rest.first().and_then(Word::known).map(str::to_owned)
            }
            _ if variables::touches(&program, run) || variables::evaluates(&program, run) => None,
            ("source" | "." | "alias" | "enable" | "fc" | "hash" | "xargs" | "parallel" | "at" | "batch", _) => None,
            (_, Some(CodeSource::Given { shell: true, text: Some(text) })) => text.known().map(str::to_owned),
            (_, Some(CodeSource::Given { shell: true, text: None })) => {
                run.input.as_ref().and_then(Word::known).map(str::to_owned)
            }
            (_, Some(CodeSource::Given { shell: false, .. })) => None,
            _ => return Likeness::No,
        };
        match text {
            Some(text) => self.script(&script::read(&text), depth + 1),
            None => Likeness::Maybe,
        }
    }
}

/// Whether a rule denies a command. The rule's variables, if it has any, must be set; others are ignored.
fn is_like(pattern: &CommandPattern, run: &CommandRun) -> Likeness {
    if pattern.assignments.iter().any(|wanted| !run.assignments.iter().any(|set| set.known() == Some(wanted))) {
        return Likeness::No;
    }
    pattern.is_like(&run.words)
}
