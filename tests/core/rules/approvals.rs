//! Commands that rules are there for: they run without a question.

use super::{GENEROUS, command, rules};
use flemma::tools::approval::Decision;

/// Rules and commands that they approve.
#[rustfmt::skip]
pub(super) const APPROVED: &[(&[&str], &[&str])] = &[
    (
        &["bash(git status)"],
        &["git status", " git  status ", "git 'status'", "g\"it\" st\\atus", "git status # all", "git \\\n status"],
    ),
    (
        &["bash(cargo test *)"],
        &[
            "cargo test", "cargo test rules", "cargo test --test core rules::", "cargo test -- --nocapture",
            "cargo test 2>&1", "cargo test >/dev/null 2>&1", "cargo test &>/dev/null", "cargo test </dev/null",
            "! cargo test", "(cargo test)", "{ cargo test a; }",
        ],
    ),
    (
        &["bash(git log *)", "bash(head *)"],
        &["git log | head -5", "git log --oneline -20 | head", "git log HEAD~3..HEAD", "git log HEAD@{1} -- a b"],
    ),
    (
        GENEROUS,
        &[
            "git status && git diff", "git diff --stat HEAD~1", "git log --format='%h %s' -n 5",
            "git commit -m 'a message'", "git commit -m \"a (message); with & shell | characters > in it\"",
            "git --no-pager log -3", "git show HEAD:a.txt", "git add -u",
            "git commit -m \"$(cat <<'EOF'\nA title\n\nAnd \"words\" ($5, it's `fine`).\nEOF\n)\"", "git stash list",
            "git branch -a", "ls", "ls -la", "ls; ls a", "ls a\nls b\n", "ls a & ls b", "ls | wc -l", "ls || true",
            "echo \"$(git status)\"", "echo 'a > b; rm $(x)'", "echo \\$x", "echo \"\\$x\"", "echo a\\ b",
            "echo $'a\\tb'", "echo {} a{b}c", "echo a,b", "echo \"a\nb\"", "cat a b", "cat < a", "cat <<< a",
            "cat <<'EOF'\n$(rm x) `rm x` $x\nEOF", "cat <<EOF\ntext\nEOF", "cat <<EOF\n$(git status)\nEOF",
            "cat <<-A\n\ta\n\tA\nls", "diff <(ls a) <(ls b)", "if ls a; then cat a; else echo none; fi",
            "if [ -f a ]; then cat a; fi", "test -d a && ls a", "for f in a b; do git status; done",
            "case a in a) ls;; *) cat a;; esac", "until git status; do ls; done", "find . -name '*.rs' -type f",
            "find . -name '*.rs' | wc -l", "grep -rn 'a|b' .", "rg -n --type rust 'fn (main|x)'", "sort -u -k2 a",
            "sed -n '1,5p' a", "sed -n '/a b/,/c/p' a", "sed 's/a/b/g' a", "sed -n '10,$p' a", "awk '{print $1}' a",
            "awk -F: '{ print $2 }' a", "env ls", "timeout 10 cargo test", "timeout -k 5 -s KILL 10 ls",
            "nice -n 5 cargo build", "time cargo test", "time ls | wc -l", "command ls", "command -v git", "nohup ls",
            "stdbuf -oL cat a", "sudo -n ls", "timeout 5 nice cargo test", "python3 a.py -c b", "python3 --version",
            "bash a.sh -c x", "node a.js", "RUST_LOG=debug cargo test", "cd a && ls", "cd a && git status",
            "tar -tf a.tar", "make -j4 all", "npm run build", "npm test -- --watch=false", "curl -sSL a",
            "docker ps -a", "printf '%s\\n' a", "echo \"a `git status` b\"", "./build.sh a",
        ],
    ),
    (&["bash(git -c core.pager=cat log *)"], &["git -c core.pager=cat log -3"]),
    (&["bash(sort -o out *)", "bash(git log --output=f)"], &["sort -o out a", "git log --output=f"]),
    (&["bash(git log --output=*)"], &["git log --output=anything"]),
    (&["bash(find . -name * -exec grep -l TODO {} +)"], &["find . -name a -exec grep -l TODO {} +"]),
    (&["bash(sed -i s/a/b/ *)"], &["sed -i s/a/b/ file"]),
    (&["bash(echo '\\a')"], &["echo \"\\a\"", "echo '\\a'", "echo \\\\a", "echo $'\\\\a'"]),
    (&["bash(echo '*')"], &["echo '*'", "echo \\*", "echo \"*\""]),
    (&["bash(echo gr\u{fc}n)"], &["echo gr\u{fc}n", "echo 'gr\u{fc}n'"]),
    (&["bash(cp *.txt backup/ *)"], &["cp a.txt backup/", "cp a.txt backup/ b"]),
    (&["bash(git show *:README.md)"], &["git show HEAD:README.md"]),
    (&["bash(python3 -m pytest *)"], &["python3 -m pytest -q tests"]),
    (&["bash(*)"], &["rm -rf /", "eval x", "ls '", "$(((("]),
    (&["bash"], &["rm -rf /", "ls > f"]),
];

#[test]
fn what_rules_mean_runs() {
    let mut refused: Vec<&&str> = Vec::new();
    for (entries, commands) in APPROVED {
        let rules = rules(entries);
        refused.extend(commands.iter().filter(|text| command(&rules, text) != Some(Decision::Approve)));
    }
    assert_eq!(refused, Vec::<&&str>::new());
}

#[test]
fn a_wildcard_is_one_word_in_the_middle_and_any_number_at_the_end() {
    let rules = rules(&["bash(a * b)", "bash(c *)"]);
    let rows = [
        ("a x b", true),
        ("a b", false),
        ("a x y b", false),
        ("c", true),
        ("c x y z", true),
        ("cx", false),
        ("a '' b", true),
    ];
    for (text, approved) in rows {
        assert_eq!(command(&rules, text) == Some(Decision::Approve), approved, "{text}");
    }
}

#[test]
fn rules_of_another_tool_say_nothing() {
    assert_eq!(command(&rules(&["shell(ls *)", "!shell(ls *)"]), "ls"), None);
    assert_eq!(command(&rules(&["bash(ls)"]), "rm"), None);
    assert_eq!(command(&[], "ls"), None);
}
