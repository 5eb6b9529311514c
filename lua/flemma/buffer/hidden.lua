--- Conversations that are loaded without a window because a program resolves a call of a file that is not open.
---
--- Such a conversation is held like any other, so nobody else can change it meanwhile. It is let go when what the program has
--- started is over and written: the next request too. A conversation that the user opens in the meantime is theirs.
local M = {}

local api = vim.api

---@class flemma.HiddenBuffer
---@field users integer how many calls of `resolve` use it now
---@field had_buffer boolean whether there was a buffer of this name before, which was not loaded

---@type table<integer, flemma.HiddenBuffer>
local hidden = {}

--- The buffer of a file, which is loaded if it is not open. |M.close| has to follow.
---@param path string
---@return integer buf
function M.open(path)
  local had_buffer = vim.fn.bufexists(path) == 1
  local buf = vim.fn.bufadd(path)
  if not api.nvim_buf_is_loaded(buf) then
    hidden[buf] = { users = 0, had_buffer = had_buffer }
    -- With a swap file, Neovim would ask about that of another editor.
    vim.cmd(("noswapfile call bufload(%d)"):format(buf))
    if vim.bo[buf].filetype == "" then
      vim.bo[buf].filetype = "chat"
    end
  end
  if hidden[buf] then
    hidden[buf].users = hidden[buf].users + 1
  end
  return buf
end

--- Lets a conversation go, unless something in it is not over yet.
local function leave(buf)
  local entry = hidden[buf]
  if not entry or entry.users > 0 then
    return
  elseif not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buflisted or #vim.fn.win_findbuf(buf) > 0 then
    hidden[buf] = nil
    return
  end
  local is_over = not vim.bo[buf].modified
    and not require("flemma.buffer.saving").is_writing(buf)
    and require("flemma.native").call("state", buf, "at_rest")
  if is_over then
    hidden[buf] = nil
    api.nvim_buf_delete(buf, { unload = entry.had_buffer })
  end
end

--- Something in a buffer is over: lets the conversation go if nothing else is under way in it.
---@param buf integer
function M.leave_later(buf)
  if hidden[buf] then
    vim.schedule(function()
      leave(buf)
    end)
  end
end

--- A call of `resolve` no longer uses a buffer.
---@param buf integer
function M.close(buf)
  if hidden[buf] then
    hidden[buf].users = hidden[buf].users - 1
    M.leave_later(buf)
  end
end

return M
