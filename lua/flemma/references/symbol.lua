--- The function, or whatever else has a name, around a position of a buffer: by treesitter, or by a language server.
local M = {}

local api = vim.api

--- How long a language server may take, in milliseconds.
local PATIENCE = 3000

--- How the names of nodes that have a name end, in the grammars of many languages: `function_item`, `class_definition`.
local endings = { "_definition$", "_declaration$", "_item$", "_specifier$", "_statement$" }

--- What a symbol is, at the beginning of the name of a node or behind a `_`.
local kinds = {
  "function", "method", "constructor", "class", "struct", "enum", "union", "interface", "trait", "impl", "type", "object", "macro",
}

--- Whole names of nodes that the rules above do not find.
local others = { method = true, class = true, module = true, arrow_function = true, function_expression = true }

--- Whether a node is a symbol.
---@param node TSNode
---@return boolean
local function is_symbol(node)
  local name = node:type()
  if others[name] then
    return true
  end
  local ends = vim.iter(endings):any(function(ending)
    return name:find(ending) ~= nil
  end)
  return ends
    and vim.iter(kinds):any(function(kind)
      return vim.startswith(name, kind .. "_") or name:find("_" .. kind .. "_", 1, true) ~= nil
    end)
end

---@class flemma.Symbol
---@field first integer the first line, from 0
---@field last integer the last line
---@field name string empty if it is not known

--- The innermost symbol around a position, by treesitter.
---@param buf integer
---@param row integer
---@param column integer
---@param done fun(symbol?: flemma.Symbol)
local function by_tree(buf, row, column, done)
  local ok, parser = pcall(vim.treesitter.get_parser, buf, nil, { error = false })
  if not ok or not parser then
    return done(nil)
  end
  local answered = false
  local function look()
    if answered then
      return
    end
    answered = true
    if not api.nvim_buf_is_loaded(buf) then
      return done(nil)
    end
    -- At the indent of a line, the node is the one around the line's own.
    local line = api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    local indent = #(line:match("^%s*"))
    local node = vim.treesitter.get_node({ bufnr = buf, pos = { row, math.max(column, math.min(indent, #line)) } })
    while node and not is_symbol(node) do
      node = node:parent()
    end
    if not node then
      return done(nil)
    end
    local first, _, last, last_column = node:range()
    local named = node:field("name")[1] or node:field("declarator")[1]
    local name = named and vim.treesitter.get_node_text(named, buf):match("[^\n]*") or ""
    done({ first = first, last = last_column == 0 and last > first and last - 1 or last, name = name })
  end
  local began = pcall(parser.parse, parser, { row, row + 1 }, vim.schedule_wrap(look))
  if not began then
    done(nil)
  end
end

--- The innermost of the symbols around a line.
---@param symbols table[]
---@param row integer
---@return flemma.Symbol?
local function innermost(symbols, row)
  local best
  for _, symbol in ipairs(symbols) do
    local range = symbol.range or (symbol.location or {}).range
    if range and range.start.line <= row and row <= range["end"].line then
      local inner = innermost(symbol.children or {}, row)
        or { first = range.start.line, last = range["end"].line, name = tostring(symbol.name or "") }
      if not best or inner.last - inner.first < best.last - best.first then
        best = inner
      end
    end
  end
  return best
end

--- The innermost symbol around a line, by a language server.
---@param buf integer
---@param row integer
---@param done fun(symbol?: flemma.Symbol)
local function by_server(buf, row, done)
  local method = "textDocument/documentSymbol"
  if #vim.lsp.get_clients({ bufnr = buf, method = method }) == 0 then
    return done(nil)
  end
  local answered = false
  local function answer(symbol)
    if not answered then
      answered = true
      done(symbol)
    end
  end
  local cancel = vim.lsp.buf_request_all(buf, method, {
    textDocument = vim.lsp.util.make_text_document_params(buf),
  }, function(results)
    for _, result in pairs(results) do
      local symbol = type(result.result) == "table" and innermost(result.result, row)
      if symbol then
        return answer(symbol)
      end
    end
    answer(nil)
  end)
  vim.defer_fn(function()
    if not answered then
      pcall(cancel)
      answer(nil)
    end
  end, PATIENCE)
end

--- The innermost symbol around a position.
---@param buf integer
---@param row integer from 0
---@param column integer in bytes
---@param done fun(symbol?: flemma.Symbol)
function M.around(buf, row, column, done)
  by_tree(buf, row, column, function(symbol)
    if symbol then
      return done(symbol)
    end
    by_server(buf, row, done)
  end)
end

return M
