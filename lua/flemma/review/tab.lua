--- A review side by side: at the left what the files are, at the right the text that will be written. It can be edited.
local buffers = require("flemma.review.buffers")
local decision = require("flemma.review.decision")
local pages = require("flemma.review.pages")

--- What stands above the two sides.
---@param review flemma.Review
---@param file flemma.ReviewedFile
---@param place string
---@return string left
---@return string right
local function bars(review, file, place)
  local is_there = file.old or file.old_size
  local left = file.after or is_there and (file.is_read_only and "now, read-only" or "now") or "does not exist"
  local right = file.moved_to and ("moved to %s"):format(file.moved_to)
    or not (file.new or file.new_size) and "deleted"
    or is_there and "proposed"
    or "new"
  -- Diff mode does not show it, and the last line may not be on the screen.
  local ends = vim.endswith(file.new or "", "\n")
  if (file.old or "") ~= "" and (file.new or "") ~= "" and vim.endswith(file.old, "\n") ~= ends then
    right = right .. (ends and ", newline at end" or ", no newline at end")
  end
  right = right .. (review.left[file.path] and ", left out" or "")
  local keys = #review.files > 1 and "gA all  gX reject  gL leave out  ]f" or "gA approve  gX reject"
  if review.is_over then
    keys = "ended: nothing is written any more"
  elseif review.stale[file.path] then
    keys = "the file has changed: compare, or `:e!`"
  end
  local escape = pages.escape
  local name = vim.fn.fnamemodify(file.path, ":~:.")
  return escape(("%s%s (%s)"):format(place, name, left)), escape(right) .. "%=%<" .. escape(keys)
end

--- The page of each file.
---@param review flemma.Review
---@return flemma.Page[]
local function list(review)
  return vim.tbl_map(function(file)
    local function leave_out()
      buffers.leave_out(review, file)
      review.view:refresh()
    end
    return {
      has_no_text = file.note ~= nil,
      left = function()
        return buffers.get(review, file, "old")
      end,
      right = function()
        return buffers.get(review, file, "new")
      end,
      bars = function(place)
        return bars(review, file, place)
      end,
      keys = {
        { "gA", "approve the call, with all files as they are here", decision.of(review, "approve") },
        { "gX", "reject the call", decision.of(review, "reject") },
        { "gL", "leave this file out", leave_out },
      },
    }
  end, review.files)
end

local M = {}

--- Opens the view.
---@param review flemma.Review
---@param closed fun() the user has closed it
---@return flemma.ReviewView
function M.open(review, closed)
  local view = pages.open(list(review), closed)
  function view.refresh()
    view.pages = list(review)
    view.at = math.min(view.at, #view.pages)
    view:draw()
  end
  return view
end

return M
