//! Lists of approvals: tool names, rules and `$presets`, combined into one [`Policy`].
//!
//! The sets of all presets and names in a list are combined; a tool that is both approved and denied is denied. A name that
//! was removed from the list is also removed from what presets approve, but never from what they deny. An omission counts
//! as well: a tool that was removed asks, and so does every tool if the list is empty, whatever the tool declares about
//! itself ([`Policy::silences`]).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Registry,
    rules::{DeniedPaths, PathBase, Rule, Target},
};
use flemma_model::UserError;
use flemma_text::suggest::nearest;

/// A named set of approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Tools that run without asking, and rules.
    pub approve: Vec<String>,
    /// Tools that never run, and rules for calls that never run.
    pub deny: Vec<String>,
}

/// The presets that a list can name, by their names including the `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presets {
    all: BTreeMap<String, Preset>,
    /// The built-in ones that approve writing within the project only.
    bounded: BTreeSet<String>,
    /// The built-in ones, which mean our own tools.
    ours: BTreeSet<String>,
}

/// The tools that a built-in preset approves within the project: see [`super::project`].
const WRITING: [&str; 2] = ["write", "edit"];

impl Presets {
    /// The built-in presets: `$readonly` approves `read`; `$default` approves `read`, and `write` and `edit` for the
    /// ordinary files of the conversation's project.
    pub fn builtin() -> Self {
        let approving =
            |tools: &[&str]| Preset { approve: tools.iter().map(|&tool| tool.to_owned()).collect(), deny: Vec::new() };
        let all = BTreeMap::from([
            ("$readonly".to_owned(), approving(&["read"])),
            ("$default".to_owned(), approving(&["read", "write", "edit"])),
        ]);
        let ours: BTreeSet<String> = all.keys().cloned().collect();
        Self { all, bounded: ours.clone(), ours }
    }

    /// The same presets, but the built-in ones approve writing anywhere: `tools.write_outside = "auto"`.
    pub fn unbounded(self) -> Self {
        Self { bounded: BTreeSet::new(), ..self }
    }

    /// Adds a user's preset. A preset with the same name is replaced, including a built-in one.
    ///
    /// # Errors
    /// If the name does not begin with `$`: a list could not distinguish it from a tool.
    pub fn define(&mut self, name: &str, preset: Preset) -> Result<(), UserError> {
        if name.len() < 2 || !is_preset(name) {
            return Err(UserError::new(format!(
                "tools.presets: the name of a preset begins with `$`: write `$name`, not `{name}`"
            )));
        }
        // A user's preset applies to all files.
        self.bounded.remove(name);
        self.ours.remove(name);
        self.all.insert(name.to_owned(), preset);
        Ok(())
    }

    /// The preset with this name, which includes the `$`.
    pub fn get(&self, name: &str) -> Option<&Preset> {
        self.all.get(name)
    }

    /// The names of all presets, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.keys().map(String::as_str)
    }
}

/// The result of a list of approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub(super) rules: Vec<Rule>,
    /// The tools that were removed from the list.
    removed: BTreeSet<String>,
    /// Whether the list was explicitly empty.
    empty: bool,
}

impl Policy {
    /// Combines a list. Without any list, the policy is [`Policy::default`].
    ///
    /// `list` has tool names, rules, `$presets` and modules, which decide elsewhere. `removed` has entries that were removed
    /// from the list and that no preset in it may approve. An invalid entry approves nothing (see [`check`]). An unknown
    /// tool remains in the policy, since it may be registered later.
    pub fn new(list: &[String], removed: &[String], presets: &Presets) -> Self {
        let gone = Removed::new(removed, presets);
        let mut rules = Vec::new();
        for entry in list.iter().filter(|entry| !is_module(entry)) {
            if !is_preset(entry) {
                rules.extend(rule(entry));
            } else if let Some(preset) = presets.get(entry) {
                let is_bounded = |rule: &Rule| presets.bounded.contains(entry) && WRITING.contains(&rule.tool());
                let approving = preset.approve.iter().filter_map(|entry| rule(entry));
                let approving = approving.filter(|rule| !gone.takes_out(rule));
                let approving = approving.map(|rule| if is_bounded(&rule) { rule.within_project() } else { rule });
                rules.extend(approving.map(|rule| if presets.ours.contains(entry) { rule.for_ours() } else { rule }));
                rules.extend(preset.deny.iter().filter_map(|entry| rule(entry)).map(Rule::denying));
            }
        }
        Self { rules, removed: gone.tools, empty: list.is_empty() }
    }

    /// The paths that these lists deny reading.
    pub fn denied<'a>(policies: impl IntoIterator<Item = &'a Self>, path_base: &PathBase) -> DeniedPaths {
        DeniedPaths::new(policies.into_iter().map(|policy| &*policy.rules), path_base)
    }

    /// Whether the tool's own declaration that it is harmless is ignored: the user has removed it from the list, or has
    /// written an empty list.
    pub fn silences(&self, tool: &str) -> bool {
        self.empty || self.removed.contains(tool)
    }
}

/// The entries that were removed from a list.
struct Removed {
    /// Those for all calls of a tool remove everything that a preset approves for it, and others only themselves.
    rules: Vec<Rule>,
    /// All tools that the removed entries approved.
    tools: BTreeSet<String>,
}

impl Removed {
    fn new(entries: &[String], presets: &Presets) -> Self {
        let mut removed = Self { rules: Vec::new(), tools: BTreeSet::new() };
        for entry in entries {
            if let Some(preset) = presets.get(entry) {
                // The other presets in the list still approve their tools.
                let approving = preset.approve.iter().filter_map(|entry| rule(entry)).filter(|rule| !rule.denies());
                removed.tools.extend(approving.map(|rule| rule.tool().to_owned()));
            } else if let Some(rule) = rule(entry).filter(|rule| !rule.denies()) {
                removed.tools.insert(rule.tool().to_owned());
                removed.rules.push(rule);
            }
        }
        removed
    }

    fn takes_out(&self, rule: &Rule) -> bool {
        let is_meant = |removed: &Rule| removed == rule || (removed.is_whole() && removed.tool() == rule.tool());
        !rule.denies() && self.rules.iter().any(is_meant)
    }
}

/// An entry that names a tool or is a rule.
fn rule(entry: &str) -> Option<Rule> {
    if Rule::is_rule(entry) { Rule::parse(entry).ok() } else { Some(Rule::approving(entry)) }
}

/// Whether an entry of a list is the name of a preset: no tool has a `$` in its name.
pub fn is_preset(entry: &str) -> bool {
    entry.starts_with('$')
}

/// Whether an entry of the user's list is the name of a Lua module that decides: `my_plugin.policy`. Names of tools do not
/// contain dots.
pub fn is_module(entry: &str) -> bool {
    entry.contains('.') && entry.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char))
}

/// Checks an entry of a list. `tools` are the existing tools, or `None` if not all of them are known yet.
///
/// # Errors
/// For an unknown preset or tool: its name and a suggestion. For a rule: what is wrong with it.
pub fn check(entry: &str, presets: &Presets, tools: Option<&Registry>) -> Result<(), UserError> {
    if is_preset(entry) {
        return match presets.get(entry) {
            Some(_) => Ok(()),
            None => Err(UserError::new(format!("unknown preset `{entry}`{}", did_you_mean(entry, presets.names())))),
        };
    }
    let rule = if Rule::is_rule(entry) { Some(Rule::parse(entry)?) } else { None };
    let tool = rule.as_ref().map_or(entry, Rule::tool);
    let Some(tools) = tools else { return Ok(()) };
    match (tools.get(tool), &rule) {
        (None, _) => {
            let meant = did_you_mean(tool, tools.all().map(|tool| tool.name.as_str()));
            Err(UserError::new(format!("unknown tool `{tool}`{meant}")))
        }
        (Some(definition), Some(rule)) if !rule.is_whole() && !Target::exists_for(definition) => {
            Err(UserError::new(format!(
                "the rule `{entry}`: a call of `{tool}` has no command or path to match; write `{tool}` to match every call"
            )))
        }
        _ => Ok(()),
    }
}

/// Whether an entry that [`check`] refuses will most likely be refused whatever tools are registered later: it is about a
/// tool that exists, or its name is close to one.
pub fn is_likely_mistake(entry: &str, tools: &Registry) -> bool {
    let rule = Rule::parse(entry).ok().filter(|_| Rule::is_rule(entry));
    let tool = rule.as_ref().map_or(entry, Rule::tool);
    nearest(tool, tools.all().map(|tool| tool.name.as_str())).is_some()
}

fn did_you_mean<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
