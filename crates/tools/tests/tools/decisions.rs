//! Who decides: one row for each combination that somebody may ask about.
//!
//! A row reads: what the configuration says, what the file says, who else is there, what the tool declares; the tool that
//! is called; the decision and who made it.

use std::rc::Rc;

use flemma_model::CallId;
use flemma_tools::{
    DeclaredApproval, Definition, Executor, LuaError, LuaRef, Policy, Preset, Presets, Registry, Runner,
    approval::{
        self, ApprovalCall, BufferPolicy, CATCH_ALL, CONFIG, CONFIG_PRIORITY, Chain, DECLARED, Decision, FRONTMATTER,
        Resolve, Resolver,
    },
    presets,
    rules::{PathBase, Subject},
};
use serde_json::json;

fn registry() -> Registry {
    let mut registry = Registry::with_builtins();
    let schema = json!({ "type": "object" });
    registry.register(Definition::new("mine", "x", schema, Executor::Server(Runner::Lua(LuaRef(1))))).unwrap();
    registry
}

/// What a policy may be: a list (`-name` was removed from it), or a function that always answers the same.
#[derive(Clone, Copy)]
enum Says {
    Nothing,
    List(&'static str),
    Function(Option<Decision>),
    Throws,
}

use Decision::{Approve, Deny, RequireApproval as Ask};
use Says::{Function, List, Nothing, Throws};

fn presets() -> Presets {
    let mut presets = Presets::builtin();
    let own = |approve: &[&str], deny: &[&str]| Preset {
        approve: approve.iter().map(|&tool| tool.to_owned()).collect(),
        deny: deny.iter().map(|&tool| tool.to_owned()).collect(),
    };
    presets.define("$yolo", own(&["bash", "read", "write", "edit"], &[])).unwrap();
    presets.define("$no-bash", own(&[], &["bash"])).unwrap();
    presets.define("$both", own(&["write"], &["write"])).unwrap();
    presets.define("$mine", own(&["mine"], &[])).unwrap();
    presets.define("$docs", own(&["read(docs/**)"], &[])).unwrap();
    presets.define("$blind", own(&[], &["read"])).unwrap();
    presets
}

fn policy(list: &str) -> Policy {
    let (removed, list): (Vec<&str>, Vec<&str>) = list.split_whitespace().partition(|entry| entry.starts_with('-'));
    let list: Vec<String> = list.into_iter().map(str::to_owned).collect();
    let removed: Vec<String> = removed.into_iter().map(|entry| entry[1..].to_owned()).collect();
    for entry in list.iter().chain(&removed).filter(|entry| !presets::is_module(entry)) {
        presets::check(entry, &presets(), Some(&registry())).unwrap();
    }
    Policy::new(&list, &removed, &presets())
}

fn always(answer: Option<Decision>) -> Resolve {
    Rc::new(move |_| Ok(answer))
}

fn resolver(name: &str, priority: i64, resolve: Resolve) -> Resolver {
    Resolver { name: name.into(), description: None, priority, resolve }
}

/// `name priority answer`, separated by commas; an answer is `approve`, `ask`, `deny`, `pass` or `throw`.
fn others(chain: &mut Chain, others: &str) {
    for other in others.split(',').map(str::trim).filter(|other| !other.is_empty()) {
        let words: Vec<&str> = other.split_whitespace().collect();
        let answer = words[2].to_owned();
        let resolve: Resolve = Rc::new(move |_| match answer.as_str() {
            "approve" => Ok(Some(Approve)),
            "ask" => Ok(Some(Ask)),
            "deny" => Ok(Some(Deny)),
            "pass" => Ok(None),
            _ => Err(LuaError::new("attempt to index nil")),
        });
        chain.register(resolver(words[0], words[1].parse().unwrap(), resolve));
    }
}

struct Row {
    config: Says,
    require_approval: bool,
    file: Says,
    others: &'static str,
    declared: Option<DeclaredApproval>,
    tool: &'static str,
    decision: Decision,
    by: Option<&'static str>,
}

fn row(config: Says, file: Says, tool: &'static str, decision: Decision, by: Option<&'static str>) -> Row {
    Row { config, require_approval: true, file, others: "", declared: None, tool, decision, by }
}

impl Row {
    fn open(self) -> Self {
        Self { require_approval: false, ..self }
    }

    fn with(self, others: &'static str) -> Self {
        Self { others, ..self }
    }

    fn auto(self) -> Self {
        Self { declared: Some(DeclaredApproval::Auto), ..self }
    }

    fn gated(self) -> Self {
        Self { declared: Some(DeclaredApproval::RequiresApproval), ..self }
    }

    fn check(&self, number: usize) {
        let mut chain = Chain::default();
        let mut listed = Policy::default();
        match self.config {
            Nothing => {}
            List(list) => {
                listed = policy(list);
                chain.register(approval::config(listed.clone()));
            }
            Function(answer) => {
                chain.register(resolver(CONFIG, CONFIG_PRIORITY, approval::overridable(always(answer))));
            }
            // A function of the user's that fails means that they are asked: the editor's side turns it into that.
            Throws => chain.register(resolver(CONFIG, CONFIG_PRIORITY, approval::overridable(always(Some(Ask))))),
        }
        chain.register(approval::frontmatter());
        chain.register(approval::declared(listed, Rc::new(|_, _| Ok(None))));
        if !self.require_approval {
            chain.register(approval::catch_all());
        }
        others(&mut chain, self.others);
        let file = match self.file {
            Nothing => None,
            List(list) => Some(BufferPolicy::List(policy(list))),
            Function(answer) => Some(BufferPolicy::Function(always(answer))),
            Throws => Some(BufferPolicy::Function(Rc::new(|_| Err(LuaError::new("attempt to index nil"))))),
        };
        let (input, id) = (json!({}), CallId::from("a"));
        // A file of the project, for the tools that are about files.
        let path_base = PathBase { folder: "/nowhere/project".into(), home: None, ..PathBase::default() };
        let paths = [path_base.folder.join("notes")];
        let is_about_files = matches!(self.tool, "read" | "write" | "edit");
        let call = ApprovalCall {
            declared: self.declared,
            subject: if is_about_files { Subject::Paths(&paths) } else { Subject::Other },
            path_base: &path_base,
            frontmatter: file.as_ref(),
            ..ApprovalCall::new(self.tool, &input, &id, 1)
        };
        let verdict = chain.decide(&call);
        assert_eq!((verdict.decision, verdict.resolver.as_deref()), (self.decision, self.by), "row {number}");
    }
}

#[test]
fn every_row_of_the_decision_table_holds() {
    let (config, file) = (Some(CONFIG), Some(FRONTMATTER));
    let (catch_all, declared) = (Some(CATCH_ALL), Some(DECLARED));
    let rows = [
        // The configuration alone.
        row(List(""), Nothing, "read", Ask, None),
        row(List("$default"), Nothing, "read", Approve, config),
        row(List("$default"), Nothing, "write", Approve, config),
        row(List("$default"), Nothing, "edit", Approve, config),
        row(List("$default"), Nothing, "bash", Ask, None),
        row(List("$default"), Nothing, "mine", Ask, None),
        row(List("$readonly"), Nothing, "read", Approve, config),
        row(List("$readonly"), Nothing, "write", Ask, None),
        row(List("$readonly calculator"), Nothing, "calculator", Approve, config),
        row(List("bash"), Nothing, "bash", Approve, config),
        row(List("bash"), Nothing, "read", Ask, None),
        row(List("$no-bash"), Nothing, "bash", Deny, config),
        row(List("$yolo $no-bash"), Nothing, "bash", Deny, config),
        row(List("$no-bash $yolo"), Nothing, "bash", Deny, config),
        row(List("$no-bash bash"), Nothing, "bash", Deny, config),
        row(List("$yolo $no-bash"), Nothing, "write", Approve, config),
        row(List("$both"), Nothing, "write", Deny, config),
        row(List("$default -write"), Nothing, "write", Ask, None),
        row(List("$default -write"), Nothing, "edit", Approve, config),
        row(List("$no-bash -bash"), Nothing, "bash", Deny, config),
        row(Function(Some(Approve)), Nothing, "bash", Approve, config),
        row(Function(Some(Ask)), Nothing, "read", Ask, config),
        row(Function(Some(Deny)), Nothing, "read", Deny, config),
        row(Function(None), Nothing, "read", Ask, None),
        row(Throws, Nothing, "read", Ask, config),
        // The catch-all decides what nobody did, and nothing else.
        row(List(""), Nothing, "bash", Approve, catch_all).open(),
        row(List("$no-bash"), Nothing, "bash", Deny, config).open(),
        row(List("$default"), Nothing, "read", Approve, config).open(),
        row(Function(Some(Ask)), Nothing, "read", Ask, config).open(),
        row(Function(None), Nothing, "read", Approve, catch_all).open(),
        row(Throws, Nothing, "bash", Ask, config).open(),
        // The file takes the place of what the configuration approves.
        row(List("$default"), List("$readonly"), "read", Approve, file),
        row(List("$default"), List("$readonly"), "write", Ask, None),
        row(List("$default"), List("bash"), "bash", Approve, file),
        row(List("$default"), List("bash"), "read", Ask, None),
        row(List("$default"), List(""), "read", Ask, None),
        row(List(""), List("$default bash"), "bash", Approve, file),
        row(List("$default"), List("$default -write"), "write", Ask, None),
        row(List("$default"), List("$default -write"), "edit", Approve, file),
        row(List("$yolo"), List("$no-bash"), "bash", Deny, file),
        row(List("$yolo"), List("$no-bash"), "read", Ask, None),
        row(List("$default"), Function(Some(Approve)), "bash", Approve, file),
        row(List("$default"), Function(Some(Ask)), "read", Ask, file),
        row(List("$default"), Function(Some(Deny)), "read", Deny, file),
        row(List("$default"), Function(None), "read", Ask, None),
        row(List("$default"), Throws, "read", Ask, None),
        row(Function(Some(Approve)), List("$readonly"), "write", Ask, None),
        row(Function(Some(Ask)), List("$readonly"), "read", Approve, file),
        // A denial of the configuration's cannot be lifted by a file.
        row(List("$no-bash"), List("bash"), "bash", Deny, config),
        row(List("$no-bash"), List("$yolo"), "bash", Deny, config),
        row(List("$no-bash"), List("$yolo -bash"), "bash", Deny, config),
        row(List("$no-bash"), Function(Some(Approve)), "bash", Deny, config),
        row(Function(Some(Deny)), List("bash"), "bash", Deny, config),
        row(Function(Some(Deny)), Function(Some(Approve)), "bash", Deny, config),
        row(List("$no-bash"), List("bash"), "bash", Deny, config).open(),
        row(List("$default"), List("$readonly"), "write", Approve, catch_all).open(),
        row(List("$default"), List("$no-bash"), "bash", Deny, file).open(),
        // Others, by their priorities.
        row(List("$default"), Nothing, "bash", Deny, Some("guard")).with("guard 50 deny"),
        row(List("$default"), Nothing, "read", Approve, config).with("guard 50 deny"),
        row(List("$default"), Nothing, "read", Deny, Some("guard")).with("guard 200 deny"),
        row(List("$default"), Nothing, "read", Approve, config).with("guard 200 pass"),
        row(List("$default"), Nothing, "read", Approve, config).with("guard 200 throw"),
        row(List(""), Nothing, "bash", Approve, Some("a")).with("b 50 deny, a 50 approve"),
        row(List(""), Nothing, "bash", Deny, Some("b")).with("b 51 deny, a 50 approve"),
        row(List(""), Nothing, "bash", Approve, Some("a")).with("b 60 throw, a 50 approve"),
        row(List(""), Nothing, "bash", Ask, Some("a")).with("a 50 ask").open(),
        row(List(""), Nothing, "bash", Approve, catch_all).with("a -1 deny").open(),
        row(List(""), List("bash"), "bash", Approve, file).with("a 89 deny"),
        row(List(""), List("bash"), "bash", Deny, Some("a")).with("a 91 deny"),
        row(List("$no-bash"), List("bash"), "bash", Approve, Some("a")).with("a 101 approve"),
        // Rules are entries like any other.
        row(List("bash(ls)"), Nothing, "bash", Ask, None),
        row(List("!bash"), Nothing, "bash", Deny, config),
        row(List("!bash bash"), Nothing, "bash", Deny, config),
        row(List("bash !bash(rm)"), Nothing, "bash", Ask, config),
        row(List("bash !read"), Nothing, "bash", Approve, config),
        row(List("!bash"), List("bash"), "bash", Deny, config),
        row(List("$yolo"), List("!bash"), "bash", Deny, file),
        row(List("bash(*)"), Nothing, "bash", Approve, config),
        // What a tool declares counts when nobody else spoke.
        row(Nothing, Nothing, "mine", Approve, declared).auto(),
        row(List("$default"), Nothing, "mine", Approve, declared).auto(),
        row(List("my.policy"), Nothing, "mine", Approve, declared).auto(),
        row(List("!bash"), Nothing, "mine", Approve, declared).auto(),
        row(Function(None), Nothing, "mine", Approve, declared).auto(),
        row(List("$default"), Function(None), "mine", Approve, declared).auto(),
        row(List("$default"), Nothing, "mine", Ask, declared).gated(),
        row(List(""), Nothing, "mine", Ask, declared).gated(),
        row(List("mine"), Nothing, "mine", Approve, config).gated(),
        // An empty list approves nothing, and a tool that was removed asks, whatever it declares.
        row(List(""), Nothing, "mine", Ask, None).auto(),
        row(List(""), Function(None), "mine", Ask, None).auto(),
        row(List("$default"), List(""), "mine", Ask, None).auto(),
        row(List("$default"), List("-$default"), "mine", Ask, None).auto(),
        row(List("$default"), List("$default -mine"), "mine", Ask, None).auto(),
        row(List("$default"), List("$default -mine(*)"), "mine", Ask, None).auto(),
        row(List("$default"), List("$default -$mine"), "mine", Ask, None).auto(),
        row(List("$default"), List("$mine -mine"), "mine", Ask, None).auto(),
        row(List("$default"), List("mine -$mine"), "mine", Approve, file).auto(),
        row(List("$default"), List("$default -!mine"), "mine", Approve, declared).auto(),
        row(List("$default"), List("$default -read"), "mine", Approve, declared).auto(),
        row(Function(None), List(""), "mine", Ask, None).auto(),
        // A file widens the empty list of the configuration by what it names, and by nothing else.
        row(List(""), List("mine"), "mine", Approve, file).auto(),
        row(List(""), List("bash"), "mine", Ask, None).auto(),
        // `require_approval = false` is another word, and plugins are heard as ever.
        row(List(""), Nothing, "mine", Approve, catch_all).auto().open(),
        row(List("$default"), List("$default -mine"), "mine", Approve, catch_all).auto().open(),
        row(List("$default"), List("$default -mine"), "mine", Deny, Some("guard")).auto().with("guard 50 deny"),
        row(List(""), Nothing, "mine", Approve, Some("guard")).auto().with("guard 50 approve"),
        // What is removed as a whole is removed from presets with all of its rules.
        row(List("$default"), List("$docs -read"), "read", Ask, None),
        row(List("$default"), List("$docs -read(docs/**)"), "read", Ask, None),
        row(List("$default"), List("$blind -!read"), "read", Deny, file),
        row(List(""), Nothing, "mine", Approve, catch_all).gated().open(),
        row(List(""), Nothing, "mine", Deny, Some("guard")).auto().with("guard 50 deny"),
        row(List(""), Nothing, "mine", Deny, Some("last")).auto().with("last -9 deny"),
        row(List("$default"), Nothing, "mine", Approve, declared).auto().with("last -11 deny"),
        row(List("$default"), List("read"), "mine", Approve, declared).auto(),
        row(List("$default"), Function(Some(Ask)), "mine", Ask, file).auto(),
        row(Throws, Nothing, "mine", Ask, config).auto(),
    ];
    assert!(rows.len() >= 110);
    for (number, row) in rows.iter().enumerate() {
        row.check(number);
    }
}
