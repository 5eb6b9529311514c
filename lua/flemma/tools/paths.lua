--- Files and buffers for the tools that the editor answers (`lua/flemma/tools/client/`): what a model calls them, and
--- whether it may be told about them.
local M = {}

local api = vim.api

--- The maximum size of a text in a result, in bytes of JSON. The whole result must stay below the limit for results.
local MAX_TEXT = 32 * 1024

--- The maximum number of items in a list.
M.MAX_ITEMS = 200

local list = { __jsontype = "array" }

--- Marks a table as a list, also if it is empty.
---@generic T
---@param items T[]
---@return T[]
function M.list(items)
  return setmetatable(items, list)
end

--- A result that says why there is none.
---@param problem string
---@return table
function M.failure(problem)
  return { success = false, error = problem }
end

--- A text as valid UTF-8, short enough for a result.
---@param text string
---@return string content
---@return string? note what was left out
function M.text(text)
  local truncate = require("flemma.tools.truncate")
  local max_bytes = MAX_TEXT
  while true do
    local cut = truncate.truncate_head(text, { max_bytes = max_bytes })
    local content = cut.content
    if cut.first_line_exceeds_limit then
      -- A single line is cut between characters.
      content = truncate.truncate_head(text:sub(1, max_bytes + vim.str_utf_start(text, max_bytes + 1))).content
    end
    if #vim.json.encode(content) <= MAX_TEXT or max_bytes < 1024 then
      local shown, total = truncate.format_size(#content), truncate.format_size(cut.total_bytes)
      local note = ("showing %d of %d lines, %s of %s"):format(cut.output_lines, cut.total_lines, shown, total)
      return content, cut.truncated and note or nil
    end
    max_bytes = math.floor(max_bytes / 2)
  end
end

--- The folder where relative paths start.
---@param ctx flemma.ExecutionContext
---@return string
local function base(ctx)
  return ctx.__dirname or ctx.cwd
end

--- The path of a file or a folder that a model names. It exists, and the user does not deny reading it.
---@param ctx flemma.ExecutionContext
---@param name string
---@return string? path absolute, as it was named
---@return string real with links resolved; what is wrong if there is no path
function M.existing(ctx, name)
  if name == "" then
    return nil, "The path is empty: give the path of a file."
  elseif name:find("%z") then
    return nil, "The path contains a NUL character, which a file name cannot contain."
  elseif name:match("^%a[%w+.-]*://") then
    return nil, ("%s is a URL, and not a path of a file."):format(name)
  end
  local path = name
  if name == "~" or vim.startswith(name, "~/") then
    path = vim.uv.os_homedir() .. name:sub(2)
  elseif not vim.startswith(name, "/") then
    path = vim.fs.joinpath(base(ctx), name)
  end
  -- `..` behind a link leads to the folder above its target, as in the other tools.
  local real, problem = vim.uv.fs_realpath(path)
  if not real and problem and vim.startswith(problem, "ENOENT") then
    local missing = require("flemma.native").call("access", ctx.bufnr, "missing", { path = path, name = name })
    return nil, missing or ("The user's policy denies reading %s."):format(name)
  elseif not real then
    return nil, ("%s cannot be opened: %s."):format(name, problem or "it is not known why")
  end
  local allowed = require("flemma.native").call("access", ctx.bufnr, "read", { names = { path, real } })
  if not (allowed and allowed[1] and allowed[2]) then
    return nil, ("The user's policy denies reading %s."):format(name)
  end
  local is_winding = ("/" .. path .. "/"):find("/../", 1, true)
  return is_winding and real or vim.fs.normalize(path, { expand_env = false }), real
end

--- A path as other tools understand it: relative to the conversation's folder if it is below it.
---@param ctx flemma.ExecutionContext
---@param path string absolute
---@return string
function M.show(ctx, path)
  local folder = base(ctx)
  folder = vim.endswith(folder, "/") and folder or folder .. "/"
  local relative = vim.startswith(path, folder) and path:sub(#folder + 1) or path
  return (M.text(relative))
end

--- Whether a buffer belongs to a conversation.
---@param buf integer
---@return boolean
function M.is_chat(buf)
  return vim.bo[buf].filetype == "chat"
end

--- The name by which a buffer is judged. What a plugin shows in a buffer may come from anywhere, so that its name says
--- nothing: it counts as a URL.
---@param buf integer
---@return string
function M.judged_name(buf)
  local kind, name = vim.bo[buf].buftype, api.nvim_buf_get_name(buf)
  return (kind == "" or kind == "help") and name or "buffer://" .. name
end

--- Which of these buffers a model may be told about.
---@param ctx flemma.ExecutionContext
---@param bufs integer[]
---@return table<integer, boolean>
function M.readable(ctx, bufs)
  local allowed = require("flemma.native").call("access", ctx.bufnr, "read", { names = vim.tbl_map(M.judged_name, bufs) }) or {}
  local readable = {}
  for at, buf in ipairs(bufs) do
    readable[buf] = allowed[at] == true
  end
  return readable
end

--- What a model calls a buffer: the path of its file, or its name if it has no file; nil for a buffer without a name.
---@param ctx flemma.ExecutionContext
---@param buf integer
---@return string?
function M.of_buffer(ctx, buf)
  local name = api.nvim_buf_get_name(buf)
  return name ~= "" and M.show(ctx, name) or nil
end

--- A column in characters, from 1, for a byte of a line, from 0.
---@param line string
---@param byte integer
---@return integer
function M.column(line, byte)
  local at = vim.fn.charidx(line, math.max(0, math.min(byte, #line)))
  return (at < 0 and vim.fn.strchars(line, true) or at) + 1
end

--- A note about what was left out because the user denies reading it.
---@param number integer
---@param thing string
---@return string?
function M.left_out(number, thing)
  if number > 0 then
    local what = number == 1 and thing .. " was" or thing .. "s were"
    return ("%d %s left out: the user's policy denies reading there"):format(number, what)
  end
end

--- Several notes as one; nil if there are none.
---@param ... string?
---@return string?
function M.notes(...)
  local notes = {}
  for at = 1, select("#", ...) do
    notes[#notes + 1] = (select(at, ...))
  end
  return #notes > 0 and table.concat(notes, "; ") or nil
end

return M
