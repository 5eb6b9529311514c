--- The user's latest edits, until it is known that they were not undo.
---
--- Neovim reports the changes of undo like any others, as part of the undo step that they revert, and says afterwards that they
--- were undo. Then the library would have to tell them from edits of the same step that came before. So those are settled
--- before Neovim handles the next key. In a macro, or with keys that come faster than the main loop turns, nothing else runs
--- between an edit and its undo.
local M = {}

local namespace = vim.api.nvim_create_namespace("flemma.unsettled")

---@type table<integer, true>
local unsettled = {}

local function settle()
  vim.on_key(nil, namespace)
  local bufs = unsettled
  unsettled = {}
  for buf in pairs(bufs) do
    require("flemma.native").call("event", buf, "settled")
  end
end

--- Settles the edits of a buffer before the next key, and at the latest when Neovim is idle.
---@param buf integer
function M.settle_later(buf)
  require("flemma.view.refresh").schedule(buf)
  if not next(unsettled) then
    vim.on_key(settle, namespace)
  end
  unsettled[buf] = true
end

return M
