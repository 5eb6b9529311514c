--- Why Neovim has refused to change or to leave a conversation that is at work, or to change one that is held elsewhere.
---
--- Neovim only says that 'modifiable' is off (E21), or that there are changes (E37), because it does not know about the work. A
--- message in place of its own says what the user can do. What was refused silently, or inside of a script, is not explained.
--- Some commands show themselves, and with an error below them Neovim asks for Enter. Those are given up before they run.
--- Nor does it ask where the screen is too narrow for its own words.
local M = {}

local api = vim.api

--- The width up to which Neovim's own E21 needs more than one row.
local NARROW = 45

--- What the user can do, by the code of Neovim's error.
---@type table<string, fun(buf: integer): string>
local reasons = {
  E21 = function(buf)
    if not require("flemma.lock").is_locked(buf) then
      return "read-only here: open elsewhere (`:Flemma status` says where)"
    end
    return require("flemma.queue.keys").opens_with_i(buf)
        and "locked while it works: `i` queues a message, Ctrl-C stops it"
      or "locked while it works: `:Flemma queue` queues a message"
  end,
  E37 = function(buf)
    if buf == api.nvim_get_current_buf() then
      return "it is still at work: `:w` saves it, Ctrl-C or a `!` stops it"
    end
    local name = vim.fs.basename(api.nvim_buf_get_name(buf))
    return ("%s is still at work: `:wall` saves it, a `!` stops it"):format(name ~= "" and name or "a conversation")
  end,
}
reasons.E89, reasons.E162 = reasons.E37, reasons.E37

--- The commands that change the text, whatever their arguments are.
local EDITS = {}
for _, name in ipairs({ "delete", "move", "copy", "t", "join", "put", "iput", "sort", "retab", "append", "insert", "change" }) do
  EDITS[name] = true
end
for _, name in ipairs({ "<", ">", "left", "right", "center", "read", "&", "~", "&&", "undo", "redo" }) do
  EDITS[name] = true
end

--- The keys that change text in Normal or Visual mode, some of them behind a `g`.
local EDIT_KEYS = {}
for key in ("i a I A o O s S c C r R p P x X d D J u U ~ < > = q w ? & ."):gmatch("%S+") do
  EDIT_KEYS[key] = true
end
for _, key in ipairs({ "<C-A>", "<C-X>", "<C-R>", "<Del>", "<Insert>" }) do
  EDIT_KEYS[vim.keycode(key)] = true
end

--- The commands that leave a buffer or read it again.
local LEAVES = {}
for name in ("edit enew bdelete bwipeout bunload buffer bnext bprevious next previous find close"):gmatch("%S+") do
  LEAVES[name] = true
end

local namespace = api.nvim_create_namespace("flemma.refusals")

---@type table<integer, string> by buffer that is locked: what was said last, or ""
local busy = {}

--- What the user can do about an error.
---@param code string
---@param buf integer
---@return string
function M.reason(code, buf)
  return reasons[code](buf)
end

--- Shows a reason. `:messages` gets it once, until the work has ended or another reason was shown.
---@param buf integer
---@param reason string
local function explain(buf, reason)
  local notify = require("flemma.notify")
  if busy[buf] == reason then
    notify.repeat_on_screen(vim.log.levels.WARN, reason)
  else
    busy[buf] = reason
    notify.say(vim.log.levels.WARN, reason)
  end
end

--- Explains an error that is on the screen.
local function look()
  local code = vim.v.errmsg:match("^(E%d+):")
  local buf = api.nvim_get_current_buf()
  if not code or not reasons[code] or not busy[buf] then
    return
  elseif code ~= "E21" and not require("flemma.lock").is_locked(buf) then
    -- The changes are the user's.
    return
  elseif vim.trim(vim.fn.execute("1messages")) ~= vim.trim(vim.v.errmsg) then
    return
  end
  -- The same may be refused once more.
  vim.v.errmsg = ""
  explain(buf, M.reason(code, buf))
end

--- The command that `:global` runs for each line.
---@param argument string the pattern between two delimiters, and the command
---@return string
local function carried(argument)
  local delimiter = argument:sub(1, 1)
  local at = 2
  while at <= #argument do
    local character = argument:sub(at, at)
    if character == delimiter then
      return argument:sub(at + 1)
    end
    at = at + (character == "\\" and 2 or 1)
  end
  return ""
end

--- Whether a command line would do nothing but show itself and an error, in a buffer that cannot be changed.
---@param line string
---@return boolean
local function is_vain(line)
  local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
  if not ok or parsed.mods.silent or parsed.mods.emsg_silent then
    return false
  elseif parsed.cmd == "!" then
    -- Without a range, it only runs a program.
    return #(parsed.range or {}) > 0
  end
  local is_global = parsed.cmd == "global" or parsed.cmd == "vglobal"
  if is_global then
    ok, parsed = pcall(api.nvim_parse_cmd, vim.trim(carried(table.concat(parsed.args, " "))), {})
  elseif vim.o.columns > NARROW then
    return false
  end
  if not ok then
    return false
  end
  -- With the flag `n`, it only counts.
  local is_substitution = parsed.cmd == "substitute" and not table.concat(parsed.args, " "):find("%f[%w]%a*n%a*%s*$")
  return EDITS[parsed.cmd] or is_substitution
end

--- Whether a command line may be refused with words that do not fit onto a narrow screen.
---@param line string
---@return boolean
local function may_be_refused(line)
  local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
  return ok and LEAVES[parsed.cmd] == true and not parsed.bang
end

--- Gives up a command that the user has typed, if it cannot do anything.
local function give_up()
  local buf = api.nvim_get_current_buf()
  if vim.v.event.abort or not busy[buf] or vim.bo[buf].modifiable then
    return
  elseif not is_vain(vim.fn.getcmdline()) then
    if require("flemma.lock").is_locked(buf) and may_be_refused(vim.fn.getcmdline()) then
      require("flemma.unprompted").now()
    end
    return
  end
  vim.cmd("let v:event.abort = v:true")
  vim.schedule(function()
    if busy[buf] then
      explain(buf, M.reason("E21", buf))
    end
  end)
end

--- A key is about to be carried out. It may come from a mapping or a macro.
---@param key string
local function quieten(key)
  if vim.o.columns > NARROW or not EDIT_KEYS[key] or not busy[api.nvim_get_current_buf()] then
    return
  elseif api.nvim_get_mode().mode:find("^[nvV\22]") then
    require("flemma.unprompted").now()
  end
end

--- A buffer is locked, or no longer is.
---@param buf integer
---@param is_locked boolean
function M.watch(buf, is_locked)
  local was_any = next(busy) ~= nil
  local said = busy[buf]
  busy[buf] = is_locked and (said or "") or nil
  if said and not vim.iter(pairs(busy)):any(require("flemma.lock").is_locked) then
    require("flemma.notify").withdraw_refusal()
  end
  if not is_locked and said and said ~= "" then
    require("flemma.notify").withdraw(said)
  end
  local is_any = next(busy) ~= nil
  if is_any == was_any then
    return
  end
  local group = api.nvim_create_augroup("flemma.refusals", { clear = true })
  vim.on_key(is_any and quieten or nil, namespace)
  if is_any then
    -- It says why Neovim cannot be left.
    require("flemma.leaving")
    api.nvim_create_autocmd("SafeState", {
      group = group,
      desc = "Flemma: say why a conversation that is at work cannot be changed",
      callback = look,
    })
    api.nvim_create_autocmd("CmdlineLeave", {
      group = group,
      pattern = ":",
      desc = "Flemma: give up a command that cannot change a conversation that is at work",
      callback = give_up,
    })
  end
end

return M
