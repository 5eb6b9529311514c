//! The approval chain: the built-in resolvers as the options want them, and the user's own functions among them.
//!
//! Two kinds of Lua functions decide. A *policy* is the user's own (`tools.auto_approve` of the configuration or of a
//! file, and the modules it names): it returns `true`, `false`, `"deny"` or nothing, and if it fails the user is asked. A
//! *resolver* is a plugin's: it returns `"approve"`, `"require_approval"`, `"deny"` or nothing, and if it fails it is passed
//! over.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    rc::Rc,
};

use crate::ports::{CallContext, Host, Scripts};
use flemma_agent::Level;
use flemma_config::{Config, WriteOutside};
use flemma_model::UserError;
use flemma_tools::{
    DeclaredApproval, Policy, Preset, Presets,
    approval::{self, AskTool, CONFIG_PRIORITY, Decision, Resolve, Resolver},
    presets,
    rules::Rule,
};

/// The presets that a list may name. One with an invalid name is not among them.
pub(crate) fn presets(config: &Config) -> Presets {
    define_presets(config).0
}

/// The same, and what is wrong with the names of the user's.
fn define_presets(config: &Config) -> (Presets, Vec<UserError>) {
    let mut presets = match config.tools.write_outside {
        WriteOutside::Ask => Presets::builtin(),
        WriteOutside::Auto => Presets::builtin().unbounded(),
    };
    let problems = config.tools.presets.iter().filter_map(|(name, preset)| {
        presets.define(name, Preset { approve: preset.approve.clone(), deny: preset.deny.clone() }).err()
    });
    let problems = problems.collect();
    (presets, problems)
}

/// What is wrong with the presets, and with the entries of lists that cannot be read or that name no preset. A tool that is
/// unknown now may be registered later.
pub(crate) fn problems(config: &Config) -> Vec<UserError> {
    let (presets, mut problems) = define_presets(config);
    let tools = &config.tools;
    let listed = tools.auto_approve.iter().filter(|entry| !presets::is_module(entry));
    problems.extend(listed.filter_map(|entry| {
        let problem = presets::check(entry, &presets, None).err()?;
        Some(UserError::new(format!("tools.auto_approve: {problem}")))
    }));
    problems.extend(tools.presets.iter().flat_map(|(name, preset)| {
        preset.approve.iter().chain(&preset.deny).filter_map(move |entry| {
            let problem = if presets::is_preset(entry) {
                format!("`{entry}` is the name of a preset; a preset lists tools and rules")
            } else {
                Rule::is_rule(entry).then(|| Rule::parse(entry).err())??.to_string()
            };
            Some(UserError::new(format!("tools.presets.{name}: {problem}")))
        })
    }));
    problems
}

/// The names of the built-in resolvers that not every configuration has.
pub(crate) const OPTIONAL: [&str; 1] = [approval::CATCH_ALL];

/// What a configuration makes of the chain.
pub(crate) struct Built {
    /// The resolvers, the modules among them.
    pub(crate) resolvers: Vec<Resolver>,
    /// The list of `tools.auto_approve`; the empty policy where that is a function.
    pub(crate) policy: Policy,
    /// The modules that `tools.auto_approve` names.
    pub(crate) modules: Vec<String>,
}

/// Builds the resolvers that the options want. `function` is `tools.auto_approve` where that is one.
pub(crate) fn build(
    config: &Config,
    function: Option<Resolve>,
    scripts: &Rc<dyn Scripts>,
    host: &Rc<dyn Host>,
) -> Built {
    let presets = presets(config);
    let modules: Vec<String> =
        config.tools.auto_approve.iter().filter(|entry| presets::is_module(entry)).cloned().collect();
    let policy = match function {
        None => Policy::new(&config.tools.auto_approve, &[], &presets),
        Some(_) => Policy::default(),
    };
    let mut resolvers = vec![match function {
        None => approval::config(policy.clone()),
        Some(function) => {
            let decide = policy_function(host, "the function tools.auto_approve".to_owned(), function);
            Resolver { resolve: approval::overridable(decide), ..approval::config(Policy::default()) }
        }
    }];
    resolvers.extend(modules.iter().map(|module| {
        let label = format!("the module `{module}` in tools.auto_approve");
        Resolver {
            name: module.clone(),
            description: Some("a module of tools.auto_approve".into()),
            priority: CONFIG_PRIORITY,
            resolve: approval::overridable(policy_function(host, label, scripts.policy_module(module))),
        }
    }));
    resolvers.push(approval::frontmatter());
    resolvers.push(approval::declared(policy.clone(), tool_function(host, scripts)));
    if !config.tools.require_approval {
        resolvers.push(approval::catch_all());
    }
    Built { resolvers, policy, modules }
}

/// A way to decide that asks a policy of the user's. If it fails, or returns something that a policy may not return, the
/// user is asked about the call, and told why the first time. `label` names the function.
pub(crate) fn policy_function(host: &Rc<dyn Host>, label: String, policy: Resolve) -> Resolve {
    let (host, is_told) = (Rc::clone(host), Cell::new(false));
    Rc::new(move |call| {
        policy(call).or_else(|problem| {
            if !is_told.replace(true) {
                let hint = "It may return true, false, \"deny\" or nil. Until it does, you are asked about each call";
                host.notify(Level::Warn, &format!("{label} {problem}. {hint}"));
            }
            Ok(Some(Decision::RequireApproval))
        })
    })
}

/// The way to ask the function of a definition about a call. If it fails, the user is asked, and told why the first time.
fn tool_function(host: &Rc<dyn Host>, scripts: &Rc<dyn Scripts>) -> AskTool {
    let (host, scripts, told) = (Rc::clone(host), Rc::clone(scripts), RefCell::new(BTreeSet::new()));
    Rc::new(move |function, call| {
        let buffer = i32::try_from(call.buffer).unwrap_or_default();
        let asked = scripts.declared_approval(CallContext { function, input: call.input, buffer, call: call.id });
        let decided = asked.map(|declared| {
            declared.map(|declared| match declared {
                DeclaredApproval::Auto => Decision::Approve,
                DeclaredApproval::RequiresApproval | DeclaredApproval::Function(_) => Decision::RequireApproval,
            })
        });
        decided.or_else(|problem| {
            if told.borrow_mut().insert(function) {
                let hint = "It may return \"auto\", \"requires_approval\" or nil. Until it does, you are asked about each call";
                host.notify(Level::Warn, &format!("the tool `{}`: `approval` {problem}. {hint}", call.tool));
            }
            Ok(Some(Decision::RequireApproval))
        })
    })
}
