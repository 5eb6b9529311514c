//! Values in commands, with real shells.

use std::{collections::BTreeMap, ffi::OsStr, os::unix::ffi::OsStrExt, process::Command};

use flemma_compat::{fill_arguments, fill_script, fill_words};
use proptest::prelude::*;
use tempfile::TempDir;

/// The shells of this machine, of those that are a `sh` somewhere.
fn shells() -> Vec<Vec<&'static str>> {
    let all = [vec!["sh"], vec!["bash"], vec!["bash", "--posix"], vec!["busybox", "sh"], vec!["zsh"], vec!["ksh"]];
    let older = std::env::var("FLEMMA_BASH32").ok().map(|older| vec![&*older.leak()]);
    all.into_iter()
        .chain(older)
        .filter(|shell| Command::new(shell[0]).args(&shell[1..]).args(["-c", ":"]).output().is_ok())
        .collect()
}

fn values(x: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
    BTreeMap::from([(b"x".to_vec(), x.as_bytes().to_vec()), (b"my-name".to_vec(), b"other".to_vec())])
}

/// Runs a script with this value for `x`; gives what it prints, or why it was not filled.
fn run(shell: &[&str], folder: &TempDir, script: &str, x: &str) -> Result<String, String> {
    let filled = fill_script(script.as_bytes(), &values(x)).map_err(|problem| problem.to_string())?;
    let env = filled.env.iter().map(|(name, value)| (OsStr::new(name), OsStr::from_bytes(value)));
    let output = Command::new(shell[0])
        .args(&shell[1..])
        .arg("-c")
        .arg(OsStr::from_bytes(&filled.text))
        .envs(env)
        .current_dir(folder.path())
        .output()
        .unwrap();
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn filled(script: &str, x: &str) -> String {
    String::from_utf8(fill_script(script.as_bytes(), &values(x)).unwrap().text).unwrap()
}

fn problem(script: &str, x: &str) -> String {
    fill_script(script.as_bytes(), &values(x)).unwrap_err().to_string()
}

/// Values that become code wherever they are not quoted as it is right there. Each would make the file `owned`.
const HOSTILE: [&str; 15] = [
    "$(touch owned)",
    "`touch owned`",
    "'; touch owned; '",
    "\"; touch owned; \"",
    "'\"; touch owned; \"'",
    "\\'; touch owned; \\'",
    "a[$(touch owned)]",
    "1+a[`touch owned`]",
    ")\ntouch owned\n((",
    "}\ntouch owned\n",
    "x\nEOF\ntouch owned\n",
    "x\ntouch owned\n#",
    "&& touch owned #",
    "$((a[$(touch owned)]))",
    "${x:=$(touch owned)}",
];

/// Scripts that print the value, and what surrounds it in what they print.
const PRINTS: [(&str, &str, &str); 34] = [
    ("printf %s ${x}", "", ""),
    ("printf %s \"${x}\"", "", ""),
    ("printf %s '${x}'", "", ""),
    ("printf %s a${x}b", "a", "b"),
    ("printf %s a'b'${x}'c'\"d\"", "ab", "cd"),
    ("printf %s \"it's ${x}\"", "it's ", ""),
    ("printf %s 'say \"${x}\"'", "say \"", "\""),
    ("printf %s \\'${x}\\'", "'", "'"),
    ("printf %s \"\\\"${x}\\\"\"", "\"", "\""),
    ("printf %s \"\\\\${x}\"", "\\", ""),
    ("printf %s \\${x}", "", ""),
    ("printf %s \"\\${x}\"", "", ""),
    ("printf %s \"$(printf %s \"${x}\"; printf .)\"", "", "."),
    ("printf %s \"$(printf %s '${x}.')\"", "", "."),
    ("printf %s \"$(printf %s ${x}.)\"", "", "."),
    ("printf %s \"$(printf %s \"$(printf %s '${x}.')\")\"", "", "."),
    ("a=`printf %s '${x}.'`; printf %s \"$a\"", "", "."),
    ("a=`printf %s \"${x}.\"`; printf %s \"$a\"", "", "."),
    ("(printf %s ${x})", "", ""),
    ("cat <<-\tEOF | tr -d '\\n'\n\tit's\n\tEOF\nprintf %s ${x}", "it's", ""),
    ("env -u A B=-S printf %s ${x}", "", ""),
    ("export A=\"$(printf %s ${x}; printf .)\"; printf %s \"$A\"", "", "."),
    ("cat <<'EOF'; printf %s '${x}'\nit's a \"text\nEOF", "it's a \"text\n", ""),
    ("# it's a comment (\nprintf %s \"${x}\"", "", ""),
    ("printf %s a#'${x}'", "a#", ""),
    ("case a in a) printf %s \"$(case b in (b) printf %s '${x}.';; esac)\";; esac", "", "."),
    ("printf %s \"${nope:-${x}}\"", "", ""),
    ("printf %s ${nope:-${x}}", "", ""),
    ("sh -c 'printf %s ${x}'", "", ""),
    ("sh -c \"printf %s ${x}\"", "", ""),
    ("sh -c \"printf %s \\\"it's ${x}\\\"\"", "it's ", ""),
    ("env A=b sh -eu -c 'printf %s \"${x}\"' name", "", ""),
    ("sh -c 'sh -c \"printf %s \\\"${x}\\\"\"'", "", ""),
    ("A=${x}; if true; then printf %s \"$A\"; fi", "", ""),
];

#[test]
fn a_value_arrives_as_it_is_between_any_quotes() {
    let mut values = HOSTILE.to_vec();
    values.extend([
        "",
        " a  b ",
        "*",
        "~",
        "-n",
        "\\",
        "\\\\n",
        "'",
        "\"",
        "'\"'\"",
        "$HOME",
        "$$",
        "%s",
        "!!",
        "é\u{1F600}",
        "a\tb",
        "\n\na\n",
    ]);
    let all = values.concat() + ".";
    for shell in shells() {
        let folder = tempfile::tempdir().unwrap();
        for (at, (script, before, after)) in PRINTS.into_iter().enumerate() {
            // Some of them with each script: a process for each takes long.
            let some = values.iter().cycle().skip(7 * at).take(9);
            for value in some.chain([&all.as_str()]) {
                let printed = run(&shell, &folder, script, value).unwrap();
                assert_eq!(
                    printed,
                    format!("{before}{value}{after}"),
                    "{shell:?} {} of {script}",
                    filled(script, value)
                );
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{shell:?}");
    }
}

#[test]
fn the_hostile_values_are_code_where_nothing_quotes_them() {
    let is_harmless = |value: &&str| {
        let is_code = PRINTS.iter().any(|(script, ..)| {
            let folder = tempfile::tempdir().unwrap();
            let script = fill_words(script.as_bytes(), &values(value));
            let mut sh = Command::new("sh");
            sh.arg("-c").arg(OsStr::from_bytes(&script)).current_dir(folder.path()).output().unwrap();
            folder.path().join("owned").exists()
        });
        !is_code
    };
    assert_eq!(HOSTILE.into_iter().filter(is_harmless).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_script_refers_to_a_variable_of_its_environment() {
    assert_eq!(
        filled("a ${x} \"b ${x}\" 'c ${x}'", "v"),
        "a \"$FLEMMA_VALUE_1\" \"b ${FLEMMA_VALUE_1}\" 'c '\"$FLEMMA_VALUE_1\"''"
    );
    let script = fill_script(b"${my-name} ${x} ${x}", &values("v")).unwrap();
    assert_eq!(script.text, b"\"$FLEMMA_VALUE_1\" \"$FLEMMA_VALUE_2\" \"$FLEMMA_VALUE_2\"");
    let env = [("FLEMMA_VALUE_1".to_owned(), b"other".to_vec()), ("FLEMMA_VALUE_2".to_owned(), b"v".to_vec())];
    assert_eq!(script.env, env);
}

#[test]
fn a_name_without_a_value_stays_as_it_is() {
    let text = "echo ${HOME} ${y:-z} ${} $x ${ x} ${x";
    assert_eq!(filled(text, "v"), text);
    assert_eq!(fill_words(text.as_bytes(), &values("v")), text.as_bytes());
}

#[test]
fn a_word_takes_a_value_as_it_is() {
    let value = "$(a) '${x}' \n\u{e9}";
    assert_eq!(fill_words(b"<${x}${my-name}>", &values(value)), format!("<{value}other>").as_bytes());
}

/// Scripts in which a value would become code, and a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("echo $((${x} + 1))", "as an expression"),
    ("echo \"$((${x}))\"", "as an expression"),
    ("echo $((\"${x}\"))", "as an expression"),
    ("echo $(( $(echo ${x}) ))", "as an expression"),
    ("((a = ${x}))", "as an expression"),
    ("let a=${x}", "as an expression"),
    ("a[${x}]=1", "as an expression"),
    ("declare 'a[${x}]=1'", "as an expression"),
    ("declare -i a; a=${x}", "as an expression"),
    ("typeset -xi a=${x}", "as an expression"),
    ("declare -n a=${x}; echo $a", "as an expression"),
    ("echo ${a:${x}}", "as an expression"),
    ("[[ 1 -eq ${x} ]]", "as an expression"),
    ("echo $[${x}]", "as an expression"),
    ("echo ${a[${x}]}", "as an expression"),
    ("cat <<EOF\n$((${x}))\nEOF", "as an expression"),
    ("cat <<EOF\n${x}\nEOF", "in a here-document"),
    ("cat <<-\tEOF\n\tit's ${x}\n\tEOF", "in a here-document"),
    ("cat <<'EOF'\n${x}\nEOF", "in a here-document"),
    ("sh <<EOF\necho $(printf %s ${x})\nEOF", "in a here-document"),
    ("sh <<< ${x}", "in a here-string"),
    ("sh <<<'echo ${x}'", "in a here-string"),
    ("sh <<< \"echo $(printf %s ${x})\"", "in a here-string"),
    ("sh -c \"sh <<< '${x}'\"", "in a here-string"),
    ("env -S ${x}", "`env` splits"),
    ("env -iS'sh -c ${x}'", "`env` splits"),
    ("nice env -u A --split-string=${x}", "`env` splits"),
    ("env -S 'printf %s' ${x}", "`env` splits"),
    ("sh -c `printf %s ${x}`", "whose output is read as code"),
    ("unset $(printf %s ${x})", "for the name of a variable"),
];

#[test]
fn a_value_that_would_become_code_is_refused() {
    for (script, why) in REFUSED {
        // What is harmless there is refused as well: whether it is, is for the program to say that reads it.
        for value in HOSTILE.into_iter().chain(["x", "", "12"]) {
            let problem = problem(script, value);
            assert!(problem.starts_with("The command was not started: `${x}` stands "), "{script}: {problem}");
            assert!(problem.contains(why), "{script}: {problem}");
        }
    }
    assert!(problem("read '${x}'", "a[$(touch owned)]").contains("for the name of a variable"));
    assert!(problem("env ${x} ls", "-Stouch owned").contains("`env` splits"));
}

#[test]
fn a_shell_without_our_environment_gets_plain_words_only() {
    for script in [
        "docker exec box sh -c 'cat ${x}'",
        "ssh host cat ${x}",
        "su user -c \"cat ${x}\"",
        "env -i sh -c '${x}'",
        "python3.12 -Bc 'print(\"${x}\")'",
        "eval 'cat ${x}'",
        "node --eval 'f(\"${x}\")'",
    ] {
        for value in ["a b", "-x", "+x", "a;b", "'"] {
            assert!(problem(script, value).contains("to a program that could read the value as code"), "{script}");
        }
        assert_eq!(filled(script, "src/a-b.txt"), script.replace("${x}", "src/a-b.txt"));
    }
}

/// Commands that read code, and values with which they would make the file `owned`.
const CODE: &[(&str, &str)] = &[
    ("printf '%s\\n' '${x}' | sh", "touch owned"),
    ("printf '%s\\n' '${x}' | bash -x 2>&1", "touch owned"),
    ("printf '%s\\n' '${x}' | sh -s -- a", "touch owned"),
    ("printf '%s\\n' '${x}' | python3 -", "open('owned', 'w')"),
    ("printf '%s\\n' '${x}' | perl", "`touch owned`"),
    ("printf '%s\\n' '${x}' | (cat | sh)", "touch owned"),
    ("sh -c 'printf \"%s\" \"$1\" | sh' _ '${x}'", "touch owned"),
    ("sh < <(printf '%s' '${x}')", "touch owned"),
    (". /dev/stdin <<A\nA\n. <(printf '%s' '${x}')", "touch owned"),
    ("printf '%s' '${x}' > a.sh; sh a.sh", "touch owned"),
    ("x='${x}'; eval \"$x\"", "touch owned"),
    ("x='${x}'; $x", "touch owned"),
    ("x='${x}'; command $x", "touch owned"),
    ("set -- ${x}; set -- $1; \"$@\"", "touch owned"),
    ("x='${x}'; sh -c \"$x\"", "touch owned"),
    ("x='${x}'; python3 -c \"$x\"", "open('owned', 'w')"),
    ("x='${x}'; awk \"$x\"", "BEGIN{system(\"touch owned\")}"),
    ("f() { eval \"$1\"; }; f '${x}'", "touch owned"),
    ("bash -c 'eval \"$1\"' _ '${x}'", "touch owned"),
    ("sh -c '$1' _ '${x}'", "touch owned"),
    ("trap '${x}' EXIT", "touch owned"),
    ("shopt -s expand_aliases\nalias a='${x}'\na", "touch owned"),
    ("printf '%s' '${x}' | xargs -I{} sh -c 'echo {}'", "$(touch owned)"),
    ("find . -maxdepth 0 -exec sh -c '${x}' \\;", "touch owned"),
    ("awk 'BEGIN{print \"${x}\"}'", "\"; system(\"touch owned\"); x=\""),
    ("awk -F , '/${x}/{print}' /etc/hostname", "/{} BEGIN{system(\"touch owned\")} /x"),
    ("timeout 5 awk -v a=b 'BEGIN{print \"${x}\"}'", "\"; system(\"touch owned\"); x=\""),
    ("echo x | sed 's/x/${x}/'", "y/;s/.*/touch owned/e;#"),
    ("echo x | sed -n -e p -e 's/x/${x}/'", "y/;s/.*/touch owned/e;#"),
    ("echo x | sed '' -i '${x}'", "1e touch owned"),
    ("sed -n p ${x} /etc/hostname", "-e1e touch owned"),
    ("perl -ne 'print if /${x}/' /etc/hostname", "/; `touch owned`; /"),
    ("perl -e 'print 1' ${x}", "-e`touch owned`"),
    ("python3 ${x}", "-copen('owned', 'w')"),
    ("sqlite3 :memory: '${x}'", ".shell touch owned"),
    ("git -c alias.z='!${x}' z", "touch owned"),
    ("vim -es -c '${x}' -c qa", "!touch owned"),
    ("nvim --headless -c '${x}' -c qa", "!touch owned"),
    ("PS4='${x}'; set -x; true", "$(touch owned)"),
    ("git init -q .; GIT_PAGER='${x}' git -p help -a", "touch owned"),
];

#[test]
fn a_program_that_reads_code_gets_plain_words() {
    for (script, value) in CODE {
        assert!(problem(script, value).starts_with("The command was not started"), "{script}");
        assert!(fill_script(script.as_bytes(), &values("plain_word-1.txt")).is_ok(), "{script}");
    }
}

#[test]
fn a_program_that_reads_data_gets_any_value() {
    for script in [
        "grep -rn '${x}' src",
        "rg '${x}' source",
        "git commit -m '${x}'",
        "printf '%s' '${x}' | python3 -m json.tool",
        "printf '%s' '${x}' | python3 script.py",
        "printf '%s' '${x}' | awk '{print $1}'",
        "printf '%s' '${x}' | sed -n \"s/x$//p\"",
        "printf '%s' '${x}' | sh script.sh > out 2>&1",
        "printf '%s' '${x}' | xargs -0 wc -l",
        "echo '${x}' | bc -l",
        "python3 script.py '${x}'",
        "bash script.sh '${x}'",
        "sed -n '1,20p' '${x}'",
        "sed -i '' -e 's/a/b/' '${x}'",
        "awk -v 'a=${x}' '{print a}' file",
        "awk -F: '{print $1}' '${x}'",
        "perl -ne 'print' '${x}'",
        "find . -name '${x}' -exec wc {} +",
        "jq -n --arg a '${x}' '$a'",
        "cat \"$HOME/${x}\"; for f in *; do cat \"$f\"; done",
        "(cd '${x}' && ls) || exit 1",
    ] {
        let filled = fill_script(script.as_bytes(), &values("a b$(c)"));
        assert!(filled.is_ok(), "{script}: {filled:?}");
    }
}

#[test]
fn a_nul_is_named() {
    assert_eq!(problem("echo ${x}", "a\0"), "The value of `x` has a NUL byte, which no command can be given.");
}

#[test]
fn the_script_among_arguments_is_filled_as_one() {
    let fill = |argv: &[&str], x: &str| {
        let argv: Vec<_> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
        let filled = fill_arguments(&argv, &values(x)).map_err(|problem| problem.to_string())?;
        let words = filled.text.into_iter().map(|word| String::from_utf8(word).unwrap());
        Ok::<_, String>((words.collect::<Vec<_>>().join("|"), filled.env.len()))
    };
    assert_eq!(fill(&["cat", "${x}", "-c"], "$(a)").unwrap(), ("cat|$(a)|-c".into(), 0));
    assert_eq!(
        fill(&["/bin/sh", "-c", "cat '${x}' \"$1\"", "sh", "${x}"], "$(a)").unwrap(),
        ("/bin/sh|-c|cat ''\"$FLEMMA_VALUE_1\"'' \"$1\"|sh|$(a)".into(), 1)
    );
    assert_eq!(fill(&["bash", "-lc", "${x}"], "ls").unwrap().0, "bash|-lc|\"$FLEMMA_VALUE_1\"");
    assert_eq!(fill(&["sh", "${x}"], "a b").unwrap().0, "sh|a b");
    assert!(fill(&["env", "-S", "${x}"], "ls").is_err() && fill(&["env", "-iSls ${x}"], "a").is_err());
    assert!(fill(&["env", "${x}"], "-Sls").is_err() && fill(&["env", "A=b", "${x}"], "-Sls").is_ok());
    assert!(fill(&["docker", "exec", "box", "sh", "-c", "cat ${x}"], "$(a)").is_err());
    for argv in [
        &["awk", "BEGIN{print \"${x}\"}"][..],
        &["sed", "-n", "s/${x}/X/p", "file"],
        &["sed", "-n", "p", "${x}"],
        &["bash", "-c", "eval \"$1\"", "_", "${x}"],
        &["sqlite3", "db", "${x}"],
        &["git", "-c", "alias.z=!${x}", "z"],
    ] {
        assert!(fill(argv, "-e1e ls").is_err(), "{argv:?}");
        assert!(fill(argv, "a_b-1.txt").is_ok(), "{argv:?}");
    }
    assert!(fill(&["sed", "-n", "p", "${x}"], "a b").is_ok() && fill(&["git", "commit", "-m", "${x}"], "-a b").is_ok());
    assert_eq!(fill(&["docker", "run", "${x}", "sh", "-c", "ls"], "a b").unwrap().0, "docker|run|a b|sh|-c|ls");
}

/// Pieces of scripts, most of which fit nowhere.
const FRAGMENTS: [&str; 48] = [
    "${x}",
    "${x}",
    "${x}",
    "'",
    "\"",
    "'",
    "\"",
    "\\",
    "`",
    "$(",
    ")",
    "(",
    "$((",
    "))",
    "${a:-",
    "${a",
    "}",
    "#",
    "\n",
    " ",
    " ",
    "<<EOF\n",
    "\nEOF\n",
    "<<'EOF'\n",
    "case a in a)",
    ";; esac",
    "printf %s ",
    "echo ",
    "eval ",
    "sh -c ",
    "sh ",
    "<<<",
    "<<< ",
    "env -S ",
    "env ",
    "let a=",
    "declare -i a=",
    "declare ",
    "python3 -c ",
    "; ",
    "a=",
    "$[",
    "[[ 1 -eq ",
    " ]]",
    "((",
    "a[",
    "]=1",
    "$'",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_value_is_ever_code(
        pieces in proptest::collection::vec(proptest::sample::select(&FRAGMENTS[..]), 1..12),
        value in proptest::sample::select(&HOSTILE[..]),
    ) {
        let script = format!("printf %s {}${{x}}", pieces.concat());
        for shell in shells() {
            if fill_script(script.as_bytes(), &values(value)).is_err() {
                break;
            }
            let folder = tempfile::tempdir().unwrap();
            let _ = run(&shell, &folder, &script, value);
            prop_assert!(!folder.path().join("owned").exists(), "{shell:?}: {}", filled(&script, value));
        }
    }
}
