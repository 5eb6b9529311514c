//! Lists of approvals: tool names, rules and `$presets`, put together into one [`Policy`].
//!
//! The sets of all presets and names in a list are united; a tool that is both approved and denied is denied. A name
//! that was removed from the list is taken out of what presets approve, never out of what they deny.

use std::collections::BTreeMap;

use super::{
    Registry,
    approval::{ApprovalCall, Decision},
    rules::{self, Rule, Target},
};
use crate::config::suggest::nearest;

/// A named set of approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Tools that run without asking, and rules.
    pub approve: Vec<String>,
    /// Tools that never run, and rules about calls that never do.
    pub deny: Vec<String>,
}

/// The presets that a list can name, by name with the `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presets(BTreeMap<String, Preset>);

impl Presets {
    /// The built-in presets: `$readonly` approves `read`; `$default` approves `read`, `write` and `edit`.
    pub fn builtin() -> Self {
        let approving =
            |tools: &[&str]| Preset { approve: tools.iter().map(|&tool| tool.to_owned()).collect(), deny: Vec::new() };
        Self(BTreeMap::from([
            ("$readonly".to_owned(), approving(&["read"])),
            ("$default".to_owned(), approving(&["read", "write", "edit"])),
        ]))
    }

    /// Adds a preset of the user's; one of the same name, a built-in one too, is replaced.
    ///
    /// # Errors
    /// When the name does not begin with `$`: a list could never tell it from a tool.
    pub fn define(&mut self, name: &str, preset: Preset) -> Result<(), String> {
        if name.len() < 2 || !name.starts_with('$') {
            return Err(format!("tools.presets: the name of a preset begins with `$`: write `$name`, not `{name}`"));
        }
        self.0.insert(name.to_owned(), preset);
        Ok(())
    }

    /// The preset of this name, which includes the `$`.
    pub fn get(&self, name: &str) -> Option<&Preset> {
        self.0.get(name)
    }

    /// The names of all presets, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// What a list of approvals comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    /// Puts a list together.
    ///
    /// `list` holds tool names, rules and `$presets`; `removed` holds entries that were taken out of the list and that no
    /// preset in it shall approve. An entry that means nothing approves nothing (see [`check`]); an unknown tool stays
    /// in the policy, since it may be registered later.
    pub fn new(list: &[String], removed: &[String], presets: &Presets) -> Self {
        let mut rules = Vec::new();
        for entry in list {
            if !entry.starts_with('$') {
                rules.extend(rule(entry));
            } else if let Some(preset) = presets.get(entry) {
                rules.extend(
                    preset.approve.iter().filter(|entry| !removed.contains(entry)).filter_map(|entry| rule(entry)),
                );
                rules.extend(preset.deny.iter().filter_map(|entry| rule(entry)).map(Rule::denying));
            }
        }
        Self { rules }
    }

    /// What the list says about a call; `None` if it does not speak of it.
    pub fn decide(&self, call: &ApprovalCall<'_>) -> Option<Decision> {
        rules::decide(&self.rules, call.tool, &call.subject, call.ground)
    }
}

/// An entry that names a tool or is a rule.
fn rule(entry: &str) -> Option<Rule> {
    if Rule::is_rule(entry) { Rule::parse(entry).ok() } else { Some(Rule::approving(entry)) }
}

/// Whether an entry of the user's list is the name of a Lua module that decides: `my_plugin.policy`. No tool has a dot in
/// its name.
#[must_use]
pub fn is_module(entry: &str) -> bool {
    entry.contains('.') && entry.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char))
}

/// Says what is wrong with an entry of a list, if it means nothing. `tools` are those that exist, or `None` where they
/// are not all known yet.
///
/// # Errors
/// For an unknown preset or tool: what it is, and what was probably meant. For a rule: what is wrong with it.
pub fn check(entry: &str, presets: &Presets, tools: Option<&Registry>) -> Result<(), String> {
    if entry.starts_with('$') {
        return match presets.get(entry) {
            Some(_) => Ok(()),
            None => Err(format!("unknown preset `{entry}`{}", did_you_mean(entry, presets.names()))),
        };
    }
    let rule = if Rule::is_rule(entry) { Some(Rule::parse(entry)?) } else { None };
    let tool = rule.as_ref().map_or(entry, Rule::tool);
    let Some(tools) = tools else { return Ok(()) };
    match (tools.get(tool), &rule) {
        (None, _) => {
            let meant = did_you_mean(tool, tools.all().map(|tool| tool.name.as_str()));
            Err(format!("unknown tool `{tool}`{meant}"))
        }
        (Some(definition), Some(rule)) if !rule.is_whole() && !Target::exists_for(definition) => Err(format!(
            "the rule `{entry}`: nothing in a call of `{tool}` is a command or a path; write `{tool}` for every call"
        )),
        _ => Ok(()),
    }
}

fn did_you_mean<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
