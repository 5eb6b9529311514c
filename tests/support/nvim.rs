//! A real Neovim, driven the way a user drives it: keys go in, a screen comes out.
//!
//! Each [`Nvim`] is a process of its own with the plugin on its runtimepath and a home of its own, so that
//! nothing of the machine's configuration is seen and nothing is left behind. Tests wait for what they
//! expect with [`Nvim::wait_for`], never for a time; one that waits in vain tells what the editor showed.

#[path = "rpc.rs"]
mod rpc;
#[path = "screen.rs"]
mod screen;

use std::{
    env,
    fmt::Write as _,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rpc::{Rpc, RpcError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a test waits for anything before it gives up. A machine under load may stop an editor for many seconds, and
/// waiting longer costs nothing in tests that pass.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the report of a failure waits for an editor that may be stuck.
const REPORT_PATIENCE: Duration = Duration::from_secs(2);

/// How many lines of a buffer a report has at most.
const REPORTED_LINES: usize = 2_000;
/// How long a condition that does not hold yet is left alone.
const POLL: Duration = Duration::from_millis(5);
/// How long a key may take to have an effect before it counts as lost.
const RETYPE: Duration = Duration::from_secs(1);
/// Neovim 0.11 (`:help api-metadata`).
const LEAST_API_LEVEL: u64 = 13;

/// How an editor is started.
pub struct Options<'a> {
    /// Lua that runs at the end of the user's `init.lua`, such as a call of `setup`.
    pub init: &'a str,
    /// Files in the working directory, by relative path, made before Neovim starts.
    pub files: &'a [(&'a str, &'a str)],
    /// What follows `nvim` on the command line, such as a file to open.
    pub arguments: &'a [&'a str],
    /// Environment variables beyond the few that are passed on.
    pub environment: &'a [(&'a str, &'a str)],
    /// Columns and rows of the screen that is attached before Neovim reads its configuration; `None` for an
    /// editor without a screen.
    pub screen: Option<(u32, u32)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { init: "", files: &[], arguments: &[], environment: &[], screen: Some((100, 40)) }
    }
}

/// A running Neovim. It ends when this is dropped.
pub struct Nvim {
    child: Child,
    /// Nothing once it was closed.
    rpc: Option<Rpc<ChildStdin>>,
    home: TempDir,
}

impl Nvim {
    /// Starts an editor.
    ///
    /// # Panics
    /// When there is no Neovim, when it is too old, and when it does not come up.
    pub fn start(options: &Options<'_>) -> Self {
        let home = tempfile::Builder::new().prefix("flemma-test-").tempdir().expect("a folder for the editor's home");
        let mut nvim = Self::spawn(options, home);
        let info = nvim.request("nvim_get_api_info", &[]);
        let level = info[1]["version"]["api_level"].as_u64().unwrap_or(0);
        assert!(
            level >= LEAST_API_LEVEL,
            "the tests need Neovim 0.11 or newer, and {} is older. {MEND}",
            program().display()
        );
        if let Some((width, height)) = options.screen {
            nvim.attach_ui(width, height);
        }
        nvim.wait_for("Neovim to finish starting", |nvim| nvim.lua("return vim.v.vim_did_enter", &[]) == 1);
        nvim
    }

    fn spawn(options: &Options<'_>, home: TempDir) -> Self {
        let at = |name: &str| home.path().join(name);
        for folder in ["config", "data", "state", "cache", "run", "tmp", "etc", "work"] {
            fs::create_dir(at(folder)).expect("a folder in the editor's home");
        }
        for (path, text) in options.files {
            let path = at("work").join(path);
            fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder for a file");
            fs::write(path, text).expect("a file for the editor");
        }
        let root = env!("CARGO_MANIFEST_DIR");
        // A test sees a call at once. Those of `approval_delay` restore the delay.
        let delay = "require('flemma.view.approval_delay').delay = 0";
        // A user with a status line of their own, in which tests find the name of the file.
        let line = "vim.o.statusline = '%<%f %h%m%r%=%-14.(%l,%c%V%) %P'";
        let init = format!("vim.opt.runtimepath:prepend([==[{root}]==])\n{delay}\n{line}\n{}\n", options.init);
        fs::write(at("init.lua"), init).expect("the editor's init.lua");

        let mut command = Command::new(program());
        command.args(["--embed", "--clean", "-u"]).arg(at("init.lua"));
        if options.screen.is_none() {
            command.arg("--headless");
        }
        command.args(options.arguments).current_dir(at("work")).env_clear();
        for name in ["PATH", "LD_LIBRARY_PATH", "FLEMMA_NATIVE", "RUST_BACKTRACE"] {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        command.envs([("HOME", home.path().to_path_buf()), ("TMPDIR", at("tmp"))]);
        command.envs([("XDG_CONFIG_HOME", at("config")), ("XDG_DATA_HOME", at("data"))]);
        command.envs([("XDG_STATE_HOME", at("state")), ("XDG_CACHE_HOME", at("cache"))]);
        command.envs([("XDG_RUNTIME_DIR", at("run"))]);
        command.envs([("XDG_CONFIG_DIRS", at("etc")), ("XDG_DATA_DIRS", at("etc"))]);
        command.envs([("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8"), ("TERM", "xterm-256color"), ("SHELL", "/bin/sh")]);
        command.envs(options.environment.iter().copied());
        let stderr = File::create(at("stderr")).expect("a file for what Neovim prints");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|error| panic!("no Neovim: `{}` did not start ({error}). {MEND}", program().display()));
        let to = child.stdin.take().expect("a pipe to Neovim");
        let from = child.stdout.take().expect("a pipe from Neovim");
        Self { child, rpc: Some(Rpc::new(to, from)), home }
    }

    /// The working directory, where the files of [`Options::files`] are.
    pub fn work(&self) -> PathBuf {
        // Neovim names files by their real path; a temporary folder may be reached over a link.
        let work = self.home.path().join("work");
        fs::canonicalize(&work).unwrap_or(work)
    }

    /// A folder of the editor's home: `config`, `data`, `state`, `cache`, `run` or `tmp`.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The text of a file in the working directory.
    pub fn file(&self, path: impl AsRef<Path>) -> String {
        let path = self.work().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Calls an API function.
    ///
    /// # Panics
    /// When it fails or does not answer, with what the editor shows.
    pub fn request(&mut self, method: &str, arguments: &[Value]) -> Value {
        match self.try_request(method, arguments, PATIENCE) {
            Ok(value) => value,
            Err(error) => self.fail(&format!("{method} failed: {}", explain(&error))),
        }
    }

    fn try_request(&mut self, method: &str, arguments: &[Value], patience: Duration) -> Result<Value, RpcError> {
        self.rpc.as_mut().ok_or(RpcError::Gone)?.request(method, arguments, patience)
    }

    /// Runs Lua; `...` are the arguments. The answer is what the chunk returns.
    ///
    /// # Panics
    /// When the chunk throws, with the traceback and what the editor shows.
    pub fn lua(&mut self, code: &str, arguments: &[Value]) -> Value {
        self.request("nvim_exec_lua", &[code.into(), arguments.into()])
    }

    /// Runs Lua that may throw; the error is its message.
    pub fn try_lua(&mut self, code: &str, arguments: &[Value]) -> Result<Value, String> {
        self.try_request("nvim_exec_lua", &[code.into(), arguments.into()], PATIENCE).map_err(|error| explain(&error))
    }

    /// Runs an Ex command, as typed after `:`.
    pub fn command(&mut self, command: &str) {
        self.request("nvim_command", &[command.into()]);
    }

    /// Presses keys in Neovim's notation: `ihello<Esc>`, `<C-]>`.
    pub fn input(&mut self, keys: &str) {
        let mut rest = keys;
        // Neovim may take only as many as its buffer holds.
        while !rest.is_empty() {
            let taken = self.request("nvim_input", &[rest.into()]).as_u64().unwrap_or(0);
            let taken = usize::try_from(taken).unwrap_or(0);
            assert!(taken > 0, "Neovim takes no more keys");
            rest = &rest[taken..];
        }
    }

    /// Types text, in which `<` is only a character.
    pub fn type_text(&mut self, text: &str) {
        self.input(&text.replace('<', "<lt>").replace('\n', "<CR>"));
    }

    /// The lines of a buffer; 0 is the current one.
    pub fn lines(&mut self, buffer: i64) -> Vec<String> {
        let lines = self.request("nvim_buf_get_lines", &[buffer.into(), 0.into(), (-1).into(), true.into()]);
        lines.as_array().into_iter().flatten().map(|line| line.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The text of the current buffer, a line break after every line.
    pub fn text(&mut self) -> String {
        self.lines(0).into_iter().map(|line| line + "\n").collect()
    }

    /// Line (from 1) and column (from 0, in bytes) of the cursor in the current window.
    pub fn cursor(&mut self) -> (u64, u64) {
        let cursor = self.request("nvim_win_get_cursor", &[0.into()]);
        (cursor[0].as_u64().unwrap_or(0), cursor[1].as_u64().unwrap_or(0))
    }

    /// The current mode's short name (`:help mode()`). Answers even while Neovim waits for a key.
    pub fn mode(&mut self) -> String {
        self.request("nvim_get_mode", &[])["mode"].as_str().unwrap_or_default().to_owned()
    }

    /// Everything that `:messages` shows.
    pub fn messages(&mut self) -> String {
        let messages = self.request("nvim_exec2", &["messages".into(), json!({ "output": true })]);
        messages["output"].as_str().unwrap_or_default().to_owned()
    }

    /// Attaches a screen; what it shows is [`Nvim::screen`].
    pub fn attach_ui(&mut self, width: u32, height: u32) {
        let options = json!({ "rgb": true, "ext_linegrid": true });
        self.request("nvim_ui_attach", &[width.into(), height.into(), options]);
    }

    /// Attaches a screen in place of the one before that also knows highlight groups: see [`Nvim::runs`].
    pub fn attach_styled_ui(&mut self, width: u32, height: u32) {
        self.try_request("nvim_ui_detach", &[], PATIENCE).ok();
        let options = json!({ "rgb": true, "ext_linegrid": true, "ext_hlstate": true });
        self.request("nvim_ui_attach", &[width.into(), height.into(), options]);
    }

    /// The rows of a screen that knows highlight groups, in pieces with the same groups.
    pub fn runs(&self) -> Vec<Vec<screen::Run>> {
        self.rpc.as_ref().map(|rpc| rpc.screen(screen::Screen::runs)).unwrap_or_default()
    }

    /// The rows of the screen as a user sees them, virtual text included, without the blanks at their ends.
    pub fn screen(&self) -> Vec<String> {
        self.rpc.as_ref().map(|rpc| rpc.screen(|screen| screen.rows().to_vec())).unwrap_or_default()
    }

    /// Row and column of the cursor on the screen, from 0.
    pub fn screen_cursor(&self) -> (usize, usize) {
        self.rpc.as_ref().map(|rpc| rpc.screen(screen::Screen::cursor)).unwrap_or_default()
    }

    /// The number of the first row that contains `text`.
    pub fn row_with(&self, text: &str) -> Option<usize> {
        self.screen().iter().position(|row| row.contains(text))
    }

    /// Takes the notifications that Lua sent to this test (`vim.rpcnotify`) since the last call: each with
    /// its name and its arguments.
    pub fn notifications(&mut self) -> Vec<(String, Value)> {
        self.rpc.as_ref().map(Rpc::notifications).unwrap_or_default()
    }

    /// The number of this test's channel, for `vim.rpcnotify`.
    pub fn channel(&mut self) -> u64 {
        self.request("nvim_get_api_info", &[])[0].as_u64().unwrap_or(0)
    }

    /// Waits until `condition` holds.
    ///
    /// # Panics
    /// When it does not hold in time, with the screen, the messages and the text of the buffer. `what` ends
    /// the sentence "waited in vain for".
    pub fn wait_for(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            if Instant::now() > deadline {
                self.fail(&format!("waited in vain for {what}"));
            }
            thread::sleep(POLL);
        }
    }

    /// Waits until `look` finds exactly `expected`.
    ///
    /// # Panics
    /// As [`Nvim::wait_for`], with what was found last.
    pub fn wait_for_value<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        expected: &T,
        mut look: impl FnMut(&mut Self) -> T,
    ) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = look(self);
            if found == *expected {
                return;
            }
            if Instant::now() > deadline {
                self.fail(&format!("waited in vain for {what}\n---- found\n{found:#?}\n---- expected\n{expected:#?}"));
            }
            thread::sleep(POLL);
        }
    }

    /// Presses Ctrl-C until `condition` holds. Neovim may take a Ctrl-C for an interrupt of what it is just doing, and then
    /// does not apply its mapping. While something is running, Flemma stops it all the same, so that a test of that presses
    /// the key once; while nothing is, the user presses it again.
    ///
    /// # Panics
    /// As [`Nvim::wait_for`].
    pub fn interrupt_until(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let mut pressed: Option<Instant> = None;
        self.wait_for(what, |nvim| {
            if pressed.is_none_or(|at| at.elapsed() > RETYPE) {
                nvim.input("<C-c>");
                pressed = Some(Instant::now());
            }
            condition(nvim)
        });
    }

    /// Waits until a row of the screen contains `text`.
    ///
    /// # Panics
    /// As [`Nvim::wait_for`].
    pub fn wait_for_screen(&mut self, text: &str) {
        self.wait_for(&format!("`{text}` on the screen"), |nvim| nvim.row_with(text).is_some());
    }

    /// Ends the test with `why` and everything that helps to understand it.
    ///
    /// # Panics
    /// Always.
    pub fn fail(&mut self, why: &str) -> ! {
        let mut report = format!("{why}\n");
        let mut section = |title: &str, text: &str| {
            let _ = writeln!(report, "---- {title}\n{}", text.trim_end());
        };
        section("the screen", &self.screen().join("\n"));
        let mut ask = |code: &str| match self.try_request("nvim_exec_lua", &[code.into(), json!([])], REPORT_PATIENCE) {
            Ok(answer) => answer.as_str().unwrap_or_default().to_owned(),
            Err(error) => format!("({})", explain(&error)),
        };
        section("the messages", &ask("return vim.api.nvim_exec2('messages', { output = true }).output"));
        let buffer = format!("return table.concat(vim.api.nvim_buf_get_lines(0, 0, {REPORTED_LINES}, false), '\\n')");
        section("the buffer", &ask(&buffer));
        section("what Neovim printed", &fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default());
        if let Ok(Some(status)) = self.child.try_wait() {
            section("how Neovim ended", &status.to_string());
        }
        panic!("{report}");
    }

    /// Ends the editor at once and without its leave, as a crash would, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until the editor has ended by itself.
    ///
    /// # Panics
    /// As [`Nvim::wait_for`].
    pub fn wait_for_exit(&mut self) {
        self.wait_for("Neovim to end", |nvim| matches!(nvim.child.try_wait(), Ok(Some(_))));
    }
}

impl Drop for Nvim {
    fn drop(&mut self) {
        // An embedded Neovim whose pipe is closed leaves in its own way, autocommands included; one that is
        // stuck is not waited for.
        self.rpc = None;
        let deadline = Instant::now() + REPORT_PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(POLL);
        }
        self.kill();
    }
}

/// What ends every message about a Neovim that is missing or too old.
const MEND: &str =
    "Run `make test`, which finds or installs one, or set FLEMMA_NVIM to the path of a Neovim 0.11 or newer";

fn program() -> PathBuf {
    env::var_os("FLEMMA_NVIM").filter(|path| !path.is_empty()).map_or_else(|| PathBuf::from("nvim"), PathBuf::from)
}

fn explain(error: &RpcError) -> String {
    match error {
        RpcError::Refused(message) => message.clone(),
        RpcError::Silent(patience) => format!("Neovim gave no answer in {} s", patience.as_secs()),
        RpcError::Gone => "Neovim is gone".to_owned(),
    }
}
