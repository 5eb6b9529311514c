--- Truncates long text to a size that is suitable for a model. The library does the work.
---
--- Limits are `{ max_lines = …, max_bytes = … }`. The defaults are `MAX_LINES` and `MAX_BYTES`.
local M = { MAX_LINES = 2000, MAX_BYTES = 51200 }

---@class flemma.Truncation
---@field content string the text that was kept
---@field truncated boolean
---@field truncated_by? "lines"|"bytes" the limit that was exceeded
---@field total_lines integer
---@field total_bytes integer
---@field output_lines integer
---@field output_bytes integer
---@field last_line_partial boolean whether the kept part is only the end of a line
---@field first_line_exceeds_limit boolean whether nothing was kept because the first line is too long

local function cut(name, text, limits)
  if type(text) ~= "string" then
    error(("truncate_%s: the text must be a string, not a %s"):format(name, type(text)), 3)
  elseif limits ~= nil and type(limits) ~= "table" then
    error(("truncate_%s: the limits must be a table, not a %s"):format(name, type(limits)), 3)
  end
  limits = limits or {}
  for _, key in ipairs({ "max_lines", "max_bytes" }) do
    local limit = limits[key]
    if limit ~= nil and (type(limit) ~= "number" or limit < 0 or limit ~= math.floor(limit) or limit > 2 ^ 53) then
      error(("truncate_%s: `%s` must be a non-negative whole number, not %s"):format(name, key, vim.inspect(limit)), 3)
    end
  end
  local fields = { text = text, from_end = name == "tail", lines = limits.max_lines, bytes = limits.max_bytes }
  local result = require("flemma.native").call("text", "truncated", fields)
  return result or error(("truncate_%s failed; `:messages` says why"):format(name), 3)
end

--- Keeps the beginning, in whole lines.
---@param text string
---@param limits? { max_lines?: integer, max_bytes?: integer }
---@return flemma.Truncation
function M.truncate_head(text, limits)
  return cut("head", text, limits)
end

--- Keeps the end, in whole lines, or the end of the last line if that line alone is too long.
---@param text string
---@param limits? { max_lines?: integer, max_bytes?: integer }
---@return flemma.Truncation
function M.truncate_tail(text, limits)
  return cut("tail", text, limits)
end

--- A readable number of bytes: `12345` is "12.1 KB".
---@param bytes integer
---@return string
function M.format_size(bytes)
  if type(bytes) ~= "number" then
    error(("format_size: the size must be a number, not a %s"):format(type(bytes)), 2)
  end
  return require("flemma.native").call("text", "size", { bytes = bytes })
end

return M
