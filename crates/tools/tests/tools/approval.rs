//! Who decides whether a call runs.

use std::rc::Rc;

use flemma_model::CallId;
use flemma_tools::{
    DeclaredApproval, LuaError, Policy, Preset, Presets, Registry,
    approval::{self, ApprovalCall, Chain, Decision, Resolver, ResolverFailure},
    presets,
    rules::{PathBase, Subject},
};
use serde_json::{Value, json};

use crate::workshop::BUILTINS;

const TOOLS: [&str; 5] = ["bash", "calculator", "edit", "read", "write"];

/// A call about a file of the project.
fn about_a_file<R>(tool: &str, declared: Option<DeclaredApproval>, look: impl FnOnce(&ApprovalCall<'_>) -> R) -> R {
    let (input, id) = (json!({}), CallId::from("a"));
    let path_base = PathBase { folder: "/nowhere/project".into(), home: None, ..PathBase::default() };
    let paths = [path_base.folder.join("notes")];
    let call = ApprovalCall::new(tool, &input, &id, 1);
    look(&ApprovalCall { declared, subject: Subject::Paths(&paths), path_base: &path_base, ..call })
}

fn decide(chain: &Chain, tool: &str, declared: Option<DeclaredApproval>) -> (Decision, Option<String>) {
    let verdict = about_a_file(tool, declared, |call| chain.decide(call));
    (verdict.decision, verdict.resolver)
}

/// What a list says about a tool.
fn says(policy: &Policy, tool: &str) -> Option<Decision> {
    about_a_file(tool, None, |call| policy.decide(call))
}

fn resolver(name: &str, priority: i64, answer: Result<Option<Decision>, LuaError>) -> Resolver {
    Resolver { name: name.into(), description: None, priority, resolve: Rc::new(move |_| answer.clone()) }
}

fn policy(list: &[&str]) -> Policy {
    let list: Vec<String> = list.iter().map(|&entry| entry.to_owned()).collect();
    let mut presets = Presets::builtin();
    presets.define("$no-bash", Preset { approve: vec![], deny: vec!["bash".into()] }).unwrap();
    presets.define("$yolo", Preset { approve: TOOLS.map(str::to_owned).to_vec(), deny: vec![] }).unwrap();
    for entry in &list {
        presets::check(entry, &presets, Some(&BUILTINS)).unwrap();
    }
    Policy::new(&list, &[], &presets)
}

#[test]
fn without_a_decision_the_user_is_asked() {
    assert_eq!(decide(&Chain::default(), "bash", None), (Decision::RequireApproval, None));
}

#[test]
fn the_default_preset_approves_file_tools_and_asks_for_bash() {
    let mut chain = Chain::default();
    chain.register(approval::config(policy(&["$default"])));
    for tool in ["read", "write", "edit"] {
        assert_eq!(decide(&chain, tool, None), (Decision::Approve, Some(approval::CONFIG.into())));
    }
    assert_eq!(decide(&chain, "bash", None), (Decision::RequireApproval, None));
}

#[test]
fn readonly_lets_nothing_be_written() {
    let readonly = policy(&["$readonly", "calculator"]);
    assert_eq!(says(&readonly, "read"), Some(Decision::Approve));
    assert_eq!(says(&readonly, "calculator"), Some(Decision::Approve));
    assert_eq!(says(&readonly, "write"), None);
}

#[test]
fn a_denial_in_any_preset_wins_whatever_the_order() {
    for list in [["$yolo", "$no-bash"], ["$no-bash", "$yolo"]] {
        assert_eq!(says(&policy(&list), "bash"), Some(Decision::Deny));
        assert_eq!(says(&policy(&list), "read"), Some(Decision::Approve));
    }
    assert_eq!(says(&policy(&["$no-bash", "bash"]), "bash"), Some(Decision::Deny));
}

#[test]
fn removing_a_tool_from_a_list_lifts_no_denial() {
    let mut presets = Presets::builtin();
    presets.define("$no-bash", Preset { approve: vec![], deny: vec!["bash".into()] }).unwrap();
    let list = ["$default".to_owned(), "$no-bash".to_owned()];
    let removed = ["write".to_owned(), "bash".to_owned()];
    let policy = Policy::new(&list, &removed, &presets);
    assert_eq!(says(&policy, "write"), None);
    assert_eq!(says(&policy, "edit"), Some(Decision::Approve));
    assert_eq!(says(&policy, "bash"), Some(Decision::Deny));
}

#[test]
fn a_users_preset_takes_the_place_of_a_built_in_one() {
    let mut presets = Presets::builtin();
    presets.define("$default", Preset { approve: vec!["bash".into()], deny: vec![] }).unwrap();
    let policy = Policy::new(&["$default".to_owned()], &[], &presets);
    assert_eq!(says(&policy, "bash"), Some(Decision::Approve));
    assert_eq!(says(&policy, "read"), None);
}

#[test]
fn our_presets_mean_our_tools() {
    let mut presets = Presets::builtin();
    presets.define("$mine", Preset { approve: vec!["read".into()], deny: vec![] }).unwrap();
    let foreign = |list: &[&str], tool: &str| {
        let list: Vec<String> = list.iter().map(|&entry| entry.to_owned()).collect();
        let policy = Policy::new(&list, &[], &presets);
        about_a_file(tool, None, |call| policy.decide(&ApprovalCall { is_ours: false, ..*call }))
    };
    assert_eq!(foreign(&["$default", "$readonly"], "read"), None);
    assert_eq!(foreign(&["$default"], "write"), None);
    assert_eq!(foreign(&["$default", "read"], "read"), Some(Decision::Approve));
    assert_eq!(foreign(&["$mine"], "read"), Some(Decision::Approve));
    assert_eq!(foreign(&["$default", "!read"], "read"), Some(Decision::Deny));
}

#[test]
fn what_a_list_misspells_is_reported_with_what_was_meant() {
    let check = |entry| presets::check(entry, &Presets::builtin(), Some(&BUILTINS));
    assert_eq!(check("$defualt").unwrap_err().to_string(), "unknown preset `$defualt`; did you mean `$default`?");
    assert_eq!(check("raed").unwrap_err().to_string(), "unknown tool `raed`; did you mean `read`?");
    assert_eq!(presets::check("raed", &Presets::builtin(), None), Ok(()), "it may be registered later");
    let nameless = Presets::builtin().define("mine", Preset::default()).unwrap_err();
    assert_eq!(nameless.to_string(), "tools.presets: the name of a preset begins with `$`: write `$name`, not `mine`");
}

#[test]
fn the_highest_priority_is_asked_first_and_names_order_equals() {
    let mut chain = Chain::default();
    chain.register(resolver("b", 50, Ok(Some(Decision::Deny))));
    chain.register(resolver("low", 10, Ok(Some(Decision::Approve))));
    chain.register(resolver("a", 50, Ok(Some(Decision::Approve))));
    chain.register(resolver("high", 200, Ok(None)));
    assert_eq!(chain.all().map(|resolver| resolver.name.as_str()).collect::<Vec<_>>(), ["high", "a", "b", "low"]);
    assert_eq!(decide(&chain, "bash", None), (Decision::Approve, Some("a".into())));
}

#[test]
fn a_resolver_that_fails_is_passed_over_and_reported() {
    let mut chain = Chain::default();
    chain.register(resolver("broken", 100, Err(LuaError::new("attempt to index nil"))));
    chain.register(resolver("strict", 50, Ok(Some(Decision::Deny))));
    let (input, id) = (Value::Null, CallId::from("a"));
    let verdict = chain.decide(&ApprovalCall::new("bash", &input, &id, 1));
    assert_eq!(verdict.decision, Decision::Deny);
    assert_eq!(
        verdict.failures,
        [ResolverFailure { resolver: "broken".into(), error: LuaError::new("attempt to index nil") }]
    );
}

#[test]
fn registering_a_name_again_replaces_the_resolver() {
    let mut chain = Chain::default();
    chain.register(resolver("mine", 50, Ok(Some(Decision::Deny))));
    chain.register(resolver("mine", 50, Ok(Some(Decision::Approve))));
    assert_eq!(chain.all().count(), 1);
    assert_eq!(decide(&chain, "bash", None).0, Decision::Approve);
    assert!(chain.unregister("mine").is_some());
    assert!(chain.unregister("mine").is_none());
    assert!(chain.get("mine").is_none());
}

#[test]
fn a_tools_own_declaration_is_heard_last() {
    let mut chain = Chain::default();
    chain.register(approval::declared(Policy::default(), Rc::new(|_, _| Ok(None))));
    assert_eq!(decide(&chain, "x", Some(DeclaredApproval::Auto)), (Decision::Approve, Some(approval::DECLARED.into())));
    assert_eq!(decide(&chain, "x", None), (Decision::RequireApproval, None));
    chain.register(approval::catch_all());
    let verdict = decide(&chain, "x", Some(DeclaredApproval::RequiresApproval));
    assert_eq!(verdict, (Decision::Approve, Some(approval::CATCH_ALL.into())));
}

#[test]
fn tools_that_only_look_run_unless_somebody_says_otherwise() {
    let registry = Registry::with_builtins();
    let declared = |tool: &str| registry.get(tool).unwrap().approval;
    let harmless = ["grep", "find", "ls"];
    let mut chain = Chain::default();
    chain.register(approval::declared(policy(&["$default"]), Rc::new(|_, _| Ok(None))));
    chain.register(approval::config(policy(&["$default"])));
    for tool in harmless {
        let verdict = decide(&chain, tool, declared(tool));
        assert_eq!(verdict, (Decision::Approve, Some(approval::DECLARED.into())), "{tool}");
    }
    for tool in ["bash", "calculator", "calculator_async"] {
        assert_eq!(decide(&chain, tool, declared(tool)), (Decision::RequireApproval, None), "{tool}");
    }

    // A file's policy, a resolver of the user's, and a denial are all asked first.
    for (priority, decision) in [(90, Decision::RequireApproval), (50, Decision::Deny), (-5, Decision::RequireApproval)]
    {
        let mut chain = chain.clone();
        chain.register(resolver("mine", priority, Ok(Some(decision))));
        for tool in harmless {
            assert_eq!(decide(&chain, tool, declared(tool)), (decision, Some("mine".into())), "{tool}");
        }
    }
    let mut presets = Presets::builtin();
    presets.define("$blind", Preset { approve: vec![], deny: harmless.map(str::to_owned).to_vec() }).unwrap();
    let list = ["$default".to_owned(), "$blind".to_owned()];
    for entry in &list {
        presets::check(entry, &presets, Some(&registry)).unwrap();
    }
    chain.register(approval::config(Policy::new(&list, &[], &presets)));
    for tool in harmless {
        assert_eq!(decide(&chain, tool, declared(tool)).0, Decision::Deny, "{tool}");
    }
}
