//! Commands that are given something to read: approved only where it is plain data for their program.

use super::{command, rules};
use flemma_tools::approval::Decision;

/// Ways to feed `RUN`.
#[rustfmt::skip]
const WAYS: &[&str] = &[
    "RUN < f", "RUN 0< f", "RUN <f", "< f RUN", "RUN <<'E'\n:!touch x\n:q!\nE", "RUN <<E\n:!touch x\nE", "RUN <<-E\n\tx\n\tE", "RUN <<< x",
    "RUN < <(echo x)", "RUN < /dev/zero", "RUN < /dev/null < f", "RUN 3< f <&3", "echo x | RUN", "echo x |& RUN", "cat f | RUN | cat",
    "ls && echo x | RUN", "! RUN < f", "time RUN < f", "echo x | time RUN", "{ RUN; } < f", "( RUN ) <<< x", "{ RUN <&3; } 3< f",
    "(ls; { RUN; }) <<'E'\nx\nE", "if RUN; then ls; fi < f", "if ls; then RUN; fi < f", "while RUN; do ls; done < f",
    "until ls; do RUN; done <<< x", "for f in a; do RUN; done < f", "case a in a) RUN;; esac < f", "echo x | { RUN; }", "echo x | ( ls; RUN )",
    "echo x | for f in a; do RUN; done", "echo x | if RUN; then ls; fi", "echo x | cat <(RUN)", "echo x | echo \"$(RUN)\"", "cat > >(RUN)",
    "ls >(RUN)", "timeout 5 RUN < f", "echo x | timeout 5 RUN", "env RUN <<< x", "echo x | timeout 5 env RUN", "echo x | command RUN",
    "cat <<E | RUN\nx\nE", "echo \"$(RUN < f)\"", "cat <<E\n$(RUN <<< x)\nE", "{ { RUN; } </dev/null; } < f", "echo x | { RUN; } </dev/null",
];

/// What is around `RUN` in them.
const AROUND: &[&str] =
    &["bash(echo *)", "bash(ls *)", "bash(cat *)", "bash(timeout *)", "bash(env *)", "bash(time *)", "bash(command *)"];

/// Commands that take commands from their input, start an editor that does, or are not known to do neither of these.
#[rustfmt::skip]
const COMMANDS: &[&str] = &[
    "git commit", "git commit -e", "git commit --amend", "git rebase -i", "git rebase --continue", "git tag -a b", "git add -e", "git add -p",
    "git branch --edit-description", "git merge a", "git pull", "git notes add", "git revert a", "git config -e", "git hash-object --stdin",
    "git -c core.pager=sh log", "git grep -Osh a", "git unknown", "svn commit", "hg commit", "jj describe", "visudo", "sqlite3 x.db", "ftp a", "sftp a", "ssh a", "psql", "mysql a",
    "ed f", "ex f", "vi f", "vim -", "nvim f", "emacs -nw", "patch", "mail a", "dc", "bc", "m4", "gnuplot", "gdb", "telnet a", "nslookup",
    "fdisk a", "parted a", "lftp a", "python3 a.py", "node a.js", "make -f -", "npm test", "cargo test", "docker exec -i a b", "kubectl apply -f -",
    "sed -f - a", "sed e", "sed -n 's/a/b/e'", "awk -f - a", "awk '{ system($0) }'", "awk '{ print | \"sh\" }'", "find . -exec ed {} +",
    "find . -ok ls {} +", "fd a -x ed", "sort --compress-program=sh", "rg --pre=sh a", "less '+!sh'", "./cat", "bin/grep a", "gh pr create", "sudo -S ls",
];

/// Commands for which input is data.
#[rustfmt::skip]
const DATA: &[&str] = &[
    "cat", "cat -n", "wc -l", "grep -n a", "grep -c 'a b'", "sort -u", "sort -t, -k2", "head -5", "tail -n +3", "uniq -c", "cut -d: -f1", "tr a b", "jq .a",
    "jq -r '.a[] | .b'", "sed 's/a/b/g'", "sed -n '1,5p'", "awk '{print $1}'", "awk -F: '{ print $2 }'", "rg a", "tee a", "ls", "echo x", "column -t",
    "diff - a", "xxd", "base64 -d", "sha256sum", "gzip -d", "git log --stdin", "git status", "git diff --stat", "git cat-file --batch", "true",
    "/bin/cat", "find . -name a", "less", "test -s a", "nl", "paste -sd,", "rev", "fold -w 80", "od -c", "mkdir -p a",
];

fn fed(run: &str) -> impl Iterator<Item = String> {
    WAYS.iter().map(move |way| way.replace("RUN", run))
}

/// The rules that approve a command, and what is around it.
fn approving(run: &str) -> Vec<flemma_tools::rules::Rule> {
    let own = format!("bash({run})");
    rules(&AROUND.iter().copied().chain([own.as_str()]).collect::<Vec<_>>())
}

#[test]
fn input_reaches_no_program_that_may_take_commands_from_it() {
    let mut wrong = Vec::new();
    for run in COMMANDS {
        let rules = approving(run);
        for plain in
            ["RUN", "RUN </dev/null", "ls; RUN", "{ RUN; } </dev/null", "RUN | cat", "cat <(RUN)", "cat <<E\n$(RUN)\nE"]
        {
            let text = plain.replace("RUN", run);
            let is_known = !run.starts_with("sudo");
            if is_known && command(&rules, &text) != Some(Decision::Approve) {
                wrong.push(format!("not approved without input: {text}"));
            }
        }
        wrong.extend(fed(run).filter(|text| command(&rules, text) == Some(Decision::Approve)));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn an_open_rule_approves_no_input_either() {
    for program in ["git", "sqlite3", "ftp", "svn", "psql", "ed", "patch", "npm", "make", "cargo"] {
        let entry = format!("bash({program} *)");
        let rules = rules(&AROUND.iter().copied().chain([entry.as_str()]).collect::<Vec<_>>());
        let commands = COMMANDS.iter().filter(|run| run.split(' ').next() == Some(program));
        let approved =
            commands.flat_map(|run| fed(run)).filter(|text| command(&rules, text) == Some(Decision::Approve));
        assert_eq!(approved.collect::<Vec<_>>(), Vec::<String>::new());
    }
}

#[test]
fn programs_for_which_input_is_data_are_approved_with_it() {
    let mut asked = Vec::new();
    for run in DATA {
        let rules = approving(run);
        let kept = fed(run).filter(|text| !text.contains("> >("));
        asked.extend(kept.filter(|text| command(&rules, text) != Some(Decision::Approve)));
    }
    assert_eq!(asked, Vec::<String>::new());
}
