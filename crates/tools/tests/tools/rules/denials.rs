//! Commands that a rule denies, however they are dressed, and those that may be and are asked about.

use super::{command, rules};
use flemma_tools::approval::Decision;

#[test]
fn what_is_denied_is_denied_wherever_it_stands() {
    let rules = rules(&["bash(*)", "!bash(rm *)"]);
    #[rustfmt::skip]
    let denied = [
        "rm x", "rm", "/bin/rm x", "../rm x", "\\rm x", "'rm' x", "r\"m\" x", "r\\m x", "RM x", "$'rm' x",
        "$'\\x72m' x", "$'\\162m' x", "ls; rm x", "ls && rm x", "ls | rm x", "ls & rm x", "(rm x)", "{ rm x; }",
        "! rm x", "if rm x; then ls; fi", "for a in b; do rm $a; done", "while ls; do rm x; done",
        "case a in a) rm x;; esac", "ls $(rm x)", "ls \"$(rm x)\"", "ls `rm x`", "ls <(rm x)", "cat <<E\n$(rm x)\nE",
        "X=$(rm x) ls", "f() { rm x; }; f", "coproc rm x", "env rm x", "env -i A=b rm x", "env -S rm x", "sudo rm x",
        "sudo -u a rm x", "timeout 5 rm x", "timeout --odd 5 rm x", "nice -n 5 rm x", "nohup rm x", "time rm x",
        "command rm x", "exec rm x", "stdbuf -o0 rm x", "ls | xargs rm", "ls | xargs -n1 rm -f",
        "ls | xargs -I{} sh -c 'rm {}'", "parallel rm ::: a", "watch rm x", "busybox rm x", "strace -f rm x",
        "find . -exec rm {} +", "find . -execdir /bin/rm {} \\;", "find . -type f -ok rm {} \\;", "fd a -x rm",
        "bash -c 'rm x'", "sh -c \"ls; rm x\"", "bash -lc 'rm x'", "bash -o pipefail -c 'rm x'", "bash <<< 'rm x'",
        "bash <<'E'\nrm x\nE", "eval rm x", "eval 'rm x'", "eval \"rm\" x", "trap 'rm x' EXIT",
        "sudo bash -c 'env rm x'", "rm $x", "rm *", "rm -rf /", "rm > f", "A=b rm x", "PATH=. rm x", "eval eval rm x",
        "timeout 5 bash -c 'xargs rm'", "grm x", "genv grm x", "gtimeout 5 rm x", "\"rm\" x", "rm\\\n x", "chroot / rm x", "su -c ls rm x",
    ];
    let missed: Vec<&&str> = denied.iter().filter(|text| command(&rules, text) != Some(Decision::Deny)).collect();
    assert_eq!(missed, Vec::<&&str>::new());
}

#[test]
fn what_may_be_denied_is_asked_about() {
    let rules = rules(&["bash(*)", "!bash(rm *)", "!bash(git push *)"]);
    #[rustfmt::skip]
    let dark = [
        "$x y", "\"$x\" y", "`ls` y", "$(echo rm) x", "r? x", "{rm,x}", "eval $x", "eval \"$x\"", "bash -c \"$x\"",
        "bash -c $x", "cat f | sh", "bash", "source f", ". f", "python3 -c 'import os; os.system(\"rm x\")'",
        "perl -e 'unlink'", "git $x", "git \"$(ls)\"", "ls '", "ls $((1+1))", "alias ls=rm; ls", "(( a[$(rm x)] ))",
        "xargs -a f", "ls \u{0}", "cat <<E$[", "[[ -v 'a[$(rm x)]' ]]", "ls >&'$(rm x)'", "ls <&\"\\$(rm x)\"", "ls >&$x",
    ];
    let decided: Vec<_> = dark.iter().filter(|text| command(&rules, text) != Some(Decision::RequireApproval)).collect();
    assert_eq!(decided, Vec::<&&str>::new());
}

#[test]
fn a_denied_program_that_another_one_may_run_is_asked_about() {
    let rules = rules(&["bash", "!bash(rm *)"]);
    #[rustfmt::skip]
    let asked = [
        "git grep -Orm rmx", "git grep -iOrm x", "git grep -O'rm x' a", "git grep --open-files-in-pager=rm a", "ed <<< '!rm x'", "ed <<'E'\n!rm x\nE",
        "m4 <<< 'syscmd(rm x)'", "crontab - <<< '* * * * * rm x'", "timeout 5 ed <<< '!rm x'", "ed <<< \"!rm $x\"", "ed <<< \"!rm $(ls)\"",
        "make -f <(echo 'a:;rm x')", "make \"A=$(echo rm x)\"", "git -c alias.x=\"!$(echo rm) x\" x", "make -f - < <(echo 'a:;rm x')",
        "echo '!rm x' | ed", "printf '.shell rm x' | sqlite3 x.db", "cat <<'E' | ftp\n!rm x\nE", "echo '!rm x' | timeout 5 ed", "echo '!RM x' | ed",
        "{ ed; } <<< '!rm x'", "echo '!rm x' | { ed; }", "while ed; do ls; done <<'E'\n!rm x\nE", "cat > >(ed) <<< '!rm x'", "cat <(ed) <<< '!rm x' | ed",
        "ed < f", "sqlite3 x.db < f.sql", "cat f | ed", "vi - < f", "BASH_ENV=f bash -c :", "env BASH_ENV=f bash -c :", "ENV=f sh -c :",
        "BASH_ENV=$x bash -c :", "export BASH_ENV=f; bash -c :", "BASH_ENV=f echo x", "LD_PRELOAD=./f ls", "timeout 5 env BASH_ENV=f bash a",
    ];
    let wrong: Vec<_> = asked.iter().filter(|text| command(&rules, text) != Some(Decision::RequireApproval)).collect();
    assert_eq!(wrong, Vec::<&&str>::new());
}

#[test]
fn a_denied_command_that_bash_evaluates_is_asked_about() {
    let rules = rules(&["bash", "!bash(rm *)"]);
    #[rustfmt::skip]
    let hidden = [
        "[[ a =~ (#) ]]; rm x\n]]", "[[ a =~ a|#b ]]; rm x\n]]", "[[ a =~ (<<A) ]]\nrm x\nA", "trap -- 'r\\m x' EXIT", "command trap -- 'r\\m x' EXIT",
        "bash -c +x 'r\\m x'", "bash -c -o posix 'r\\m x'", "bash -co posix 'r\\m x'", "bash -cO extglob 'r\\m x'", "bash --rcfile x -c 'r\\m x'",
        "bash --init-file x -c 'r\\m x'", "bash --rcfile x <<< 'r\\m x'", "bash -s a b <<< 'r\\m x'", "bash - /dev/stdin <<< 'r\\m x'",
        "bash -- /dev/stdin <<< 'r\\m x'", "bash <<< 'r\\m x' 3<<< ls", "bash 3<<'A' <<'B' <&3\nr\\m x\nA\nls\nB", "test -v 'a[$(rm x)]'",
        "[ -v 'a[$(rm x)]' ]", "printf -v 'a[$(rm x)]' y", "let 'a[$(r\\m x)]'", "declare 'a[$(r\\m x)]=1'", "typeset 'a[$(r\\m x)]=1'",
        "read 'a[$(r\\m x)]' <<< y", "unset 'a[$(r\\m x)]'", "wait -n -p 'a[$(r\\m x)]'", "compgen -C 'r\\m x'", "compgen -W '$(r\\m x)'",
        "mapfile -C 'r\\m x' -c 1 a <<< y", "for PS4 in '$(r\\m x)'; do set -x; ls; done", "RANDOM='a[$(r\\m x)]'", "SRANDOM='a[$(r\\m x)]'",
        "OPTIND='a[$(r\\m x)]'; getopts a b", "for RANDOM in 'a[$(r\\m x)]'; do ls; done", "for SECONDS in 'a[$(r\\m x)]'; do ls; done",
    ];
    let approved: Vec<_> = hidden.iter().filter(|text| command(&rules, text) == Some(Decision::Approve)).collect();
    assert_eq!(approved, Vec::<&&str>::new());
}

#[test]
fn a_denied_name_that_no_other_program_gets_is_left_alone() {
    let rules = rules(&["bash", "!bash(rm *)"]);
    #[rustfmt::skip]
    let left = [
        "echo rm | wc -l", "cat rm | sort", "grep -rm 5 x", "ls -rm", "docker run --rm a", "cat f | grep rm", "echo rm | timeout 5 cat", "cargo test < f",
        "git commit -m \"$(cat <<'E'\nA title\nE\n)\"", "for f in a b; do git add $f; done", "FOO=$x cargo test", "RUST_LOG=debug cargo test", "cat <<< rm",
        "git grep -n confirm", "echo BASH_ENV=f", "cargo test -- --confirm", "{ cat; } <<< 'rm x'", "jq .rm < f", "sed 's/a/x/' < f | grep rm",
    ];
    let is_asked = |text: &&&str| command(&rules, text) != Some(Decision::Approve);
    assert_eq!(left.iter().filter(is_asked).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn what_a_denial_does_not_mean_is_left_alone() {
    let rules = rules(&["bash(*)", "!bash(rm *)", "!bash(git push *)"]);
    for text in [
        "ls",
        "echo rm x",
        "ls rm",
        "grep rm x",
        "git pull",
        "echo 'rm x'",
        "cat rm",
        "git log push",
        "ls # rm x",
        "cat <<'E'\nrm x\nE",
    ] {
        assert_eq!(command(&rules, text), Some(Decision::Approve), "{text}");
    }
}

#[test]
fn options_of_git_do_not_hide_a_subcommand() {
    let rules = rules(&["bash(git *)", "!bash(git push *)"]);
    for text in [
        "git push",
        "git -C elsewhere push",
        "git -c a=b push --force",
        "git --no-pager push",
        "/usr/bin/git push",
        "git --git-dir=x push",
    ] {
        assert_eq!(command(&rules, text), Some(Decision::Deny), "{text}");
    }
}

#[test]
fn a_denial_may_have_wildcards_in_the_program_and_exact_words() {
    let wild = rules(&["bash(*)", "!bash(rm*)", "!bash(git push --force)", "!bash(* --no-verify)"]);
    for text in ["rmdir x", "rm", "git push --force", "git --no-verify"] {
        let expected = if text == "rmdir x" { Decision::Approve } else { Decision::Deny };
        assert_eq!(command(&wild, text), Some(expected), "{text}");
    }
    let any = rules(&["bash(*)", "!bash(rm* *)"]);
    assert_eq!(command(&any, "rmdir x"), Some(Decision::Deny));
}

#[test]
fn a_denial_wins_over_every_approval() {
    assert_eq!(command(&rules(&["bash(rm x)", "!bash(rm *)"]), "rm x"), Some(Decision::Deny));
    assert_eq!(command(&rules(&["!bash(rm *)", "bash(rm x)"]), "rm x"), Some(Decision::Deny));
    assert_eq!(command(&rules(&["bash(ls)", "!bash"]), "ls"), Some(Decision::Deny));
    assert_eq!(command(&rules(&["bash(ls)", "!bash(*)"]), "ls"), Some(Decision::Deny));
    assert_eq!(command(&rules(&["!bash(rm *)"]), "ls"), None);
}
