//! An operator takes the lines of its text object or motion, and no line more because a fold is closed.

use serde_json::json;

use super::{
    TURN,
    chat::{Chat, Setup},
};

/// Two calls in one reply, and their results.
const CALLS: &str = "\
@You:
Please look.

@Assistant:
I'll read it.

**Tool Use:** `read` (`toolu_1`)

```json
{\"path\":\"greet.py\",\"offset\":null,\"limit\":null}
```

**Tool Use:** `bash` (`toolu_2`)

```json
{\"command\":\"make\"}
```

@You:
**Tool Result:** `toolu_1`

```
one
two
```

**Tool Result:** `toolu_2`

```
ok
```

@Assistant:
All good.

@You:
Fine.
";

/// Random operators in random documents, once with folds closed and once with 'nofoldenable'. The text is to be the same.
const OPERATORS: &str = r#"
    local seed, count = ...
    math.randomseed(seed)
    local buf = vim.api.nvim_get_current_buf()
    local function pick(list)
      return list[math.random(#list)]
    end
    local pieces = {
      { '@You:', 'Words.', '' }, { '@You:', 'One.', '', 'Two.', '' }, { '@Assistant: on the line', 'Words.', '' },
      { '@Assistant:', '<thinking>', 'Hm.', 'Hm, hm.', '</thinking>', '', 'Words.', '' },
      { '@Assistant:', 'Go.', '', '**Tool Use:** `read` (`a`)', '', '```json', '{"path":"x"}', '```', '',
        '**Tool Use:** `bash` (`b`)', '', '```json', '{"command":"make"}', '```', '',
        '@You:', '**Tool Result:** `a`', '', '```', 'one', 'two', '```', '', '**Tool Result:** `b`', '', '```', 'ok', '```', '' },
      { '@Assistant:', '**Tool Use:** `read` (`c`)', '', '```json', '{"path":"y"}', '```', '',
        '@You:', '**Tool Result:** `c`', '', '```', 'three', '```', '' },
    }
    local function key(keys)
      vim.api.nvim_feedkeys(vim.keycode(keys), 'mtx!', false)
      vim.cmd('redraw')
    end
    local function settle(lines)
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
      vim.wait(0)
      vim.wait(1)
    end
    local objects = { 'im', 'am', 'iT', 'aT', ']m', '[m' }
    local ways = {
      { 'd', '' }, { 'c', 'new<Esc>' }, { 'y', 'Gp' }, { '>', '' }, { 'gU', '' }, { 'v', 'd' }, { 'V', 'd' }, { 'v', 'gU' },
    }
    local differed = 0
    for step = 1, count do
      local lines = {}
      for _ = 1, math.random(1, 4) do
        vim.list_extend(lines, pick(pieces))
      end
      vim.o.foldenable = true
      settle(lines)
      vim.cmd('normal! zR')
      local closing = math.random(4)
      if closing == 1 then
        vim.cmd('normal! zM')
      else
        for line = 1, #lines do
          if vim.fn.foldlevel(line) > 0 and math.random(closing) > 1 then
            vim.cmd('silent! ' .. line .. 'foldclose')
          end
        end
      end
      vim.fn.cursor(math.random(#lines), 1)
      local from = vim.fn.foldclosed('.')
      from = from == -1 and vim.fn.line('.') or from
      local way, object = pick(ways), pick(objects)
      if (way[1] == 'v' or way[1] == 'V') and object:find('%]') then
        object = 'am'
      end
      local is_object = object:find('^[ia]') and require('flemma.native').call(
        'find', buf, 'object',
        { is_message = object:find('m') ~= nil, first = from - 1, last = from, is_selected = false,
          is_inner = object:find('^i') ~= nil, count = 1 })
      if way[2] ~= '' and not is_object and way[1]:lower() == 'v' then
        -- There is nothing to select, so the operator takes what Visual mode takes without Flemma.
        way = pick({ { 'd', '' }, { 'gU', '' } })
      end
      local closed, texts = {}, {}
      for line = 1, #lines do
        closed[line] = vim.fn.foldclosed(line) ~= -1 and '+' or ' '
      end
      for try = 1, 2 do
        vim.wo.foldenable = try == 1
        vim.fn.cursor(from, 1)
        vim.cmd('redraw')
        vim.fn.setreg('"', 'nothing')
        if way[1] == 'v' or way[1] == 'V' then
          key(way[1])
          key(object)
          key(way[2])
        else
          key(way[1] .. object .. way[2])
        end
        vim.cmd('stopinsert')
        vim.cmd([[exe "normal! \<C-\>\<C-n>"]])
        texts[try] = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
        if try == 1 then
          settle(lines)
        end
      end
      if not vim.deep_equal(texts[1], texts[2]) then
        for line, text in ipairs(lines) do
          lines[line] = closed[line] .. (line == from and '> ' or '  ') .. text
        end
        return { step, way[1] .. object, table.concat(lines, '\n'), table.concat(texts[1], '\n'), table.concat(texts[2], '\n') }
      elseif not vim.deep_equal(texts[1], lines) and table.concat(closed):find('+', 1, true) then
        differed = differed + 1
      end
    end
    return differed
"#;

#[test]
fn operators_do_the_same_on_closed_folds() {
    let mut chat = Chat::start(&Setup { text: Some(TURN), ..Setup::default() }, []);
    chat.wait_until_idle();
    chat.nvim.wait_for_screen("▸ bash cargo test ");
    for seed in 1..=3 {
        let found = chat.nvim.lua(OPERATORS, &[json!(seed), json!(60)]);
        let Some(changed) = found.as_u64() else {
            chat.nvim.fail(&format!(
                "seed {seed}, step {}: {} in\n{}\n\nwith closed folds:\n{}\n\nwithout:\n{}",
                found[0],
                found[1],
                found[2].as_str().unwrap_or_default(),
                found[3].as_str().unwrap_or_default(),
                found[4].as_str().unwrap_or_default()
            ));
        };
        assert!(changed > 10, "seed {seed}: only {changed} of the changes met a closed fold");
    }
}

/// The text after these keys on the closed fold of the first call.
fn after(keys: &str) -> String {
    let mut chat = Chat::start(&Setup { text: Some(CALLS), ..Setup::default() }, []);
    chat.wait_until_idle();
    chat.nvim.wait_for_screen("▸ read greet.py");
    chat.nvim.input("ggzM");
    chat.nvim.input("/toolu_1<CR>zc");
    chat.nvim.wait_for("the fold", |nvim| nvim.lua("return vim.fn.foldclosed('.')", &[]) != -1);
    for key in keys.split(' ') {
        chat.nvim.input(key);
        // What Neovim adjusts to folds, it adjusts before it waits for a key.
        chat.nvim.lua("vim.cmd.redraw()", &[]);
    }
    chat.nvim.wait_for("a change", |nvim| nvim.text() != CALLS);
    chat.nvim.text()
}

#[test]
fn an_object_in_a_closed_fold_is_not_more() {
    let input = "{\"path\":\"greet.py\",\"offset\":null,\"limit\":null}\n";
    let cut = CALLS.replace(input, "");
    assert_eq!(after("diT"), cut);
    assert_eq!(after("viT d"), cut);
    assert_eq!(after("ciT x<Esc>"), CALLS.replace(input, "x\n"));
    let start = CALLS.find("**Tool Use:** `read`").expect("the call");
    let end = CALLS.find("**Tool Use:** `bash`").expect("the next call");
    assert_eq!(after("vaT d"), format!("{}{}", &CALLS[..start], &CALLS[end..]));
}
