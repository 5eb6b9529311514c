//! What is drawn over a conversation: screens, with their text and their colours.

mod cards;
mod hiding;
mod messages;
mod redraws;
mod schemes;
mod screens;
mod states;
mod streaming;

use serde_json::Value;

use super::{
    support,
    support::{Nvim, Options},
};

/// A conversation with a call that is done, one that has failed, and one that waits.
const TEXT: &str = "\
@System:
Be brief.

@You:
Why does it fail?

@Assistant:
<thinking anthropic:signature=\"abc\">
The user wants to know.
</thinking>

I look at the code.

**Tool Use:** `read` (`toolu_1`)

```json
{\"label\":\"the greeting\",\"path\":\"greet.lua\",\"offset\":4,\"limit\":3}
```

**Tool Use:** `bash` (`toolu_2`)

```json
{\"label\":\"what fails?\",\"command\":\"make test\",\"timeout\":null}
```

@You:
**Tool Result:** `toolu_1`

```
local x = 1
```

**Tool Result:** `toolu_2` (error)

```
exit code 1
```

@Assistant:
I fix it.

**Tool Use:** `edit` (`toolu_3`)

```json
{\"label\":\"fix\",\"path\":\"a.py\",\"old_text\":\"a\\nb\",\"new_text\":\"a\\nc\\nd\"}
```

@You:
**Tool Result:** `toolu_3`

```flemma:tool status=pending
```

@You:
Yes.
";

/// Nothing is folded: the line of a fold has a text of its own.
const OPEN: &str = "editing = { foldlevel = false }";

/// An editor that shows this conversation, with the cursor in its second line.
fn open(text: &str, init: &str, columns: u32) -> Nvim {
    let init = format!("vim.o.termguicolors = true\nrequire('flemma').setup({{ {OPEN} }})\n{init}");
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", text)],
        init: &init,
        screen: Some((columns, 60)),
        ..Options::default()
    });
    nvim.command("edit notes.chat");
    nvim.wait_for("the conversation", |nvim| {
        nvim.lua("return require('flemma.buffer.target').is_attached(vim.api.nvim_get_current_buf())", &[]) == true
    });
    nvim.input("2G");
    nvim
}

/// The rows of the screen above the status line.
fn rows(nvim: &mut Nvim) -> Vec<String> {
    nvim.command("redraw!");
    nvim.lua("return 1", &[]);
    let mut rows = nvim.screen();
    let end = rows.iter().position(|row| row == "~" || row.starts_with("notes.chat")).unwrap_or(rows.len());
    rows.truncate(end);
    rows
}

/// The attributes of a cell, by its row and column from 0.
fn cell(nvim: &mut Nvim, row: usize, column: usize) -> Value {
    // The first call makes Neovim renumber all attributes. Cells are right after the next redraw.
    nvim.lua("vim.api.nvim__inspect_cell(1, 0, 0) vim.cmd('redraw!')", &[]);
    nvim.lua("return vim.api.nvim__inspect_cell(1, ...)[2] or {}", &[row.into(), column.into()])
}
