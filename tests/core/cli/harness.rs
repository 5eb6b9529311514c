//! A folder of conversations, and a user with a home of their own in front of a shell.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::said::Said;

/// A conversation with a call of each kind that waits.
pub const WAITING: &str = r#"@You:
Hello

@Assistant:
I ask.

**Tool Use:** `ask_user` (`call_ask`)

```json
{"question":"Why?","options":null,"default":null}
```

**Tool Use:** `bash` (`call_bash`)

```json
{"label":null,"command":"touch ran","timeout":null}
```

**Tool Use:** `theirs` (`call_theirs`)

```json
{"text":"a\u001b[31m"}
```

@You:
**Tool Result:** `call_ask`

```flemma:tool status=pending kind=elicitation executor=human question="Why?"
```

**Tool Result:** `call_bash`

```flemma:tool status=pending
```

**Tool Result:** `call_theirs`

```flemma:tool status=pending kind=elicitation executor=human expires=2999-01-01T00:00:00Z question="Which?"
```
"#;

/// The user.
pub struct Shell {
    home: TempDir,
}

impl Shell {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        Self { home }
    }

    /// The same with the waiting conversation in `notes.chat`.
    pub fn with_notes() -> Self {
        let shell = Self::new();
        shell.put("notes.chat", WAITING);
        shell
    }

    /// A path in the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("work").join(name)
    }

    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The folder of the journals and locks.
    pub fn state(&self) -> PathBuf {
        self.home.path().join(".local/state/nvim/flemma")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
        command.args(arguments).current_dir(self.home.path().join("work")).env_clear().env("HOME", self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Runs `flemma` with these arguments.
    pub fn flemma(&self, arguments: &[&str]) -> Said {
        self.command(arguments).output().unwrap().into()
    }

    /// The same with this on its standard input.
    pub fn flemma_with(&self, arguments: &[&str], input: &[u8]) -> Said {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // Who refuses the input does not read all of it.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap().into()
    }
}
