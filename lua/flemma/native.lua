--- Finds the native library, checks that its version matches this Lua code, and provides it.
---
--- Nothing that the library does is implemented in Lua as well. Without the library, every command reports the problem and
--- the command that builds it, and the user's text remains an ordinary buffer.
local M = {}

--- The version of the Lua code. The library must have the same.
M.version = "0.1.0"

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))))

---@type table?
local library
---@type string?
local problem
--- The file that could not be loaded; an empty text if there was none.
---@type string?
local tried

--- Where `:Flemma build` and `make build` put the library.
local built = root .. "/build/flemma.so"

--- Where else one may be: in the data folder, if the plugin's is read-only, or with the command line that pip or npm has installed.
---@return string? path
local function elsewhere()
  local prefix = vim.fs.dirname(vim.fs.dirname(vim.uv.fs_realpath(vim.fn.exepath("flemma")) or "/"))
  local wheel = prefix .. "/share/nvim/site/pack/flemma/start/flemma"
  return vim.iter({ vim.fn.stdpath("data") .. "/flemma", wheel .. "/build", prefix .. "/build" }):map(function(folder)
    return (vim.uv.fs_realpath(folder .. "/flemma.so"))
  end):next()
end

--- The library that the user has named with `$FLEMMA_NATIVE`.
---@return string?
function M.given()
  local given = vim.env.FLEMMA_NATIVE
  return given and given ~= "" and vim.fn.fnamemodify(given, ":p") or nil
end

--- The path of the library: the one that the user has named, or where one is installed.
---@return string
function M.path()
  return M.given() or not vim.uv.fs_stat(built) and elsewhere() or built
end

--- How to get a library, for the end of a message. If the user has named one, a library that we build is not used.
---@return string
local function advice()
  if M.given() then
    return "$FLEMMA_NATIVE is set: correct it and restart Neovim, or run `:unlet $FLEMMA_NATIVE` and :Flemma build."
  end
  return ":Flemma build installs it, which takes a few minutes and requires Rust 1.91 or later."
end

--- Whether this Neovim has already loaded a library, even one of another version. It cannot load a second one.
---@return boolean
function M.is_loaded()
  return library ~= nil or package.loaded.flemma_native ~= nil
end

--- Forgets that the library was missing, so that the next call looks for it again.
function M.forget()
  problem = nil
end

--- Tells one file at the library's path from another.
---@return string
function M._identity()
  local found = vim.uv.fs_stat(M.path())
  return found and ("%s %d %d"):format(M.path(), found.ino, found.mtime.sec) or ""
end

--- Called when a library has been loaded that was missing before.
---@type fun()?
M.on_arrival = nil

--- Keeps the modules that are loaded from now on: the library has their functions, and cannot be initialised twice. A plugin manager
--- that loads Flemma again gets what was there.
local function keep_modules()
  local kept, notify = {}, require("flemma.notify")
  for name, module in pairs(package.loaded) do
    kept[name] = vim.startswith(name, "flemma.") and type(module) == "table" and module or nil
  end
  local function keep(name)
    local load
    if kept[name] then
      notify.once(vim.log.levels.WARN, "Flemma stays as it was loaded. To load it anew, restart Neovim")
    end
    local others = not kept[name] and vim.startswith(name, "flemma.") and package.loaders or {}
    for _, loader in ipairs(others) do
      load = type(load) == "function" and load or loader ~= keep and loader(name)
    end
    return (kept[name] or type(load) == "function") and function(...)
      kept[name] = kept[name] or load(...)
      return kept[name]
    end or nil
  end
  table.insert(package.loaders, 1, keep)
end

---@return table? library
---@return string? problem
local function open()
  local path = M.path()
  tried = M._identity()
  if tried == "" then
    -- The advice comes first: the command line may not have room for both.
    return nil, ("the native library is missing. %s There is no %s."):format(advice(), path)
  end
  local entry, message = package.loadlib(path, "luaopen_flemma_native")
  if not entry then
    return nil, ("the native library %s cannot be loaded (%s). %s"):format(path, message, advice())
  end
  entry()
  local opened = package.loaded.flemma_native
  if opened.version ~= M.version then
    local words = "the native library %s has version %s, but the plugin has %s. %s Then restart Neovim."
    return nil, words:format(path, opened.version, M.version, advice())
  end
  -- It requires `flemma.host` by itself.
  opened.init(vim.fs.joinpath(vim.fn.stdpath("state"), "flemma"))
  keep_modules()
  return opened
end

--- Loads the library once, or again where it was missing and something else has built it since. The library keeps the Lua state that loads it, and the state of a coroutine may be collected.
--- An Ex command always runs in the main state.
---@return table? library
---@return string? problem
function M.load()
  local is_news = problem and not M.is_loaded() and M._identity() ~= tried
  if not library and (not problem or is_news) then
    problem = nil
    vim.api.nvim_exec2("lua require('flemma.native')._open()", {})
    if library and is_news and M.on_arrival then
      M.on_arrival()
    end
  end
  return library, problem
end

function M._open()
  local ok, opened, why = pcall(open)
  if ok then
    library, problem = opened, why
  else
    -- The other lines are a traceback.
    local first_line = tostring(opened):match("[^\n]*")
    problem = ("the native library cannot be initialised (%s). %s"):format(first_line, advice())
  end
end

--- One line for a report about a problem.
---@return string
function M.versions()
  local loaded, why = M.load()
  local system, editor = vim.uv.os_uname(), tostring(vim.version())
  local about = { M.version, loaded and loaded.version or why, editor, system.sysname, system.release, system.machine }
  return ("plugin %s, library %s, Neovim %s, %s %s %s"):format(unpack(about))
end

--- `:Flemma version`
function M.tell_version()
  require("flemma.notify").say(vim.log.levels.INFO, M.versions())
end

---@type fun()? reports changes to the library that have not been reported yet
M.outstanding = nil

--- Calls a function of the library. All outstanding changes are reported to it first. An error becomes a message, so no
--- traceback reaches the user.
---@param name string
---@param ... any
---@return any ... what the function returns; nothing if it failed or the library is missing
function M.call(name, ...)
  local settle = M.outstanding
  if settle then
    M.outstanding = nil
    settle()
  end
  local loaded, why = M.load()
  if not loaded then
    require("flemma.notify").once(vim.log.levels.ERROR, why)
    return
  end
  local result = vim.F.pack_len(pcall(loaded[name], ...))
  if result[1] then
    return unpack(result, 2, result.n)
  end
  local first_line = tostring(result[2]):match("[^\n]*"):gsub("^runtime error: ", "")
  require("flemma.notify").say(vim.log.levels.ERROR, ("internal error in %s: %s"):format(name, first_line))
end

return M
