--- Ctrl-C that is pressed while Neovim runs something else, such as the timer of a plugin.
---
--- Neovim takes such a key for an interrupt, and then passes it to Normal mode without its mapping. While there is something
--- to stop, this performs the mapping instead. If the mapping is applied, Neovim reports what it is mapped to as the key.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.interrupt")

--- Ctrl-C, the only key that is an interrupt.
local INTERRUPT = vim.keycode("<C-c>")

---@type table<integer, true> the buffers in which a request or a tool is running
local busy = {}

---@param key string
---@return string? discarded
local function look(key)
  local buf = key == INTERRUPT and api.nvim_get_current_buf()
  if not buf or not busy[buf] or api.nvim_get_mode().mode ~= "n" then
    return nil
  end
  local map = vim.fn.maparg("<C-c>", "n", false, true)
  if map.buffer == 1 and map.callback then
    vim.schedule(map.callback)
    return ""
  end
end

--- A request or a tool is running in a buffer, or no longer is.
---@param buf integer
---@param is_busy boolean
function M.watch(buf, is_busy)
  if is_busy ~= (busy[buf] == true) then
    busy[buf] = is_busy or nil
    vim.on_key(next(busy) and look or nil, namespace)
  end
end

return M
