--- Where the user came from: the window and the file, other than a conversation, in which they were last.
local M = {}

local api = vim.api

--- Whether a buffer has a file of the user's, or may get one. A terminal, a list and a conversation are passed over.
---@param buf integer
---@return boolean
local function is_file(buf)
  return api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and vim.bo[buf].filetype ~= "chat"
end

---@return integer
local function previous_window()
  return vim.fn.win_getid(vim.fn.winnr("#"))
end

--- The window that is not a conversation's in which the user was last.
---@return integer?
function M.window()
  local wins = api.nvim_list_wins()
  local used = {}
  for _, win in ipairs(wins) do
    used[win] = vim.fn.getbufinfo(api.nvim_win_get_buf(win))[1].lastused
  end
  table.sort(wins, function(a, b)
    return used[a] > used[b]
  end)
  return vim.iter({ api.nvim_get_current_win(), previous_window(), wins }):flatten():find(function(win)
    return api.nvim_win_is_valid(win)
      and api.nvim_win_get_config(win).relative == ""
      and vim.bo[api.nvim_win_get_buf(win)].filetype ~= "chat"
  end)
end

--- A window that shows a buffer: the one that was used last.
---@param buf? integer
---@return integer? buf
---@return integer? win
local function with_window(buf)
  local wins = buf and vim.fn.win_findbuf(buf) or {}
  return buf, vim.list_contains(wins, previous_window()) and previous_window() or wins[1]
end

--- The buffers with files that were entered, the latest last. Neovim itself only knows the second.
---@type integer[]
local entered = {}

--- Notes from now on which buffers the user enters. A conversation was opened, so this may be asked for.
function M.follow()
  api.nvim_create_autocmd({ "BufEnter", "WinEnter" }, {
    group = api.nvim_create_augroup("flemma.previous_file", { clear = true }),
    desc = "Flemma: note the file that the user was in last",
    callback = function()
      local buf = api.nvim_get_current_buf()
      if is_file(buf) then
        entered = vim.tbl_filter(function(other)
          return other ~= buf and api.nvim_buf_is_valid(other)
        end, entered)
        entered[#entered + 1] = buf
      end
    end,
  })
end

--- The buffer that the user came from: the one in which they were last that has a file or may get one.
---@return integer? buf
---@return integer? win
function M.buffer()
  local infos = vim.fn.getbufinfo({ bufloaded = 1, buflisted = 1 })
  table.sort(infos, function(a, b)
    return a.lastused > b.lastused
  end)
  local win = M.window()
  local bufs = vim.iter(entered):rev():totable()
  vim.list_extend(bufs, { win and api.nvim_win_get_buf(win) or nil, vim.fn.bufnr("#") })
  for _, info in ipairs(infos) do
    bufs[#bufs + 1] = info.bufnr
  end
  return with_window(vim.iter(bufs):find(function(buf)
    return api.nvim_buf_is_valid(buf) and is_file(buf)
  end))
end

--- The loaded buffer of a file.
---@param path string absolute
---@return integer? buf
---@return integer? win
function M.of_file(path)
  local bufs = vim.tbl_filter(function(buf)
    return api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
  end, api.nvim_list_bufs())
  local own = vim.iter(bufs):find(function(buf)
    return api.nvim_buf_get_name(buf) == path
  end)
  if not own then
    -- It may be open under another name.
    local real = require("flemma.buffer.paths").names(bufs, { path })
    own = vim.iter(bufs):find(function(buf)
      return real[path] ~= nil and real[api.nvim_buf_get_name(buf)] == real[path]
    end)
  end
  return with_window(own)
end

--- The position of the cursor in a buffer.
---@param buf integer
---@param win? integer
---@return integer row from 0
---@return integer column in bytes
function M.cursor(buf, win)
  local is_shown = win and api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == buf
  local pos = is_shown and api.nvim_win_get_cursor(win) or api.nvim_buf_get_mark(buf, '"')
  return math.max(0, math.min(pos[1], api.nvim_buf_line_count(buf)) - 1), pos[2]
end

return M
