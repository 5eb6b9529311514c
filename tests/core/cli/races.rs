//! Several command lines at once.

use std::fs;

use super::harness::{Shell, WAITING};
use crate::said::Said;

/// How many rounds there are.
const ROUNDS: usize = 60;

#[test]
#[ignore = "slow"]
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
#[ignore = "slow"]
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
#[ignore = "slow"]
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

/// How many races of two there are.
const PAIRS: usize = 300;

/// The ends of a call's life that its journal has.
fn ends(shell: &Shell, name: &str, call: &str) -> Vec<String> {
    let (file, call) = (format!("/{name}\""), format!("\"{call}\""));
    let files = fs::read_dir(shell.state().join("journal")).unwrap();
    let text: String = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let of_call = text.lines().filter(|line| line.contains(&file) && line.contains(&call));
    let events = of_call
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].as_str().unwrap().to_owned());
    events.filter(|event| ["approved", "resolved", "expired"].contains(&event.as_str())).collect()
}

#[test]
#[ignore = "slow"]
fn of_two_command_lines_of_any_kind_one_wins() {
    let shell = Shell::new();
    let overdue = WAITING.replace("question=\"Why?\"", "expires=2020-01-01T00:00:00Z question=\"Why?\"");
    let answers: [&[&str]; 4] =
        [&["--result", "\"one\""], &["--result", "{\"a\": 1}"], &["--error", "two"], &["--reject", "three"]];
    let decisions: [&[&str]; 2] = [&["--approve"], &["--reject", "four"]];
    let mut won = [0, 0];
    for round in 0..PAIRS {
        let name = format!("{round}.chat");
        // A question, a decision, and a question that is too late.
        let (call, ways, text) = match round % 3 {
            0 => ("call_ask", &answers[..], WAITING),
            1 => ("call_bash", &decisions[..], WAITING),
            _ => ("call_ask", &answers[..], overdue.as_str()),
        };
        shell.put(&name, text);
        let one = [&["resolve", name.as_str(), call], ways[round / 3 % ways.len()]].concat();
        let other = [&["resolve", name.as_str(), call], ways[(round / 3 + 1 + round / 7) % ways.len()]].concat();
        let is_swept = round % 3 == 2;
        let other = if is_swept { vec!["--json", "sweep", name.as_str()] } else { other };
        let pair = if round % 2 == 0 { [&one, &other] } else { [&other, &one] };
        let children = pair.map(|arguments| shell.spawn(arguments));
        let said = children.map(|child| Said::from(child.wait_with_output().unwrap()));
        let of = |command: &Vec<&str>| said.iter().zip(pair).find(|(_, arguments)| *arguments == command).unwrap().0;
        let ends = ends(&shell, &name, call);
        // A rejection that comes second takes an approval back.
        let is_taken_back = ends == ["approved", "resolved"] && of(&one).code == 0 && of(&other).code == 0;
        assert!(ends.len() == 1 || is_taken_back, "{pair:?} {said:?} {ends:?}");
        if is_swept {
            // The answer is late whoever of them sees to that.
            let swept = of(&other);
            assert_eq!((of(&one).code, ends[0].as_str()), (1, "expired"), "{said:?}");
            // It may have come too late as well.
            assert!(swept.code == 0 || swept.json()["left"][0]["call"] == call, "{said:?}");
        } else if !is_taken_back {
            let winners: Vec<_> = (0..2).filter(|at| said[*at].code == 0).collect();
            assert_eq!(winners.len(), 1, "{pair:?} {said:?}");
            won[winners[0]] += 1;
            let loser = &said[1 - winners[0]];
            let is_told = ["stale", "resolved", "approved", "rejected"].iter().any(|word| loser.err.contains(word));
            assert!(loser.code == 1 && is_told, "{said:?}");
        }
        let text = shell.text(&name);
        assert_eq!(text.matches(&format!("**Tool Result:** `{call}`")).count(), 1, "{text}");
        let words = ["\none\n", "{\"a\":1}", "\ntwo\n", "three", "four", "status=approved", "did not respond in time"];
        assert_eq!(words.iter().filter(|words| text.contains(**words)).count(), 1, "{pair:?} {text}");
    }
    assert!(won.iter().all(|won| *won > 0), "{won:?}");
}
