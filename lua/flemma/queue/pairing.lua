--- The input window shows its own buffer and no other one.
---
--- 'winfixbuf' refuses most of what would show another file there, with an error that does not fit into a narrow screen. So a
--- command that the user has typed is given up before it runs. What was forced is undone: the other buffer is left, and the
--- window has its own one again. On a narrow screen, that is done with everything else too, as the error would ask for Enter.
local M = {}

local api = vim.api

--- The least width of a screen on which the error of 'winfixbuf' takes one row.
local ENOUGH = 52

local REASON = "this window is only for the message: `:q` leaves it"

--- The commands that show another buffer in the window. Those with a name show it unless it is the window's own.
local SWITCHES = {}
for name in
  ([[enew bnext bNext bprevious bfirst brewind blast bmodified next Next previous first rewind last argument wnext wNext
  wprevious find tag tnext tNext tprevious tfirst trewind tlast tselect tjump pop terminal drop args]]):gmatch("%S+")
do
  SWITCHES[name] = "always"
end
for _, name in ipairs({ "edit", "ex", "visual", "view", "buffer" }) do
  SWITCHES[name] = "named"
end

--- The commands that would take the conversation away from below the window. Neovim does nothing then, and says nothing.
local CLOSES = { bdelete = true, bwipeout = true, bunload = true }

--- Says why. It replaces what Neovim has said.
---@param reason? string
local function refuse(reason)
  require("flemma.notify").say(vim.log.levels.WARN, reason or REASON)
end

--- Whether a command would unload the conversation that the window is for.
---@param line string
---@param draft integer the window's own buffer
---@return boolean
local function takes_away(line, draft)
  local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
  if not ok or not CLOSES[parsed.cmd] then
    return false
  end
  local conversation = require("flemma.queue.window").conversation_of(draft)
  local target = parsed.args[1] or (parsed.range and parsed.range[1])
  local buf = tonumber(target) or target and vim.fn.bufnr(target)
  return conversation ~= nil and buf == conversation
end

--- Whether a command would show another buffer in the current window.
---@param line string
---@param draft integer the window's own buffer
---@return boolean
local function leads_away(line, draft)
  local ok, parsed = pcall(api.nvim_parse_cmd, line, {})
  local kind = ok and SWITCHES[parsed.cmd]
  if not kind or parsed.mods.split ~= "" or parsed.mods.tab >= 0 then
    return false
  end
  local args = parsed.args or {}
  if parsed.cmd == "args" then
    return #args > 0
  elseif kind == "always" then
    return true
  end
  local target = args[1] or (parsed.range and parsed.range[1])
  -- Without a name they read the same buffer again.
  return target ~= nil and target ~= "%" and vim.fn.bufnr(target) ~= draft
end

--- Sets the options of the window, and forgets its jumps: CTRL-O would lead to another buffer.
---@param win integer
---@param prepare fun(win: integer)
local function settle(win, prepare)
  prepare(win)
  vim.wo[win].winfixbuf = vim.o.columns >= ENOUGH
  api.nvim_win_call(win, function()
    vim.cmd.clearjumps()
  end)
end

--- Puts the window's own buffer back into it.
---@param win integer
---@param draft integer
---@param prepare fun(win: integer) sets the options of the window
local function put_back(win, draft, prepare)
  if not api.nvim_win_is_valid(win) or not api.nvim_buf_is_valid(draft) then
    return
  end
  local other = api.nvim_win_get_buf(win)
  if other == draft then
    return
  end
  vim.wo[win].winfixbuf = false
  local ok = pcall(api.nvim_win_set_buf, win, draft)
  settle(win, prepare)
  if not ok then
    return
  end
  local is_blank = api.nvim_buf_get_name(other) == ""
    and not vim.bo[other].modified
    and vim.bo[other].buftype == ""
    and #vim.fn.win_findbuf(other) == 0
    and #api.nvim_buf_get_lines(other, 0, 2, false) <= 1
  if is_blank then
    -- `:enew!` has made it.
    pcall(api.nvim_buf_delete, other, {})
  end
  refuse()
end

--- Says it in place of an error that says the same in Neovim's words.
---@param draft integer
local function look(draft)
  if api.nvim_get_current_buf() == draft and vim.v.errmsg:find("^E1513:") then
    vim.v.errmsg = ""
    refuse()
  end
end

--- Maps the keys that would only cause an error, unless the user has mapped them.
---@param draft integer
local function map(draft)
  for _, key in ipairs({ "<C-^>", "gf", "gF" }) do
    if vim.fn.maparg(key, "n") == "" then
      vim.keymap.set("n", key, function()
        refuse()
      end, { buffer = draft, desc = "Flemma: stay in the input window" })
    end
  end
end

--- Keeps a window for its buffer as long as it is open.
---@param win integer
---@param draft integer
---@param prepare fun(win: integer) sets the options of the window
function M.keep(win, draft, prepare)
  settle(win, prepare)
  map(draft)
  local group = api.nvim_create_augroup("flemma.queue.pairing." .. draft, { clear = true })
  local function on(events, desc, run)
    api.nvim_create_autocmd(events, {
      group = group,
      desc = "Flemma: " .. desc,
      callback = function(args)
        if not api.nvim_win_is_valid(win) then
          return true
        end
        run(args)
      end,
    })
  end
  on({ "BufEnter", "BufWinEnter" }, "show no other buffer in the input window", function()
    if api.nvim_win_get_buf(win) ~= draft then
      -- Neovim is not done with the other one.
      vim.schedule(function()
        put_back(win, draft, prepare)
      end)
    end
  end)
  on("CmdlineLeave", "give up a command that leads away from the input window", function(args)
    local is_ours = args.match == ":" and api.nvim_get_current_win() == win and api.nvim_win_get_buf(win) == draft
    if not is_ours or vim.v.event.abort then
      return
    elseif leads_away(vim.fn.getcmdline(), draft) then
      vim.cmd("let v:event.abort = v:true")
      refuse()
    elseif takes_away(vim.fn.getcmdline(), draft) then
      vim.cmd("let v:event.abort = v:true")
      refuse("the conversation is below this window: `:q` first")
    end
  end)
  on("VimResized", "keep the input window as fits the width of the screen", function()
    settle(win, prepare)
  end)
  on("SafeState", "say why the input window shows no other buffer", function()
    look(draft)
  end)
end

return M
