--- The faults of a conversation's text, as diagnostics of Neovim.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma")

---@alias flemma.Fault { line: integer, severity: "error"|"warning", message: string }

---@type table<integer, flemma.Fault[]> by buffer
local waiting = {}

--- Whether there have been any. Most sessions need nothing of Neovim's module.
local is_used = false

--- Shows faults in place of those before. On Neovim 0.12, diagnostics draw the status lines and with them the windows, in the
--- middle of a change. So they are set afterwards.
---@param buf integer
---@param faults flemma.Fault[]
function M.set(buf, faults)
  is_used = is_used or #faults > 0
  if is_used and not waiting[buf] then
    vim.schedule(function()
      local latest = waiting[buf]
      waiting[buf] = nil
      if api.nvim_buf_is_loaded(buf) then
        local function diagnostic(fault)
          local severity = vim.diagnostic.severity[fault.severity == "error" and "ERROR" or "WARN"]
          return { lnum = fault.line, col = 0, severity = severity, source = "flemma", message = fault.message }
        end
        -- A sign would open the column of signs, and all text would move.
        vim.diagnostic.set(namespace, buf, vim.tbl_map(diagnostic, latest), { signs = false, virtual_text = true })
      end
    end)
  end
  waiting[buf] = is_used and faults or nil
end

---@param buf integer
---@param group integer the autocommands of the buffer
function M.attach(buf, group)
  local is_due = false
  api.nvim_create_autocmd({ "InsertLeave", "TextChanged" }, {
    group = group,
    buffer = buf,
    desc = "Flemma: remove diagnostics when their cause is gone",
    callback = function()
      -- A command changes many lines, and leaves Insert mode in each.
      if not is_due then
        is_due = true
        vim.schedule(function()
          is_due = false
          require("flemma.native").call("event", buf, "diagnosed")
        end)
      end
    end,
  })
end

--- Takes the diagnostics away from a buffer that is no longer a conversation.
---@param buf integer
function M.release(buf)
  if is_used then
    vim.diagnostic.reset(namespace, buf)
  end
end

return M
