--- 'diffopt' can hide differences, such as those in white space. What is not marked as a difference is not seen, so these flags
--- do not count while the tab page of a review is shown.
local M = {}

local api = vim.api

--- The flags that hide differences.
local HIDING = { icase = true, iblank = true, iwhite = true, iwhiteall = true, iwhiteeol = true }

--- The tab pages of reviews.
---@type table<integer, true>
local pages = {}

--- The user's value, and ours, while ours counts.
---@type { before: string, without: string }?
local changed

--- Sets the value for the tab page that is shown. What the user has set in the meantime stays.
function M.update()
  local is_shown = pages[api.nvim_get_current_tabpage()] ~= nil
  if is_shown and not changed then
    local before = vim.o.diffopt
    local flags = vim.iter(vim.split(before, ",", { plain = true })):filter(function(flag)
      return not HIDING[flag]
    end)
    local without = flags:join(",")
    if without ~= before then
      changed = { before = before, without = without }
      vim.o.diffopt = without
    end
  elseif not is_shown and changed then
    local was = changed
    changed = nil
    if vim.o.diffopt == was.without then
      vim.o.diffopt = was.before
      return
    end
    -- If the user has only added to it, the flags that were away come back.
    local now = vim.split(vim.o.diffopt, ",", { plain = true })
    local is_more = vim.iter(vim.split(was.without, ",", { plain = true })):all(function(flag)
      return vim.list_contains(now, flag)
    end)
    if is_more then
      vim.opt.diffopt:append(vim.iter(vim.split(was.before, ",", { plain = true })):filter(function(flag)
        return HIDING[flag]
      end):totable())
    end
  end
end

--- The tab page of a review is open.
---@param tab integer
function M.add(tab)
  pages[tab] = true
  M.update()
end

--- The review in a tab page is over.
---@param tab integer
function M.remove(tab)
  pages[tab] = nil
  M.update()
end

return M
