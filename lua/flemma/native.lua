--- Finds the native library, checks that it belongs to this Lua, and hands it out.
---
--- There is no Lua twin of what the library does. Without it every command says what is wrong and the one
--- command that builds it, and the user's text stays an ordinary buffer.
local M = {}

--- The version of the Lua side; the library's has to be the same.
M.version = "0.1.0"

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))))

---@type table?
local library
---@type string?
local problem

--- Where `:Flemma build` and `make build` put the library.
---@return string
function M.built_path()
  return vim.fs.joinpath(root, "build", "flemma.so")
end

--- Where the library is looked for: `$FLEMMA_NATIVE`, else where it is built.
---@return string
function M.path()
  local given = vim.env.FLEMMA_NATIVE
  if given and given ~= "" then
    return vim.fn.fnamemodify(given, ":p")
  end
  return M.built_path()
end

--- The one command that builds a library that is missing or of another version.
M.build_command = ":Flemma build"

--- The same for a shell.
---@return string
function M.shell_command()
  return "make -C " .. vim.fn.shellescape(root) .. " build"
end

--- How to get a library, for the end of a message. Where the user has named one, nothing that we build is used.
---@return string
local function advice()
  local given = vim.env.FLEMMA_NATIVE
  if given and given ~= "" then
    return "$FLEMMA_NATIVE is set: correct it and restart Neovim, or run `:unlet $FLEMMA_NATIVE` and :Flemma build."
  end
  return ("Build it with %s, which takes a few minutes and requires Rust 1.91 or later."):format(M.build_command)
end

--- Whether this Neovim has a library in its memory, if only one of another version: it takes no other one.
---@return boolean
function M.is_loaded()
  return library ~= nil or package.loaded.flemma_native ~= nil
end

--- Forgets that there was no library, so that the next call looks for it again.
function M.forget()
  problem = nil
end

---@return table? library
---@return string? problem
local function open()
  local path = M.path()
  if not vim.uv.fs_stat(path) then
    -- The advice first: the command line may not have room for both.
    return nil, ("the native library is missing. %s There is no %s."):format(advice(), path)
  end
  local entry, message = package.loadlib(path, "luaopen_flemma_native")
  if not entry then
    return nil, ("the native library %s cannot be loaded (%s). %s"):format(path, message, advice())
  end
  entry()
  local opened = package.loaded.flemma_native
  if opened.version ~= M.version then
    return nil,
      ("the native library %s has version %s, but the plugin has %s. %s Then restart Neovim."):format(
        path,
        opened.version,
        M.version,
        advice()
      )
  end
  opened.init(require("flemma.host"), vim.fs.joinpath(vim.fn.stdpath("state"), "flemma"))
  local group = vim.api.nvim_create_augroup("flemma.native", { clear = true })
  -- Not `ExitPre`, which comes before an exit that may still be refused.
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = group,
    desc = "Flemma: stop what runs, and say so in the files",
    callback = function()
      require("flemma.buffer").leave()
      M.call("shut_down")
    end,
  })
  return opened
end

--- Loads the library, once. The library keeps the Lua state that loads it, and a coroutine's state may die:
--- a command of Neovim's always runs on the main one.
---@return table? library
---@return string? problem
function M.load()
  if not library and not problem then
    vim.api.nvim_exec2("lua require('flemma.native')._open()", {})
  end
  return library, problem
end

function M._open()
  local ok, opened, why = pcall(open)
  if ok then
    library, problem = opened, why
  else
    -- The rest is a traceback.
    local first_line = tostring(opened):match("[^\n]*")
    problem = ("the native library cannot be initialised (%s). %s"):format(first_line, advice())
  end
end

---@type fun()? tells the library of changes that it has not been told of yet
M.outstanding = nil

--- Calls a function of the library, which first hears of everything that has changed. An error becomes a message: no
--- traceback reaches the user.
---@param name string
---@param ... any
---@return any ... what the function returns; nothing when it failed or the library is not there
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
