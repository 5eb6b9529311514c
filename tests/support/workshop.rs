//! A scratch folder, and the means to run built-in tools in it.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, LazyLock},
    time::Duration,
};

use flemma_model::ToolInput;
use flemma_tools::{Context, Executor, NativeTool, Outcome, Registry, Rendered, Runner};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The built-in tools. Reading them takes longer than most of their calls.
pub static BUILTINS: LazyLock<Registry> = LazyLock::new(Registry::with_builtins);

pub struct Workshop {
    _dir: TempDir,
    pub context: Context,
    runtime: Runtime,
}

impl Workshop {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().join("project");
        fs::create_dir(&cwd).unwrap();
        let context = Context::new(cwd, Duration::from_secs(20), dir.path().join("state/outputs"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { _dir: dir, context, runtime }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a call as the agent does: the input is checked first.
    pub fn call(&self, tool: &str, input: Value) -> Outcome {
        let definition = BUILTINS.get(tool).unwrap();
        let given = ToolInput::Json(input);
        let input = match definition.check_input(&given) {
            Ok(input) => input.into_owned(),
            Err(error) => return Outcome::failure(error),
        };
        let Executor::Server(Runner::Native(tool)) = definition.executor.clone() else {
            panic!("{tool} is not native")
        };
        self.run(tool, input)
    }

    /// Runs a tool that is not looked up.
    pub fn run(&self, tool: Arc<dyn NativeTool>, input: Value) -> Outcome {
        self.runtime.block_on(tool.run(input, self.context.clone()))
    }

    pub fn render(&self, tool: &str, input: Value) -> Rendered {
        self.call(tool, input).render()
    }

    /// The text of a call that succeeds.
    pub fn ok(&self, tool: &str, input: Value) -> String {
        let rendered = self.render(tool, input);
        assert!(!rendered.is_error, "{}", rendered.text);
        rendered.text
    }

    /// The text of a call that fails.
    pub fn err(&self, tool: &str, input: Value) -> String {
        let rendered = self.render(tool, input);
        assert!(rendered.is_error, "{}", rendered.text);
        rendered.text
    }
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.trim())) else { return false };
    !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

/// Waits for a condition, ten seconds at most.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}
