--- Which writes of a right side accept it: a plain write of the whole buffer to its own name, by a command of the user.
---
--- Neovim reports every write of a buffer with the same event. So the options that write or ask by themselves are off while the
--- cursor is in a right side, and of other windows only a command that was typed counts.
local M = {}

local api = vim.api

--- The commands that write whole buffers to their own names.
local WRITES = {}
for _, name in ipairs({ "write", "update", "wq", "xit", "exit", "wall", "wqall", "xall", "wnext", "wNext", "wprevious" }) do
  WRITES[name] = true
end

--- The commands that run others, so that their names say nothing.
local CARRIERS = {}
for _, name in ipairs({ "normal", "execute", "lua", "luafile", "call", "source", "runtime", "global", "vglobal", "python3" }) do
  CARRIERS[name] = true
end
for _, name in ipairs({ "bufdo", "windo", "tabdo", "argdo", "if", "try", "for", "while", "eval", "let", "silent", "redir" }) do
  CARRIERS[name] = true
end

local OPTIONS = { "autowrite", "autowriteall", "confirm" }

---@type table<integer, true> the right sides of all views
local guarded = {}

---@type table<string, boolean>? the options that are off for now
local saved

---@type string? the command line that is being carried out
local typed

local group = api.nvim_create_augroup("flemma.writing", { clear = true })

--- Turns the options off in a right side, and on again elsewhere.
local function sync()
  local is_inside = guarded[api.nvim_get_current_buf()]
  if is_inside and not saved then
    saved = {}
    for _, name in ipairs(OPTIONS) do
      if vim.o[name] then
        saved[name] = true
        vim.o[name] = false
      end
    end
  elseif not is_inside and saved then
    for name in pairs(saved) do
      vim.o[name] = true
    end
    saved = nil
  end
end

--- The commands of a command line, without what stands before them.
---@param line string
---@return string[]
local function commands_of(line)
  local names = {}
  while line and line ~= "" and #names < 20 do
    local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
    if not ok then
      break
    end
    names[#names + 1] = parsed.cmd
    line = parsed.nextcmd
  end
  return names
end

--- Whether the user has typed this command, and it is carried out now.
---@param name string
---@return boolean
function M.has_typed(name)
  return typed ~= nil and vim.list_contains(commands_of(typed), name)
end

local function watch()
  api.nvim_create_autocmd({ "BufEnter", "WinEnter", "TabEnter" }, {
    group = group,
    desc = "Flemma: nothing is written by itself in a review",
    callback = sync,
  })
  api.nvim_create_autocmd("CmdlineLeave", {
    group = group,
    pattern = ":",
    desc = "Flemma: remember which command may write a proposal",
    callback = function()
      typed = not vim.v.event.abort and vim.fn.getcmdline() or nil
      vim.schedule(function()
        typed = nil
      end)
    end,
  })
end

--- Begins to guard a right side.
---@param buf integer
function M.guard(buf)
  if not next(guarded) then
    watch()
  end
  guarded[buf] = true
  sync()
end

--- Ends that.
---@param buf integer
function M.release(buf)
  guarded[buf] = nil
  sync()
  if not next(guarded) then
    api.nvim_clear_autocmds({ group = group })
  end
end

--- Whether a write of the whole buffer was asked for by the user.
---@return boolean
local function is_asked_for()
  if not vim.startswith(vim.fn.expand("<stack>"), "BufWriteCmd ") then
    -- A plugin that saves buffers by itself.
    return false
  end
  local can_be_own = saved ~= nil or not (vim.o.autowrite or vim.o.autowriteall)
  if not typed then
    -- A mapping, which has no command line.
    return can_be_own
  end
  return vim.iter(commands_of(typed)):any(function(name)
    return WRITES[name] or can_be_own and (CARRIERS[name] or name:find("^%u") ~= nil)
  end)
end

--- Why a write does not accept the right side; nil if it does.
---@param buf integer
---@param name string the name that we have given the buffer
---@param args table of the autocommand
---@return string? problem
function M.why_not(buf, name, args)
  if args.match ~= name or api.nvim_buf_get_name(buf) ~= name then
    return "`:write` without a name takes the change; it cannot be written to another file from here"
  elseif args.event ~= "BufWriteCmd" then
    return "part of a change cannot be written; `do` leaves a hunk out, and `:write` takes the rest"
  elseif not is_asked_for() then
    return "only your own `:write` does that"
  end
end

--- Gives a buffer its name back, after `:saveas` and `:file`, and takes away the buffers that these commands have made.
---@param buf integer
---@param name string
function M.rename(buf, name)
  if not api.nvim_buf_is_valid(buf) or api.nvim_buf_get_name(buf) == name then
    return
  end
  local other = api.nvim_buf_get_name(buf)
  local function drop(bufname)
    for _, found in ipairs(api.nvim_list_bufs()) do
      if found ~= buf and api.nvim_buf_get_name(found) == bufname and not api.nvim_buf_is_loaded(found) then
        pcall(api.nvim_buf_delete, found, { force = true })
      end
    end
  end
  drop(name)
  pcall(api.nvim_buf_set_name, buf, name)
  vim.bo[buf].buflisted = false
  drop(other)
end

return M
