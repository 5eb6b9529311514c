--- The stand-in for CodeCompanion's configuration, and its tools table: what is written into it is registered.
---
--- A new key is registered at once. LuaJIT tells nobody of a key that is replaced or removed, and the table has to work with
--- `pairs` as any other. So it is compared with what was seen of it: in the tick after somebody has loaded the configuration,
--- and before each request.
local M = {}

local notify = require("flemma.notify")

--- Keys of the tools table that are no tools.
local NO_TOOLS = { groups = true, opts = true }

---@alias flemma.codecompanion.Taker fun(name: string, entry: any): boolean, string?

---@class flemma.codecompanion.Part what is done about the keys of a table
---@field take flemma.codecompanion.Taker takes a new entry
---@field drop fun(name: string) takes an entry back
---@field seen table<string, { entry: any, fields: table }>

---@type { tools?: flemma.codecompanion.Part, groups?: flemma.codecompanion.Part }
local parts = {}

--- The tools table, as tools read it: the entries as they were given, `groups` and `opts`.
---@type table<string, any>
M.tools = { groups = {}, opts = {} }

local chat = {
  tools = M.tools,
  -- Nothing reads these. Extensions write into them.
  keymaps = {},
  opts = {},
  roles = { user = "You", llm = "Assistant" },
  slash_commands = {},
  variables = {},
}

--- The module `codecompanion.config`.
M.module = setmetatable({
  constants = { USER_ROLE = "user", LLM_ROLE = "llm", SYSTEM_ROLE = "system" },
  strategies = { chat = chat },
  extensions = {},
  opts = {},
}, {
  __index = function(_, key)
    if key == "adapters" then
      error("`codecompanion.config.adapters` is out of reach here: Flemma talks to providers itself", 2)
    end
  end,
})
M.module.interactions = M.module.strategies

--- What can be seen of an entry: itself, and its fields and options, which are often changed in place.
---@param entry any
---@return table
local function look(entry)
  local fields = {}
  if type(entry) == "table" then
    for key, field in next, entry do
      fields[key] = field
    end
    for key, option in next, type(entry.opts) == "table" and entry.opts or {} do
      fields["opts." .. tostring(key)] = option
    end
  end
  return { entry = entry, fields = fields }
end

---@param seen? { entry: any, fields: table }
---@param entry any
---@return boolean
local function is_same(seen, entry)
  if not seen or not rawequal(seen.entry, entry) then
    return false
  end
  local fields = look(entry).fields
  for key, field in next, fields do
    if not rawequal(seen.fields[key], field) then
      return false
    end
  end
  for key in next, seen.fields do
    if fields[key] == nil then
      return false
    end
  end
  return true
end

--- Takes over what somebody has put in the place of the tools table, or of a table above it.
local function restore()
  for _, key in ipairs({ "interactions", "strategies" }) do
    local replaced = vim.tbl_get(M.module, key, "chat", "tools")
    if type(replaced) == "table" and not rawequal(replaced, M.tools) then
      for name in pairs(M.tools) do
        rawset(M.tools, name, nil)
      end
      for name, entry in next, replaced do
        rawset(M.tools, name, entry)
      end
      M.module[key].chat.tools = M.tools
      M.module.interactions, M.module.strategies = M.module[key], M.module[key]
      break
    end
  end
  for _, name in ipairs({ "groups", "opts" }) do
    if type(M.tools[name]) ~= "table" then
      rawset(M.tools, name, {})
    end
  end
end

--- Compares a table with what was seen of it.
---@param part? flemma.codecompanion.Part
---@param entries any
---@param is_entry fun(name: any): boolean
local function compare(part, entries, is_entry)
  if not part then
    return
  end
  entries = type(entries) == "table" and entries or {}
  local gone, new = {}, {}
  for name in pairs(part.seen) do
    if not rawget(entries, name) then
      gone[#gone + 1] = name
    end
  end
  for name, entry in next, entries do
    if is_entry(name) and entry ~= false and not is_same(part.seen[name], entry) then
      new[#new + 1] = name
    end
  end
  for _, name in ipairs(gone) do
    part.seen[name] = nil
    part.drop(name)
  end
  table.sort(new, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, name in ipairs(new) do
    -- An entry that cannot be used is reported once.
    part.seen[name] = look(entries[name])
    local ok, problem = part.take(name, entries[name])
    if not ok and problem then
      notify.say(vim.log.levels.ERROR, problem)
    end
  end
end

--- Registers and removes what has changed in the tools table.
function M.sync()
  restore()
  compare(parts.tools, M.tools, function(name)
    return not NO_TOOLS[name]
  end)
  compare(parts.groups, M.tools.groups, function()
    return true
  end)
end

--- A key that the tools table did not have.
---@param name any
---@param entry any
local function added(_, name, entry)
  rawset(M.tools, name, entry)
  if not entry then
    return
  end
  -- An entry that is not complete yet is tried again, and then a problem is reported.
  local is_taken = not NO_TOOLS[name] and not vim.in_fast_event() and parts.tools and parts.tools.take(name, entry)
  if not is_taken then
    vim.schedule(M.sync)
  end
end

--- Notes that an entry is registered, and puts it into the table.
---@param kind "tools"|"groups"
---@param name string
---@param entry any
function M.saw(kind, name, entry)
  rawset(kind == "tools" and M.tools or M.tools.groups, name, entry)
  if parts[kind] then
    parts[kind].seen[name] = look(entry)
  end
end

--- Notes that an entry is not registered any more, and takes it out of the table.
---@param kind "tools"|"groups"
---@param name string
function M.forget(kind, name)
  rawset(kind == "tools" and M.tools or M.tools.groups, name, nil)
  if parts[kind] then
    parts[kind].seen[name] = nil
  end
end

--- Says what is done about the keys of the tools table, or of its groups.
---@param kind "tools"|"groups"
---@param take flemma.codecompanion.Taker
---@param drop fun(name: string)
function M.follow(kind, take, drop)
  parts[kind] = { take = take, drop = drop, seen = {} }
end

--- Watches the tools table.
function M.install()
  setmetatable(M.tools, { __newindex = added })
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("flemma.codecompanion.config", { clear = true }),
    pattern = "FlemmaRequestSending",
    desc = "Flemma: register tools that were written into CodeCompanion's configuration",
    callback = M.sync,
  })
end

return M
