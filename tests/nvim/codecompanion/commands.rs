//! Tools that run commands.

use serde_json::{Value, json};

use super::{answered, results, seen, text, with_calls};

const TOOLS: &str = include_str!("commands.lua");
const HOSTILE: &str = "$(touch hacked); `touch hacked` \"quoted\" 'quoted' \\ two\nlines && touch hacked #";

fn lua() -> String {
    format!("{TOOLS}\nassert(require('flemma.compat.codecompanion').setup(tools))")
}

#[test]
fn commands_run_in_turn_and_their_exit_codes_decide() {
    let calls: [(&str, Value); 13] = [
        ("good", json!({})),
        ("said", json!({})),
        ("stops", json!({})),
        ("silent", json!({})),
        ("missing", json!({})),
        text("values", HOSTILE),
        ("flags", json!({})),
        text("mixed", "it"),
        text("made", "in setup"),
        ("odd", json!({})),
        ("much", json!({})),
        ("nothing", json!({})),
        ("little", json!({})),
    ];
    let mut chat = with_calls(&calls, "tools = { require_approval = false }", &lua(), &[]);
    let found = results(&mut chat);
    let good = |text: &str| (text.to_owned(), false);
    let bad = |text: &str| (text.to_owned(), true);
    assert_eq!(found[0], good("one\ntwo\n\nthree"));
    assert_eq!(found[1], good("1 red\n\n2 again"));
    assert_eq!(found[2], bad("err|out|[exit code 3] after first"));
    assert_eq!(found[3], bad("Error calling `silent`: err\nout\n[exit code 3]"));
    assert!(found[4].1 && found[4].0.contains("no-such-program-here"), "{:?}", found[4]);
    assert_eq!(found[5], good(&format!("{HOSTILE}\n\n<{HOSTILE}>\n\n{HOSTILE}7")));
    assert_eq!(found[6], bad("{ true, false, true }"));
    assert_eq!(found[7], good("made it\n\nran\n\nafter made it"));
    assert_eq!(found[8], good("in setup"));
    assert!(found[9].1 && found[9].0.contains("a function for its word 2"), "{:?}", found[9]);
    assert!(found[10].0.contains("\n2000000\nend") && found[10].0.len() < 60_000, "{}", found[10].0.len());
    assert_eq!(found[11], good("The tool `nothing` has run. It printed nothing."));
    assert_eq!(found[12], good("little"));
    let work = chat.nvim.work();
    assert!(!work.join("hacked").exists() && !work.join("never").exists());
    let noted = seen(&mut chat);
    assert_eq!(
        noted[..6],
        [
            "exit good",
            "exit said",
            "success echo first",
            "error echo out; echo err >&2; exit 3",
            "exit stops",
            "exit silent",
        ]
    );
}

#[test]
fn cancelling_kills_a_command_with_its_children() {
    let mut chat = with_calls(&[("slow", json!({}))], "tools = { require_approval = false }", &lua(), &[]);
    chat.nvim.input("<C-]>");
    let begun = chat.nvim.work().join("begun");
    chat.nvim.wait_for("the command", |_| begun.exists());
    chat.nvim.command("Flemma tool:cancel");
    let found = answered(&mut chat);
    assert!(found[0].1, "{found:?}");
    assert_eq!(seen(&mut chat), ["cancelled echo begun > begun; sleep 1000 & wait", "exit slow"]);
    assert!(!chat.nvim.work().join("never").exists());
    let work = chat.nvim.work();
    chat.nvim.wait_for("the children to end", |_| !runs_in(&work));
}

/// Whether a `sleep` runs in this folder.
fn runs_in(folder: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.into_iter().any(|process| {
        let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        name.trim() == "sleep" && std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
    })
}
