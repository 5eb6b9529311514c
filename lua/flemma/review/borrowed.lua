--- The buffer of a file while a review is drawn over it: it cannot be edited, and has the keys of the review.
local overlay = require("flemma.review.overlay")

local api = vim.api

local M = {}

--- The keys, and what they do.
local keys = {
  { "]c", "the next hunk", "next_hunk", 1 },
  { "[c", "the previous hunk", "next_hunk", -1 },
  { "do", "leave this hunk out", "take", false },
  { "dp", "take this hunk", "take", true },
  { "]f", "the next file of the change", "step", 1 },
  { "[f", "the previous file of the change", "step", -1 },
  { "gA", "approve the call, with the hunks that are taken", "submit" },
  { "gL", "leave this file out", "leave_out" },
  { "gK", "edit the proposal side by side", "edit" },
  { "gX", "reject the call" },
  { "q", "leave the review" },
}

---@type table<integer, true> the buffers of all reviews
local all = {}

--- Whether a review is drawn over a buffer.
---@param buf integer
---@return boolean
function M.is_borrowed(buf)
  return all[buf] ~= nil
end

--- Maps the keys, and forbids changes.
---@param view flemma.InlineView
---@param buf integer
---@return fun() restore
function M.borrow(view, buf)
  local before = {}
  all[buf] = true
  for _, key in ipairs(keys) do
    local lhs, desc, method, argument = unpack(key)
    local map = vim.fn.maparg(lhs, "n", false, true)
    -- A mapping of the buffer, which comes back later.
    before[lhs] = map.buffer == 1 and map or nil
    vim.keymap.set("n", lhs, function()
      if method then
        view[method](view, argument)
      elseif lhs == "q" then
        view:quit()
      else
        require("flemma.review.deciding").reject(view.review)
      end
    end, { buffer = buf, nowait = true, desc = "Flemma: " .. desc })
  end
  local modifiable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = false
  return function()
    all[buf] = nil
    if not api.nvim_buf_is_valid(buf) then
      return
    end
    -- A buffer that is unloaded keeps these all the same.
    api.nvim_buf_clear_namespace(buf, overlay.namespace, 0, -1)
    vim.bo[buf].modifiable = modifiable
    api.nvim_buf_call(buf, function()
      for _, key in ipairs(keys) do
        pcall(vim.keymap.del, "n", key[1], { buffer = buf })
        if before[key[1]] then
          pcall(vim.fn.mapset, "n", false, before[key[1]])
        end
      end
    end)
  end
end

return M
