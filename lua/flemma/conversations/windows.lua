--- The windows of projects' conversations: beside the others, below them, in a tab page, or floating over them.
local M = {}

local api = vim.api
local sizes = require("flemma.conversations.sizes")

---@class flemma.WindowOptions
---@field layout flemma.Layout
---@field width? number up to 1, a part of the screen's
---@field height? number
---@field enter boolean whether the window becomes the current one
---@field replaces fun(buf: integer): boolean whether a window with this buffer is to show the conversation instead

--- The smallest window beside others in which text can be read.
local MIN_WIDTH = 40

---@param size? number up to 1, a part of `whole`
---@param default number
---@param whole integer
---@return integer
local function cells(size, default, whole)
  size = size or default
  return math.max(1, math.min(whole, math.floor(size <= 1 and size * whole or size)))
end

--- Where a floating window is: in the middle of the screen, with its border inside it.
---@param opts { width?: number, height?: number }
---@return table
local function float_config(opts)
  local columns, lines = vim.o.columns, math.max(vim.o.lines - vim.o.cmdheight, 1)
  local width = cells(opts.width, 0.8, columns)
  local height = cells(opts.height, 0.8, lines)
  -- The border takes two cells each way, where there is room for them.
  width = math.max(math.min(width, columns - 2), 1)
  height = math.max(math.min(height, lines - 2), 1)
  return {
    relative = "editor",
    width = width,
    height = height,
    col = math.max(math.floor((columns - width) / 2) - 1, 0),
    row = math.max(math.floor((lines - height) / 2) - 1, 0),
    border = require("flemma.looks").border(),
  }
end

---@type table<flemma.Layout, fun(opts: flemma.WindowOptions): integer>
local openers = {}

--- A window with an empty buffer, which goes when another one takes its place.
local function open(config)
  local empty = require("flemma.scratch").create()
  vim.bo[empty].bufhidden = "wipe"
  local ok, win = pcall(api.nvim_open_win, empty, true, config)
  if not ok then
    pcall(api.nvim_buf_delete, empty, { force = true })
    error(win, 0)
  end
  return win
end

function openers.vertical(opts)
  local width = cells(opts.width, 0.4, vim.o.columns)
  if width < MIN_WIDTH or vim.o.columns - width < MIN_WIDTH then
    -- Neither of the two windows could be read.
    return openers.horizontal(opts)
  end
  -- A window that is split off belongs to the tab page, so it cannot be split off a floating one.
  local ok, win = pcall(open, { win = -1, split = "right", width = width })
  if not ok then
    return openers.horizontal(opts)
  end
  sizes.keep(win, "columns")
  return win
end

function openers.horizontal(opts)
  local height = cells(opts.height, 0.4, vim.o.lines - vim.o.cmdheight)
  local ok, win = pcall(open, { win = -1, split = "below", height = height })
  if not ok then
    return openers.tab(opts)
  end
  sizes.keep(win, "lines")
  return win
end

function openers.tab(opts)
  local before, count = api.nvim_get_current_tabpage(), vim.fn.tabpagenr("$")
  if pcall(vim.cmd, "tab split") then
    return api.nvim_get_current_win()
  end
  -- On a screen of a few lines, Neovim gives up half-way (E36).
  if vim.fn.tabpagenr("$") > count and api.nvim_get_current_tabpage() ~= before then
    pcall(vim.cmd.tabclose)
  end
  return openers.float(opts)
end

function openers.float(opts)
  local win = open(float_config(opts))
  sizes.follow(win, function()
    if api.nvim_win_get_config(win).relative ~= "" then
      api.nvim_win_set_config(win, float_config(opts))
    end
  end)
  return win
end

--- What is wrong, in Neovim's words.
---@param thrown any
---@return string
local function words_of(thrown)
  return (tostring(thrown):match("[^\n]*"):gsub("^.*(E%d+:)", "%1"):gsub("^.-:%d+: ", ""))
end

--- Puts a buffer into a window.
---@param win integer
---@param buf integer
---@return string? problem
local function put(win, buf)
  if api.nvim_buf_is_loaded(buf) then
    local ok, thrown = pcall(api.nvim_win_set_buf, win, buf)
    return not ok and words_of(thrown) or nil
  end
  -- Which of two editors may change it is decided by its lock, and not by the swap file.
  local ok, found = pcall(require("flemma.swap").decide, "e", function()
    api.nvim_win_call(win, function()
      vim.cmd(("silent keepalt buffer %d"):format(buf))
    end)
  end)
  if api.nvim_buf_is_loaded(buf) and api.nvim_win_get_buf(win) == buf then
    return
  elseif ok and found then
    local path = vim.fn.fnameescape(vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":~:."))
    return ("a Neovim that is no longer running has left a swap file of it; `:edit %s` lets you recover it"):format(path)
  end
  return ok and "it is not known why" or words_of(found)
end

--- The windows of this tab page whose buffers a function chooses, the current window first.
---@param chooses fun(buf: integer): boolean
---@return integer[]
function M.find(chooses)
  local current, found = api.nvim_get_current_win(), {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if chooses(api.nvim_win_get_buf(win)) then
      table.insert(found, win == current and 1 or #found + 1, win)
    end
  end
  return found
end

--- The windows of this tab page that were opened for conversations; or else others that show one, of which the user has opened
--- at least one themselves.
---@param chooses fun(buf: integer): boolean
---@return integer[]
function M.find_own(chooses)
  local found = M.find(chooses)
  local own = vim.tbl_filter(function(win)
    return vim.w[win].flemma_layout ~= nil
  end, found)
  return own[1] and own or { found[1] }
end

--- Hides a window. Its buffer stays as it is. The last window cannot be closed, so it shows another buffer.
---@param win integer
---@return string? problem
function M.hide(win)
  local buf = api.nvim_win_get_buf(win)
  vim.bo[buf].bufhidden = "hide"
  if pcall(api.nvim_win_hide, win) then
    return
  end
  local ok, problem = pcall(api.nvim_win_call, win, function()
    local other = vim.fn.bufnr("#")
    if other > 0 and other ~= buf and vim.bo[other].buflisted and vim.bo[other].filetype ~= "chat" then
      api.nvim_win_set_buf(win, other)
    else
      vim.cmd.enew()
    end
  end)
  if not ok then
    return ("the window could not be hidden: %s"):format(words_of(problem))
  end
  vim.w[win].flemma_layout = nil
end

--- The window of a conversation that has a tab page of its own.
---@param chooses fun(buf: integer): boolean
---@return integer?
local function in_own_tab(chooses)
  for _, win in ipairs(api.nvim_list_wins()) do
    if vim.w[win].flemma_layout == "tab" and chooses(api.nvim_win_get_buf(win)) then
      return win
    end
  end
end

--- The window that is there for a conversation: one that has it, or one with another conversation that it may replace.
---@return integer?
local function existing(buf, opts)
  local function has_it(other)
    return other == buf
  end
  local found = M.find(has_it)[1] or (opts.layout == "tab" and in_own_tab(has_it)) or nil
  if found then
    return found
  end
  for _, win in ipairs(M.find(opts.replaces)) do
    if not vim.wo[win].winfixbuf and not vim.wo[win].previewwindow then
      -- The conversation that leaves the window stays as it is, also when it has changes and 'hidden' is off.
      vim.bo[api.nvim_win_get_buf(win)].bufhidden = "hide"
      return win
    end
  end
end

--- Shows a buffer in the window that is there for it, or in a new one.
---@param buf integer
---@param opts flemma.WindowOptions
---@return integer? win
---@return string? problem
function M.show(buf, opts)
  local before, win = api.nvim_get_current_win(), existing(buf, opts)
  local is_new = win == nil
  if not win then
    local ok, opened = pcall(openers[opts.layout], opts)
    if not ok then
      return nil, ("the conversation could not be shown: %s"):format(words_of(opened))
    end
    win = opened
    vim.w[win].flemma_layout = opts.layout
  end
  local problem = put(win, buf)
  if problem and is_new then
    pcall(api.nvim_win_close, win, true)
  end
  local wanted = opts.enter and not problem and win or before
  if api.nvim_get_current_win() ~= wanted and api.nvim_win_is_valid(wanted) then
    api.nvim_set_current_win(wanted)
  end
  if problem then
    local name = vim.fs.basename(api.nvim_buf_get_name(buf))
    return nil, ("%s could not be shown: %s"):format(name, problem)
  end
  return win
end

return M
