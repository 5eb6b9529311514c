--- Keys in a buffer for as long as something is shown in it. What the user has mapped there comes back.
local M = {}

--- Maps keys in Normal mode.
---@param buf integer
---@param keys { [1]: string, [2]: string, [3]: fun() }[] the key, what it does, and how
---@return fun() restore
function M.set(buf, keys)
  local before = {}
  for _, key in ipairs(keys) do
    before[key[1]] = vim.api.nvim_buf_call(buf, function()
      return vim.fn.maparg(key[1], "n", false, true)
    end)
    vim.keymap.set("n", key[1], key[3], { buffer = buf, nowait = true, desc = "Flemma: " .. key[2] })
  end
  return function()
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    vim.api.nvim_buf_call(buf, function()
      for lhs, map in pairs(before) do
        pcall(vim.keymap.del, "n", lhs, { buffer = buf })
        if map.buffer == 1 then
          pcall(vim.fn.mapset, "n", false, map)
        end
      end
    end)
  end
end

return M
