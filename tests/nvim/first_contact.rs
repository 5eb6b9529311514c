//! The first contact with a new installation: a missing library, a plugin manager, the help, the tour.
//!
//! The plugin is a copy in the editor's home without build artefacts, and `cargo` is a script that prints what the real
//! one prints.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use super::{
    chat::{said, virtual_lines},
    support::{Nvim, Options},
};

/// The files of the plugin for a plugin manager.
const PARTS: [&str; 8] = ["lua", "plugin", "ftplugin", "ftdetect", "doc", "scripts", "build.lua", "README.md"];

/// A plugin that was just installed, and a folder for programs.
pub(super) struct Installed {
    pub(super) home: tempfile::TempDir,
}

impl Installed {
    pub(super) fn new() -> Self {
        let home = tempfile::Builder::new().prefix("flemma-installed-").tempdir().unwrap();
        let source = home.path().join("source");
        fs::create_dir_all(home.path().join("bin")).unwrap();
        fs::create_dir_all(&source).unwrap();
        for part in PARTS {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(part);
            assert!(Command::new("cp").arg("-R").arg(from).arg(&source).status().unwrap().success());
        }
        let _ = fs::remove_file(source.join("doc/tags"));
        // As a plugin manager gets it.
        let git = |arguments: &[&str], folder: &Path| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=x", "-c", "user.email=x@y", "-c", "init.defaultBranch=main"]);
            let output = command.args(arguments).current_dir(folder).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "--quiet"], &source);
        git(&["add", "."], &source);
        git(&["commit", "--quiet", "--message", "x"], &source);
        let url = format!("file://{}", source.display());
        git(&["clone", "--quiet", "--depth=1", &url, "plugin"], home.path());
        Self { home }
    }

    pub(super) fn plugin(&self) -> PathBuf {
        self.home.path().join("plugin").canonicalize().unwrap()
    }

    /// A `cargo` that does this. `$LIBRARY` is the library, and `$HERE` the folder of this installation.
    pub(super) fn cargo(&self, script: &str) {
        let built = env::var("FLEMMA_NATIVE").expect("FLEMMA_NATIVE is the library under test");
        let library = self.home.path().join("libflemma.so");
        if !library.exists() {
            symlink(fs::canonicalize(built).unwrap(), &library).unwrap();
        }
        let path = self.home.path().join("bin/cargo");
        let text =
            format!("#!/bin/sh\nHERE='{}'\nLIBRARY='{}'\n{script}\n", self.home.path().display(), library.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Lua that makes an editor one that has this plugin, and no other trace of it.
    pub(super) fn init(&self) -> String {
        format!(
            "vim.opt.runtimepath:remove([==[{}]==])
             vim.env.FLEMMA_NATIVE = nil
             vim.env.PATH = [==[{}]==] .. ':' .. vim.env.PATH
             local plugin = [==[{}]==]\n",
            env!("CARGO_MANIFEST_DIR"),
            self.home.path().join("bin").display(),
            self.plugin().display()
        )
    }
}

/// A build that waits for the file `go` in its middle.
const BUILDS: &str = r#"
printf '    Updating crates.io index\n' >&2
printf '   Compiling serde v1.0.0\r    Building [=>   ] 12/240: serde\r' >&2
while [ ! -e "$HERE/go" ]; do sleep 0.02; done
printf '{"reason":"compiler-artifact","filenames":["%s"]}\n' "$LIBRARY""#;

const CHAT: (&str, &str) = ("notes.chat", "@You:\nHello\n");

#[test]
fn a_missing_library_is_reported_once_and_can_be_built() {
    let installed = Installed::new();
    installed.cargo(BUILDS);
    let init = installed.init()
        + "vim.opt.runtimepath:prepend(plugin)
           require('flemma').setup({ provider = 'rehearsal', parameters = { rehearsal = { pace = 0 } }, tools = { max_concurrent = 3 } })";
    let mut nvim = Nvim::start(&Options {
        init: &init,
        files: &[CHAT, ("other.chat", "@You:\n")],
        arguments: &["notes.chat"],
        ..Options::default()
    });
    let notice = |nvim: &mut Nvim| virtual_lines(nvim, "flemma.arrival");
    nvim.wait_for("the message", |nvim| said(nvim).contains("the native library is missing"));
    let whole = notice(&mut nvim).iter().map(|(_, line)| line.trim()).collect::<Vec<_>>().join(" ");
    assert!(whole.contains(":Flemma build installs it"), "{whole}");
    nvim.wait_for_screen("Flemma: the native library is missing");
    nvim.command("edit other.chat");
    assert!(notice(&mut nvim).len() > 1, "the whole of it fits into the window");
    nvim.command("edit notes.chat");
    assert_eq!(said(&mut nvim).matches("is missing").count(), 1, "{}", said(&mut nvim));
    for command in ["Flemma status", "Flemma tour", "Flemma send"] {
        nvim.command(command);
    }
    assert!(said(&mut nvim).contains(":Flemma build"), "{}", said(&mut nvim));
    // The key that sends shows the same at the bottom, with the command in it. Nothing looks for a tag.
    nvim.command("messages clear");
    nvim.command("echo ''");
    nvim.input("<C-]>");
    nvim.wait_for("the command", |nvim| {
        let is_said =
            |row: &String| row.starts_with("Flemma: the native library is missing") && row.contains(":Flemma build");
        nvim.screen().last().is_some_and(is_said)
    });
    assert!(!said(&mut nvim).contains("E4"), "{}", said(&mut nvim));
    nvim.input("<Esc>");
    nvim.wait_for("normal mode", |nvim| nvim.mode() == "n");
    // The text in the buffer fits, even after the window becomes narrow.
    nvim.command("vsplit | vertical resize 14");
    nvim.wait_for("lines that fit", |nvim| notice(nvim).iter().all(|(_, line)| line.chars().count() <= 14));
    nvim.command("only");
    // It is an ordinary buffer.
    nvim.input("Gothere<Esc>");
    nvim.wait_for("the text", |nvim| nvim.text() == "@You:\nHello\nthere\n");

    nvim.command("Flemma build");
    nvim.wait_for("that it has begun", |nvim| said(nvim).contains("installing the native library"));
    nvim.wait_for("how far it is", |nvim| {
        nvim.command("Flemma build");
        said(nvim).contains("the native library is already being installed: crate 12 of 240")
    });
    nvim.input("Gomore<Esc>");
    fs::write(installed.home.path().join("go"), "").unwrap();
    nvim.wait_for("the library", |nvim| said(nvim).contains("the library is installed and loaded"));
    assert!(notice(&mut nvim).is_empty());
    // The options of `setup` apply, and every open chat file is a conversation now.
    assert_eq!(nvim.lua("return require('flemma').options().tools.max_concurrent", &[]), 3);
    nvim.input("<C-]>");
    nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:"));
    assert!(!said(&mut nvim).contains("stack traceback"));
    // Another build is for the next Neovim.
    nvim.command("Flemma build");
    nvim.wait_for("the hint", |nvim| said(nvim).contains("restart Neovim to use it"));
}

#[test]
fn a_library_that_was_built_elsewhere_is_found() {
    let installed = Installed::new();
    let init = installed.init()
        + "vim.opt.runtimepath:prepend(plugin)
           require('flemma').setup({ provider = 'rehearsal', parameters = { rehearsal = { pace = 0 } }, tools = { max_concurrent = 3 } })";
    let mut nvim =
        Nvim::start(&Options { init: &init, files: &[CHAT], arguments: &["notes.chat"], ..Options::default() });
    nvim.wait_for("the message", |nvim| said(nvim).contains("the native library is missing"));
    nvim.input("<C-]>");
    nvim.wait_for("the message", |nvim| said(nvim).matches("the native library is missing").count() > 1);
    // `make build` in a shell.
    fs::create_dir(installed.plugin().join("build")).unwrap();
    symlink(env::var("FLEMMA_NATIVE").unwrap(), installed.plugin().join("build/flemma.so")).unwrap();
    nvim.input("<C-]>");
    nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:"));
    assert_eq!(nvim.lua("return require('flemma').options().tools.max_concurrent", &[]), 3);
    assert!(virtual_lines(&mut nvim, "flemma.arrival").is_empty());
}

#[test]
fn a_build_that_fails_says_why() {
    let failures = [
        (
            "echo 'error[E0308]: mismatched types' >&2; echo '  --> src/lib.rs:1:1' >&2; exit 101",
            "error[E0308]: mismatched types",
        ),
        (
            "echo 'error: failed to download from `https://crates.example/x`' >&2; echo 'Caused by:' >&2; \
             echo '  Could not resolve host' >&2; exit 101",
            "check the network",
        ),
        (
            "echo 'error: rustc 1.75.0 is not supported by the following package:' >&2; \
             echo '  flemma@0.1.0 requires rustc 1.91' >&2; exit 101",
            "requires rustc 1.91",
        ),
        (
            "printf 'error: linking with `cc` failed: exit status: 1\\n  |\\n  = note:  \"cc\" \"-m64\"\\n' >&2; \
             printf '  = note: some arguments are omitted\\n  = note: ld: cannot find -lx\\n\\n12 | x\\n' >&2; exit 101",
            "error: linking with `cc` failed: exit status: 1; note: ld: cannot find -lx (the full output",
        ),
        ("exit 7", "it reported no error"),
        ("echo '{}'", "cargo finished, but named no library"),
    ];
    let installed = Installed::new();
    let init = installed.init() + "vim.opt.runtimepath:prepend(plugin)";
    let mut nvim =
        Nvim::start(&Options { init: &init, files: &[CHAT], arguments: &["notes.chat"], ..Options::default() });
    for (script, reason) in failures {
        installed.cargo(script);
        nvim.command("messages clear");
        nvim.command("Flemma build");
        nvim.wait_for(reason, |nvim| said(nvim).contains(reason));
        let messages = said(&mut nvim);
        assert!(messages.contains("the native library was not installed: "), "{messages}");
        assert!(messages.contains("flemma-build.log") && !messages.contains("traceback"), "{messages}");
    }
    // Without cargo nothing is started.
    nvim.command("messages clear");
    nvim.lua("vim.env.PATH = '/nonexistent'", &[]);
    nvim.command("Flemma build");
    nvim.wait_for("the reason", |nvim| said(nvim).contains("is not installed"));
    // It works once the cause is gone.
    installed.cargo(BUILDS);
    fs::write(installed.home.path().join("go"), "").unwrap();
    nvim.lua(
        "vim.env.PATH = ... .. ':/usr/local/bin:/usr/bin:/bin'",
        &[json!(installed.home.path().join("bin").to_str())],
    );
    nvim.command("Flemma build");
    nvim.wait_for("the library", |nvim| said(nvim).contains("the library is installed and loaded"));
}

#[test]
fn a_build_that_would_not_be_used_is_not_begun() {
    let installed = Installed::new();
    installed.cargo(BUILDS);
    fs::write(installed.home.path().join("go"), "").unwrap();
    let init =
        installed.init() + "vim.opt.runtimepath:prepend(plugin); vim.env.FLEMMA_NATIVE = '/nonexistent/flemma.so'";
    let mut nvim =
        Nvim::start(&Options { init: &init, files: &[CHAT], arguments: &["notes.chat"], ..Options::default() });
    nvim.command("Flemma build");
    nvim.wait_for("the refusal", |nvim| {
        said(nvim).contains("nothing was built: $FLEMMA_NATIVE is set to /nonexistent/flemma.so")
    });
    assert!(!installed.plugin().join("build/flemma.so").exists());
    // The message names the fix.
    nvim.command("unlet $FLEMMA_NATIVE");
    nvim.command("Flemma build");
    nvim.wait_for("the library", |nvim| said(nvim).contains("the library is installed and loaded"));
}

/// What lazy.nvim does with the spec of the README: it runs `build.lua` in a coroutine, and loads the plugin at its command
/// or its filetype, when it calls `setup` with `opts`.
pub(super) const LAZY: &str = "
    vim.cmd('filetype on')
    for _, file in ipairs(vim.fn.glob(plugin .. '/ftdetect/*.lua', false, true)) do vim.cmd.source(file) end
    package.loaded.lazy = package.loaded.lazy or {}
    _G.build_as_lazy = function()
      local lines = {}
      local thread = coroutine.create(assert(loadfile(plugin .. '/build.lua')))
      local done, ok, problem = false, nil, nil
      local function step()
        local going, line = coroutine.resume(thread)
        lines[#lines + 1] = line
        if coroutine.status(thread) == 'dead' then
          done, ok, problem = true, going, line
        else
          vim.defer_fn(step, 5)
        end
      end
      step()
      vim.wait(30000, function() return done end, 5)
      return { ok == true, tostring(problem), table.concat(lines, '|') }
    end
    _G.loads = 0
    local function load_plugin()
      if _G.loads > 0 then return end
      _G.loads = 1
      pcall(vim.api.nvim_del_user_command, 'Flemma')
      vim.opt.runtimepath:prepend(plugin)
      vim.cmd.source(plugin .. '/plugin/flemma.lua')
      require('flemma').setup({})
    end
    vim.api.nvim_create_user_command('Flemma', function(event)
      load_plugin()
      vim.cmd({ cmd = 'Flemma', args = event.fargs, bang = event.bang })
    end, { nargs = '*', range = true, bang = true, complete = function() load_plugin() return {} end })
    vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', once = true, callback = function(event)
      load_plugin()
      vim.api.nvim_exec_autocmds('FileType', { buffer = event.buf, modeline = false })
    end })
";

#[test]
fn the_spec_of_the_readme_works_step_by_step_as_lazy_does_it() {
    let installed = Installed::new();
    installed.cargo("echo 'error: no such luck' >&2; exit 101");
    let init = installed.init() + LAZY;
    let mut nvim = Nvim::start(&Options { init: &init, files: &[CHAT], ..Options::default() });
    // The build fails, and the plugin manager shows why.
    let failed = nvim.lua("return build_as_lazy()", &[]);
    assert_eq!(failed[0], false);
    assert!(failed[1].as_str().unwrap().contains("error: no such luck"), "{failed}");
    installed.cargo(BUILDS);
    fs::write(installed.home.path().join("go"), "").unwrap();
    let built = nvim.lua("return build_as_lazy()", &[]);
    assert_eq!(built[0], true, "{built}");
    assert!(built[2].as_str().unwrap().contains("installing the native library"), "{built}");
    assert!(installed.plugin().join("build/flemma.so").exists());
    assert_eq!(nvim.lua("return package.loaded.flemma_native == nil", &[]), true, "never in a coroutine");

    // The command exists before the plugin is loaded, and works.
    assert_eq!(nvim.lua("return loads", &[]), 0);
    nvim.command("Flemma health");
    nvim.wait_for("the report", |nvim| nvim.text().contains("native library 0.1.0"));
    assert!(!nvim.text().contains("ERROR"), "{}", nvim.text());
    nvim.command("edit notes.chat");
    nvim.input("<C-]>");
    nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:"));
    assert!(!said(&mut nvim).contains("Error"), "{}", said(&mut nvim));
}

#[test]
fn a_conversation_loads_the_plugin_as_lazy_does_it() {
    let installed = Installed::new();
    installed.cargo(BUILDS);
    fs::write(installed.home.path().join("go"), "").unwrap();
    let init = installed.init() + LAZY;
    let mut nvim = Nvim::start(&Options { init: &init, files: &[CHAT], ..Options::default() });
    assert_eq!(nvim.lua("return build_as_lazy()[1]", &[]), true);
    nvim.command("edit notes.chat");
    assert_eq!(nvim.lua("return { loads, vim.bo.modeline, vim.wo.linebreak }", &[]), json!([1, false, true]));
    nvim.input("<C-]>");
    nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:"));
}

#[test]
fn the_help_makes_its_own_tags() {
    let installed = Installed::new();
    let init = installed.init() + "vim.opt.runtimepath:prepend(plugin)";
    let tags = installed.plugin().join("doc/tags");
    assert!(!tags.exists());
    let mut nvim = Nvim::start(&Options { init: &init, ..Options::default() });
    nvim.wait_for("the tags", |_| fs::metadata(&tags).is_ok_and(|file| file.len() > 1000));
    // Without the file type plugin: not every Neovim has a parser for help files.
    nvim.command("noautocmd help flemma-quickstart");
    assert!(nvim.text().contains("Quick start"));
    assert_eq!(nvim.messages(), "");
    // Tags older than the help are regenerated.
    drop(nvim);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600 * 24 * 365);
    fs::write(&tags, "").unwrap();
    fs::File::options().write(true).open(&tags).unwrap().set_modified(old).unwrap();
    let mut nvim = Nvim::start(&Options { init: &init, ..Options::default() });
    nvim.wait_for("new tags", |_| fs::metadata(&tags).is_ok_and(|file| file.len() > 1000));
    assert_eq!(nvim.messages(), "");
}

#[test]
fn the_commands_are_there_without_a_conversation() {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    nvim.command("checkhealth flemma");
    nvim.wait_for("the report", |nvim| nvim.text().contains("native library 0.1.0"));
    nvim.command("Flemma version");
    nvim.wait_for("the versions", |nvim| said(nvim).contains("plugin 0.1.0, library 0.1.0, Neovim 0."));
    nvim.command("Flemma send");
    nvim.wait_for("the message", |nvim| said(nvim).contains("this buffer is not a conversation"));
}

#[test]
fn the_tour_opens_without_changing_the_installed_plugin() {
    let init = "require('flemma').setup({ provider = 'anthropic', parameters = { rehearsal = { pace = 0 } } })";
    let mut nvim = Nvim::start(&Options { init, files: &[CHAT], arguments: &["notes.chat"], ..Options::default() });
    let greet = Path::new(env!("CARGO_MANIFEST_DIR")).join("doc/tour/greet.py");
    let before = fs::read_to_string(&greet).unwrap();
    nvim.command("Flemma tour");
    nvim.wait_for("the tour", |nvim| nvim.text().contains("This is the tour of Flemma"));
    let folder = nvim.lua("return vim.fn.getcwd()", &[]).as_str().unwrap().to_owned();
    let temporary = fs::canonicalize(nvim.folder("tmp")).unwrap();
    assert!(Path::new(&folder).starts_with(&temporary), "{folder}");
    nvim.input("<C-]>");
    nvim.wait_for("the first question", |nvim| nvim.text().contains("status=pending"));
    assert!(nvim.text().contains("\ndef greet"), "{}", nvim.text());
    assert_eq!(fs::read_to_string(&greet).unwrap(), before);
    assert_ne!(
        fs::read_to_string(Path::new(&folder).join("greet.py")).unwrap(),
        before,
        "the edit was made in the copy"
    );
    // Other conversations keep their provider.
    nvim.command("tabprevious");
    let status =
        nvim.lua("return table.concat(require('flemma.status').lines(vim.api.nvim_get_current_buf()), '\\n')", &[]);
    assert!(!status.as_str().unwrap().contains("rehearsal  "), "{status}");
    assert!(status.as_str().unwrap().contains("anthropic"), "{status}");
    assert_ne!(nvim.lua("return vim.fn.getcwd()", &[]), json!(folder));
    // A second tour is a fresh one.
    nvim.command("Flemma tour");
    nvim.wait_for("another folder", |nvim| nvim.lua("return vim.fn.getcwd()", &[]) != json!(folder));
    assert!(!nvim.text().contains("@Assistant:"));
}
