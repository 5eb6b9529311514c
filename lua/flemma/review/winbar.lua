--- What stands above the two sides of a review.
local M = {}

--- The text of a 'winbar'.
---@param text string
local function escape(text)
  return (text:gsub("%%", "%%%%"):gsub("%c", " "))
end

--- The keys, from the most that can be said to the least.
local KEYS = { ":w accept  gX reject  :q later", ":w accept  gX reject", ":w yes  gX no  :q", ":w gX :q" }
local KEYS_OF_MANY = {
  ":w take  gL leave out  gA all  gX reject  ]f",
  ":w take  gL leave out  gA all  gX no",
  ":w take  gL leave  gA all  gX",
  ":w gL gA gX ]f",
}

--- The first that fits; the last one if none does.
---@param texts string[]
---@param room integer
local function fitting(texts, room)
  for _, text in ipairs(texts) do
    if vim.fn.strdisplaywidth(text) <= room then
      return text
    end
  end
  return texts[#texts]
end

---@param view flemma.TabView
---@param file flemma.ReviewedFile
---@return string left
---@return string right
function M.texts(view, file)
  local review = view.review
  local count = #review.files
  local name = vim.fn.fnamemodify(file.path, ":~:.")
  local place = count > 1 and ("%d/%d "):format(view.at, count) or ""
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
  local mark = review.marks[file.path]
  if mark ~= nil then
    right = right .. (mark and ", taken" or ", left out")
  end
  local width = vim.api.nvim_win_is_valid(view.right) and vim.api.nvim_win_get_width(view.right) or 80
  local room = width - vim.fn.strdisplaywidth(right) - 1
  local texts = count > 1 and KEYS_OF_MANY or KEYS
  local keys = view.note or fitting(texts, room)
  if room < vim.fn.strdisplaywidth(keys) then
    -- The keys matter more.
    right = ""
  end
  local before = "%<" .. escape(("%s%s (%s)"):format(place, name, left))
  local after = ("%s%%=%%<%s"):format(escape(right), escape(keys))
  return before, after
end

return M
