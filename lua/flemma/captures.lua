--- What the editor shows, for references in a conversation: `@buffer`, `@diagnostics`, `@quickfix`, `@symbol`, `@diff`.
---
--- The library asks for all references of a message at once, and judges afterwards what a model may be told.
local M = {}

local origin = require("flemma.origin")
local places = require("flemma.tools.places")

local api = vim.api

--- How many lines, and how many items, are passed on. More than that is not sent.
local MAX = 2000

--- How much text is passed on, in bytes. More than that is not sent.
local MAX_BYTES = 64 * 1024

local severities = { "error", "warning", "info", "hint" }

--- The name by which a buffer is judged.
---@param buf integer
---@return string
local function name_of(buf)
  return buf > 0 and api.nvim_buf_is_valid(buf) and places.judged_name(buf) or ""
end

--- The first lines of a part of a buffer.
---@param buf integer
---@param first integer from 0
---@param last integer exclusive
---@return string[]
local function lines_of(buf, first, last)
  local lines, bytes = {}, 0
  for _, line in ipairs(api.nvim_buf_get_lines(buf, first, math.min(last, first + MAX), false)) do
    bytes = bytes + #line + 1
    if bytes > MAX_BYTES and #lines > 0 then
      break
    end
    lines[#lines + 1] = line:sub(1, MAX_BYTES)
  end
  return lines
end

---@param problem string
---@return flemma.EditorView
local function failure(problem)
  return { problem = problem }
end

--- The buffer that a reference is about.
---@param path? string
---@param kind string the word of the reference
---@return integer? buf
---@return integer|string win_or_problem
local function subject_of(path, kind)
  if path then
    local buf, win = origin.of_file(path)
    if not buf then
      return nil, ("%s is not open in the editor"):format(vim.fn.fnamemodify(path, ":~"))
    end
    return buf, win or 0
  end
  local buf, win = origin.buffer()
  if not buf then
    return nil, ("there is no file that you came from; open one, or name one: `@%s:./path`"):format(kind)
  end
  return buf, win or 0
end

---@param item vim.Diagnostic
---@return string
local function about(item)
  local source = item.source and tostring(item.source) or ""
  local code = item.code and tostring(item.code) or ""
  local from = vim.trim(source .. " " .. code)
  return tostring(item.message) .. (from ~= "" and (" (%s)"):format(from) or "")
end

---@param items table[]
---@return table[] shown
---@return integer more
local function first_of(items)
  local shown = vim.list_slice(items, 1, MAX)
  return shown, #items - #shown
end

--- The files of buffers that are in a folder; nothing if it is no folder, or does not answer.
---@param folder string
---@return integer[]? bufs
---@return string? real the folder with links resolved
local function bufs_in(folder)
  local found, is_file = require("flemma.native").call("found_file", folder)
  if not found or is_file then
    return nil
  end
  local bufs = api.nvim_list_bufs()
  local real = require("flemma.real").names(bufs)
  local start = found:gsub("/*$", "/")
  return vim.tbl_filter(function(buf)
    local own = real[api.nvim_buf_get_name(buf)]
    return own ~= nil and vim.startswith(own, start)
  end, bufs),
    found
end

local looks = {}

function looks.buffer(path, done)
  local buf, win = subject_of(path, "buffer")
  if not buf then
    return done(failure(win))
  end
  local total = api.nvim_buf_line_count(buf)
  done({
    name = name_of(buf),
    is_modified = vim.bo[buf].modified,
    first = 1,
    lines = lines_of(buf, 0, total),
    total = total,
  })
end

function looks.symbol(path, done)
  local buf, win = subject_of(path, "symbol")
  if not buf then
    return done(failure(win))
  end
  local row, column = origin.cursor(buf, win)
  require("flemma.symbol").around(buf, row, column, function(symbol)
    if not symbol or not api.nvim_buf_is_loaded(buf) then
      local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":t")
      local words = "neither treesitter nor a language server knows a symbol around line %d of %s"
      return done(failure(words:format(row + 1, name ~= "" and name or "the buffer")))
    end
    done({
      name = name_of(buf),
      is_modified = vim.bo[buf].modified,
      first = symbol.first + 1,
      lines = lines_of(buf, symbol.first, symbol.last + 1),
      total = symbol.last + 1 - symbol.first,
      symbol = symbol.name,
    })
  end)
end

function looks.diagnostics(path, done)
  local bufs, folder
  if path then
    bufs, folder = bufs_in(path)
  end
  if bufs then
    bufs = vim.tbl_filter(function(buf)
      return not places.is_chat(buf)
    end, bufs)
  else
    local buf, problem = subject_of(path, "diagnostics")
    if not buf then
      return done(failure(problem))
    end
    bufs = { buf }
  end
  local items = {}
  for _, buf in ipairs(bufs) do
    local found = vim.diagnostic.get(buf)
    table.sort(found, function(a, b)
      if a.lnum ~= b.lnum then
        return a.lnum < b.lnum
      end
      return a.col < b.col
    end)
    for _, item in ipairs(found) do
      local line = api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_lines(buf, item.lnum, item.lnum + 1, false)[1]
      items[#items + 1] = {
        name = name_of(buf),
        line = item.lnum + 1,
        column = line and places.column(line, item.col) or item.col + 1,
        kind = severities[item.severity] or "",
        text = about(item),
      }
    end
  end
  local shown, more = first_of(items)
  done({
    name = folder or name_of(bufs[1]),
    is_modified = #bufs == 1 and vim.bo[bufs[1]].modified,
    items = shown,
    more = more,
  })
end

local types = { E = "error", W = "warning", I = "info", N = "note" }

function looks.quickfix(path, done)
  local list = vim.fn.getqflist({ items = 1 })
  local bufs = {}
  for _, entry in ipairs(path and list.items or {}) do
    if entry.bufnr > 0 then
      bufs[entry.bufnr] = true
    end
  end
  local reals = path and require("flemma.real").names(vim.tbl_keys(bufs), { path }) or {}
  local real = path and (reals[path] or path)
  local items = {}
  for _, entry in ipairs(list.items) do
    local name = entry.bufnr > 0 and api.nvim_buf_get_name(entry.bufnr) or ""
    local own = name ~= "" and (reals[name] or name)
    if not real or own == real or (own and vim.startswith(own, (real:gsub("/*$", "/")))) then
      items[#items + 1] = {
        name = name_of(entry.bufnr),
        line = entry.lnum,
        column = entry.col,
        kind = types[(entry.type or ""):upper()] or "",
        text = entry.text or "",
      }
    end
  end
  local shown, more = first_of(items)
  done({ items = shown, more = more })
end

--- The working tree is looked at by the library: it needs to know which one.
function looks.diff(_, done)
  local buf = origin.buffer()
  done({ name = buf and api.nvim_buf_get_name(buf) or "" })
end

--- Looks up what references mean, and passes that to the library.
---@param chat integer the conversation
---@param number integer
---@param wanted { subject: string, path?: string }[]
function M.look(chat, number, wanted)
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
    local ok, problem = pcall(looks[reference.subject], reference.path, function(view)
      done(at, view)
    end)
    if not ok then
      done(at, failure(tostring(problem):match("[^\n]*")))
    end
  end
end

return M
