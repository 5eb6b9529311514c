//! What the user has edited, brought onto a file that has changed meanwhile: compared with `git merge-file`.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use super::super::support::{Nvim, Options};

/// A file, what the user has made of it, and what another program has made of it.
type Versions = [String; 3];

/// Lines in which a diff finds its way. Where lines look alike, several diffs are right, and Git may choose another one.
fn lines(random: &mut fastrand::Rng, are_alike: bool) -> Vec<String> {
    let line = |at: usize, random: &mut fastrand::Rng| match random.u8(0..4) {
        0 if are_alike => "}\n".to_owned(),
        1 if are_alike => "\n".to_owned(),
        _ => format!("line {at}\n"),
    };
    (0..random.usize(0..12)).map(|at| line(at, random)).collect()
}

/// What somebody makes of a file.
fn edited(base: &[String], who: &str, random: &mut fastrand::Rng) -> Vec<String> {
    let mut lines = base.to_vec();
    for edit in 0..random.usize(0..4) {
        let at = random.usize(0..=lines.len());
        match random.u8(0..4) {
            0 => lines.insert(at, format!("{who} {edit}\n")),
            // Both may do the same.
            1 => lines.insert(at, format!("new {edit}\n")),
            2 if at < lines.len() => lines[at] = format!("{who} {edit}\n"),
            _ if at < lines.len() => drop(lines.remove(at)),
            _ => {}
        }
    }
    lines
}

fn versions(random: &mut fastrand::Rng, are_alike: bool) -> Versions {
    let base = lines(random, are_alike);
    let (mine, theirs) = (edited(&base, "mine", random), edited(&base, "theirs", random));
    [base, mine, theirs].map(|lines| lines.concat())
}

/// What Git makes of it, with these options.
fn git(folder: &Path, versions: &Versions, options: &[&str]) -> Output {
    for (name, text) in ["base", "mine", "theirs"].iter().zip(versions) {
        fs::write(folder.join(name), text).unwrap();
    }
    let mut command = Command::new("git");
    command.current_dir(folder).args(["merge-file", "--stdout"]).args(options).args(["mine", "base", "theirs"]);
    command.output().unwrap()
}

#[test]
fn edits_are_merged_as_git_does_it() {
    let mut random = fastrand::Rng::with_seed(20_261_123);
    let cases: Vec<Versions> = (0..400).map(|_| versions(&mut random, false)).collect();
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    let merge = "return vim.tbl_map(function(case)
        local merged = require('flemma.review.merge').three_way(case[1], case[2], case[3])
        return { merged.text, #merged.conflicts > 0, table.concat(merged.conflicts) }
      end, (...))";
    let merged = nvim.lua(merge, &[json!(cases)]);
    let folder = tempfile::tempdir().unwrap();
    let mut clean = 0;
    for (versions, merged) in cases.iter().zip(merged.as_array().unwrap()) {
        let has_conflict = git(folder.path(), versions, &[]).status.code() != Some(0);
        // With `--diff3`, Git does not look for lines inside a conflict on which both sides agree.
        let text = git(folder.path(), versions, &["--diff3", "--ours"]).stdout;
        let expected = [json!(String::from_utf8(text).unwrap()), Value::Bool(has_conflict)];
        assert_eq!(merged.as_array().unwrap()[..2], expected, "{versions:#?}\n{merged:#?}");
        clean += usize::from(!has_conflict);
    }
    assert!((100..300).contains(&clean), "{clean} of the cases have no conflict");
}

#[test]
fn whoever_changes_alone_is_followed() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut cases: Vec<Versions> = Vec::new();
    for _ in 0..100 {
        let [base, mine, theirs] = versions(&mut random, true);
        // Also without a line break at the end, and with CRLF.
        let forms: [fn(&str) -> String; 3] =
            [str::to_owned, |text| text.trim_end_matches('\n').to_owned(), |text| text.replace('\n', "\r\n")];
        for form in forms {
            let [base, mine, theirs] = [form(&base), form(&mine), form(&theirs)];
            cases.push([base.clone(), mine.clone(), base.clone()]);
            cases.push([base.clone(), base.clone(), theirs]);
            cases.push([base, mine.clone(), mine]);
        }
    }
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    let wrong = "return vim.tbl_filter(function(case)
        local merged = require('flemma.review.merge').three_way(case[1], case[2], case[3])
        local expected = case[2] == case[1] and case[3] or case[2]
        return merged.text ~= expected or #merged.conflicts > 0
      end, (...))";
    assert_eq!(nvim.lua(wrong, &[json!(cases)]), json!([]));
}
