--- Tables as JSON, whatever is in them.
local M = {}

--- How deep tables are written, and the most values.
local DEEPEST, MOST = 100, 20000

--- A value as JSON. What has none is shown by a text in its place, as by `eval_lua`: `<itself>`, `<function>`, or `…` where there is
--- too much. A number that is none is null.
---@param value any
---@return string
function M.encode(value)
  local open, count = {}, 0
  local function write(item, depth)
    local kind = type(item)
    count = count + 1
    if kind == "number" and (item ~= item or item == math.huge or item == -math.huge) then
      return "null"
    elseif kind == "function" or kind == "thread" or (kind == "userdata" and item ~= vim.NIL) then
      return ('"<%s>"'):format(kind)
    elseif kind ~= "table" then
      return vim.json.encode(item)
    elseif open[item] then
      return '"<itself>"'
    elseif depth > DEEPEST or count > MOST then
      return '"…"'
    elseif next(item) == nil then
      return vim.json.encode(item)
    end
    open[item] = true
    local parts = {}
    local is_list = vim.islist(item)
    local keys = vim.tbl_keys(item)
    table.sort(keys, function(a, b)
      if is_list then
        return a < b
      end
      return tostring(a) < tostring(b)
    end)
    for _, key in ipairs(keys) do
      if count > MOST then
        parts[#parts + 1] = is_list and '"…"' or '"…":"…"'
        break
      end
      local prefix = is_list and "" or vim.json.encode(tostring(key)) .. ":"
      parts[#parts + 1] = prefix .. write(rawget(item, key), depth + 1)
    end
    open[item] = nil
    local list = table.concat(parts, ",")
    return is_list and "[" .. list .. "]" or "{" .. list .. "}"
  end
  return write(value, 1)
end

return M
