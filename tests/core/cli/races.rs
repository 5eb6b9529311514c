//! Several command lines at once.

use super::harness::{Said, Shell, WAITING};

/// How many rounds there are.
const ROUNDS: usize = 60;

#[test]
fn of_several_command_lines_one_wins() {
    let shell = Shell::new();
    for round in 0..ROUNDS {
        let name = format!("{round}.chat");
        shell.put(&name, WAITING);
        let answers = ["\"one\"", "\"two\"", "\"three\""];
        let children = answers.map(|answer| shell.spawn(&["resolve", name.as_str(), "call_ask", "--result", answer]));
        let said: Vec<Said> = children.into_iter().map(|child| child.wait_with_output().unwrap().into()).collect();
        let winners: Vec<_> = (0..3).filter(|at| said[*at].code == 0).collect();
        assert_eq!(winners.len(), 1, "{said:?}");
        assert!(said.iter().all(|said| said.code == 0 || said.err.contains("stale")), "{said:?}");
        let text = shell.text(&name);
        let answer = answers[winners[0]].trim_matches('"');
        assert!(text.contains(&format!("**Tool Result:** `call_ask`\n\n```\n{answer}\n```\n")), "{text}");
    }
}

#[test]
fn answers_to_different_calls_are_all_taken() {
    let shell = Shell::new();
    for round in 0..ROUNDS / 3 {
        let name = format!("{round}.chat");
        shell.put(&name, WAITING);
        let children = [
            shell.spawn(&["resolve", &name, "call_ask", "--result", "\"an answer\""]),
            shell.spawn(&["resolve", &name, "call_bash", "--reject", "not now"]),
            shell.spawn(&["resolve", &name, "call_theirs", "--error", "no idea"]),
        ];
        for child in children {
            let said: Said = child.wait_with_output().unwrap().into();
            assert_eq!(said.code, 0, "{said:?}");
        }
        let text = shell.text(&name);
        assert!(["an answer", "not now", "no idea"].iter().all(|words| text.contains(words)), "{text}");
    }
}

#[test]
fn a_command_line_that_is_killed_loses_nothing_acknowledged() {
    let shell = Shell::new();
    for round in 0..ROUNDS {
        let name = format!("{round}.chat");
        shell.put(&name, WAITING);
        let mut child = shell.spawn(&["resolve", &name, "call_ask", "--result", "\"first\""]);
        std::thread::sleep(std::time::Duration::from_micros(300 * round as u64));
        let _ = child.kill();
        let first: Said = child.wait_with_output().unwrap().into();
        let second = shell.flemma(&["resolve", &name, "call_ask", "--result", "\"second\""]);
        // Whoever was told so has resolved it, and the text says it once.
        assert!(first.code != 0 || second.code == 1, "{first:?} {second:?}");
        let text = shell.text(&name);
        let results = ["first", "second"].map(|answer| text.matches(&format!("```\n{answer}\n```")).count());
        assert_eq!(results[0] + results[1], 1, "{text}");
        assert_eq!(second.code == 0, results[1] == 1, "{second:?}\n{text}");
    }
}
