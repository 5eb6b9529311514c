--- What the editor shows, for references in a conversation: `@buffer`, `@diagnostics`, `@quickfix`, `@symbol`, `@diff`.
---
--- The library asks for all references of a message at once, and judges afterwards what a model may be told.
local M = {}

local previous_file = require("flemma.references.previous_file")
local paths = require("flemma.tools.paths")

local api = vim.api

--- How many lines or items, and how many bytes of text, are passed on. More than that is not sent.
local MAX, MAX_BYTES = 2000, 64 * 1024

--- The name by which a buffer is judged.
---@param buf integer
---@return string
local function name_of(buf)
  return buf > 0 and api.nvim_buf_is_valid(buf) and paths.judged_name(buf) or ""
end

--- A part of a buffer, of which the first lines are passed on.
---@param buf integer
---@param first integer from 0
---@param last integer exclusive
---@param symbol? string
---@return flemma.EditorView
local function part(buf, first, last, symbol)
  local lines, bytes = {}, 0
  for _, line in ipairs(api.nvim_buf_get_lines(buf, first, math.min(last, first + MAX), false)) do
    bytes = bytes + #line + 1
    if bytes > MAX_BYTES and #lines > 0 then
      break
    end
    lines[#lines + 1] = line:sub(1, MAX_BYTES)
  end
  local is_modified = vim.bo[buf].modified
  return { name = name_of(buf), is_modified = is_modified, first = first + 1, lines = lines, total = last - first, symbol = symbol }
end

---@param items table[]
---@param view? flemma.EditorView
---@return flemma.EditorView
local function list(items, view)
  return vim.tbl_extend("error", view or {}, { items = vim.list_slice(items, 1, MAX), more = math.max(0, #items - MAX) })
end

--- The buffer that a reference is about.
---@param path? string
---@param kind string the word of the reference
---@return integer? buf
---@return integer|flemma.EditorView win_or_problem
local function subject_of(path, kind)
  local buf, win
  if path then
    buf, win = previous_file.of_file(path)
  else
    buf, win = previous_file.buffer()
  end
  if buf then
    return buf, win or 0
  end
  local problem = path and ("%s is not open in the editor"):format(vim.fn.fnamemodify(path, ":~"))
    or ("there is no file that you came from; open one, or name one: `@%s:./path`"):format(kind)
  return nil, { problem = problem }
end

--- The buffers of files in a folder; nothing if it is no folder, or does not answer.
---@param folder string
---@return integer[]? bufs
---@return string? real the folder with links resolved
local function bufs_in(folder)
  local found, _, is_file = require("flemma.native").call("path", "file", { path = folder })
  if not found or is_file then
    return nil
  end
  local bufs = api.nvim_list_bufs()
  local real, start = require("flemma.buffer.paths").names(bufs), found:gsub("/*$", "/")
  return vim.tbl_filter(function(buf)
    local own = real[api.nvim_buf_get_name(buf)]
    return own ~= nil and vim.startswith(own, start) and not paths.is_chat(buf)
  end, bufs),
    found
end

---@param item vim.Diagnostic
---@return string
local function about(item)
  local from = vim.trim(("%s %s"):format(item.source or "", item.code or ""))
  return tostring(item.message) .. (from ~= "" and (" (%s)"):format(from) or "")
end

local severities = { "error", "warning", "info", "hint" }
local types = { E = "error", W = "warning", I = "info", N = "note" }

---@type table<string, fun(path: string?, done: fun(view: flemma.EditorView))>
local sources = {}

function sources.buffer(path, done)
  local buf, problem = subject_of(path, "buffer")
  done(buf and part(buf, 0, api.nvim_buf_line_count(buf)) or problem)
end

function sources.symbol(path, done)
  local buf, win = subject_of(path, "symbol")
  if not buf then
    return done(win)
  end
  local row, column = previous_file.cursor(buf, win)
  require("flemma.references.symbol").around(buf, row, column, function(symbol)
    if symbol and api.nvim_buf_is_loaded(buf) then
      return done(part(buf, symbol.first, symbol.last + 1, symbol.name))
    end
    local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":t")
    local words = "neither treesitter nor a language server knows a symbol around line %d of %s"
    done({ problem = words:format(row + 1, name ~= "" and name or "the buffer") })
  end)
end

function sources.diagnostics(path, done)
  local bufs, folder
  if path then
    bufs, folder = bufs_in(path)
  end
  if not bufs then
    local buf, problem = subject_of(path, "diagnostics")
    if not buf then
      return done(problem)
    end
    bufs = { buf }
  end
  local items = {}
  for _, buf in ipairs(bufs) do
    local found = vim.diagnostic.get(buf)
    table.sort(found, function(a, b)
      return a.lnum < b.lnum or (a.lnum == b.lnum and a.col < b.col)
    end)
    for _, item in ipairs(found) do
      local line = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_lines(buf, item.lnum, item.lnum + 1, false)[1]
      items[#items + 1] = {
        name = name_of(buf),
        line = item.lnum + 1,
        column = line and paths.column(line, item.col) or item.col + 1,
        kind = severities[item.severity] or "",
        text = about(item),
      }
    end
  end
  done(list(items, { name = folder or name_of(bufs[1]), is_modified = #bufs == 1 and vim.bo[bufs[1]].modified }))
end

function sources.quickfix(path, done)
  local entries = vim.fn.getqflist()
  local bufs = vim.tbl_map(function(entry)
    return entry.bufnr
  end, path and entries or {})
  local reals = path and require("flemma.buffer.paths").names(bufs, { path }) or {}
  local real = path and (reals[path] or path)
  local items = {}
  for _, entry in ipairs(entries) do
    local name = entry.bufnr > 0 and api.nvim_buf_get_name(entry.bufnr) or ""
    local own = reals[name] or name
    if not real or own == real or vim.startswith(own, (real:gsub("/*$", "/"))) then
      items[#items + 1] = {
        name = name_of(entry.bufnr),
        line = entry.lnum,
        column = entry.col,
        kind = types[(entry.type or ""):upper()] or "",
        text = entry.text or "",
      }
    end
  end
  done(list(items))
end

--- The working tree is looked at by the library: it needs to know which one.
function sources.diff(_, done)
  local buf = previous_file.buffer()
  done({ name = buf and api.nvim_buf_get_name(buf) or "" })
end

--- Looks up what references mean, and passes that to the library.
---@param chat integer the conversation
---@param number integer
---@param wanted { subject: string, path?: string }[]
function M.collect(chat, number, wanted)
  local views, left = {}, #wanted
  local function done(at, view)
    if views[at] then
      return
    end
    views[at], left = view, left - 1
    if left == 0 then
      require("flemma.native").call("looked", chat, number, views)
    end
  end
  for at, reference in ipairs(wanted) do
    local ok, problem = pcall(sources[reference.subject], reference.path, function(view)
      done(at, view)
    end)
    if not ok then
      done(at, { problem = tostring(problem):match("[^\n]*") })
    end
  end
end

return M
