--- Progress messages of Neovim 0.12 (`:help progress-message`), for status lines and terminals that show them.
---
--- The command line belongs to the user, so only the event of such a message is triggered, and nothing is shown there. Another plugin
--- may ask for a stop: it sends the message with the status "cancel".
local M = {}

local api = vim.api
local native = require("flemma.native").call

local is_available = vim.fn.has("nvim-0.12") == 1

---@type table<integer, { id: string, text?: string }> the conversations that are at work, with what was said of them last
local active = {}

--- The status of the message, by what the conversation does or why it rests.
local statuses = { working = "running", failed = "failed", cancelled = "cancel" }

--- Says what a conversation does, or how it has ended.
---@param buf integer
local function say(buf)
  local entry, state, text = active[buf], "cancelled", "closed"
  if not entry then
    return
  elseif require("flemma.buffer.target").is_attached(buf) then
    state, text = native("state", buf, "activity")
  end
  local status = statuses[state] or "success"
  if status ~= "running" then
    active[buf] = nil
    text = entry.text and (text or "waits for the editor")
  end
  if text and text ~= entry.text then
    entry.text = text
    local name = api.nvim_buf_is_valid(buf) and vim.fs.basename(api.nvim_buf_get_name(buf)) or ""
    local data = { id = entry.id, source = "flemma", title = name ~= "" and name or "Flemma", status = status, percent = 0 }
    data.text = { text }
    api.nvim_exec_autocmds("Progress", { pattern = "flemma", modeline = false, data = data })
  end
end

--- A request or a tool is running in a conversation, or no longer is, or something else is.
---@param buf integer
---@param is_busy boolean
function M.show(buf, is_busy)
  local options = require("flemma.options").get()
  if is_available and options and options.notify.progress and (is_busy or active[buf]) then
    active[buf] = active[buf] or { id = ("flemma.%d.%d"):format(buf, vim.uv.hrtime()) }
    -- The next turn may begin at once.
    vim.schedule(function()
      say(buf)
    end)
  end
end

if is_available then
  api.nvim_create_autocmd("Progress", {
    group = api.nvim_create_augroup("flemma.progress", { clear = true }),
    pattern = "flemma",
    desc = "Flemma: stop a conversation that another plugin cancels",
    callback = function(args)
      for buf, entry in pairs(active) do
        if entry.id == args.data.id and args.data.status == "cancel" then
          native("dispatch", buf, "cancel")
        end
      end
    end,
  })
end

return M
