//! `scripts/package`: a wheel and an npm package, installed as their users do, without a compiler.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    chat::said,
    support::{Nvim, Options},
};

/// Runs a command to its end.
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The packages of the library and the command line under test. A script stands for the latter, which takes seconds to compress.
fn pack(folder: &Path) -> PathBuf {
    let arch = env::consts::ARCH;
    let target =
        if cfg!(target_os = "macos") { format!("{arch}-apple-darwin") } else { format!("{arch}-unknown-linux-gnu") };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package");
    let dist = folder.join("dist");
    let program = folder.join("flemma");
    fs::write(&program, format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_flemma"))).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    run(Command::new(script).args([&target, &env::var("FLEMMA_NATIVE").unwrap()]).arg(&program).arg(&dist));
    dist
}

/// Sends a conversation in an editor that has only what was installed.
fn works(init: &str) {
    let init = format!(
        "vim.opt.runtimepath:remove([==[{}]==])
         vim.env.FLEMMA_NATIVE = nil
         {init}
         vim.cmd('packloadall')
         require('flemma').setup({{}})",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut nvim =
        Nvim::start(&Options { init: &init, files: &[("notes.chat", "@You:\nHello\n")], ..Options::default() });
    nvim.command("edit notes.chat");
    nvim.input("<C-]>");
    nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:"));
    assert_eq!(said(&mut nvim), "");
    nvim.command("noautocmd help flemma-quickstart");
    assert!(nvim.text().contains("Quick start"));
}

#[test]
fn a_wheel_brings_plugin_library_and_command_line() {
    let home = tempfile::tempdir().unwrap();
    let (dist, venv) = (pack(home.path()), home.path().join("venv"));
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let mut pip = Command::new(venv.join("bin/pip"));
    run(pip.args(["install", "--quiet", "--no-index", "flemma", "--find-links"]).arg(&dist));
    run(Command::new(venv.join("bin/flemma")).arg("--version"));
    works(&format!("vim.opt.packpath:prepend('{}')", venv.join("share/nvim/site").display()));
    // It leaves nothing behind.
    run(Command::new(venv.join("bin/pip")).args(["uninstall", "--quiet", "--yes", "flemma"]));
    assert!(!venv.join("share/nvim/site/pack/flemma/start/flemma/build/flemma.so").exists());
}

#[test]
fn an_npm_package_brings_the_same() {
    if Command::new("npm").arg("--version").output().is_err() {
        eprintln!("skipped: npm is not installed");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let packages = fs::read_dir(pack(home.path())).unwrap().map(|file| file.unwrap().path());
    let package = packages.into_iter().find(|path| path.extension().is_some_and(|it| it == "tgz")).unwrap();
    let mut npm = Command::new("npm");
    run(npm.args(["install", "--offline", "--no-audit", "--no-fund", "--prefix"]).arg(home.path()).arg(package));
    run(Command::new(home.path().join("node_modules/.bin/flemma")).arg("--version"));
    let name = fs::read_dir(home.path().join("node_modules")).unwrap().map(|file| file.unwrap().file_name());
    let name = name.into_iter().find(|name| name.to_string_lossy().starts_with("flemma")).unwrap();
    works(&format!("vim.opt.runtimepath:prepend('{}')", home.path().join("node_modules").join(name).display()));
}
