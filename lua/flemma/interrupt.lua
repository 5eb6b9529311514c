--- Ctrl-C that is pressed while Neovim runs something else, such as the timer of a plugin.
---
--- Neovim takes such a key for an interrupt, and then passes it to Normal mode without its mapping. While there is something
--- to stop, this performs the mapping instead. If the mapping is applied, Neovim reports what it is mapped to as the key.
---
--- What waits for input itself, such as |vim.wait()|, may take the interrupt and not pass it on. Then the key only ends that.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.interrupt")

--- Ctrl-C, the only key that is an interrupt.
local INTERRUPT = vim.keycode("<C-c>")

--- The key of `busy` for a request that belongs to no buffer.
M.ANYWHERE = 0

---@type table<integer, true> the buffers in which a request or a tool is running
local busy = {}

---@param buf integer
---@return boolean
local function is_busy_in(buf)
  return busy[buf] or busy[M.ANYWHERE] or false
end

---@param key string
---@return string? discarded
local function look(key)
  local buf = key == INTERRUPT and api.nvim_get_current_buf()
  if not buf or not is_busy_in(buf) or api.nvim_get_mode().mode ~= "n" then
    return nil
  end
  local map = vim.fn.maparg("<C-c>", "n", false, true)
  if map.buffer ~= 1 or not map.callback then
    return nil
  end
  vim.schedule(function()
    -- The same key may have been pressed twice.
    if is_busy_in(buf) and api.nvim_get_current_buf() == buf then
      map.callback()
    end
  end)
  return ""
end

--- A request or a tool is running in a buffer, or no longer is.
---@param buf integer or `ANYWHERE`
---@param is_busy boolean
function M.watch(buf, is_busy)
  if is_busy == (busy[buf] == true) then
    return
  end
  busy[buf] = is_busy or nil
  if not next(busy) then
    vim.on_key(nil, namespace)
  elseif is_busy then
    vim.on_key(look, namespace)
  end
end

return M
