--- Before Neovim exits, the user is told once that something queued or half-written is left behind, or that a conversation is
--- at work.
---
--- Neovim exits in many ways (`:qa`, `:wqa`, `ZZ`, a mapping), and most of them only ask whether a file is modified. But each
--- gives up when `ExitPre` leaves the tab page in which the command was given. So that is done for a moment. Neovim itself
--- refuses with two errors, which need a hit-enter prompt, so what it would refuse is refused here first.
local M = {}

local api = vim.api

--- How long after a refusal the same way out leads out, in milliseconds. Not every way has a `!`.
local AGAIN = 10000

--- The commands that exit, by their full names. Others (`:restart`, a mapping) have no `!` that could be seen.
local EXITS = { quit = true, quitall = true, qall = true, wq = true, wqall = true, xit = true, xall = true, exit = true }

--- Those of them that write nothing, so that Neovim refuses them while a buffer has changes.
local QUITS = { quit = true, quitall = true, qall = true }

---@class flemma.Exit
---@field bang boolean whether it has a `!`
---@field quits boolean whether Neovim refuses it, without a question, while a buffer has changes

---@type flemma.Exit? the command line that exits and is executed now
local exit
---@type { why: string, at: number }?
local refused

--- What would be left behind with a buffer.
---@param buf integer
---@return string?
local function left_behind(buf)
  local count = #(require("flemma.native").call("queued", buf) or {})
  if count > 0 then
    return count == 1 and "a queued message is unsent" or ("%d queued messages are unsent"):format(count)
  elseif require("flemma.queue.window").has_draft(buf) then
    return "a draft is not queued"
  end
end

--- What would be left behind, and where.
---@return string? why
---@return string where the name of the conversation
local function reason()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local why = require("flemma.buffer").is_attached(buf) and left_behind(buf)
    if why then
      local name = vim.fs.basename(api.nvim_buf_get_name(buf))
      return why, name ~= "" and name or "not saved yet"
    end
  end
  return nil, ""
end

--- Why Neovim would refuse this exit, if it is because of a conversation that is at work.
---@return string?
local function at_work()
  if not exit or not exit.quits or vim.o.confirm or vim.o.autowriteall then
    return nil
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if require("flemma.lock").is_locked(buf) and vim.bo[buf].modified and vim.bo[buf].buftype == "" then
      return require("flemma.refusals").reason("E37", buf)
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

local group = api.nvim_create_augroup("flemma.leaving", { clear = true })

api.nvim_create_autocmd("CmdlineLeave", {
  group = group,
  pattern = ":",
  desc = "Flemma: notice how a command exits",
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
    exit = { bang = parsed.bang, quits = QUITS[parsed.cmd] and not (parsed.mods.confirm or parsed.mods.emsg_silent) or false }
    vim.schedule(function()
      exit = nil
    end)
  end,
})

api.nvim_create_autocmd("ExitPre", {
  group = group,
  desc = "Flemma: warn before queued messages are left behind, or what runs is stopped",
  callback = function()
    if exit and exit.bang or #api.nvim_list_uis() == 0 then
      return
    end
    local why, where = reason()
    local words = not why and at_work()
    if words then
      refuse()
    elseif why then
      if not exit and refused and refused.why == why and vim.uv.now() - refused.at < AGAIN then
        return
      end
      refused = { why = why, at = vim.uv.now() }
      refuse()
      words = ("%s; %s (%s)"):format(why, exit and "`:qa!` exits anyway" or "repeat it to exit", where)
    else
      return
    end
    vim.schedule(function()
      require("flemma.notify").say(vim.log.levels.WARN, words)
    end)
  end,
})

return M
