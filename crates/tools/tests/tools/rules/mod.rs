//! Command and file rules: what they approve, what they deny, and what gets past neither.

mod approvals;
mod attacks;
mod common;
mod denials;
mod entries;
mod files;
mod input;
mod properties;
mod spellings;
mod suggestions;
mod telling;
mod truth;

use std::path::Path;

use flemma_tools::{
    approval::Decision,
    rules::{PathBase, Rule, Subject, decide},
};

fn rules(entries: &[&str]) -> Vec<Rule> {
    entries.iter().map(|entry| Rule::parse(entry).unwrap()).collect()
}

/// What the environment has.
const EXPORTED: &[&str] =
    &["PATH", "HOME", "RIPGREP_CONFIG_PATH", "KUBECONFIG", "RUSTUP_TOOLCHAIN", "item", "http_proxy", "RECORD"];

fn path_base() -> PathBase {
    PathBase {
        folder: Path::new("/nowhere/project").to_owned(),
        home: Some("/nowhere/home".into()),
        exported: EXPORTED.iter().map(|&name| name.to_owned()).collect(),
        ..PathBase::default()
    }
}

/// What rules say of a command.
fn command(rules: &[Rule], command: &str) -> Option<Decision> {
    decide(rules, "bash", &Subject::Command(command), &path_base())
}

/// Rules such as somebody writes who trusts a lot of programs.
#[rustfmt::skip]
const GENEROUS: &[&str] = &[
    "bash(git *)", "bash(cargo *)", "bash(ls *)", "bash(cat *)", "bash(echo *)", "bash(rg *)", "bash(grep *)",
    "bash(find *)", "bash(fd *)", "bash(sort *)", "bash(sed *)", "bash(awk *)", "bash(gawk *)", "bash(tar *)",
    "bash(make *)", "bash(npm *)", "bash(env *)", "bash(timeout *)", "bash(nice *)", "bash(nohup *)", "bash(time *)",
    "bash(command *)", "bash(builtin *)", "bash(stdbuf *)", "bash(setsid *)", "bash(sudo *)", "bash(python3 *)",
    "bash(bash *)", "bash(sh *)", "bash(zsh *)", "bash(node *)", "bash(perl *)", "bash(ruby *)", "bash(php *)",
    "bash(deno *)", "bash(test *)", "bash([ *)", "bash(printf *)", "bash(head *)", "bash(wc *)", "bash(diff *)",
    "bash(rsync *)", "bash(ssh *)", "bash(less *)", "bash(man *)", "bash(true)", "bash(:)", "bash(cd *)",
    "bash(./build.sh *)", "bash(vim *)", "bash(pytest *)", "bash(go *)", "bash(curl *)", "bash(strace *)",
    "bash(uniq *)", "bash(julia *)", "bash(docker *)", "bash(gcc *)", "bash(busybox *)", "bash(date *)",
    "bash(split *)", "bash(RUST_LOG=debug cargo *)", "bash(jobs *)", "bash(zip *)", "bash(cmake *)", "bash(uv *)",
    "bash(tree *)",
];
