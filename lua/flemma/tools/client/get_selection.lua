--- `get_selection`: what the user selected last in the window, other than a conversation, in which they were last.
local paths = require("flemma.tools.paths")

local api = vim.api

local kinds = { v = "characters", V = "lines", ["\22"] = "block" }

--- The selection in the current buffer.
---@param is_selecting boolean whether the user is selecting it now
---@return { kind: string, first: integer[], last: integer[], lines: string[] }?
local function selection(is_selecting)
  local mode = is_selecting and api.nvim_get_mode().mode:sub(1, 1) or vim.fn.visualmode()
  local first = vim.fn.getpos(is_selecting and "v" or "'<")
  local last = vim.fn.getpos(is_selecting and "." or "'>")
  if not kinds[mode] or first[2] == 0 or last[2] == 0 then
    return
  end
  if first[2] > last[2] or (first[2] == last[2] and first[3] > last[3]) then
    first, last = last, first
  end
  local count = api.nvim_buf_line_count(0)
  first[2], last[2] = math.min(first[2], count), math.min(last[2], count)
  local ok, lines = pcall(vim.fn.getregion, first, last, { type = mode })
  if ok then
    return { kind = kinds[mode], first = first, last = last, lines = lines }
  end
end

---@param _ table
---@param ctx flemma.ExecutionContext
---@return table
return function(_, ctx)
  local win = require("flemma.references.previous_file").window()
  if not win then
    return paths.failure("Nothing is selected: the user has no window open except conversations.")
  end
  local buf = api.nvim_win_get_buf(win)
  if not paths.readable(ctx, { buf })[buf] then
    return paths.failure("The user's policy denies reading the file in which the user was last.")
  end
  local path = paths.of_buffer(ctx, buf)
  local is_selecting = win == api.nvim_get_current_win() and kinds[api.nvim_get_mode().mode:sub(1, 1)] ~= nil
  local found = api.nvim_win_call(win, function()
    return selection(is_selecting)
  end)
  if not found then
    return paths.failure(("The user has selected nothing in %s."):format(path or "the file in which they were last"))
  end
  local text, note = paths.text(table.concat(found.lines, "\n"))
  local column = function(pos)
    local line = api.nvim_buf_get_lines(buf, pos[2] - 1, pos[2], false)[1] or ""
    return paths.column(line, math.min(pos[3], math.max(#line, 1)) - 1)
  end
  local is_whole = found.kind == "lines"
  return {
    path = path,
    kind = found.kind,
    first_line = found.first[2],
    first_column = not is_whole and column(found.first) or nil,
    last_line = found.last[2],
    last_column = not is_whole and column(found.last) or nil,
    text = text,
    modified = vim.bo[buf].modified,
    note = note,
  }
end
