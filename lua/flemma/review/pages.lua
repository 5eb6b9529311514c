--- Pairs of buffers side by side in Neovim's diff mode, in a tab page of their own.
---
--- Closing the right side, or the tab page, ends it. The left side may be closed alone, for more room.
local keys = require("flemma.review.keys")

local M = {}

local api = vim.api

--- With fewer columns, one side is above the other.
local NARROW = 60

---@class flemma.Page
---@field left fun(): integer makes the buffer of the left side, which goes with its window
---@field right fun(): integer gives the buffer of the right side
---@field bars fun(place: string): string, string what stands above the sides; the place is "2/3 ", or empty
---@field keys { [1]: string, [2]: string, [3]: fun() }[] what is mapped in both
---@field has_no_text? boolean whether there is nothing to compare

---@class flemma.Pages
---@field at integer the page on the screen
---@field tab integer
---@field left integer window
---@field right integer window
---@field pages flemma.Page[]
---@field private origin integer the window that the user came from
---@field private home integer what was in it
---@field private closed? fun() the user has closed it
---@field private restore (fun())[]
---@field private group integer
---@field private is_closed? boolean
local Pages = {}
Pages.__index = Pages

--- The text of a 'winbar'.
---@param text string
function M.escape(text)
  return (text:gsub("%%", "%%%%"):gsub("%c", " "))
end

--- Draws what stands above the windows.
function Pages:draw()
  local place = #self.pages > 1 and ("%d/%d "):format(self.at, #self.pages) or ""
  local left, right = self.pages[self.at].bars(place)
  left = "%<" .. left
  local hiding = vim.o.diffopt:match("iwhite%a*") or vim.o.diffopt:match("icase") or vim.o.diffopt:match("iblank")
  if hiding then
    left = ("%s 'diffopt' with %s hides differences"):format(left, hiding)
  end
  for win, bar in pairs({ [self.left] = left, [self.right] = right }) do
    if api.nvim_win_is_valid(win) then
      vim.wo[win][0].winbar = bar
    end
  end
end

--- Puts the cursors on the first difference. In a line that is wider than its window, that may be far from its beginning.
---@private
function Pages:go_to_first()
  local lines = {}
  for at, win in ipairs({ self.right, self.left }) do
    api.nvim_win_call(win, function()
      local is_there = vim.fn.diff_hlID(1, 1) > 0 or vim.fn.diff_filler(1) > 0
      vim.cmd(is_there and "normal! gg" or "silent! normal! gg]c")
      lines[at] = vim.fn.getline(".")
    end)
  end
  local same = 0
  while same < #lines[1] and lines[1]:byte(same + 1) == lines[2]:byte(same + 1) do
    same = same + 1
  end
  for _, win in ipairs(same > api.nvim_win_get_width(self.right) and { self.left, self.right } or {}) do
    api.nvim_win_set_cursor(win, { api.nvim_win_get_cursor(win)[1], same })
  end
end

--- Shows a page.
---@param at integer
function Pages:show(at)
  local page = self.pages[at]
  self.at = at
  if not api.nvim_win_is_valid(self.left) then
    self.left = api.nvim_open_win(page.left(), false, { split = "left", win = self.right })
  end
  self:give_keys_back()
  for win, buf in pairs({ [self.left] = page.left(), [self.right] = page.right() }) do
    api.nvim_win_call(win, function()
      vim.cmd("diffoff")
    end)
    api.nvim_win_set_buf(win, buf)
    local function step(by)
      return function()
        self:step(by)
      end
    end
    local own = { { "]f", "the next file of the change", step(1) }, { "[f", "the previous file of the change", step(-1) } }
    self.restore[#self.restore + 1] = keys.set(buf, vim.list_extend(own, page.keys))
    if not page.has_no_text then
      api.nvim_win_call(win, function()
        vim.cmd("diffthis")
      end)
    end
  end
  self:go_to_first()
  self:draw()
end

--- Goes to another page.
---@param by integer
function Pages:step(by)
  if self.pages[self.at + by] then
    return self:show(self.at + by)
  end
  local words = by > 0 and "this is the last file of the change" or "this is the first file of the change"
  require("flemma.notify").say(vim.log.levels.INFO, words)
end

---@private
function Pages:give_keys_back()
  for _, restore in ipairs(self.restore) do
    restore()
  end
  self.restore = {}
end

---@return boolean is_done false if the window is gone
function Pages:focus()
  return pcall(api.nvim_set_current_win, self.right)
end

--- Closes the windows, and goes back to where the user came from if they are in one of them.
function Pages:close()
  if self.is_closed then
    return
  end
  self.is_closed = true
  local is_here = api.nvim_get_current_tabpage() == self.tab
  api.nvim_del_augroup_by_id(self.group)
  self:give_keys_back()
  for _, win in ipairs({ self.left, self.right }) do
    if api.nvim_win_is_valid(win) then
      pcall(api.nvim_win_call, win, function()
        vim.cmd("diffoff")
      end)
      -- The last window of all stays.
      if not pcall(api.nvim_win_close, win, true) then
        vim.wo[win][0].winbar = ""
        api.nvim_win_set_buf(win, api.nvim_buf_is_loaded(self.home) and self.home or api.nvim_create_buf(true, false))
      end
    end
  end
  if is_here and api.nvim_win_is_valid(self.origin) then
    pcall(api.nvim_set_current_win, self.origin)
  end
end

--- Opens a tab page with the first page.
---@param pages flemma.Page[]
---@param closed? fun() the user has closed it
---@return flemma.Pages
function M.open(pages, closed)
  local self = setmetatable({
    at = 1,
    pages = pages,
    closed = closed,
    origin = api.nvim_get_current_win(),
    home = api.nvim_get_current_buf(),
    restore = {},
    group = api.nvim_create_augroup("flemma.review." .. vim.uv.hrtime(), {}),
  }, Pages)
  -- Before this tab page, so that closing it leads back here.
  vim.cmd(("keepalt -tab sbuffer %d"):format(pages[1].left()))
  self.left, self.tab = api.nvim_get_current_win(), api.nvim_get_current_tabpage()
  vim.cmd(("belowright %s sbuffer %d"):format(vim.o.columns < NARROW and "" or "vertical", pages[1].right()))
  self.right = api.nvim_get_current_win()
  self:show(1)
  api.nvim_create_autocmd("WinClosed", {
    group = self.group,
    pattern = tostring(self.right),
    desc = "Flemma: close the other side as well",
    callback = vim.schedule_wrap(function()
      if not self.is_closed then
        self:close()
        if self.closed then
          self.closed()
        end
      end
    end),
  })
  return self
end

return M
