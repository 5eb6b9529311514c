--- The windows of projects' conversations: beside the others, below them, or in a tab page.
local M = {}

local api = vim.api

---@class flemma.WindowOptions
---@field layout flemma.Layout
---@field width? number up to 1, a part of the screen's
---@field height? number
---@field enter boolean whether the window becomes the current one
---@field replaces fun(buf: integer): boolean whether a window with this buffer is to show the conversation instead

--- The smallest window beside others in which text can be read.
local MIN_WIDTH = 40

---@param size number up to 1, a part of `whole`
---@param whole integer
---@return integer
local function cells(size, whole)
  return math.max(1, math.min(whole, math.floor(size <= 1 and size * whole or size)))
end

--- Opens a window with the current buffer, and enters it.
---@param opts flemma.WindowOptions
---@return integer win
local function open(opts)
  local columns, lines = vim.o.columns, vim.o.lines - vim.o.cmdheight
  local width, height = cells(opts.width or 0.4, columns), cells(opts.height or 0.4, lines)
  if opts.layout == "tab" then
    vim.cmd("tab split")
    return api.nvim_get_current_win()
  elseif opts.layout == "vertical" and width >= MIN_WIDTH and columns - width >= MIN_WIDTH then
    return api.nvim_open_win(0, true, { win = -1, split = "right", width = width })
  end
  return api.nvim_open_win(0, true, { win = -1, split = "below", height = height })
end

--- What is wrong, in Neovim's words.
---@param thrown any
---@return string
local function words_of(thrown)
  return (tostring(thrown):match("[^\n]*"):gsub("^.*(E%d+:)", "%1"):gsub("^.-:%d+: ", ""))
end

--- Loads the text of a conversation. Which of two editors may change it is decided by its lock, and not by the swap file.
---@param buf integer
---@return string? problem
function M.load(buf)
  if api.nvim_buf_is_loaded(buf) then
    return
  end
  local ok, found = pcall(require("flemma.buffer.swapfile").decide, "e", function()
    -- Functions do not ask autocommands about swap files.
    -- A conversation that leaves the window is not what the user comes back to.
    vim.cmd(("silent %s buffer %d"):format(vim.bo.filetype == "chat" and "keepalt" or "", buf))
  end)
  if api.nvim_buf_is_loaded(buf) then
    return
  elseif ok and found then
    local path = vim.fn.fnameescape(vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":~:."))
    return ("a Neovim that is no longer running has left a swap file of it; `:edit %s` lets you recover it"):format(path)
  end
  return ok and "it is not known why" or words_of(found)
end

--- Puts a buffer into a window.
---@param win integer
---@param buf integer
---@return string? problem
local function put(win, buf)
  local problem
  local ok, thrown = pcall(api.nvim_win_call, win, function()
    problem = M.load(buf)
    if not problem then
      api.nvim_win_set_buf(win, buf)
    end
  end)
  return problem or (not ok and words_of(thrown) or nil)
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

--- The windows of this tab page that were opened for conversations; or else another one that shows one, of which the user has
--- opened at least one themselves.
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
  local other = vim.fn.bufnr("#")
  local is_code = other > 0 and other ~= buf and vim.bo[other].buflisted and vim.bo[other].filetype ~= "chat"
  local ok, problem = pcall(api.nvim_win_call, win, function()
    vim.cmd(is_code and "buffer #" or "enew")
  end)
  if not ok then
    return ("the window could not be hidden: %s"):format(words_of(problem))
  end
  vim.w[win].flemma_layout = nil
end

--- The window that is there for a conversation: one that has it, also in a tab page of its own, or one with another conversation
--- that it may replace.
---@param buf integer
---@param opts flemma.WindowOptions
---@return integer?
local function existing(buf, opts)
  local function has_it(win)
    return api.nvim_win_get_buf(win) == buf
  end
  local found = vim.iter(api.nvim_tabpage_list_wins(0)):find(has_it)
    or opts.layout == "tab" and vim.iter(api.nvim_list_wins()):find(function(win)
      return vim.w[win].flemma_layout == "tab" and has_it(win)
    end)
  return found
    or vim.iter(M.find(opts.replaces)):find(function(win)
      return not vim.wo[win].winfixbuf and not vim.wo[win].previewwindow
    end)
end

--- Shows a buffer in the window that is there for it, or in a new one.
---@param buf integer
---@param opts flemma.WindowOptions
---@return integer? win
---@return string? problem
function M.show(buf, opts)
  local before, win = api.nvim_get_current_win(), existing(buf, opts)
  local is_new, problem = win == nil, nil
  if win then
    local shown = api.nvim_win_get_buf(win)
    if shown ~= buf then
      -- The conversation that leaves the window stays as it is, also when it has changes and 'hidden' is off.
      vim.bo[shown].bufhidden = "hide"
    end
  else
    local ok, opened = pcall(open, opts)
    if not ok then
      return nil, ("the conversation could not be shown: %s"):format(words_of(opened))
    end
    win = opened
    vim.w[win].flemma_layout = opts.layout
  end
  problem = put(win, buf)
  if problem and is_new then
    pcall(api.nvim_win_close, win, true)
  end
  local wanted = opts.enter and not problem and win or before
  if api.nvim_win_is_valid(wanted) then
    api.nvim_set_current_win(wanted)
  end
  if problem then
    return nil, ("%s could not be shown: %s"):format(vim.fs.basename(api.nvim_buf_get_name(buf)), problem)
  end
  return win
end

return M
