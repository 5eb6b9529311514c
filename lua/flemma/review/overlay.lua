--- What is proposed, drawn over what the file is.
local hunks_of = require("flemma.review.hunks")

local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace("flemma.review")

--- The most rows of the screen that one line of the proposal takes.
local MAX_ROWS = 20

--- A line of the proposal as rows of the screen, each filled up to the edge.
---@param text string
---@param width integer
---@param group string
---@return table[]
local function rows(text, width, group)
  text = text:gsub("%z", "^@"):gsub("\t", "    ")
  if vim.fn.strdisplaywidth(text) <= width then
    return { { { text .. (" "):rep(width - vim.fn.strdisplaywidth(text)), group } } }
  end
  local lines, left = {}, text
  while left ~= "" and #lines < MAX_ROWS do
    local row = vim.fn.strcharpart(left, 0, width)
    while vim.fn.strdisplaywidth(row) > width do
      row = vim.fn.strcharpart(row, 0, vim.fn.strchars(row) - 1)
    end
    left = left:sub(#row + 1)
    lines[#lines + 1] = { { row .. (" "):rep(width - vim.fn.strdisplaywidth(row)), group } }
  end
  if left ~= "" then
    lines[#lines + 1] = { { ("… %d more bytes on this line"):format(#left), "FlemmaReviewNote" } }
  end
  return lines
end

--- The line of the buffer, from 1, that a hunk is found by.
---@param hunk flemma.Hunk
local function line_of(hunk)
  return math.max(hunk.old_first, 1)
end

--- Draws the hunks.
---@param buf integer the file's buffer
---@param win integer a window that shows it
---@param hunks flemma.Hunks
function M.draw(buf, win, hunks)
  api.nvim_buf_clear_namespace(buf, M.namespace, 0, -1)
  if not api.nvim_win_is_valid(win) then
    return
  end
  local info = vim.fn.getwininfo(win)[1]
  local width = math.max(info.width - info.textoff, 1)
  local encoding = vim.bo[buf].fileencoding
  local count = api.nvim_buf_line_count(buf)
  for number, hunk in ipairs(hunks.list) do
    for line = hunk.old_first, hunk.old_first + hunk.old_count - 1 do
      if line <= count then
        api.nvim_buf_set_extmark(buf, M.namespace, line - 1, 0, {
          end_row = line,
          hl_group = hunk.taken and "FlemmaReviewDelete" or "FlemmaReviewLeft",
          hl_eol = true,
          strict = false,
          priority = 200,
        })
      end
    end
    local added = {}
    for at = hunk.new_first, hunk.new_first + hunk.new_count - 1 do
      local text = hunks_of.text_of(hunks.new[at] or "")
      if encoding ~= "" and encoding ~= "utf-8" then
        text = vim.iconv(text, encoding, "utf-8") or text
      end
      vim.list_extend(added, rows(text, width, hunk.taken and "FlemmaReviewAdd" or "FlemmaReviewLeft"))
    end
    local above = hunk.old_count == 0 and hunk.old_first == 0
    local last = hunk.old_count == 0 and hunk.old_first or hunk.old_first + hunk.old_count - 1
    if #added > 0 then
      api.nvim_buf_set_extmark(buf, M.namespace, math.min(math.max(last, 1), count) - 1, 0, {
        virt_lines = added,
        virt_lines_above = above and #hunks.old > 0,
      })
    end
    local state = hunk.taken and "" or ", left out"
    api.nvim_buf_set_extmark(buf, M.namespace, math.min(hunks_of.line_of(hunk), count) - 1, 0, {
      virt_text = { { (" %d/%d%s"):format(number, #hunks.list, state), "FlemmaReviewNote" } },
      virt_text_pos = "eol",
    })
  end
end

return M
