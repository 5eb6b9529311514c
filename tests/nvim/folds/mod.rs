//! Folds, text objects and the motions to what waits.

mod keys;
mod looks;
mod objects;
mod opening;
mod random;
mod streaming;
mod windows;

use super::{chat, http, support};
use support::Nvim;

/// A turn with thinking, two calls that went well and one that failed.
pub const TURN: &str = "\
```lua
-- The options of this file.
```

@You:
Please look at both files.

@Assistant:
<thinking>
Two files.
Both at once.
</thinking>

I read them.

**Tool Use:** `read` (`toolu_1`)

```json
{\"path\":\"greet.py\",\"offset\":4,\"limit\":3}
```

**Tool Use:** `bash` (`toolu_2`)

```json
{\"command\":\"cargo test\"}
```

**Tool Use:** `edit` (`toolu_3`)

```json
{\"path\":\"greet.py\",\"old_text\":\"a\\nb\",\"new_text\":\"a\\nc\\nd\"}
```

@You:
**Tool Result:** `toolu_1`

```
one
two
three
```

**Tool Result:** `toolu_2`

```
ok
```

**Tool Result:** `toolu_3` (error)

```
no such text
```

@Assistant:
One of them failed.

@You:
Why?
";

/// A conversation whose last call waits.
pub const WAITING: &str = "\
@You:
Please look.

@Assistant:
**Tool Use:** `read` (`toolu_1`)

```json
{\"path\":\"a.txt\"}
```

@You:
**Tool Result:** `toolu_1`

```
one
```

@Assistant:
**Tool Use:** `bash` (`toolu_2`)

```json
{\"command\":\"make\"}
```

**Tool Use:** `bash` (`toolu_3`)

```json
{\"command\":\"make test\"}
```

@You:
**Tool Result:** `toolu_2`

```flemma:tool status=pending
```

**Tool Result:** `toolu_3`

```flemma:tool status=pending
```
";

/// The current window from its first line to the last, as it is folded: a closed fold is a line of its own, in brackets, and
/// what is at its right edge follows two spaces.
pub fn rows(nvim: &mut Nvim) -> Vec<String> {
    let found = nvim.lua(
        "local rows, line = {}, 1
         while line <= vim.fn.line('$') do
           local last = vim.fn.foldclosedend(line)
           if last == -1 then
             rows[#rows + 1], line = vim.fn.getline(line), line + 1
           else
             local text = vim.trim(vim.fn.foldtextresult(line)):gsub('   +', '  ')
             rows[#rows + 1], line = '[' .. text .. ']', last + 1
           end
         end
         return rows",
        &[],
    );
    found.as_array().into_iter().flatten().map(|row| row.as_str().unwrap_or_default().to_owned()).collect()
}

/// The rows with closed folds.
pub fn closed(nvim: &mut Nvim) -> Vec<String> {
    rows(nvim).into_iter().filter(|row| row.starts_with('[')).collect()
}

/// Waits until these rows are closed folds.
pub fn wait_for_closed(nvim: &mut Nvim, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    nvim.wait_for_value("the closed folds", &expected, closed);
}
