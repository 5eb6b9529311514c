//! What the word in a status block means: every word a user may type there, by every key and command.

use flemma_agent::{Choice, Input, UndoStep};

use super::harness::Harness;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Means {
    /// It waits; pointing at it approves it.
    Pending,
    Approved,
    Rejected,
    Denied,
    /// Nobody knows: an error at its line, and nothing runs.
    Nothing,
}

use Means::{Approved, Denied, Nothing, Pending, Rejected};

const KEYS: [&str; 5] = ["Ctrl-]", "Ctrl-] without autopilot", "Alt-Enter", "tool:approve", "tool:reject"];

/// What follows the fence's backticks, and what it means.
const INFOS: [(&str, Means); 34] = [
    ("flemma:tool status=pending", Pending),
    ("flemma:tool status=PENDING", Pending),
    ("flemma:tool status=\"pending\" note=x", Pending),
    ("flemma:tool status=approved", Approved),
    ("flemma:tool status=Approved", Approved),
    ("flemma:tool note=\"a b\" status=\"approved\"", Approved),
    ("flemma:tool status=rejected", Rejected),
    ("flemma:tool status=reject", Rejected),
    ("flemma:tool status=REJECT", Rejected),
    ("flemma:tool status=\"reject\"", Rejected),
    ("flemma:tool status=denied", Denied),
    ("flemma:tool status=deny", Denied),
    ("flemma:tool status=Deny", Denied),
    ("flemma:tool status=no", Nothing),
    ("flemma:tool status=yes", Nothing),
    ("flemma:tool status=approve", Nothing),
    ("flemma:tool status=aproved", Nothing),
    ("flemma:tool status=rejectd", Nothing),
    ("flemma:tool status=run", Nothing),
    ("flemma:tool status=approved,", Nothing),
    ("flemma:tool status=", Nothing),
    ("flemma:tool status=\"\"", Nothing),
    ("flemma:tool status=\" approved\"", Nothing),
    ("flemma:tool status=\"approved", Nothing),
    ("flemma:tool status", Nothing),
    ("flemma:tool approved", Nothing),
    ("flemma:tool", Nothing),
    ("flemma:tool Status=approved", Nothing),
    ("flemma:tool state=approved", Nothing),
    ("flemma:tool status = approved", Nothing),
    ("flemma:tool status=approved status=rejected", Nothing),
    ("flemma:tool status=pending status=pending", Nothing),
    ("flemma:tol status=approved", Nothing),
    ("flemma:toolstatus=approved", Nothing),
];

fn press(harness: &Harness, key: &str) {
    match key {
        "Ctrl-]" | "Ctrl-] without autopilot" => harness.go(),
        "Alt-Enter" => harness.execute("a"),
        "tool:approve" => harness.feed([Input::Decide(vec!["a".into()], Choice::Approve, UndoStep::Own)]),
        _ => harness.feed([Input::Decide(vec!["a".into()], Choice::Reject(Some("No.".to_owned())), UndoStep::Own)]),
    }
}

/// Two calls that wait; the first one's block then begins as `info` says. The other one is approved.
fn with_info(info: &str, key: &str) -> Harness {
    let harness = Harness::new("@You:\nFix it");
    harness.go();
    harness.calls([("a", "bash"), ("b", "bash")]);
    harness.replace("`b`\n\n```flemma:tool status=pending", "`b`\n\n```flemma:tool status=approved");
    harness.replace("`a`\n\n```flemma:tool status=pending", &format!("`a`\n\n```{info}"));
    if key == "Ctrl-] without autopilot" {
        harness.set(|settings| settings.autopilot = false);
    }
    harness.log(&[]);
    harness
}

#[test]
fn every_status_means_the_same_by_every_key() {
    for (info, means) in INFOS {
        for key in KEYS {
            let what = format!("{key} on `{info}`");
            let harness = with_info(info, key);
            let before = harness.text();
            press(&harness, key);
            let runs = harness.running().contains(&"a".to_owned());
            let text = harness.text();
            let says = |words: &str| text.contains(&format!("`a` (error)\n\n```\n{words}\n```"));
            match (means, key) {
                (Nothing, _) => {
                    assert!(harness.running().is_empty(), "{what} runs something");
                    assert_eq!(text, before, "{what} changes nothing");
                    let line = before.lines().position(|line| line == format!("```{info}")).unwrap() + 1;
                    let log = harness.log(&["run", "diagnose", "error"]);
                    let shown = log[0].strip_prefix("diagnose ").map(|lines| lines.split(' ').collect::<Vec<_>>());
                    assert!(shown.unwrap().iter().all(|shown| *shown == line.to_string()), "{what}: {log:?}");
                    assert!(log[1].starts_with(&format!("error: No tool was run: line {line}: ")), "{what}: {log:?}");
                    assert_eq!(log.len(), 2, "{what}: {log:?}");
                }
                (_, "tool:reject") => assert!(!runs && says("No."), "{what}: {text}"),
                (_, "tool:approve") => assert!(runs, "{what}: it was the last one to decide about"),
                (Pending, "Alt-Enter") | (Approved, _) => assert!(runs, "{what}"),
                (Pending, _) => assert!(!runs && text.contains(&format!("```{info}\n")), "{what}: {text}"),
                (Rejected, _) => assert!(!runs && says("The user rejected this call; it did not run."), "{what}"),
                (Denied, _) => {
                    assert!(!runs && says("The user's policy denies this call; it did not run."), "{what}");
                }
            }
        }
    }
}

#[test]
fn an_unknown_status_is_told_with_the_words_that_there_are() {
    for (info, words) in [
        (
            "flemma:tool status=no",
            "There is no status `no`. The statuses are `pending`, `approved`, `denied`, `rejected`",
        ),
        ("flemma:tool status=aproved", "There is no status `aproved`. Did you mean `approved`?"),
        ("flemma:tool status=\"approved", "There is no status `approved`"),
        ("flemma:tool", "This block has no status. Write `flemma:tool status=…`"),
        ("flemma:tool status=denied status=pending", "more than one `status=`"),
        ("flemma:tol status=pending", "There is no block `flemma:tol`."),
    ] {
        let harness = with_info(info, "Ctrl-]");
        harness.go();
        let told = harness.told();
        assert!(told[0].contains(words), "{info}: {told:?}");
    }
}

#[test]
fn nothing_runs_after_a_reply_while_a_status_is_unknown() {
    let harness = with_info("flemma:tool status=no", "Ctrl-]");
    harness.go();
    assert!(harness.running().is_empty() && !harness.session.is_busy());
    harness.replace("status=no", "status=rejected");
    harness.go();
    assert_eq!(harness.running(), ["b"], "once it is fixed, everything goes on");
    harness.tool("b", "two");
    assert_eq!(harness.sent_results(), ["a!: The user rejected this call; it did not run.", "b: two"]);
}

/// What a user types into a block, and what the model hears of it.
#[test]
fn text_in_a_denied_block_is_neither_the_result_nor_the_reason() {
    for status in ["denied", "deny"] {
        for key in ["Ctrl-]", "Ctrl-] without autopilot", "Alt-Enter"] {
            let harness = with_info("flemma:tool status=pending", key);
            harness.replace(
                "`a`\n\n```flemma:tool status=pending\n",
                &format!("`a`\n\n```flemma:tool status={status}\nUse make.\n"),
            );
            press(&harness, key);
            let result = "`a` (error)\n\n```\nThe user's policy denies this call; it did not run.\n```";
            assert!(harness.text().contains(result), "{status}, {key}: {}", harness.text());
            assert!(!harness.text().contains("Use make."), "{status}, {key}");
            let told = harness.told();
            assert!(told.iter().any(|told| told.contains("your text in its block was not sent")), "{status}: {told:?}");
        }
    }
    let harness = with_info("flemma:tool status=pending", "Ctrl-]");
    harness.replace("`a`\n\n```flemma:tool status=pending\n", "`a`\n\n```flemma:tool status=reject\nUse make.\n");
    harness.go();
    assert!(harness.text().contains("`a` (error)\n\n```\nUse make.\n"), "a rejection has its reason");
}
