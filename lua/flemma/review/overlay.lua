--- What is proposed, drawn over what the file is.
local hunks_of = require("flemma.review.hunks")

local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace("flemma.review")

--- The most rows of the screen that one line of the proposal takes.
local MAX_ROWS = 20

--- A row of the screen, filled up to the edge.
---@param text string
---@param width integer
---@param group string
local function row(text, width, group)
  return { { text .. (" "):rep(width - vim.fn.strdisplaywidth(text)), group } }
end

--- The hunks as `hunk_rows` takes them, in UTF-8.
---@param hunks flemma.Hunks
---@param encoding string of the file
---@param form flemma.Form what both sides have in common is not drawn
function M.pieces(hunks, encoding, form)
  local function side(pieces, first, count)
    return vim
      .iter(ipairs(vim.list_slice(pieces, first, first + count - 1)))
      :map(function(at, piece)
        if form.bom and first + at == 2 then
          piece = piece:gsub("^\239\187\191", "")
        end
        if encoding ~= "" and encoding ~= "utf-8" then
          piece = vim.iconv(piece, encoding, "utf-8") or piece
        end
        return form.dos and piece:gsub("\r\n$", "\n") or piece
      end)
      :totable()
  end
  return vim
    .iter(hunks.list)
    :map(function(hunk)
      return {
        side(hunks.old, math.max(hunk.old_first, 1), hunk.old_count),
        side(hunks.new, math.max(hunk.new_first, 1), hunk.new_count),
      }
    end)
    :totable()
end

---@class flemma.HunkRows
---@field old string[] for each line that goes what is drawn of it once more; empty if the file shows what changes in it
---@field new string[][] the rows of each line that comes
---@field same string[] for each line that comes the same in one row, as `old`

--- How hunks are drawn.
---@param pieces [string[], string[]][]
---@param width integer
---@param rows integer the most rows of a line
---@param wraps boolean whether the window continues a line that is too long in the next row
---@return flemma.HunkRows[]
function M.rows(pieces, width, rows, wraps)
  return require("flemma.native").call("hunk_rows", pieces, width, rows, wraps) or {}
end

--- Draws the hunks.
---@param buf integer the file's buffer
---@param win integer a window that shows it
---@param hunks flemma.Hunks
---@param form flemma.Form
function M.draw(buf, win, hunks, form)
  api.nvim_buf_clear_namespace(buf, M.namespace, 0, -1)
  if not api.nvim_win_is_valid(win) then
    return
  end
  local info = vim.fn.getwininfo(win)[1]
  local width = math.max(info.width - info.textoff, 1)
  local count = api.nvim_buf_line_count(buf)
  local drawn = M.rows(M.pieces(hunks, vim.bo[buf].fileencoding, form), width, MAX_ROWS, vim.wo[win].wrap)
  for number, hunk in ipairs(hunks.list) do
    for line = hunk.old_first, hunk.old_first + hunk.old_count - 1 do
      -- A line that stays is ordinary text.
      if line <= count and hunk.taken then
        api.nvim_buf_set_extmark(buf, M.namespace, line - 1, 0, {
          end_row = line,
          hl_group = "FlemmaReviewDelete",
          hl_eol = true,
          strict = false,
          priority = 200,
        })
      end
    end
    local below = {}
    for _, text in ipairs(drawn[number] and drawn[number].old or {}) do
      if text ~= "" then
        below[#below + 1] = row(text, width, hunk.taken and "FlemmaReviewDelete" or "FlemmaReviewLeft")
      end
    end
    for _, rows in ipairs(drawn[number] and drawn[number].new or {}) do
      for _, text in ipairs(rows) do
        below[#below + 1] = row(text, width, hunk.taken and "FlemmaReviewAdd" or "FlemmaReviewLeft")
      end
    end
    local above = hunk.old_count == 0 and hunk.old_first == 0
    local last = hunk.old_count == 0 and hunk.old_first or hunk.old_first + hunk.old_count - 1
    if #below > 0 then
      api.nvim_buf_set_extmark(buf, M.namespace, math.min(math.max(last, 1), count) - 1, 0, {
        virt_lines = below,
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
