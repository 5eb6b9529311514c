--- Writing to the buffer of a conversation. The library changes text through `write`, and in no other way.
local M = {}

local api = vim.api

--- The buffers that we are writing to now.
---@type table<integer, boolean>
local writing = {}

--- Whether we are writing to a buffer now, so that a change of it is ours.
---@param buf integer
---@return boolean
function M.is_writing(buf)
  return writing[buf] == true
end

--- The buffers of which Neovim no longer reports changes, because their text is about to be unloaded.
---@type table<integer, boolean>
local unheard = {}

--- Neovim does not report changes of this buffer any more.
---@param buf integer
function M.note_unheard(buf)
  unheard[buf] = true
end

--- A buffer is gone, or is attached again.
---@param buf integer
function M.forget(buf)
  unheard[buf] = nil
end

--- Replaces text. An edit that only inserts whole lines does not touch the lines around them, and so keeps the user's marks,
--- which `nvim_buf_set_text` would delete.
local function replace(buf, first, first_col, last, last_col, lines)
  local inserts = first == last and first_col == last_col and #lines > 1
  if inserts and lines[1] == "" then
    local line = api.nvim_buf_get_lines(buf, first, first + 1, true)[1]
    if first_col == #line then
      return api.nvim_buf_set_lines(buf, first + 1, first + 1, true, vim.list_slice(lines, 2))
    end
  end
  if inserts and first_col == 0 and lines[#lines] == "" then
    return api.nvim_buf_set_lines(buf, first, first, true, vim.list_slice(lines, 1, #lines - 1))
  end
  api.nvim_buf_set_text(buf, first, first_col, last, last_col, lines)
end

---@type function? the function for `_run`
local to_run

--- Runs the function passed to `quietly`. Called by an Ex command.
function M._run()
  local run = to_run
  to_run = nil
  if run then
    run()
  end
end

--- Runs a function that calls other plugins' callbacks (`on_bytes` and the like). If one of them throws, Neovim prints an
--- error for each chunk of a reply, with a hit-enter prompt. This reports the error once instead.
local function quietly(run)
  local before = vim.v.errmsg
  vim.v.errmsg = ""
  to_run = run
  api.nvim_cmd({ cmd = "lua", args = { "require('flemma.buffer.writing')._run()" }, mods = { emsg_silent = true } }, {})
  local problem = vim.v.errmsg
  vim.v.errmsg = before
  if problem ~= "" then
    local words = "another plugin's callback failed while the conversation was written: " .. problem:match("[^\n]*")
    require("flemma.notify").once(vim.log.levels.WARN, words)
  end
end

--- Writes to a buffer. This is the only way in which the library changes text.
---@param buf integer
---@param first integer first line, from 0
---@param first_col integer byte
---@param last integer last line
---@param last_col integer byte, exclusive
---@param lines string[]
---@param join boolean whether the edit belongs to the previous undo step
function M.write(buf, first, first_col, last, last_col, lines, join)
  local bo = vim.bo[buf]
  local modifiable = bo.modifiable
  bo.modifiable = true
  api.nvim_buf_call(buf, function()
    if join then
      -- Fails right after an undo: then the edit is an undo step of its own.
      pcall(vim.cmd.undojoin)
    else
      -- Setting it ends the previous undo step, which Neovim otherwise only does when it waits for a key.
      bo.undolevels = bo.undolevels
    end
  end)
  local settle = require("flemma.view.cursor").before_write(buf)
  local ok, problem
  writing[buf] = true
  quietly(function()
    ok, problem = pcall(replace, buf, first, first_col, last, last_col, lines)
  end)
  writing[buf] = nil
  bo.modifiable = modifiable
  if ok and unheard[buf] then
    -- The next write depends on where this one has moved the lines.
    require("flemma.native").call("changed", buf, first, last + 1, first + #lines)
  end
  if ok then
    require("flemma.view.activity").keep_at_end(buf)
  end
  settle()
  if not ok then
    error(problem, 0)
  end
end

return M
