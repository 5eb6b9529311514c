--- Before Neovim exits, the user is told once that something queued or half-written is left behind.
---
--- Neovim exits in many ways (`:qa`, `:wqa`, `ZZ`, a mapping), and most of them only ask whether a file is modified. But each
--- gives up when `ExitPre` leaves the tab page in which the command was given. So that is done for a moment.
local M = {}

local api = vim.api

--- How long after a refusal the same way out leads out, in milliseconds. Not every way has a `!`.
local AGAIN = 10000

--- The commands that exit, by their full names. Others (`:restart`, a mapping) have no `!` that could be seen.
local EXITS = { quit = true, quitall = true, qall = true, wq = true, wqall = true, xit = true, xall = true, exit = true }

---@type boolean? whether the command line that is executed now exits with a `!`; nil if none is
local has_bang
---@type { why: string, at: number }?
local refused

--- What would be left behind with a buffer.
---@param buf integer
---@return string?
local function left_behind(buf)
  local count = #(require("flemma.native").call("queued", buf) or {})
  if count > 0 then
    return count == 1 and "a queued message was not sent" or ("%d queued messages were not sent"):format(count)
  elseif require("flemma.queue.window").has_draft(buf) then
    return "a message in the input window was not queued"
  end
end

--- What would be left behind.
---@return string?
local function reason()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local why = require("flemma.buffer").is_attached(buf) and left_behind(buf)
    if why then
      return ("%s (%s)"):format(why, vim.fs.basename(api.nvim_buf_get_name(buf)))
    end
  end
end

--- Makes Neovim give up the exit, and is back before anything is drawn.
local function refuse()
  local tab = api.nvim_get_current_tabpage()
  local opened = pcall(vim.cmd, "noautocmd tab split")
  local other = opened and api.nvim_get_current_tabpage()
  if not other or other == tab then
    return
  end
  local is_back = false
  local function go_back()
    if is_back then
      return
    end
    is_back = true
    if api.nvim_tabpage_is_valid(tab) then
      vim.cmd(("noautocmd %dtabnext"):format(api.nvim_tabpage_get_number(tab)))
    end
    if api.nvim_tabpage_is_valid(other) and #api.nvim_list_tabpages() > 1 then
      vim.cmd(("noautocmd %dtabclose"):format(api.nvim_tabpage_get_number(other)))
    end
  end
  api.nvim_create_autocmd("CursorMoved", { once = true, desc = "Flemma: stay in the tab page", callback = go_back })
  vim.schedule(go_back)
end

local group = api.nvim_create_augroup("flemma.queue", { clear = true })

api.nvim_create_autocmd("CmdlineLeave", {
  group = group,
  pattern = ":",
  desc = "Flemma: notice a command that leaves queued messages behind on purpose",
  callback = function()
    if vim.v.event.abort then
      return
    end
    local ok, parsed = pcall(api.nvim_parse_cmd, vim.fn.getcmdline(), {})
    while ok and not EXITS[parsed.cmd] and parsed.nextcmd ~= "" do
      ok, parsed = pcall(api.nvim_parse_cmd, parsed.nextcmd, {})
    end
    if not ok or not EXITS[parsed.cmd] then
      return
    end
    has_bang = parsed.bang
    vim.schedule(function()
      has_bang = nil
    end)
  end,
})

api.nvim_create_autocmd("ExitPre", {
  group = group,
  desc = "Flemma: warn before queued messages are left behind",
  callback = function()
    local why = not has_bang and #api.nvim_list_uis() > 0 and reason()
    if not why then
      return
    end
    local is_known = has_bang ~= nil
    if not is_known and refused and refused.why == why and vim.uv.now() - refused.at < AGAIN then
      return
    end
    refused = { why = why, at = vim.uv.now() }
    refuse()
    local advice = is_known and "`:qa!` leaves anyway" or "repeat it to leave"
    vim.schedule(function()
      require("flemma.notify").say(vim.log.levels.WARN, ("%s; %s"):format(why, advice))
    end)
  end,
})

return M
