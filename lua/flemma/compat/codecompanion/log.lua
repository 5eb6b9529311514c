--- The stand-in for CodeCompanion's log: its lines go to Flemma's log, and never to the screen.
local M = {}

local LEVELS = { trace = "debug", debug = "debug", info = "info", warn = "warn", error = "error" }

--- A line: a format with its values. What does not fit the format is added as Lua shows it.
---@param format any
---@return string
local function line_of(format, ...)
  local values = vim.F.pack_len(...)
  for i = 1, values.n do
    if type(values[i]) == "table" then
      values[i] = vim.inspect(values[i])
    elseif type(values[i]) ~= "number" then
      values[i] = tostring(values[i])
    end
  end
  if type(format) ~= "string" then
    format = vim.inspect(format)
  end
  local ok, line = pcall(string.format, format, unpack(values, 1, values.n))
  return ok and line or table.concat({ format, unpack(values, 1, values.n) }, " ")
end

---@param level string
---@param line string
local function write(level, line)
  if vim.in_fast_event() then
    return vim.schedule(function()
      write(level, line)
    end)
  end
  require("flemma.native").call("editor_event", "logged", { level = level, line = "CodeCompanion: " .. line })
end

for name, level in pairs(LEVELS) do
  --- Tools call it with `:`, and some with `.`.
  M[name] = function(first, ...)
    write(level, rawequal(first, M) and line_of(...) or line_of(first, ...))
  end
end

return M
