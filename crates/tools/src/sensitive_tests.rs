use super::*;

#[track_caller]
fn says(paths: &[&str], expected: bool) {
    for path in paths {
        let path = Path::new(path);
        let found = is_start_up(path, Some(Path::new("/home/me"))) || is_sensitive(path, Path::new("/p"));
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
#[rustfmt::skip]
fn what_runs_later_or_is_secret_is_known_wherever_it_lies() {
    says(
        &[
            "/home/me/.bashrc", "/home/me/.bash_profile", "/home/me/.zshenv", "/home/me/.config/fish/config.fish",
            "/home/me/.config/nvim/init.lua", "/home/me/.local/share/nvim/site/plugin/x.lua", "/home/me/.local/bin/ls",
            "/home/me/bin/ls", "/home/me/.ssh/authorized_keys", "/p/.nvim.lua", "/p/sub/.exrc", "/p/.git",
            "/p/.git/hooks/pre-commit", "/p/sub/.git/config", "/p/.git/modules/sub/config", "/p/bare.git/config", "/p/bare/HEAD",
            "/p/.jj/repo/config.toml", "/p/.hg/hgrc", "/p/.husky/pre-commit", "/p/.githooks/pre-push", "/p/lefthook.yml",
            "/p/lefthook-local.yml", "/p/.pre-commit-config.yaml", "/p/.envrc", "/p/.mise.local.toml", "/p/.env",
            "/p/.env.production", "/p/.github/workflows/ci.yml", "/p/.gitlab-ci.yml", "/p/Jenkinsfile", "/p/.vscode/tasks.json",
            "/p/.cargo/config.toml", "/p/.npmrc", "/p/server.pem", "/p/deploy/id_ed25519.pub",
            "/p/venv/lib/python3/site-packages/evil.pth",
        ],
        true,
    );
}

#[test]
#[rustfmt::skip]
fn each_class_of_such_files_is_known_by_its_usual_names() {
    let names = [
        "githooks/x", "git-hooks/x", ".git-hooks/x", ".githooks/lib/x", "git_hooks/x", "tools/git-hooks/pre-push",
        "hooks/pre-commit", "scripts/hooks/commit-msg", "hooks/p4-changelist", ".huskyrc", ".huskyrc.json",
        ".simple-git-hooks.json", "simple-git-hooks.cjs", ".lefthook/x", ".lefthook-local/pre-push/x", "captainhook.json",
        ".gitconfig.local", ".venv/bin/pytest", ".venv/lib/python3/site.py", "venv/bin/pip", ".venv-3.12/bin/x",
        "env/bin/activate", "env/Scripts/activate.bat", "own/pyvenv.cfg", ".tox/py/bin/x", ".envrc.local", ".mvn/maven.config",
        ".mvn/wrapper/maven-wrapper.properties", ".bazelrc", "user.bazelrc", ".pnp.cjs", ".pnp.loader.mjs", "bunfig.toml",
        "rust-toolchain", "rust-toolchain.toml", "sub/rust-toolchain.toml", ".appveyor.yml", "appveyor.yml",
        ".azure-pipelines.yml", "azure-pipelines-release.yml", ".azure-pipelines/x.yml", ".tekton/a.yaml",
        ".semaphore/semaphore.yml", ".gitlab-ci.d/x.yml", ".gitlab-ci-release.yml", "buildspec.yml", "buildspec-test.yml",
        "cloudbuild.yaml", "Jenkinsfile.release", ".teamcity/settings.kts", ".claude/settings.json", ".gemini/settings.json",
        ".codex/config.toml", ".roo/mcp.json", ".kiro/hooks/x", ".windsurf/hooks.json", "x.code-workspace", ".vs/tasks.vs.json",
        ".neoconf.json", ".projections.json", ".sublime-project", "a.sublime-project", ".ocamlinit", ".iex.exs", ".erlang",
        "config.fish", ".mongorc.js", ".mailcap", ".forward", ".procmailrc", ".ctags.d/x.ctags", ".env~", "prod.env",
        "prod.env.local", ".env-prod", ".env_prod", ".flaskenv", ".latexmkrc", ".aider.conf.yml", ".readthedocs.yaml",
        ".gitpod.yml", "netlify.toml", ".zuul.yaml", ".vela.yml", ".qwen/settings.json", ".kilocode/mcp.json", ".factory/x",
        ".goose/x", ".copilot/x", ".github/hooks/x", ".github/copilot-instructions.md", ".openhands/setup.sh", "mcp.json",
        ".luacheckrc", ".pylintrc", ".rubocop.yml", "eslint.config.js", "eslint.config.mjs", ".formatter.exs",
        ".theia/tasks.json", "Session.vim", ".s3cfg", ".boto", ".dockercfg", ".vault_pass", ".some-new-agent/settings.json",
        ".github/ISSUE_TEMPLATE/.env",
    ];
    let paths: Vec<String> = names.iter().map(|name| format!("/p/sub/{name}")).collect();
    says(&paths.iter().map(String::as_str).collect::<Vec<_>>(), true);
}

#[test]
#[rustfmt::skip]
fn the_files_of_a_project_are_its_own_affair() {
    says(
        &[
            "/p/src/main.rs", "/p/Makefile", "/p/package.json", "/p/build.rs", "/p/Cargo.toml", "/p/.gitignore",
            "/p/.gitattributes", "/p/.github/README.md", "/p/.editorconfig", "/p/sub/.prettierignore",
            "/p/.changeset/brave-cats.md", "/p/.github/ISSUE_TEMPLATE/bug.md", "/p/config/nvim/init.lua", "/p/bin/run",
            "/p/src/head.rs", "/p/header", "/p/git/config", "/p/environment.md", "/p/keyring.rs", "/p/x.git.md",
            "/p/src/hooks/useState.ts", "/p/src/hooks/mod.rs", "/p/hooks/update.ts", "/p/hooks/README.md", "/p/src/env.rs",
            "/p/src/env/mod.rs", "/p/environment", "/p/docs/venv.md", "/p/src/activate.rs", "/p/src/claude/mod.rs",
            "/p/config.toml", "/p/BUILD.bazel", "/p/pom.xml", "/p/mvnw", "/p/src/forward.rs", "/p/azure.yml",
            "/p/src/githooks.rs", "/home/me/src/project/notes.md",
        ],
        false,
    );
}

/// These ask every time: unlike the others, no rule helps.
#[test]
fn start_up_files_are_told_from_others() {
    let of_programs =
        ["/home/me/.bashrc", "/p/.bashrc", "/p/.nvim.lua", "/p/.git/config", "/home/me/.config/nvim/x.lua"];
    let of_home = ["/home/me/.foorc", "/home/me/.ssh/config", "/home/me/.local/share/nvim/x", "/home/me/bin/ls"];
    let others = [
        "/p/.vscode/tasks.json",
        "/p/.env",
        "/p/.foorc",
        "/p/x.git/a",
        "/home/me/.local/share/notes/a.md",
        "/p/bin/ls",
    ];
    let is = |path: &&str| is_start_up(Path::new(path), Some(Path::new("/home/me")));
    assert_eq!(of_programs.iter().chain(&of_home).find(|path| !is(path)), None);
    assert_eq!(others.iter().find(|path| is(path)), None);
}

#[test]
#[rustfmt::skip]
fn neither_case_nor_letters_that_do_not_show_make_another_name() {
    says(
        &[
            "/p/.GIT/config", "/p/.Git/hooks/x", "/p/.g\u{200c}it/config", "/p/.git\u{feff}/config", "/p/.BashRC",
            "/p/.\u{17f}sh/config", "/p/.NVIM.LUA", "/p/.\u{212a}ube/config",
        ],
        true,
    );
}

#[test]
fn a_star_stands_for_any_letters_of_one_name() {
    for (part, name, expected) in [
        ("*.pem", "a.pem", true),
        ("*.pem", ".pem", true),
        ("*.pem", "a.pem.txt", false),
        ("id_rsa*", "id_rsa", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "acb", false),
        ("a*b", "a", false),
        ("*", "", true),
    ] {
        assert_eq!(Wildcard::new(part).matches(name), expected, "{part} {name}");
    }
}

#[test]
fn every_pattern_is_written_as_names_are_compared() {
    let Tables { start_up, home, runtime, run_later, secrets, harmless, .. } = &*TABLES;
    for part in [start_up, home, runtime, run_later, secrets, harmless]
        .iter()
        .flat_map(|table| &table.0)
        .flat_map(|it| &it.parts)
    {
        for piece in &part.0 {
            assert_eq!(fold(OsStr::new(piece)), *piece, "it could never match");
        }
        let mut inner = part.0.iter().skip(1).rev().skip(1);
        assert!(inner.all(|piece| !piece.is_empty()), "{part:?}");
    }
}
