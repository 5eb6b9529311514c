//! Entries of a list: what is a rule, and what is said of one that is wrong.

use flemma_tools::{
    approval::Decision,
    rules::{Rule, Subject, decide},
};

use super::{path_base, rules};

#[test]
fn a_rule_is_told_from_a_tool_and_a_preset() {
    for entry in ["bash(ls)", "!bash", "!bash(rm *)", "read(src/**)", " bash(ls) ", "!"] {
        assert!(Rule::is_rule(entry), "{entry}");
    }
    for entry in ["bash", "$default", "my_plugin.search", "$odd(name)", ""] {
        assert!(!Rule::is_rule(entry), "{entry}");
    }
}

#[test]
fn a_rule_says_what_it_is_about_and_gives_its_entry_back() {
    let rule = Rule::parse("!bash(rm *)").unwrap();
    assert_eq!((rule.tool(), rule.denies(), rule.is_whole()), ("bash", true, false));
    assert_eq!(Rule::parse("bash(rm *)").unwrap().denying(), rule);
    let rule = Rule::parse("read(**)").unwrap();
    assert_eq!((rule.tool(), rule.denies(), rule.is_whole()), ("read", false, true));
    assert_eq!(Rule::parse("a(b)").unwrap(), Rule::parse("a(b)").unwrap());
    assert_ne!(Rule::parse("a(b)").unwrap(), Rule::parse("!a(b)").unwrap());
}

#[test]
fn an_entry_that_is_wrong_is_named_with_what_is_right() {
    let rows = [
        ("bash(ls", "the rule `bash(ls`: it does not end in `)`. Write `tool(pattern)`"),
        ("bash(ls) x", "the rule `bash(ls) x`: it does not end in `)`. Write `tool(pattern)`"),
        ("bash()", "the rule `bash()`: there is nothing between the parentheses. `bash(*)` matches every call"),
        ("!", "the rule `!`: it does not begin with the name of a tool. Write `tool(pattern)` or `!tool(pattern)`"),
        (
            "(ls)",
            "the rule `(ls)`: it does not begin with the name of a tool. Write `tool(pattern)` or `!tool(pattern)`",
        ),
        (
            "!$default",
            "the rule `!$default`: a preset cannot have a pattern or be denied. Name a tool, or remove the preset",
        ),
        ("bash('ls)", "the rule `bash('ls)`: a quote `'` in it is not closed"),
        (
            "bash(ls | wc)",
            "the rule `bash(ls | wc)`: it has an unquoted `|`. A rule matches the words of a single command: write \
             one rule for each command, and quote the character if it is part of a word",
        ),
        (
            "bash(* --help)",
            "the rule `bash(* --help)`: its first word, the program, is missing or has a wildcard. Write out the \
             program",
        ),
        (
            "bash(PATH=. ls)",
            "the rule `bash(PATH=. ls)`: it sets PATH, which changes what runs, so no rule can approve it. Remove PATH",
        ),
        ("bash(A=* ls)", "the rule `bash(A=* ls)`: it sets a variable with a wildcard. Write out the value"),
        (
            "bash(eval *)",
            "the rule `bash(eval *)`: `eval` runs commands that no rule can see, so no rule can approve it. Approve such calls by hand",
        ),
        (
            "read(src/*/../x)",
            "the rule `read(src/*/../x)`: it has `..` after a wildcard. Write the path of the folder without `..`",
        ),
        ("bash(A=b)", "the rule `bash(A=b)`: it names no command. Write one, like `git status`"),
    ];
    for (entry, message) in rows {
        assert_eq!(Rule::parse(entry).unwrap_err().to_string(), message);
    }
    let broken = Rule::parse("read(src/[)").unwrap_err().to_string();
    assert!(broken.starts_with("the rule `read(src/[)`: `[` is not a valid glob: "));
}

#[test]
fn a_denial_may_name_what_no_rule_approves() {
    for entry in ["!bash(eval *)", "!bash(* --force)", "!bash(PATH=. *)", "!bash(xargs *)"] {
        Rule::parse(entry).unwrap();
    }
}

#[test]
fn a_call_without_command_or_path_matches_only_its_tool() {
    let other = |entries: &[&str]| decide(&rules(entries), "calculator", &Subject::Other, &path_base());
    assert_eq!(other(&["calculator(*)"]), Some(Decision::Approve));
    assert_eq!(other(&["!calculator"]), Some(Decision::Deny));
    assert_eq!(other(&["!calculator(**)", "calculator"]), Some(Decision::Deny));
    assert_eq!(other(&["calculator(1)"]), None);
    // Somebody meant some calls of it to be denied, and nobody can tell which.
    assert_eq!(other(&["calculator", "!calculator(1)"]), Some(Decision::RequireApproval));
}
