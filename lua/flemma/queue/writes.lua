--- Who asks for a write of the input window.
---
--- A write queues the message, so only the user may ask for it: with a key or a command in this window. Everything else that
--- writes buffers (`:wall`, 'autowrite', an autocommand, a timer) leaves it alone. The buffer never counts as modified, so most
--- of them do not even try.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.queue.writes")

--- What the user is doing right now: the buffer in which a key was pressed, and the commands of the command line that the key
--- has executed.
---@type { buf: integer, commands?: string[] }?
local now

--- The commands that write the buffer, by their full names.
local WRITES = { write = true, wq = true, xit = true, exit = true, update = true }

--- Those of them that only write what is modified.
local IF_MODIFIED = { xit = true, exit = true, update = true }

--- Notes that the user has pressed a key. What the key does happens before anything that is scheduled.
---@param buf integer
local function pressed(buf)
  local this = { buf = buf }
  now = this
  vim.schedule(function()
    if now == this then
      now = nil
    end
  end)
end

--- The commands of a command line, and whether one of them writes the whole buffer only if it is modified.
---@param line string
---@return string[] names
---@return boolean
local function commands_of(line)
  local names, is_conditional = {}, false
  while line ~= "" do
    local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
    if not ok then
      break
    end
    names[#names + 1] = parsed.cmd
    local is_whole = #(parsed.args or {}) == 0 and #(parsed.range or {}) == 0
    is_conditional = is_conditional or (is_whole and IF_MODIFIED[parsed.cmd] == true)
    line = parsed.nextcmd
  end
  return names, is_conditional
end

--- Watches what the user does in the buffer of an input window.
---@param draft integer
---@param group integer the autocommands' group
function M.follow(draft, group)
  local function listen()
    vim.on_key(function(_, typed)
      if typed ~= "" and api.nvim_get_current_buf() == draft then
        pressed(draft)
      end
    end, namespace)
  end
  api.nvim_create_autocmd("BufEnter", {
    group = group,
    buffer = draft,
    desc = "Flemma: notice the user's keys in the input window",
    callback = listen,
  })
  api.nvim_create_autocmd("BufLeave", {
    group = group,
    buffer = draft,
    desc = "Flemma: the keys are no longer for the input window",
    callback = function()
      vim.on_key(nil, namespace)
    end,
  })
  api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = ":",
    desc = "Flemma: notice a command that queues the message",
    callback = function()
      if not now or now.buf ~= draft or api.nvim_get_current_buf() ~= draft or vim.v.event.abort then
        return
      end
      local is_conditional
      now.commands, is_conditional = commands_of(vim.fn.getcmdline())
      if is_conditional and vim.fn.search("\\S", "nw") > 0 then
        vim.bo[draft].modified = true
        vim.schedule(function()
          if api.nvim_buf_is_valid(draft) then
            vim.bo[draft].modified = false
          end
        end)
      end
    end,
  })
  M.watch_text(draft)
end

--- Keeps the buffer from counting as modified.
---@param draft integer
function M.watch_text(draft)
  local function settle()
    vim.bo[draft].modified = false
  end
  api.nvim_buf_attach(draft, false, { on_lines = settle, on_changedtick = settle })
end

--- Whether the user has asked for the write that Neovim performs now: with a command or a mapping in this window, and not in an
--- autocommand.
---@param draft integer
---@return boolean
function M.is_own(draft)
  if not now or now.buf ~= draft or api.nvim_get_current_buf() ~= draft then
    return false
  end
  -- It begins with a function that the user has called, or with the write itself.
  local stack = vim.fn.expand("<stack>")
  if not vim.startswith(stack, "BufWriteCmd ") and not vim.startswith(stack, "function ") then
    return false
  end
  -- A mapping may do it without the command line. A command of the user's own may write.
  return not now.commands
    or vim.iter(now.commands):any(function(name)
      return WRITES[name] or name:find("^%u") ~= nil or name == "call" or name == "lua" or name == "normal"
    end)
end

return M
