//! The rules that "always" writes down.

use flemma_tools::{
    approval::Decision,
    rules::{Rule, Subject, decide, suggest},
};

use super::{command, path_base};

fn for_command(text: &str) -> Option<Vec<String>> {
    suggest("bash", &Subject::Command(text), &path_base())
}

#[test]
fn a_command_gets_a_rule_for_each_command_in_it() {
    let rows: &[(&str, &[&str])] = &[
        ("git status", &["bash(git status)"]),
        ("git status | head -5 && git status", &["bash(git status)", "bash(head -5)"]),
        ("echo 'a  b' \"it's\" '*' ''", &[r"bash(echo 'a  b' 'it'\''s' '*' '')"]),
        ("A=b make", &["bash(A=b make)"]),
        ("timeout 5 cargo test", &["bash(timeout 5 cargo test)", "bash(cargo test)"]),
        ("time ls", &["bash(ls)", "bash(time ls)"]),
        ("git log --output=f", &["bash(git log --output=f)"]),
        ("echo gr\u{fc}n", &[]),
    ];
    for (text, entries) in rows {
        let expected = (!entries.is_empty()).then(|| entries.iter().map(|&entry| entry.to_owned()).collect());
        assert_eq!(for_command(text), expected, "{text}");
    }
}

#[test]
fn what_is_suggested_approves_the_call_and_no_other() {
    for text in [
        "ls -la 'a b'",
        "grep -rn 'x|y' . | sort -u",
        "echo 'a)b' \"(\"",
        "env A=b ls",
        "if ls; then cat a; fi",
        "diff a 'b;c'",
    ] {
        let rules: Vec<Rule> = for_command(text).unwrap().iter().map(|entry| Rule::parse(entry).unwrap()).collect();
        assert_eq!(command(&rules, text), Some(Decision::Approve), "{text}");
        assert_eq!(command(&rules, &format!("{text} more")), None, "{text}");
    }
}

#[test]
fn what_no_rule_can_approve_gets_no_suggestion() {
    for text in [
        "ls > f",
        "eval ls",
        "ls $x",
        "ls *",
        "bash -c ls",
        "ls | xargs rm",
        "PATH=. ls",
        "ls '",
        "",
        "a() { ls; }",
        "echo \"a\nb\"",
    ] {
        assert_eq!(for_command(text), None, "{text}");
    }
    assert_eq!(suggest("calculator", &Subject::Other, &path_base()), None);
}

#[test]
fn a_path_is_suggested_from_the_ground_on_and_literally() {
    let rows = [
        ("/nowhere/project/src/a.rs", Some("read(src/a.rs)")),
        ("/nowhere/project/src/../b", Some("read(b)")),
        ("/nowhere/project", Some("read(.)")),
        ("/elsewhere/a b", Some("read(/elsewhere/a b)")),
        ("/nowhere/project/[x]*?{y}", Some("read([[]x[]][*][?][{]y[}])")),
        ("/nowhere/project/a\\b", Some(r"read(a\\b)")),
        ("/nowhere/project/~", Some("read(./~)")),
        ("/nowhere/project/a\nb", None),
        ("/nowhere/project/ a", Some("read(./ a)")),
    ];
    for (path, entry) in rows {
        let entries = suggest("read", &Subject::Paths(&[path.into()]), &path_base());
        assert_eq!(entries, entry.map(|entry| vec![entry.to_owned()]), "{path}");
        let rules: Vec<Rule> = entries.iter().flatten().map(|entry| Rule::parse(entry).unwrap()).collect();
        let other = ["/nowhere/project/other".into()];
        assert_eq!(decide(&rules, "read", &Subject::Paths(&other), &path_base()), None);
    }
}
