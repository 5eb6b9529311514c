//! Commands that want to run, write or reach something past the rules. None is approved.

use super::{GENEROUS, command, path_base, rules};
use flemma_tools::{
    approval::Decision,
    rules::{PathBase, Subject, decide},
};

/// What a careful user allows.
const CAREFUL: &[&str] =
    &["bash(git status)", "bash(git log *)", "bash(git diff *)", "bash(cargo test *)", "bash(ls *)", "bash(cat *)"];

/// Subcommands that are open at the end.
#[rustfmt::skip]
const SUBCOMMANDS: &[&str] = &[
    "bash(npm run *)", "bash(cargo test *)", "bash(cargo build *)", "bash(pytest *)", "bash(python3 -m pytest *)",
    "bash(uv run pytest *)", "bash(poetry run python *)", "bash(bundle exec rspec *)", "bash(pnpm exec eslint *)",
    "bash(php vendor/bin/phpunit *)", "bash(bundle exec rake *)", "bash(python3 -m pip install *)", "bash(go test *)",
    "bash(rg *)", "bash(sort *)", "bash(find *)", "bash(curl *)", "bash(git log *)", "bash(git diff *)", "bash(git *)",
    "bash(find . -exec sort * a +)", "bash(test -v *)", "bash([ -v *)", "bash(npm *)", "bash(cargo *)", "bash(just *)", "bash(wget *)",
];

/// Every program of the attacks, open at the end.
#[rustfmt::skip]
const MORE: &[&str] = &[
    "bash(curl *)", "bash(wget *)", "bash(gcc *)", "bash(gcc-12 *)", "bash(x86_64-linux-gnu-gcc *)",
    "bash(clang-15 *)", "bash(clang *)", "bash(ld *)", "bash(nm *)", "bash(pylint *)", "bash(mypy *)",
    "bash(flake8 *)", "bash(ruff *)", "bash(black *)", "bash(isort *)", "bash(sphinx-build *)", "bash(pdflatex *)",
    "bash(lualatex *)", "bash(latexmk *)", "bash(xelatex *)", "bash(pandoc *)", "bash(helm *)", "bash(kubectl *)",
    "bash(terraform *)", "bash(docker *)", "bash(eslint *)", "bash(prettier *)", "bash(jest *)", "bash(mocha *)",
    "bash(vitest *)", "bash(tsc *)", "bash(webpack *)", "bash(rollup *)", "bash(vite *)", "bash(rspec *)",
    "bash(rubocop *)", "bash(rake *)", "bash(prove *)", "bash(phpunit *)", "bash(composer *)", "bash(java *)",
    "bash(javac *)", "bash(mvn *)", "bash(gradle *)", "bash(ant *)", "bash(bazel *)", "bash(just *)", "bash(meson *)",
    "bash(ninja *)", "bash(cmake *)", "bash(ctest *)", "bash(gpg *)", "bash(openssl *)", "bash(yq *)", "bash(jq *)",
    "bash(man *)", "bash(less *)", "bash(bat *)", "bash(tar *)", "bash(rsync *)", "bash(scp *)", "bash(ssh-keygen *)",
    "bash(zip *)", "bash(unzip *)", "bash(7z *)", "bash(apt-get *)", "bash(apt-cache *)", "bash(rpm *)",
    "bash(brew *)", "bash(pip *)", "bash(gh *)", "bash(aws *)", "bash(gcloud *)", "bash(ansible-playbook *)",
    "bash(coverage *)", "bash(tox *)", "bash(nox *)", "bash(gs *)", "bash(mlr *)", "bash(nano *)", "bash(sbt *)",
    "bash(npx *)", "bash(cargo *)", "bash(yarn *)", "bash(pnpm *)", "bash(npm *)", "bash(go *)", "bash(git *)",
    "bash(clang-tidy *)", "bash(clang-format *)", "bash(ar *)", "bash(objdump *)", "bash(strip *)", "bash(as *)",
    "bash(gofmt *)", "bash(xz *)", "bash(shellcheck *)", "bash(dot *)", "bash(plantuml *)", "bash(convert *)",
    "bash(ffmpeg *)", "bash(systemd-run *)", "bash(journalctl *)", "bash(perf *)", "bash(hg *)", "bash(jj *)",
    "bash(svn *)", "bash(printf *)", "bash(test *)", "bash(echo *)", "bash(ls *)", "bash(command *)",
    "bash(builtin *)", "bash(rustc *)", "bash(pytest *)", "bash(rm *)", "bash(cp *)",
];

/// The attacks, by what they try and the rules they try it on.
#[rustfmt::skip]
pub(super) const ATTACKS: &[(&str, &[&str], &[&str])] = &[
    (
        "a line that goes on inside an operator",
        GENEROUS,
        &[
            "(\\\n(ls '$(rm x)'))", "echo \"$(\\\n(ls '$(rm x)'))\"", "ls | (\\\n(ls '$(rm x)'))", "{ (\\\n(ls 'a[$(rm x)]')); }",
            "for git in 'x[$(rm x)]'; do (\\\n(git)); done", "git log &\\\n>/dev/null echo --output=f", "find . &\\\n>/dev/null echo -exec rm x +",
            "find . &\\\n>>a echo -exec rm x +", "ls <\\\n(rm x)",
        ],
    ),
    (
        "variables whose values bash evaluates",
        GENEROUS,
        &[
            "for RANDOM in 'a[$(rm x)]'; do ls; done", "for SECONDS in 'a[$(rm x)]'; do ls; done", "for OPTIND in 'a[$(rm x)]'; do ls; done",
            "RANDOM='a[$(rm x)]' ls", "env ls; SECONDS='a[$(rm x)]' ls", "for LINENO in 'a[$(rm x)]'; do ls; done", "printf -v RANDOM 'a[$(rm x)]'",
        ],
    ),
    (
        "a command behind a here-document in a substitution, which bash 5.2 joins with the one before",
        GENEROUS,
        &[
            "echo \"$(ls <<A\nA\nfind .; echo -exec rm x +)\"", "echo \"$(ls <<A\nA\ngit log; echo --output=f)\"",
            "cat <(ls <<A\nA\nfind .; echo -exec rm x +)", "echo \"$({ ls <<A\nA\nfind .; echo -exec rm x +; })\"",
        ],
    ),
    (
        "other commands",
        CAREFUL,
        &[
            "rm -rf .", "git push", "git status --short", "git", "cargo", "cargo run", "gitstatus", "git statusx",
            "./git status", "/tmp/git status", "GIT status", "Git status", "", "  ", "# git status", "\n\n",
        ],
    ),
    (
        "a second command",
        CAREFUL,
        &[
            "git status; rm x", "git status;rm x", "git status && rm x", "git status || rm x", "git status | sh",
            "git status |& sh", "git status & rm x", "git status\nrm x", "git status\n\n  rm x", "rm x; git status",
            "rm x && git status", "! rm x", "git status; ; rm x", "ls; { rm x; }", "ls && (rm x)", "(ls; (rm x))",
            "ls # x\nrm x", "ls \\\n; rm x", "ls \\ #; rm x", "ls \"a\"#b; rm x", "ls a#; rm x", "ls '#' ; rm x",
            "ls 'a\nb' ; rm x", "ls \\'; rm x; ls \\'", "ls \"\\\"\"; rm x; ls \"\\\"\"",
            "ls $'\\''; rm x; ls $'\\''", "ls;rm x;:", "ls&rm x", "ls&&rm x", "ls|rm x", "time rm x", "coproc rm x",
            "ls\\\n\nrm x",
        ],
    ),
    (
        "a command in a construct",
        CAREFUL,
        &[
            "if rm x; then ls; fi", "if ls; then rm x; fi", "if ls; then ls; else rm x; fi",
            "if ls; then ls; elif rm x; then ls; fi", "while rm x; do ls; done", "until ls; do rm x; done",
            "for f in a; do rm x; done", "for f in $(rm x); do ls; done", "for PATH in .; do ls; done",
            "for ((i=0; i<1; i++)); do rm x; done", "case a in a) rm x;; esac", "case $(rm x) in a) ls;; esac",
            "case a in $(rm x)) ls;; esac", "case a in b) ls;; *) rm x;; esac", "select f in a; do rm x; done",
            "f() { rm x; }; f", "function f { rm x; }; f", "ls() { rm x; }; ls", "git() { rm x; }\ngit status",
            "cat() ( rm x ); cat", "[[ -n $(rm x) ]] && ls", "[[ -v 'a[$(rm x)]' ]]", "[[ 'a[$(rm x)]' -eq 1 ]]",
            "(( a[$(rm x)] ))", "((a=1)); ls",
        ],
    ),
    (
        "a command in a substitution",
        GENEROUS,
        &[
            "ls $(rm x)", "ls `rm x`", "ls \"$(rm x)\"", "ls \"`rm x`\"", "ls \"a$(rm x)b\"", "ls $(ls $(rm x))",
            "ls \"$(ls \"$(rm x)\")\"", "ls <(rm x)", "ls >(rm x)", "cat < <(rm x)", "ls ${x:-$(rm x)}",
            "ls \"${x:=$(rm x)}\"", "ls ${x:+`rm x`}", "ls $((1 + $(rm x)))", "ls $[ $(rm x) ]", "ls ${x[$(rm x)]}",
            "ls ${x@P}", "ls \"${x@P}\"", "ls ${x//a/$(rm x)}", "ls \"${!x}\"", "X=$(rm x) ls", "X=`rm x` cargo test",
            "$(echo rm) x", "\"$(echo rm)\" x", "`echo rm` x", "$(rm x)", "<(rm x) ls", "cat <<EOF\n$(rm x)\nEOF",
            "cat <<EOF\n`rm x`\nEOF", "cat <<-EOF\n\t$(rm x)\n\tEOF", "cat <<EOF\n${x:-$(rm x)}\nEOF",
            "cat <<EOF\n$((a[$(rm x)]))\nEOF", "cat <<< $(rm x)", "cat <<< \"$(rm x)\"",
            "echo \"$(cat <<EOF\n$(rm x)\nEOF\n)\"", "ls a\"$(echo b)\"c$(rm x)", "echo `ls \\`rm x\\``",
            "ls a<(rm x)", "echo $(case x in x) rm x;; esac)",
        ],
    ),
    (
        "a here-document that ends elsewhere",
        GENEROUS,
        &[
            "cat <<'A'\nb\nA\nrm x", "cat <<A\nb\n A\nA\nrm x", "cat <<\\A\n$(ls)\nA\nrm x",
            "cat <<'A' <<'B'\nA\nB\nrm x", "cat <<''\nls\n\nrm x", "cat <<A; rm x\nb\nA", "cat <<A | sh\nrm x\nA",
            "cat <<'A B'\nx\nA B\nrm x", "cat <<A\nx\nA ; rm x\nA\nrm x", "cat <<E$[\t\t", "cat <<A$(rm x)\nA$(rm x)",
            "cat <<A\nb", "cat <<A\n$\\\n(rm x)\nA", "cat <<EOF\nE\\\nOF\nrm x\nEOF",
            "echo \"$(cat <<A\nA; rm x)z\nA\n)\"", "echo \"$(cat <<'A'\nAx; rm x)z\nA\n)\"",
            "ls $\\\n'a\\' b '; rm x #'", "ls $\\\n(rm x)", "ls \"$\\\n(rm x)\"", "ls <\\\n(rm x)",
            "cat <\\\n<A\n$(rm x)\nA", "ls &\\\n& rm x", "ls `\\\nrm x`",
        ],
    ),
    (
        "words that are not known",
        GENEROUS,
        &[
            "ls $x", "ls \"$x\"", "ls ${x}", "$x status", "git $x", "ls *", "ls a?c", "ls [ab]", "ls 'a'['b']",
            "ls \"[\"[a]", "ls {a,b}", "ls {1..3}", "ls ~", "ls ~root", "ls a=~", "l? x", "{ls,x}",
            "git {-c,core.pager=x,log}", "ls $@", "ls $*", "ls $1", "ls $$", "ls $'\\u0041'", "ls $\"a\"", "l$'s' $x",
            "ls $(echo a)", "ls @(a|b)", "ls !(a)", "git log $(echo --output=f)", "git log \"$(echo --output=f)\"",
            "git \"$(echo push)\"", "sed \"$(echo w f)\" a", "sort \"$(echo -of)\"",
            "git commit \"$(echo --template=f)\"", "python3 \"$(echo -c)\" x", "git \"subm$(echo odule)\" foreach x",
            "git fetch \"e$(echo xt::rm)\"", "make \"C$(echo C=x)\"", "npm \"e$(echo xec)\" x",
            "cargo \"inst$(echo all)\" x", "git commit -F -m \"$(echo -x)\"", "git log -m \"$(echo --output=f)\"",
            "awk <(echo x)",
        ],
    ),
    (
        "what is never approved",
        GENEROUS,
        &[
            "eval ls", "eval 'rm x'", "source ./f", ". ./f", ". f", "exec ls", "exec 3<f", "trap 'rm x' EXIT",
            "trap ls 0", "alias ls=rm", "unalias ls", "export PATH=.", "export A=b", "declare -x PATH=.",
            "typeset a=b", "readonly a", "local a=b", "unset PATH", "set -o posix", "set -- a",
            "shopt -s expand_aliases", "hash -p /tmp/x ls", "enable -f ./x.so x", "enable -n test",
            "let 'a[$(rm x)]=1'", "read 'a[$(rm x)]'", "printf -v 'a[$(rm x)]' x", "printf -v PATH .",
            "test -v 'a[$(rm x)]'", "[ -v 'a[$(rm x)]' ]", "mapfile -C 'rm x' -c 1 a", "command eval ls",
            "builtin eval ls", "builtin . ./f", "command . f", "complete -C 'rm x' ls", "compgen -W '$(rm x)'",
            "bind -x '\"a\":rm x'", "fc -s", "history -c", "PATH=.", "A=b", "A=b; ls", "a=(1 2)", "a[$(rm x)]=1 ls",
            "wait -p 'a[$(rm x)]'", "jobs -x rm x", "command -p rm x", "ev\\al ls", "'eval' ls", "\"source\" f",
            "e''val ls",
        ],
    ),
    (
        "variables that change what is run",
        GENEROUS,
        &[
            "PATH=. ls", "LD_PRELOAD=./x.so ls", "DYLD_INSERT_LIBRARIES=x ls", "GIT_PAGER=x git log",
            "GIT_SSH_COMMAND=x git fetch", "GIT_EXTERNAL_DIFF=x git diff", "GIT_DIR=x git status",
            "BASH_ENV=x bash f", "ENV=x sh f", "IFS=x ls", "PAGER=x git log", "EDITOR=x git commit",
            "VISUAL=x git commit", "PROMPT_COMMAND=x ls", "PYTHONPATH=. python3 f.py",
            "NODE_OPTIONS=--require=x node f", "PERL5OPT=-Mx perl f", "RUBYOPT=-rx ruby f", "LESSOPEN='|rm x' less f",
            "MANPAGER=x man ls", "RUSTC_WRAPPER=x cargo build", "CARGO_HOME=x cargo build",
            "RUST_LOG=trace cargo test", "FOO=1 ls", "RUST_LOG=debug PATH=. cargo test", "A+=b ls", "env PATH=. ls",
            "env LD_PRELOAD=x ls", "env FOO=1 ls", "env -S 'rm x'", "env -C / ls", "env -i rm x", "env -u PATH rm x",
            "env -u PATH ls", "env -i ls", "julia -e x", "sudo PATH=. ls", "HOME=/tmp git status",
        ],
    ),
    (
        "interpreters that are given code",
        GENEROUS,
        &[
            "bash -c ls", "bash -c 'rm x'", "bash -lc ls", "bash -xec ls", "sh -c ls", "zsh -c ls", "bash", "sh",
            "bash -s", "bash -", "bash --", "bash -i", "bash <<< 'rm x'", "bash <<'E'\nrm x\nE", "echo 'rm x' | bash",
            "cat f | sh", "bash < f", "bash /dev/stdin < f", "bash <(echo rm x)", "bash -O extglob -c ls",
            "bash --rcfile f -i", "python3", "python3 -c x", "python3 -", "python3 -Bc x", "python3 <<'E'\nx\nE",
            "echo x | python3", "python3 -W ignore -c x", "python3 -X utf8", "node -e x", "node --eval x",
            "node --eval=x", "node --ev x", "node -p x", "node -pe x", "node", "perl -e x", "perl -ne x", "perl -E x",
            "perl -pie x f", "ruby -e x", "php -r x", "deno eval x", "cat f | perl", "/bin/bash -c ls",
            "bash -o pipefail -c ls", "python3 -m http.server", "node -r ./x.js f", "perl -Mx f", "ruby -rx f",
            "bash --init-file f g", "python3.12 -c x", "busybox sh -c ls", "node --require ./x.js f",
        ],
    ),
    (
        "redirections that write",
        GENEROUS,
        &[
            "ls > f", "ls >f", "ls >> f", "ls >| f", "ls &> f", "ls &>> f", "ls >& f", "ls 2> f", "ls 1>f 2>&1",
            "ls <> f", "> f", ": > f", "> f ls", "ls > /dev/null > f", "ls > \"/dev/null\"x", "ls > $x",
            "ls > $(echo f)", "{ ls; } > f", "(ls) > f", "if ls; then ls; fi > f", "for f in a; do ls; done > f",
            "ls > /dev/tcp/a/1", "cat < /dev/tcp/a/1", "cat < /dev/udp/a/1", "cat <> /dev/tcp/a/1",
            "echo a > /dev/sda", "ls > ~/.bashrc", "ls {fd}> f", "ls > >(cat)", "ls > /dev/null/../../tmp/f",
            "cat </dev/null >f", "ls >/dev/stdout.txt", "cat < $x", "cat < //dev/tcp/a/1",
        ],
    ),
    (
        "wrappers",
        GENEROUS,
        &[
            "env rm x", "timeout 5 rm x", "nice rm x", "nice -n 5 rm x", "nohup rm x", "command rm x",
            "stdbuf -o0 rm x", "setsid rm x", "sudo rm x", "sudo -u root ls", "sudo -s", "sudo -e f",
            "env nice timeout 5 rm x", "xargs ls", "ls | xargs rm", "ls | xargs ls", "echo x | parallel ls",
            "watch ls", "timeout --foo ls", "timeout 5 bash -c ls", "env bash", "strace ls", "busybox rm x", "vim f",
            "time -o f ls", "env -- rm x", "timeout", "nice -n", "env -u", "time rm x", "time -p rm x", "builtin rm",
            "timeout 5 ./build.sh; rm x", "timeout $x ls", "nohup sudo rm x",
        ],
    ),
    (
        "options that run or write",
        GENEROUS,
        &[
            "git -c core.pager=x log", "git -c alias.x='!rm x' x", "git --config-env=a=b log",
            "git --exec-path=. log", "git -C / log", "git --git-dir=x log", "git log --output=f", "git log --outp=f",
            "git diff --output f", "git diff --ext-diff", "git diff --ext", "git grep -Ox a",
            "git grep --open-files-in-pager=x a", "git fetch --upload-pack=x", "git fetch --upload-p=x .",
            "git push --receive-pack=x", "git push --exec=x", "git rebase -x 'rm x'", "git rebase --exec 'rm x'",
            "git rebase -ix ls", "git difftool -x rm", "git bisect run rm x", "git submodule foreach 'rm x'",
            "git config alias.x '!rm x'", "git unknown", "git st", "git clone x", "git clone -u x y",
            "git archive -o f HEAD", "git fetch 'ext::rm x'", "git ls-remote ext::x",
            "git filter-branch --tree-filter 'rm x'", "git mergetool", "git instaweb", "git help -m x", "git -p log",
            "git init --template=x", "git p\\ush --exec=x", "find . -exec rm {} +", "find . -execdir rm {} +",
            "find . -ok rm {} +", "find . -delete", "find . -fprint f", "find . -fprintf f x", "find . -fls f",
            "find . '-exec' rm {} +", "fd a -x rm", "fd -X rm a", "fd --exec rm", "sort -o f a", "sort -of a",
            "sort -uo f a", "sort --output=f a", "sort --out=f a", "sort a -o f", "sort --compress-program=x a",
            "sort -S1 --compress-prog x a", "tar --to-command=x -xf a", "tar -xf a --checkpoint-action=exec=x",
            "tar -I x -xf a", "tar xIf x a", "tar cf a --use-compress-program=x b", "rsync -e x a b",
            "rsync --rsh=x a b", "rsync -ave x a b", "sed -i s/a/b/ f", "sed 's/a/b/e' f", "sed '1e rm x' f",
            "sed 'w f' a", "sed 's/a/b/w f' a", "sed -n '/a/w f' a", "sed -f x a", "sed -e 'e rm x' f",
            "sed --in-place s/a/b/ f", "sed '1p;e rm x' f", "sed 's/[/]/e rm x/' f", "sed -ni p f", "sed 'r f' a",
            "awk 'BEGIN{system(\"rm x\")}'", "awk '{print > \"f\"}' a", "awk '{print | \"sh\"}' a",
            "awk '\"rm x\" | getline' a", "awk -f x a", "awk -i inplace x a", "gawk '@load \"x\"' a",
            "gawk -e 'BEGIN{}' a", "awk -F : 'BEGIN{system(\"x\")}'", "awk -v a=b 'BEGIN{system(a)}'", "rg --pre x a",
            "rg --pre=x a", "rg -z a", "less -o f a", "less +!rm a", "less '+!rm x' a", "man -P x ls",
            "man --pager=x ls", "man -H x", "cargo --config x test",
            "cargo test --config 'build.rustc-wrapper=\"x\"'", "cargo -C / test", "cargo test --manifest-path f",
            "cargo +x test", "cargo -Z a test", "make SHELL=x", "make CC=x all", "make -f x", "make -C / all",
            "make --eval='x:;rm x'", "make -j4f x", "npm exec x", "npm x y", "npm run a --script-shell=x",
            "npm config set a b", "pytest -p x", "pytest -c f", "pytest --rootdir=/", "go test -exec x",
            "go test -exec=x ./a", "go build --toolexec=x", "go run x", "curl -o f a", "curl -Of a",
            "curl --output f a", "curl -K f", "curl -sSLo f a", "docker run a", "docker exec a b", "gcc -o f a.c",
            "gcc -wrapper x a.c", "gcc -fplugin=x a.c", "gcc @f", "ssh -o ProxyCommand=x a", "ssh -oProxyCommand=x a",
            "uniq a b", "date -s x", "split --filter=x a", "zip -TT x a b", "cmake -P f", "uv run x", "tree -o f",
            "tar -cf a -F x b", "cargo install x",
        ],
    ),
    (
        "options in another spelling",
        SUBCOMMANDS,
        &[
            "npm run a -script-shell=x", "npm run a ---script-shell x", "npm run -prefix=x a", "npm run a --prefi x",
            "npm run a -node-options=--require=./x.js", "npm run --node-opt=x a", "npm run a -C x", "npm run a --shell=x",
            "npm run a --git=x", "npm run a --script_shell=x", "npm run a --no-x --script-shell x",
            "cargo test -config x", "cargo test ---config x", "cargo test --config=x", "cargo test -- -Clinker=x",
            "cargo test --timings=x --manifest-path=x", "cargo test -- --logfile f", "cargo build --OUT-DIR f",
            "pytest ---rootdir=x", "pytest --root x", "pytest -pno:x", "pytest --pdbcls=x:y", "pytest --tx=popen//python=x",
            "python3 -m pytest -p x", "python3 -m pytest --rootd x", "uv run pytest -p x", "poetry run python -c x",
            "poetry run python", "bundle exec rspec -r ./x", "pnpm exec eslint --rulesdir x",
            "php vendor/bin/phpunit --bootstrap x", "bundle exec rake -E x", "python3 -m pip install --config-settings=a",
            "go test ---exec=x", "go test -exe=x", "go test -toolexec x", "go test --vettool=x", "go test -outputdir=x",
            "go test -coverprofile=f", "rg --pr=x a", "rg -pre=x a", "sort -outp=f", "sort ---output=f", "find . --exec ls",
            "git push ./sub HEAD:a", "git push sub HEAD:a", "git push -f sub HEAD:a", "git push -- sub HEAD:a", "git push --repo=sub HEAD:a",
            "git push --repo sub", "git push -o origin sub", "git push --push-option origin sub", "git push --all ../x", "git push ~/x",
            "git push file:///x", "git push -u sub", "git fetch sub", "git fetch -j origin sub", "git fetch --shallow-since origin sub",
            "git fetch --multiple origin sub", "git pull ./sub", "git pull -s x", "git ls-remote sub", "git ls-remote -o origin sub",
            "git remote show sub", "git remote update sub", "git remote prune sub", "git mv a .git/hooks/pre-commit", "git mv a link/pre-commit",
            "git merge -s x a", "git rebase --strategy=x a", "git cherry-pick --strategy x a", "git worktree add .GIT/hooks/x", "git worktree add ../x HEAD",
            "git worktree move a ../x", "git init -q ..", "git init -q --bare upstream", "git apply p.txt",
            "find . -exec sort -of a +", "test -v 'a[$(x)]'", "[ -v 'a[$(x)]' ]", "npm -- install x", "npm -- exec x", "cargo -- x", "cargo fmt -- --config-path x", "just a=b", "wget -xnH a/.git/config",
            "curl --OUTPUT f a", "curl --outpu=f a", "curl -output f a", "git log ---output=f", "git diff -ext-diff",
        ],
    ),
    (
        "options that run or write, of more programs",
        MORE,
        &[
            "curl -w '%output{f}x' a", "curl -sw'%output{f}x' a", "curl --write-out '%output{>>f}x' a", "curl -w @f a",
            "curl -sSw@f a", "curl -d @f a", "curl -F x=@f a", "curl -F 'x=<f' a", "curl --variable a=b a",
            "curl --expand-output '{{a}}' a", "curl --json @f a", "curl --etag-save f a",
            "wget --execute=x a", "wget --warc-file=f a", "wget --post-file=f a",
            "gcc -Wl,-plugin=x a.c", "gcc -Wl,--plugin,x a.c", "gcc -Xlinker -plugin=x a.c", "gcc -Wa,@x a.c",
            "gcc -Wp,-MD,f a.c", "gcc -fmodule-mapper='|x' a.c", "gcc -MF f a.c", "gcc -save-temps a.c", "gcc -Bx a.c",
            "gcc -specs=x a.c", "gcc --spec x a.c", "gcc-12 -fplugin=x a.c", "x86_64-linux-gnu-gcc -wrapper x a.c",
            "gcc-12 @f", "clang-15 -Xclang -load a.c", "clang --ld-path=x a.c", "clang --config x a.c", "ld @f", "nm @f",
            "pylint --init-hook=x a", "pylint --init-h 'x' a", "pylint --load-plugins=x a", "pylint --rcfile x a",
            "mypy --python-executable=x a", "mypy --config-file x a", "flake8 --config x a", "ruff check --config x",
            "black --config x a", "isort --settings-path x a", "sphinx-build -D extensions=x a b", "sphinx-build -c x a b",
            "pdflatex -shell-escape a", "pdflatex --shell-escape a", "pdflatex --shell-e a", "pdflatex -enable-write18 a",
            "pdflatex '\\write18{x}'", "pdflatex '&x' a", "pdflatex -cnf-line=shell_escape=t a", "lualatex --lua=x a",
            "lualatex '\\directlua{x}'", "pdflatex -output-directory=x a", "latexmk -e x a", "latexmk -pdflatex=x a",
            "latexmk -r x a", "latexmk -xelatex=x a", "latexmk -lualatex=x a", "gcc -time=f a.c", "gcc -fdiagnostics-format=sarif-file a.c",
            "clang -cc1as x", "rustc --print link-args=f a.rs", "pytest @f", "rake RUBYOPT=x a", "eslint --init", "curl --unix-socket x a", "xelatex -jobname=f a",
            "pandoc --filter x a", "pandoc --lua-filter=x a", "pandoc -F x a", "pandoc -t x.lua a", "pandoc -o f a",
            "pandoc --pdf-engine=x a", "pandoc -Lx a", "pandoc --defaults=x a",
            "helm template a --post-renderer x", "helm template a -post-renderer=x", "helm plugin install x",
            "helm lint --kubeconfig x", "helm template a --output-dir f", "helm install a b",
            "kubectl get --kubeconfig=x a", "kubectl get -s http://x a", "kubectl apply -f x", "kubectl x y",
            "kubectl exec a b", "kubectl get --cache-dir=x a", "kubectl cluster-info dump --output-directory=f",
            "terraform plan -chdir=x", "terraform -chdir=x plan", "terraform plan -out=f", "terraform init -from-module=x",
            "docker -H tcp://x ps", "docker --config x ps", "docker image build .", "docker container exec a b",
            "docker x y", "docker start a",
            "eslint --rulesdir x a", "eslint -c x a", "eslint --parser=x a", "eslint -f ./x.js a", "eslint -o f a",
            "eslint --resolve-plugins-relative-to x a", "prettier --plugin=x a", "prettier --config x a",
            "jest --globalSetup=x", "jest --global-setup=x", "jest -c x", "jest --config=x", "jest --testRunner=x",
            "mocha -r x", "mocha --require x", "mocha --reporter=./x", "mocha --node-option=x", "vitest --config x",
            "vitest -c x", "tsc -p x", "tsc --outDir f", "tsc @f", "webpack -c x", "rollup -p x", "vite build -c x",
            "rspec -r ./x", "rspec --require=x", "rspec -I x", "rspec -f X -o f", "rubocop -r ./x", "rubocop --require x",
            "rake -f x", "rake -e x", "rake --libdir x", "prove --exec x", "prove -e x", "prove -Px", "prove --form=x",
            "phpunit --bootstrap x", "phpunit -c x", "phpunit --printer=x", "composer exec x", "composer -d x a",
            "java -jar x", "java -XX:OnError=x a", "java @f", "javac -processor x a", "javac -J-x a", "javac @f",
            "mvn -Dexec.executable=x a", "mvn exec:exec", "mvn a.b:c:d", "gradle -I x a", "gradle --init-script=x a",
            "gradle -Dorg.gradle.jvmargs=x a", "ant -f x", "ant -logger x", "bazel run x", "bazel test --run_under=x a",
            "bazel --bazelrc=x build a", "just -f x a", "just --shell x a", "meson setup --native-file x b",
            "ninja -C x", "cmake --toolchain x a", "cmake --workflow x", "ctest --output-junit f", "ctest -S x",
            "gpg --homedir x -k", "gpg --options x -k", "gpg --pinentry-program=x a", "gpg --status-file f a",
            "openssl req -keyout f", "openssl x -provider-path a", "openssl rand -out f 3", "openssl dgst --engine x a",
            "yq -i a f", "yq -s a f", "jq -L x a", "man -X ls", "man --preprocessor=x ls", "man --html=x ls",
            "less --lesskey-content=x a", "less -kx a", "bat --pager=x a", "bat --pag x a",
            "tar -cf a:b x", "tar -T x -xf a", "tar --files-from=x -xf a", "tar --rsh-command x -xf a",
            "tar -g f -cf a b", "tar --index-file=f -tf a", "rsync --daemon --config=x", "rsync --write-batch=f a b",
            "rsync -avex a b", "rsync --log-file=f a b", "scp -S x a b", "scp -oProxyCommand=x a b", "scp -D x a b",
            "ssh-keygen -D x", "zip -TTx a b", "zip a b -TT x", "unzip -d x a", "7z a -ofile b",
            "apt-get -o APT::Update::Pre-Invoke::=x update", "apt-cache -c x search a", "rpm --eval '%(x)'", "rpm -E '%(x)'",
            "rpm --pipe x -qa", "brew x", "brew install a", "pip install --index-url=x a", "pip -v install a", "pip download x",
            "gh alias set a b", "gh repo clone a -- -c x=y", "gh x", "gh api a", "aws --endpoint-url x s3 ls",
            "gcloud --flags-file=x a", "ansible-playbook -e x a", "coverage run x", "coverage --rcfile=x report",
            "tox -c x", "nox -f x", "tox -x a=b", "gs -c x", "mlr -n put x", "nano -s x f", "sbt '!x'", "npx x",
            "cargo x", "cargo rustc -- -Clinker=x", "cargo vendor", "cargo test --target-d f", "yarn x", "yarn node -e x",
            "yarn --cwd x build", "pnpm --dir x test", "pnpm x", "npm pkg set a=b", "npm install x", "npm exe x",
            "npm --loglevel silent exec x", "go env -w a=b", "go get x", "go install x", "go work use x",
            "git log -c core.pager=x --output=f", "git blame --contents f -output=x", "clang-tidy --load=x a",
            "clang-tidy -fix a", "clang-format --style=file:x -i a", "ar --plugin x t a", "objdump @f", "strip -o f a",
            "ld --dynamic-linker=x --plugin x a", "as -a=f x", "gofmt -w x", "gofmt -d -cpuprofile=f x", "xz --files=f",
            "shellcheck --rcfile=x a", "dot -of a", "dot -Tpng -O a", "plantuml -config x a", "convert a msl:x",
            "ffmpeg -i a f", "systemd-run x", "journalctl --vacuum-size=1", "perf record x", "hg --config a=b x", "hg x",
            "jj --config a=b log", "svn --config-option x a", "svn log --diff-cmd x", "svn diff --diff-c x", "hg -R x log",
            "jj -R x log", "hg log -T x --cwd a",
        ],
    ),
    (
        "programs that run or write what they are given",
        &[
            "bash(pydoc3 *)", "bash(python3 *)", "bash(iconv *)", "bash(cpp *)", "bash(ptx *)", "bash(curl *)", "bash(gtimeout *)", "bash(genv *)",
            "bash(gfind *)", "bash(gsed *)", "bash(run-one *)", "bash(cloc *)", "bash(wp *)", "bash(deno *)", "bash(forge *)", "bash(prettier *)",
            "bash(pdftotext *)", "bash(python3 -m json.tool *)", "bash(python3 -m pydoc *)", "bash(gdb-12 *)", "bash(biome *)", "bash(rst2html5 *)",
        ],
        &[
            "pydoc3 ./x.py", "pydoc3.11 ./x.py", "python3 -m pydoc ./x.py", "iconv -o F a", "iconv --outp=F a", "cpp -P a F", "cpp-12 a F", "ptx -G a F",
            "gptx -G a F", "python3 -m json.tool a F", "pdftotext a F", "rst2html5 a F", "curl --data-urlencode x@F a", "curl --data-url=x@F a",
            "curl --url-query x@F a", "gtimeout 5 rm x", "genv rm x", "genv -S 'rm x'", "gxargs rm", "gfind . -exec rm {} +", "gsed -i s/a/b/ f", "run-one rm x",
            "cloc --extract-with='rm x' a", "cloc --vcs=x", "cloc --out F a", "wp post list --exec='x'", "wp eval x", "deno test -A", "deno test --allow-run",
            "forge test --ffi", "forge script x", "prettier a --write", "prettier -w a", "biome check --write", "gdb-12 x",
        ],
    ),
    (
        "built-in commands that assign",
        MORE,
        &[
            "printf 'abc%n' PATH; ls", "printf 'abc%n' PATH", "printf '%s%n' a PATH", "printf '%*n' 3 PATH",
            "printf '%-5.3n' PATH", "printf '%ln' PATH", "printf '%hhn' PATH", "printf '%n' 'a[$(x)]'", "printf -vPATH a",
            "printf -v PATH a", "printf -- '%n' PATH", "printf '%%%n' PATH", "printf '%d%n' 1 PATH",
            "command printf '%n' PATH", "builtin printf '%n' PATH", "printf \"$(ls)\" PATH", "test -v 'a[$(x)]'",
            "for RIPGREP_CONFIG_PATH in x; do rg a; done", "for KUBECONFIG in x; do kubectl get a; done",
            "for RUSTUP_TOOLCHAIN in x; do cargo test; done", "for item in x; do ls; done", "for F in x; do ls; done",
            "for _ in x; do ls; done", "for npm_config_script_shell in x; do npm run a; done", "for OPTIND in 1; do ls; done",
            "for a in x; do for item in y; do ls; done; done", "echo \"$(for item in x; do ls; done)\"",
            "for http_proxy in x; do ls; done", "for histchars in x; do ls; done", "select item in x; do ls; done",
            "coproc ls", "(( PATH = 1 ))", "ls ${PATH:=x}", "let PATH=1", "read PATH < f", "wait -p PATH", "getopts a PATH",
            "for ((PATH=0;;)); do ls; done", "{ for item in x; do ls; done; }", "if ls; then for item in x; do ls; done; fi",
        ],
    ),
    (
        "what no rule approves, though it is written out",
        &[
            "bash(bash -c ls)", "bash(sh)", "bash(python3 -c x)", "bash(find . -exec sh -c ls {} +)",
            "bash(busybox sh -c ls)", "bash(strace bash -c ls)", "bash(env ls)", "bash(env -i ls)", "bash(ls)",
            "bash(timeout 5 ls)", "bash(time)", "bash(cat a)", "bash(flock f eval x)", "bash(command eval x)",
        ],
        &[
            "bash -c ls", "sh", "python3 -c x", "find . -exec sh -c ls {} +", "busybox sh -c ls", "strace bash -c ls",
            "env -i ls", "time ls", "ls > f", "A=b ls", "ls a", "cat a > b", "timeout 5 cat a b", "nice ls",
            "flock f eval x", "command eval x",
        ],
    ),
    (
        "look-alikes and control characters",
        GENEROUS,
        &[
            "ls\u{a0}-l", "l\u{455} x", "ls \u{2013}l", "ls \u{200b}x", "ls a\u{202e}b",
            "git log \u{ff0d}\u{ff0d}output=f", "ls a\rb", "ls\r\nrm x", "ls \u{1b}[2J", "ls a\u{0}b", "ls \u{7f}",
            "ls \u{85}rm", "ls\u{2028}rm x", "\u{feff}ls", "ls\u{b}rm", "ls\u{c}x", "gi\u{442} status", "ls '\u{e9}'",
            "ls $'a\\x1b'", "ls $'\\0'",
        ],
    ),
    (
        "another folder",
        GENEROUS,
        &[
            "cd x && ./build.sh", "cd x; ./build.sh a", "ls && cd x && ./build.sh", "(cd x); ./build.sh",
            "builtin cd x; ./build.sh", "command cd x && timeout 5 ./build.sh", "cd x && python3 a.py",
            "cd x && bash a.sh", "cd sub && git status", "cd sub; git log", "(cd sub && git status)", "git status; cd sub",
            "pushd sub && git status", "pushd sub; popd; cargo test", "chdir sub; make", "cd - && make", "cd && make", "cd ../x && npm test",
            "{ cd sub; }; cargo test", "cd sub && timeout 5 cargo test", "cd sub && time make", "cd sub & make",
            "if cd sub; then make; fi", "for f in a; do cd sub; git status; done", "cd sub && ls && git status",
            "builtin cd sub && git status", "command cd sub && git status", "echo \"$(cd sub && git status)\"",
            "cd sub && find . -exec make {} +", "cd sub && env git status", "cd /nowhere/project/sub && git status",
            "cd /nowhere/project/../other && git status", "cd ./sub && git status", "cd '' && git status",
            "cd -P . && git status", "cd . sub && git status", "cd sub && sort -o f a", "cd sub && docker ps",
            "cd sub && sed -i s/a/b/ f", "cd sub && /bin/git status", "cd sub && ./ls", "cd sub && cp a b", "cd sub && rm a",
            "git -C sub status", "make -C sub all", "cargo -C sub test", "npm --prefix sub test", "npm --prefix=sub test",
            "npm -C sub test", "env -C sub git status", "env --chdir=sub git status", "sudo -D sub make", "make -Csub",
            "make --directory=sub", "git --work-tree=sub status", "cargo test --manifest-path=sub/x", "go -C sub test",
            "go test -C sub", "pytest --rootdir sub", "cmake --build sub", "cmake -Bsub",
        ],
    ),
    (
        "text that is no shell",
        GENEROUS,
        &[
            "ls '", "ls \"", "ls $(", "ls `", "ls (", "ls )", "ls && ", "| ls", "&& ls", "if ls", "ls; }", "{ ls",
            "fi", "ls \\", "((((((((((((((((((((", "{{{{{{{{{{{{{{{{{{{{{{", "ls 99999999999999999999>x", "ls <<",
            "ls 99999999999999999999<<<x",
        ],
    ),
];

#[test]
fn no_attack_is_approved() {
    let mut passed = Vec::new();
    for (kind, entries, attacks) in ATTACKS {
        let rules = rules(entries);
        let approved = attacks.iter().filter(|attack| command(&rules, attack) == Some(Decision::Approve));
        passed.extend(approved.map(|attack| format!("{kind}: {attack:?}")));
    }
    assert_eq!(passed, Vec::<String>::new());
}

#[test]
fn there_are_enough_attacks_to_mean_something() {
    assert!(ATTACKS.iter().map(|(_, _, attacks)| attacks.len()).sum::<usize>() >= 400);
}

#[test]
fn no_depth_of_nesting_and_no_length_is_too_much() {
    let rules = rules(GENEROUS);
    for (open, close) in [
        ("$(", ")"),
        ("(", ")"),
        ("{ ", ";}"),
        ("\"$(", ")\""),
        ("{", "}"),
        ("<(", ")"),
        ("if ", "; then ls; fi"),
        ("! ", ""),
        ("[[ ( ", " ) ]]"),
        ("while ", "; do ls; done"),
        ("for a in b; do ", "; done"),
    ] {
        for depth in [5, 12, 24, 50, 3000] {
            let nested = format!("{}rm x{}", open.repeat(depth), close.repeat(depth));
            assert_ne!(command(&rules, &nested), Some(Decision::Approve), "{nested}");
        }
    }
    assert_ne!(command(&rules, &"ls;".repeat(100_000)), Some(Decision::Approve));
    assert_ne!(command(&rules, &format!("ls {}", "{a,b}".repeat(1000))), Some(Decision::Approve));
}

#[test]
fn a_long_command_is_decided_in_bounded_time() {
    let (generous, denying) = (rules(GENEROUS), rules(&["bash", "!bash(rm *)"]));
    for part in ["env ", "sudo -x ", "eval ", "xargs ", "find -exec ", "time "] {
        let text = part.repeat(30_000 / part.len());
        assert_ne!(command(&generous, &text), Some(Decision::Approve), "{part}");
        assert_eq!(command(&denying, &text), Some(Decision::RequireApproval), "{part}");
    }
}

/// Without a remote of that name, git takes it for a folder, and pushing to one runs its hooks.
#[test]
fn a_folder_with_the_name_of_a_remote_asks() {
    let folder = tempfile::tempdir().unwrap();
    let base = PathBase { folder: folder.path().to_owned(), ..path_base() };
    for line in ["git push upstream HEAD", "env git pull upstream", "git fetch -q upstream && git status"] {
        let decision = || decide(&rules(GENEROUS), "bash", &Subject::Command(line), &base);
        assert_eq!(decision(), Some(Decision::Approve), "{line}");
        std::fs::create_dir(folder.path().join("upstream")).unwrap();
        assert_ne!(decision(), Some(Decision::Approve), "{line}");
        std::fs::remove_dir(folder.path().join("upstream")).unwrap();
    }
}
