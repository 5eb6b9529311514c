--- Loading code that defines tools: Lua files, and the `space-lua` blocks of Markdown pages.
local M = {}

local environment = require("flemma.compat.silverbullet.environment")
local notify = require("flemma.notify")
local value = require("flemma.compat.codecompanion.value")

--- The language of the blocks.
local LANGUAGE = "space-lua"

---@class flemma.silverbullet.Chunk
---@field code string
---@field name string the file, for messages

--- The text of a fence, without the marks of a quotation or a list that its lines begin with.
---@param node TSNode
---@param page string
---@return string
local function code_of(node, page)
  local _, _, first, _, _, last = node:range(true)
  local parts, from = {}, first
  for child in node:iter_children() do
    if child:type() == "block_continuation" then
      local _, _, start, _, _, stop = child:range(true)
      parts[#parts + 1] = page:sub(from + 1, start)
      from = stop
    end
  end
  parts[#parts + 1] = page:sub(from + 1, last)
  return table.concat(parts)
end

--- The code in the fences of a page, each with as many empty lines above it that its lines have the numbers of the page.
---@param page string
---@param name string
---@return flemma.silverbullet.Chunk[]
local function blocks(page, name)
  if not vim.endswith(page, "\n") then
    -- Otherwise a fence at the very end would be taken for code.
    page = page .. "\n"
  end
  local parser = vim.treesitter.get_string_parser(page, "markdown")
  local query = vim.treesitter.query.parse(
    "markdown",
    "(fenced_code_block (info_string (language) @language) (code_fence_content) @code)"
  )
  local found = {}
  for _, tree in ipairs(parser:parse()) do
    for _, match in query:iter_matches(tree:root(), page, 0, -1) do
      local nodes = {}
      for id, captured in pairs(match) do
        nodes[query.captures[id]] = captured[1]
      end
      if vim.treesitter.get_node_text(nodes.language, page) == LANGUAGE then
        local row = nodes.code:range()
        found[#found + 1] = { code = ("\n"):rep(row) .. code_of(nodes.code, page), name = name }
      end
    end
  end
  return found
end

--- The code in a file.
---@param path string
---@return flemma.silverbullet.Chunk[]
---@return string? problem
---@return boolean? is_unreadable whether the problem is that no page can be read
local function chunks_of(path)
  local file, problem = io.open(path, "rb")
  local content = file and file:read("*a")
  if file then
    file:close()
  end
  if not content then
    return {}, problem or ("%s cannot be read"):format(path)
  elseif not vim.endswith(path, ".md") then
    return { { code = content, name = path } }
  elseif not content:find(LANGUAGE, 1, true) then
    return {}
  end
  local is_there = require("flemma.view.markdown").available()
  local ok, found = pcall(blocks, content, path)
  if is_there and ok then
    return found
  end
  local why = is_there and "the tree-sitter parser for Markdown does not fit this Neovim"
    or "Neovim finds no tree-sitter parser for Markdown"
  local words = "%s: its `space-lua` blocks cannot be read, because %s, so nothing was loaded. Neovim brings a parser along: install "
    .. "it whole, or put the code into a Lua file (`:checkhealth vim.treesitter` shows the parsers)"
  return {}, words:format(path, why), true
end

--- The files below a folder that may have code, in the order of their names.
---@param folder string
---@return string[]
local function files_below(folder)
  local found = {}
  for name, kind in vim.fs.dir(folder, { depth = 64 }) do
    local is_hidden = name:find("^%.") or name:find("/%.")
    if kind == "file" and not is_hidden and (vim.endswith(name, ".lua") or vim.endswith(name, ".md")) then
      found[#found + 1] = vim.fs.joinpath(folder, name)
    end
  end
  table.sort(found)
  return found
end

---@param problem string
---@param file? string the file, unless the problem names it
---@return false
local function refuse(problem, file)
  if file and not problem:find(file, 1, true) then
    problem = ("%s: %s"):format(file, problem)
  end
  notify.say(vim.log.levels.ERROR, ("silverbullet.load: %s"):format(problem))
  return false
end

--- Runs the code of a file or a folder.
---@param path string
---@return boolean ok
function M.load(path)
  if type(path) ~= "string" then
    return refuse(("the path must be a string, not a %s"):format(type(path)))
  end
  path = vim.fs.normalize(vim.fn.fnamemodify(path, ":p"))
  local found = vim.uv.fs_stat(path)
  if not found then
    return refuse(("there is no file %s"):format(path))
  elseif found.type ~= "file" and found.type ~= "directory" then
    return refuse(("%s is neither a file nor a folder"):format(path))
  end
  local is_folder = found.type == "directory"
  local all_ok, chunks = true, {}
  for _, file in ipairs(is_folder and files_below(path) or { path }) do
    local more, problem, is_unreadable = chunks_of(file)
    if problem then
      all_ok = refuse(problem)
    end
    if is_unreadable then
      -- Tools that build on each other would be there without those in the pages.
      return false
    end
    vim.list_extend(chunks, more)
  end
  for at, chunk in ipairs(chunks) do
    chunk.at, chunk.priority = at, tonumber(chunk.code:match("%-%-%s*priority:%s*(%-?%d+)")) or 0
  end
  table.sort(chunks, function(a, b)
    return a.priority > b.priority or a.priority == b.priority and a.at < b.at
  end)
  for _, chunk in ipairs(chunks) do
    local run, mistake = load(chunk.code, "@" .. chunk.name, "t", environment.globals)
    if not run then
      all_ok = refuse(mistake or "the code cannot be read", chunk.name)
    else
      local ok, thrown = pcall(run)
      all_ok = ok and all_ok or (not ok and refuse(value.thrown(thrown), chunk.name) or false)
    end
  end
  if #chunks == 0 and all_ok then
    local what = is_folder and "no Lua file and no page with a `space-lua` block" or "no `space-lua` block"
    return refuse(("there is %s in %s"):format(what, path))
  end
  require("flemma.compat.silverbullet.config").check_agents(environment.globals.ai.agents)
  return require("flemma.compat.silverbullet.tools").sync() and all_ok
end

return M
