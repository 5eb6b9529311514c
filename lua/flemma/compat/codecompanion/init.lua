--- Tools and extensions that were written for CodeCompanion: registering them as tools of Flemma.
---
--- A definition becomes one of ours, whose functions (`execute`, `format_preview`, `approval`) look up the call and run the
--- author's functions in the order and with the parameters that they expect.
local M = {}

local approval = require("flemma.compat.codecompanion.approval")
local calls = require("flemma.compat.codecompanion.calls")
local config = require("flemma.compat.codecompanion.config")
local definitions = require("flemma.compat.codecompanion.definition")
local extensions = require("flemma.compat.codecompanion.extension")
local modules = require("flemma.compat.codecompanion.modules")
local notify = require("flemma.notify")
local shapes = require("flemma.compat.codecompanion.shape")
local standin = require("flemma.compat.codecompanion.standin")
local value = require("flemma.compat.codecompanion.value")

---@class flemma.codecompanion.Entry
---@field name string
---@field definition table
---@field opts table
---@field shape flemma.codecompanion.Shape

--- The tools table, as tools read it: the entries as they were given, `groups` and `opts`.
---@type table<string, any>
local tools_config = config.tools

---@type table<string, flemma.codecompanion.Entry>
local entries = {}

--- The options of tools that are written into the tools table.
---@type flemma.codecompanion.Options
local options_of_written = {}

--- Whose the tools are that are written into the tools table, for messages.
local writer = "the configuration of CodeCompanion"

--- Says what is wrong, if anything is.
---@param ok boolean
---@param problem? string
---@return boolean ok
local function report(ok, problem)
  if not ok and problem then
    notify.say(vim.log.levels.ERROR, problem)
  end
  return ok
end

--- Has the calls of the tools here prepared and followed, from the first tool on.
local function watch()
  if next(entries) then
    return
  end
  calls.watch()
  approval.watch(function(name, input, bufnr, id)
    local entry = entries[name]
    if entry then
      require("flemma.compat.codecompanion.call").prepare(calls.get(entry, bufnr, id, input, tools_config))
    end
  end)
end

--- The functions of the definition that stands for a tool.
---@param entry flemma.codecompanion.Entry
---@param ours table
local function add_functions(entry, ours)
  local one = require("flemma.compat.codecompanion.call")
  local function call_of(bufnr, id, input)
    return calls.get(entry, bufnr, id, input, tools_config)
  end
  ours.execute = function(input, ctx, callback)
    return require("flemma.compat.codecompanion.queue").add(call_of(ctx.bufnr, ctx.call_id, input), callback)
  end
  ours.format_preview = function(input, _, ctx)
    return one.prompt(call_of(ctx.bufnr, ctx.call_id, input))
  end
  local output = type(entry.definition.output) == "table" and entry.definition.output or {}
  if output.rejected or (type(entry.definition.handlers) == "table" and entry.definition.handlers.on_exit) then
    ours.format_rejection = function(input, ctx)
      return one.reject(call_of(ctx.bufnr, ctx.call_id, input), ctx.reason)
    end
  end
  ours.approval = approval.of(entry, call_of)
end

--- The field `enabled` of a tool's definition.
---@param name string
---@param enabled any what the entry says
---@param opts flemma.codecompanion.Options
---@return boolean|fun(ctx: { bufnr: integer, named: boolean }): boolean
local function enabled_of(name, enabled, opts)
  local is_named = opts.offer == "named"
  if not is_named and not vim.is_callable(enabled) then
    return enabled ~= false
  end
  return function(ctx)
    local chat = require("flemma.compat.codecompanion.chat")
    if is_named and not ctx.named and not chat.has_added(ctx.bufnr, name) then
      return false
    elseif not vim.is_callable(enabled) then
      return enabled ~= false
    end
    local adapter = chat.adapter()
    -- The adapter itself, or a table with it.
    local about = setmetatable({ adapter = adapter, bufnr = ctx.bufnr }, { __index = adapter })
    return enabled(about) and true or false
  end
end

--- The shape that a user or a definition names.
---@return string?
local function named_shape(spec, resolved, opts)
  local own = type(spec) == "table" and spec or {}
  return opts.shape or resolved.opts.shape or own.shape or resolved.definition.shape
end

---@param name any
---@param spec any
---@param opts flemma.codecompanion.Options
---@param origin? string whose it is, if it is not what the user registers by its name
---@return boolean ok
---@return string? problem
local function add(name, spec, opts, origin)
  if type(name) ~= "string" or name == "" then
    return false, ("codecompanion: the name of a tool must be a non-empty string, not %s"):format(vim.inspect(name))
  end
  local function refuse_tool(problem)
    return false, ("tool `%s`: %s"):format(name, problem)
  end
  local resolved, problem = definitions.resolve(spec)
  if not resolved then
    return refuse_tool(problem)
  end
  local shape = named_shape(spec, resolved, opts)
  if shape ~= nil and not shapes.NAMES[shape] then
    return refuse_tool(('`shape` must be "a", "b" or "c", not %s'):format(vim.inspect(shape)))
  end
  if opts.offer ~= nil and opts.offer ~= "named" and opts.offer ~= "always" then
    return refuse_tool(('`offer` must be "named" or "always", not %s'):format(vim.inspect(opts.offer)))
  end
  shape = shape or shapes.of(resolved.definition)
  local ours
  ours, problem = definitions.describe(name, resolved, shape)
  if not ours then
    return refuse_tool(problem)
  end
  local entry = { name = name, definition = resolved.definition, opts = resolved.opts, shape = shape }
  add_functions(entry, ours)
  ours.enabled = enabled_of(name, resolved.enabled, opts)
  local native = require("flemma.native")
  local ok, message = native.call("register", "tool", name, ours, origin)
  if not ok then
    message = message or ("tool `%s` was not registered: the native library is missing"):format(name)
    local field = shape == "a" and "schema" or "schema.function.parameters"
    return false, (message:gsub("`input_schema`", ("`%s`"):format(field)))
  end
  watch()
  entries[name] = entry
  config.put("tools", name, spec, true)
  return true
end

--- Registers a tool.
---@param name string
---@param spec any a definition, or an entry of the tools table
---@param opts? flemma.codecompanion.Options
---@return boolean ok
function M.register(name, spec, opts)
  if opts ~= nil and type(opts) ~= "table" then
    return report(false, ("register: the options must be a table, not a %s"):format(type(opts)))
  end
  return report(add(name, spec, opts or {}))
end

--- Removes a tool. Calls that are running are not affected.
---@param name string
---@return boolean found
function M.unregister(name)
  if not entries[name] then
    return false
  end
  entries[name] = nil
  config.put("tools", name, nil, true)
  return require("flemma.tools").unregister(name)
end

--- The extensions in the argument of CodeCompanion's `setup`; nil if it has none.
---@param given table
---@return table<string, any>?
local function extensions_in(given)
  local found = given.extensions
  -- It might be a tool of this name.
  local is_tool = type(found) ~= "table" or found.callback ~= nil or found.cmds ~= nil
  return not is_tool and found or nil
end

--- The tools tables in the argument of CodeCompanion's `setup`; the argument itself if it is one.
---@param given table
---@return table[]
local function tools_tables(given)
  local found, is_whole = {}, extensions_in(given) ~= nil
  for _, key in ipairs({ "strategies", "interactions" }) do
    local chat = type(given[key]) == "table" and given[key].chat
    if type(chat) == "table" then
      is_whole = true
      found[#found + 1] = type(chat.tools) == "table" and chat.tools or nil
    end
  end
  return is_whole and found or { given }
end

--- Registers a group.
---@param name any
---@param group any
---@return boolean ok
---@return string? problem
local function add_group(name, group)
  local ours, problem = require("flemma.compat.codecompanion.group").describe(group)
  if not ours then
    return false, ("group `%s`: %s"):format(tostring(name), problem)
  elseif not require("flemma.tools").register_group(name, ours) then
    -- That has said why.
    return false
  end
  config.put("groups", name, group, true)
  return true
end

--- The tools that are offered although the others are only offered by name: `opts.default_tools`, which may name groups.
---@param tools table
---@return table<string, boolean>
local function default_tools(tools)
  local found = {}
  local listed = type(tools.opts) == "table" and tools.opts.default_tools
  for _, name in ipairs(type(listed) == "table" and listed or {}) do
    found[name] = true
    local group = type(tools.groups) == "table" and tools.groups[name]
    for _, member in ipairs(type(group) == "table" and type(group.tools) == "table" and group.tools or {}) do
      found[member] = true
    end
  end
  return found
end

--- Loads an extension: the module `codecompanion._extensions.<name>` on 'runtimepath', or what `callback` leads to. Its
--- `setup` is called, and the tools that this writes into the tools table are registered.
---@param name string
---@param given? flemma.codecompanion.ExtensionEntry an entry of `extensions` in that plugin's `setup`; any other table is what `setup` of the extension gets
---@return boolean ok
function M.extension(name, given)
  config.sync()
  local outer, outer_writer = options_of_written, writer
  writer = ("the extension `%s`"):format(tostring(name))
  if type(given) == "table" and (given.offer or given.shape) then
    options_of_written = { offer = given.offer, shape = given.shape }
  end
  local before = vim.tbl_extend("force", {}, standin.tools_of_plugin() or {})
  local all_ok = report(extensions.load(name, given))
  all_ok = config.sync() and all_ok
  -- With that plugin, its extensions write into its own table.
  for tool, entry in pairs(standin.tools_of_plugin() or {}) do
    if entry and entry ~= before[tool] and tool ~= "groups" and tool ~= "opts" then
      all_ok = report(add(tool, entry, options_of_written, writer)) and all_ok
    end
  end
  options_of_written, writer = outer, outer_writer
  modules.drop()
  return all_ok
end

--- Registers the tools of CodeCompanion's configuration, and loads its extensions.
---@param given table the tools table, or the whole argument of that plugin's `setup`
---@param opts? flemma.codecompanion.Options
---@return boolean ok whether all of them were accepted
function M.setup(given, opts)
  if type(given) ~= "table" then
    return report(false, ("codecompanion.setup: give the tools table, not a %s"):format(type(given)))
  elseif opts ~= nil and type(opts) ~= "table" then
    return report(false, ("codecompanion.setup: the options must be a table, not a %s"):format(type(opts)))
  end
  local all_ok = true
  options_of_written = opts or options_of_written
  -- Without options, a tool that is there already stays as it is: extensions pass on what they have found.
  local is_done = opts and false
  for _, tools in ipairs(tools_tables(given)) do
    local groups = tools.groups
    if groups ~= nil and type(groups) ~= "table" then
      all_ok = report(false, ("codecompanion.setup: `groups` must be a table, not a %s"):format(type(groups)))
      groups = nil
    end
    for name, entry in next, tools do
      if entry and name ~= "groups" and name ~= "opts" then
        config.put("tools", name, entry, is_done)
      end
    end
    for name, group in next, groups or {} do
      config.put("groups", name, group, is_done)
    end
    tools_config.opts = value.merge(tools_config.opts, type(tools.opts) == "table" and tools.opts or {})
  end
  all_ok = config.sync(true) and all_ok
  for name, entry in vim.spairs(extensions_in(given) or {}) do
    all_ok = M.extension(name, entry) and all_ok
  end
  modules.drop()
  return all_ok
end

--- Which modules of CodeCompanion tools load, for `:checkhealth`.
---@return string
function M.about_modules()
  local path, tools, others = modules.path_of_plugin(), vim.tbl_count(entries), vim.tbl_count(extensions.exports)
  local what = path and "the modules of CodeCompanion itself: " .. path
    or "Flemma's stand-ins for modules of CodeCompanion, which is not installed"
  return ("%d tools and %d extensions made for CodeCompanion; they load %s"):format(tools, others, what)
end

config.follow("tools", function(name, entry)
  local own = default_tools(tools_config)[name] and { offer = "always" } or {}
  local ran, ok, problem = pcall(add, name, entry, vim.tbl_extend("force", options_of_written, own), writer)
  if not ran then
    ok, problem = false, ("tool `%s`: %s"):format(tostring(name), value.thrown(ok))
  end
  if not ok and entries[name] then
    -- What was there under this name before is replaced all the same.
    entries[name] = nil
    require("flemma.tools").unregister(name)
  end
  if not ok and definitions.only_changes(entry) then
    -- It is about a tool of CodeCompanion itself.
    return true
  end
  return ok, problem
end, function(name)
  M.unregister(name)
end)
config.follow("groups", add_group, function(name)
  require("flemma.tools").unregister_group(name)
end)
standin.install()

return M
