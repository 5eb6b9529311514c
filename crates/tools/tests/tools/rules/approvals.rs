//! Commands that rules are there for: they run without a question.

use super::{GENEROUS, command, rules};
use flemma_tools::approval::Decision;

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
            "bash a.sh -c x", "node a.js", "RUST_LOG=debug cargo test", "cd a && ls",
            "cd a && ls | wc -l && cat b | sort -u", "cd a && find . -name '*.rs'", "cd a && sed -n 1,5p b", "cd a; cd b; rg -n x",
            "cd . && git status", "cd ./ && make all", "cd /nowhere/project && cargo test", "cd /nowhere/project/ && git log -3",
            "cd a && time ls", "cd a && timeout 5 cat b", "cd a && command -v git", "for file in a b; do git status; done",
            "npm test", "npm run build --silent", "npm run build -- --watch", "cargo build --release -p a", "printf 'a%%\\n'",
            "printf '%s %d%%\\n' a 1", "go test -v -run 'A|B' -count=1 a", "pytest -q -x -k 'a and b' tests", "curl -sS -w '%{http_code}' a",
            "gcc -Wall -O2 -c a.c", "docker ps -a --format '{{.ID}}'", "docker logs --tail 5 a", "rg -in --hidden a b",
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
fn a_wildcard_is_one_word_inside_and_any_number_at_the_end() {
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
fn the_rules_of_the_guide_do_what_it_says() {
    let rules = rules(&["edit(src/**)", "bash(git status)", "bash(cargo test *)", "!bash(rm *)"]);
    let rows = [
        ("git status && cargo test --lib", Some(Decision::Approve)),
        ("git status; ls", None),
        ("git status; rm -rf .", Some(Decision::Deny)),
        ("echo $(env rm x)", Some(Decision::Deny)),
        ("/bin/rm x", Some(Decision::Deny)),
    ];
    for (text, decision) in rows {
        assert_eq!(command(&rules, text), decision, "{text}");
    }
}

#[test]
fn rules_of_another_tool_say_nothing() {
    assert_eq!(command(&rules(&["shell(ls *)", "!shell(ls *)"]), "ls"), None);
    assert_eq!(command(&rules(&["bash(ls)"]), "rm"), None);
    assert_eq!(command(&[], "ls"), None);
}

/// What people and models write every day, under a rule that leaves the arguments of its program open.
#[rustfmt::skip]
const EVERYDAY: &[&str] = &[
    "cargo build --release", "cargo check --all-targets --all-features", "cargo clippy --workspace -- -D warnings", "cargo fmt --all --check",
    "cargo test -p a --lib b -- --nocapture --test-threads=1", "cargo run --bin a -- --port 3 -x", "cargo tree -i a", "cargo --version",
    "cargo doc --no-deps", "npm run lint", "npm run test:unit -- --grep a", "npm ls --depth=0", "npm outdated", "npm --version", "npm run build -w a",
    "pnpm run build", "pnpm test", "pnpm -r test", "yarn build", "yarn run lint", "yarn test --watch",
    "go build -v a", "go vet a", "go test -race -cover -timeout 30s a", "go mod tidy", "go version", "go list -m all",
    "pytest -v --tb=short -k 'a or b' tests/a.py::test_b", "pytest --lf -x -s", "pytest --maxfail=1 --durations=5", "pytest -m 'not slow'",
    "python3 -m pytest -q", "mypy --strict src", "ruff check --fix src", "ruff format --check .", "black --check --diff .", "flake8 --max-line-length 100 src",
    "pylint --disable=all --enable=E src", "pip list --outdated", "pip show a", "isort --check-only .",
    "make -j8 test", "make clean", "make -n all", "make -B all", "cmake --version", "ninja -j4 all", "just --list", "ctest --output-on-failure -j4",
    "gcc -Wall -Wextra -std=c11 -O2 -g -c a.c", "gcc -fsanitize=address -Iinclude -DX=1 -c a.c", "clang -fsyntax-only a.c", "clang-format --dry-run a.c",
    "eslint --fix src", "eslint --ext .ts,.tsx src", "prettier --check .", "tsc --noEmit", "tsc --strict --noEmit --watch",
    "jest --coverage --watch=false", "jest -t 'a b'", "vitest --run", "mocha --grep a",
    "rspec spec/a_spec.rb:12", "rubocop -a", "phpunit --testsuite a", "mvn -q test", "mvn clean install", "gradle test --info", "gradle build",
    "docker ps", "docker images", "docker logs -n 20 a", "docker inspect a", "docker system df", "docker container ls", "docker stats --no-stream",
    "kubectl get pods -n a -o wide", "kubectl describe pod a", "kubectl logs a --tail=5 --since=1h", "kubectl -n a get svc", "kubectl top pods",
    "helm list -A", "helm status a", "helm template a b --set x=y", "helm lint a", "terraform plan", "terraform fmt -check", "terraform validate",
    "gh pr list --limit 5", "gh pr view 3 --json title", "gh run list", "gh issue list", "brew list", "brew info a",
    "curl -sSfL https://a.example/b", "curl -I a", "curl -X POST -H 'A: b' -d '{\"a\":1}' a", "curl -s -w '%{http_code}\\n' a", "curl -u a:b c", "wget -q a",
    "tar -tzf a.tgz", "tar xzf a.tgz", "tar -xf a.tar a/b", "zip -r a.zip b", "unzip -l a.zip", "rsync -avz --delete a/ b/", "gzip -k a",
    "rg -n --type rust -C 3 'a|b' src", "rg -l a -g '*.rs'", "rg --files", "grep -rnI --include='*.c' a .", "find . -name a -not -path './b/*' -print",
    "find . -type f -size +1M -newer a", "fd -e rs -t f a", "sort -t, -k2,2n -r a", "sort -u a", "ls -lah --color=never a", "tree -L 2 -a",
    "jq -r '.a[] | .b' a.json", "jq --arg x y '.a' b", "yq '.a.b' c.yaml", "sed -n '1,20p' a", "awk '{print $2}' a", "diff -u a b", "bat -n a", "less a", "man ls",
    "pdflatex -interaction=nonstopmode a.tex", "latexmk -pdf a.tex", "pandoc --version", "openssl x509 -noout -text -in a.pem", "openssl version", "gpg --list-keys",
    "gpg --verify a.sig a", "ssh-keygen -l a", "journalctl -u a -n 50 --no-pager", "systemctl status a", "date +%Y-%m-%d", "ip addr show",
    "objdump -t a", "nm -C a", "strings a", "file a b", "shellcheck a.sh", "javac -version", "hg status", "hg log -l 5", "jj log", "svn status",
    "git log --oneline --graph -10", "git diff HEAD~2 -- a", "git show --stat", "git commit -am 'a b'", "git branch -vv", "git fetch origin", "git rebase origin/a",
    "git push", "git push -u origin a", "git push --force-with-lease origin HEAD:a", "git pull --rebase", "git pull origin a", "git fetch --all --prune",
    "git remote -v", "git remote get-url origin",
    "printf '%s: %5.2f%%\\n' a 1.5", "printf -- '- %s\\n' a b", "apt-cache policy a", "rpm -qa", "bazel test --test_output=errors a", "bazel build a",
];

#[test]
fn what_people_write_every_day_is_matched_by_an_open_rule() {
    let program = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let is_asked = |text: &&&str| {
        let program = program(text);
        let entry =
            if program == "python3" { "bash(python3 -m pytest *)".to_owned() } else { format!("bash({program} *)") };
        command(&rules(&[&entry]), text) != Some(Decision::Approve)
    };
    assert_eq!(EVERYDAY.iter().filter(is_asked).collect::<Vec<_>>(), Vec::<&&str>::new());
}
