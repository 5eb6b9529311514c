--- `get_diagnostics`: the diagnostics of the files that are open in the editor.
local paths = require("flemma.tools.paths")

local api = vim.api

local severities = { "error", "warning", "info", "hint" }

--- The maximum length of a message, in bytes.
local MAX_MESSAGE = 1000

---@param buf integer
---@param item vim.Diagnostic
---@return integer
local function column(buf, item)
  local line = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_lines(buf, item.lnum, item.lnum + 1, false)[1]
  return line and paths.column(line, item.col) or item.col + 1
end

---@param input { path?: string, severity?: string }
---@param ctx flemma.ExecutionContext
---@return table
return function(input, ctx)
  local real
  if input.path and input.path ~= "" then
    local path, found = paths.existing(ctx, input.path)
    if not path then
      return paths.failure(found)
    end
    real = found
  end
  local bufs = vim.tbl_filter(function(buf)
    -- The file, or a file in the folder.
    local own = real and vim.uv.fs_realpath(api.nvim_buf_get_name(buf))
    return not paths.is_chat(buf) and (not real or own == real or own and vim.startswith(own, (real:gsub("/*$", "/"))))
  end, api.nvim_list_bufs())
  if real and #bufs == 0 then
    local words = "No file at %s is open in the editor, so it has no diagnostics. `open_location` opens a file."
    return paths.failure(words:format(input.path))
  end
  local least = input.severity and vim.fn.index(severities, input.severity) + 1 or #severities
  local readable = paths.readable(ctx, bufs)
  local found, denied = {}, 0
  for _, buf in ipairs(bufs) do
    local items = vim.diagnostic.get(buf, { severity = { min = least } })
    if #items > 0 and not readable[buf] then
      denied = denied + 1
    elseif #items > 0 then
      local path = paths.of_buffer(ctx, buf)
      for _, item in ipairs(items) do
        found[#found + 1] = { path = path, buf = buf, item = item }
      end
    end
  end
  table.sort(found, function(a, b)
    if a.path ~= b.path then
      return (a.path or "") < (b.path or "")
    elseif a.item.lnum ~= b.item.lnum then
      return a.item.lnum < b.item.lnum
    end
    return a.item.col < b.item.col
  end)
  local text = function(value)
    return value ~= nil and (paths.text(tostring(value):sub(1, MAX_MESSAGE))) or nil
  end
  local shown = {}
  for at = 1, math.min(#found, paths.MAX_ITEMS) do
    local entry = found[at]
    shown[at] = {
      path = entry.path,
      line = entry.item.lnum + 1,
      column = column(entry.buf, entry.item),
      severity = severities[entry.item.severity],
      message = text(entry.item.message),
      source = text(entry.item.source),
      code = text(entry.item.code),
    }
  end
  local more = #found - #shown
  return {
    diagnostics = paths.list(shown),
    note = paths.notes(
      more > 0 and ("%d of %d are shown; give a `path` or a `severity`"):format(#shown, #found) or nil,
      paths.left_out(denied, "file")
    ),
  }
end
