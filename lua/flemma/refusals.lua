--- Why Neovim has refused to change or to leave a conversation that is at work.
---
--- Neovim only says that 'modifiable' is off (E21), or that there are changes (E37), because it does not know about the work. A
--- message in place of its own says what the user can do. What was refused silently, or inside of a script, is not explained.
local M = {}

local api = vim.api

--- What the user can do, by the code of Neovim's error.
---@type table<string, fun(buf: integer): string>
local reasons = {
  E21 = function(buf)
    local key = require("flemma.queue.keys").opens_with_i(buf) and "`i`" or "`:Flemma queue`"
    return ("the text is locked while it works: %s queues a message, Ctrl-C stops it"):format(key)
  end,
  E37 = function()
    return "it is still at work: `:w` writes what has arrived, Ctrl-C or a `!` stops it"
  end,
}
reasons.E89, reasons.E162 = reasons.E37, reasons.E37

---@type table<integer, true> the buffers in which a request or a tool is running
local busy = {}

--- Explains an error that is on the screen.
local function look()
  local code = vim.v.errmsg:match("^(E%d+):")
  local reason = code and reasons[code]
  local buf = api.nvim_get_current_buf()
  if not reason or not busy[buf] or vim.trim(vim.fn.execute("1messages")) ~= vim.trim(vim.v.errmsg) then
    return
  end
  -- The same may be refused once more.
  vim.v.errmsg = ""
  require("flemma.notify").say(vim.log.levels.WARN, reason(buf))
end

--- A request or a tool is running in a buffer, or no longer is.
---@param buf integer
---@param is_busy boolean
function M.watch(buf, is_busy)
  local was_any = next(busy) ~= nil
  busy[buf] = is_busy or nil
  local is_any = next(busy) ~= nil
  if is_any == was_any then
    return
  end
  local group = api.nvim_create_augroup("flemma.refusals", { clear = true })
  if is_any then
    api.nvim_create_autocmd("SafeState", {
      group = group,
      desc = "Flemma: say why a conversation that is at work cannot be changed",
      callback = look,
    })
  end
end

return M
