--- Shows the user a place in a file, in a window that is not the conversation's. The user stays where they are.
local M = {}

local paths = require("flemma.tools.paths")

local api = vim.api

--- The maximum size of a file, in bytes. Neovim reads it while the user waits.
local MAX_SIZE = 64 * 1024 * 1024

--- A window of at least this many columns is split side by side.
local WIDE = 120

--- Whether showing something else in a window would lose changes of its buffer.
---@param win integer
---@return boolean
local function would_lose(win)
  local bo = vim.bo[api.nvim_win_get_buf(win)]
  if not bo.modified then
    return false
  end
  return bo.bufhidden == "" and not vim.o.hidden or vim.list_contains({ "unload", "delete", "wipe" }, bo.bufhidden)
end

--- Whether a file may be shown in a window.
---@param win integer
---@return boolean
local function is_ordinary(win)
  local buf = api.nvim_win_get_buf(win)
  return api.nvim_win_get_config(win).relative == ""
    and not paths.is_chat(buf)
    and vim.bo[buf].buftype == ""
    and not vim.wo[win].previewwindow
end

--- The tab page with the conversation; the current one if it is not visible.
---@param chat integer
---@return integer tab
---@return integer? win a window with the conversation
local function tab_of(chat)
  local wins = vim.fn.win_findbuf(chat)
  local here = api.nvim_get_current_tabpage()
  local best
  for _, win in ipairs(wins) do
    if api.nvim_win_get_config(win).relative == "" and (not best or api.nvim_win_get_tabpage(win) == here) then
      best = win
    end
  end
  return best and api.nvim_win_get_tabpage(best) or here, best
end

--- The window for a buffer; nil if there is none, so that one has to be split.
---@param tab integer
---@param buf integer
---@return integer?
local function window_for(tab, buf)
  local current = api.nvim_get_current_win()
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local best, rank = nil, 0
  for _, win in ipairs(api.nvim_tabpage_list_wins(tab)) do
    local shows = api.nvim_win_get_buf(win) == buf
    -- What the user is in the middle of stays.
    local is_busy = win == current and not vim.startswith(api.nvim_get_mode().mode, "n")
    if is_ordinary(win) and not is_busy and (shows or not (would_lose(win) or vim.wo[win].winfixbuf)) then
      local own = shows and 4 or win == current and 1 or win == previous and 3 or 2
      if own > rank then
        best, rank = win, own
      end
    end
  end
  return best
end

--- Loads a file without a question.
---@param path string
---@return integer? buf
---@return string? note what is special about the file; what is wrong if there is no buffer
local function load(path)
  local is_known = vim.fn.bufexists(path) == 1
  local buf = vim.fn.bufadd(path)
  local ok, result = true, nil
  if not api.nvim_buf_is_loaded(buf) then
    local was_listed = vim.bo[buf].buflisted
    ok, result = pcall(require("flemma.buffer.swapfile").decide, "o", function()
      api.nvim_buf_call(buf, function()
        vim.cmd("silent keepalt edit")
      end)
    end)
    if not api.nvim_buf_is_loaded(buf) then
      vim.bo[buf].buflisted = was_listed
    end
  end
  if api.nvim_buf_is_loaded(buf) and not ok and vim.uv.fs_access(path, "R") then
    -- An autocommand has failed, of a file type for example. The user sees the file all the same.
    vim.bo[buf].buflisted = true
    return buf, ("an autocommand failed when it was opened: %s"):format(tostring(result):match("[^\n]*"))
  elseif ok and api.nvim_buf_is_loaded(buf) then
    vim.bo[buf].buflisted = true
    local words = "it is open read-only, because another Neovim (process %d) is editing it"
    return buf, result and words:format(result.process) or nil
  end
  if not is_known then
    pcall(api.nvim_buf_delete, buf, { force = true })
  end
  if not ok then
    return nil, ("could not be opened: %s"):format(tostring(result):match("[^\n]*"))
  elseif result then
    local words = "was not opened: a Neovim that is no longer running has left a swap file of it, %s. "
      .. "The user has to open the file and decide whether to recover it."
    return nil, words:format(result.name)
  end
  return nil, "could not be opened: it is not known why."
end

--- The place of a text, from a line on.
---@param buf integer
---@param first integer line, from 1
---@param pattern string
---@return integer? line
---@return integer? byte from 0
local function find(buf, first, pattern)
  local text = table.concat(api.nvim_buf_get_lines(buf, first - 1, -1, false), "\n")
  local at = text:find(pattern, 1, true)
  if not at then
    return
  end
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  return first + breaks, at - 1 - (#before - #before:match("[^\n]*$"))
end

---@param buf integer
---@param input table
---@param note? string
---@return integer line
---@return integer byte
---@return string? note
local function place(buf, input, note)
  local last = api.nvim_buf_line_count(buf)
  local line = math.min(input.line or 1, last)
  note = paths.notes(note, (input.line or 1) > last and ("the file has only %d lines"):format(last) or nil)
  if input.pattern and input.pattern ~= "" then
    local found, byte = find(buf, line, input.pattern)
    if found and byte then
      return found, byte, note
    end
    note = paths.notes(note, ("the pattern was not found from line %d on"):format(line))
  end
  local text = api.nvim_buf_get_lines(buf, line - 1, line, false)[1] or ""
  local byte = vim.fn.byteidx(text, (input.column or 1) - 1)
  return line, byte < 0 and #text or byte, note
end

---@param input { path: string, line?: integer, column?: integer, pattern?: string }
---@param ctx flemma.ExecutionContext
---@param find_line? fun(buf: integer): integer?, string? finds the line in the file, or says why it cannot
---@return table
function M.open(input, ctx, find_line)
  for _, name in ipairs({ "line", "column" }) do
    if input[name] and input[name] < 1 then
      return paths.failure(("`%s` must be at least 1, not %s."):format(name, input[name]))
    end
  end
  local path, real = paths.existing(ctx, input.path)
  if not path then
    return paths.failure(real)
  end
  local stat = vim.uv.fs_stat(real)
  if not stat or stat.type ~= "file" then
    return paths.failure(("%s is a %s, and not a file."):format(input.path, stat and stat.type or "special file"))
  elseif stat.size > MAX_SIZE then
    return paths.failure(("%s is too large to be opened for the user: it has more than 64 MB."):format(input.path))
  end
  local buf, special = load(path)
  if not buf then
    return paths.failure(("%s %s"):format(input.path, special))
  end
  if find_line then
    local line, problem = find_line(buf)
    if not line then
      return paths.failure(problem or "The section was not found.")
    end
    input.line = line
  end
  local tab, chat = tab_of(ctx.bufnr)
  local win = window_for(tab, buf)
  local ok, thrown = pcall(function()
    if not win then
      local from = chat or api.nvim_get_current_win()
      local split = api.nvim_win_get_width(from) >= WIDE and "right" or "above"
      win = api.nvim_open_win(buf, false, { split = split, win = from })
    elseif api.nvim_win_get_buf(win) ~= buf then
      api.nvim_win_call(win, function()
        vim.cmd("normal! m'")
      end)
      api.nvim_win_set_buf(win, buf)
    end
  end)
  if not ok or not win or not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) ~= buf then
    local why = tostring(thrown or "another plugin closed it"):match("[^\n]*")
    return paths.failure(("There is no window for %s: %s"):format(input.path, why))
  end
  local line, byte, note = place(buf, input, special)
  api.nvim_win_set_cursor(win, { line, byte })
  api.nvim_win_call(win, function()
    vim.cmd("normal! zvzz")
  end)
  local text = api.nvim_buf_get_lines(buf, line - 1, line, false)[1] or ""
  return { path = paths.show(ctx, path), line = line, column = paths.column(text, byte), note = note }
end

return M
