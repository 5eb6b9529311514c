--- Stand-ins for modules of CodeCompanion that tools and extensions load.
---
--- They exist while that plugin is absent, and never shadow it: `require` gives a stand-in only if no other loader finds the
--- module, nor the plugin itself. A stand-in does not stay in `package.loaded`. It is removed in the next tick, and before that
--- when a file is sourced, 'runtimepath' is set, or a module of the plugin is looked for, since the plugin may be there then. A
--- stand-in is made once, so whoever keeps one, and whoever loads it again, have the same table.
local M = {}

local api = vim.api

--- The module that decides whether the plugin is there.
local ROOT = "codecompanion"

---@class flemma.codecompanion.StandIn
---@field make fun(): table
---@field on_load? fun() called whenever somebody loads it

---@type table<string, flemma.codecompanion.StandIn>
local stand_ins = {}

---@type table<string, table>
local made = {}

--- Modules that have nothing behind them, each with the reason. Their children have nothing either.
---@type table<string, string>
local reasons = {}

--- The names that modules had in older versions, and have now.
local MOVED = { ["%.strategies%."] = ".interactions.", ["%.tools%.catalog%."] = ".tools.builtin.", ["%.init$"] = "" }

--- Adds a stand-in.
---@param name string
---@param make fun(): table
---@param on_load? fun()
function M.provide(name, make, on_load)
  stand_ins[name] = { make = make, on_load = on_load }
end

--- Names a module that has nothing behind it. Its children are included.
---@param name string
---@param reason string
function M.withhold(name, reason)
  reasons[name] = reason
end

--- Whether this is called by a timer or another callback, and by nobody who would take an error.
---@return boolean
local function is_in_callback()
  local level, info = 3, debug.getinfo(3, "Sf")
  while info do
    if info.what == "main" or info.func == pcall or info.func == xpcall or info.source:find("/lua/flemma/", 1, true) then
      return false
    end
    level = level + 1
    info = debug.getinfo(level, "Sf")
  end
  return true
end

--- Something of CodeCompanion that is not here. It can be loaded, read and kept with all that is in it. Whoever calls it, or
--- takes it for a text, gets an error that names it. A callback that nobody has called may come again and again: it is told once.
---@param path string
---@param reason string
---@param known? table what of it is here
---@return table
function M.absent(path, reason, known)
  local function refuse(how)
    return function()
      local words = ("`%s%s` is out of reach here: %s (:help flemma-codecompanion)"):format(path, how, reason)
      if not is_in_callback() then
        error(words, 2)
      end
      require("flemma.notify").once(vim.log.levels.WARN, words)
      return how == "" and "" or nil
    end
  end
  return setmetatable(known or {}, {
    __index = function(_, key)
      return type(key) == "string" and M.absent(path .. "." .. key, reason) or nil
    end,
    __call = refuse("()"),
    __concat = refuse(""),
  })
end

--- Lets `require` forget the stand-ins.
function M.drop()
  for name, module in pairs(made) do
    if package.loaded[name] == module then
      package.loaded[name] = nil
    end
  end
end

--- Sees to it that stand-ins are forgotten soon.
local function drop_soon()
  vim.schedule(M.drop)
  if vim.in_fast_event() then
    -- Nothing is sourced before the event is over.
    return
  end
  local group = api.nvim_create_augroup("flemma.codecompanion.modules", { clear = true })
  for event, pattern in pairs({ SourcePre = "*", OptionSet = "runtimepath" }) do
    api.nvim_create_autocmd(event, {
      group = group,
      pattern = pattern,
      desc = "Flemma: make way for CodeCompanion",
      callback = M.drop,
      once = true,
    })
  end
end

local search

--- Asks the other loaders for a module.
---@param name string
---@param from? integer the first one that is asked
---@return function? loader
local function ask_others(name, from)
  for i = from or 1, #package.loaders do
    local loader = package.loaders[i]
    local found = loader ~= search and loader(name) or nil
    if type(found) == "function" then
      return found
    end
  end
end

--- Whether the plugin itself is there.
---@return boolean
local function is_there()
  local loaded = package.loaded[ROOT]
  -- While it is loaded, something that is no table stands there.
  return loaded ~= nil and loaded ~= made[ROOT] or ask_others(ROOT) ~= nil
end

--- Why nothing stands in for a module; nil if nobody says so.
---@param name string
---@return string? reason
local function reason_of(name)
  local parent = name
  while parent do
    if reasons[parent] then
      return reasons[parent]
    end
    parent = parent:match("^(.*)%.[^.]*$")
  end
end

--- Finds a stand-in. It is asked last.
---@param name string
---@return function|string|nil
search = function(name)
  if name ~= ROOT and not vim.startswith(name, ROOT .. ".") then
    return nil
  end
  -- Somebody may have added a loader behind this one.
  for i, loader in ipairs(package.loaders) do
    local found = loader == search and ask_others(name, i + 1)
    if found then
      return found
    end
  end
  local now = name
  for before, after in pairs(MOVED) do
    now = now:gsub(before, after)
  end
  local stand_in, reason = stand_ins[now], reason_of(now)
  if not stand_in and not reason or name ~= ROOT and is_there() then
    return nil
  end
  return function()
    made[now] = made[now] or (stand_in and stand_in.make() or M.absent(name, reason))
    made[name] = made[now]
    drop_soon()
    if stand_in and stand_in.on_load then
      stand_in.on_load()
    end
    return made[name]
  end
end

--- Forgets the stand-ins before a module is looked for, since it may be the plugin itself, which loads its other modules. During
--- startup nothing else tells of a new 'runtimepath'.
---@param name string
---@return nil
local function make_way(name)
  if name == ROOT or vim.startswith(name, ROOT .. ".") then
    M.drop()
  end
end

local is_installed = false

--- Lets `require` find the stand-ins.
function M.install()
  if not is_installed then
    is_installed = true
    table.insert(package.loaders, 1, make_way)
    table.insert(package.loaders, search)
  end
end

--- Where the plugin itself is; nil if it is absent. Loads nothing.
---@return string?
function M.path_of_plugin()
  for _, path in ipairs({ "lua/codecompanion/init.lua", "lua/codecompanion.lua" }) do
    local found = api.nvim_get_runtime_file(path, false)[1]
    if found then
      return found
    end
  end
  local found = package.searchpath(ROOT, package.path)
  if found then
    return found
  end
  local loaded = package.loaded[ROOT]
  return loaded ~= nil and loaded ~= made[ROOT] and "package.loaded" or nil
end

return M
