--- The stand-in for CodeCompanion's configuration, and its tools table: what is written into it is registered.
---
--- A new key is registered at once. LuaJIT tells nobody of a key that is replaced or removed, and the table has to work with
--- `pairs` as any other. So it is compared with what was seen of it: in the tick after somebody has loaded the configuration,
--- and before each request.
local M = {}

local notify = require("flemma.notify")
local value = require("flemma.compat.codecompanion.value")

--- Keys of the tools table that are no tools.
local NO_TOOLS = { groups = true, opts = true }

---@class flemma.codecompanion.Seen
---@field entry any
---@field fields table
---@field problem? string what was told of it

---@alias flemma.codecompanion.Taker fun(name: string, entry: any): boolean, string?

---@class flemma.codecompanion.Part what is done about the keys of a table
---@field take flemma.codecompanion.Taker takes a new entry
---@field drop fun(name: string) takes an entry back
---@field seen table<string, flemma.codecompanion.Seen>

--- Both are there before anything is written.
---@type { tools: flemma.codecompanion.Part, groups: flemma.codecompanion.Part }
local parts = {}

--- The tools table, as tools read it: the entries as they were given, `groups` and `opts`.
---@type table<string, any>
M.tools = { groups = {}, opts = {} }

local chat = {
  tools = M.tools,
  roles = { user = "You", llm = "Assistant" },
}

--- The module `codecompanion.config`.
M.module = setmetatable({
  constants = { USER_ROLE = "user", LLM_ROLE = "llm", SYSTEM_ROLE = "system" },
  strategies = { chat = chat, background = {}, cmd = {}, inline = {} },
  adapters = { acp = {}, http = {} },
  display = { action_palette = {}, chat = { icons = {}, window = {} }, diff = {}, inline = {} },
}, {
  -- The table is in itself, but whoever copies it must not follow that.
  __index = function(_, key)
    return key == "config" and M.module or nil
  end,
})
M.module.interactions = M.module.strategies
-- Nothing reads these. Extensions read them and write into them.
for name in ("editor_context keymaps opts slash_commands variables"):gmatch("%S+") do
  chat[name] = {}
end
for name in ("extensions mcp memory opts prompt_library rules"):gmatch("%S+") do
  M.module[name] = {}
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

--- Whether an entry is taken again before a request: what could not be used, and groups whose functions are asked for each.
---@param seen flemma.codecompanion.Seen
---@return boolean
local function is_due(seen)
  return seen.problem ~= nil or vim.is_callable(seen.fields.system_prompt) or vim.is_callable(seen.fields.prompt)
end

--- Compares a table with what was seen of it.
---@param part flemma.codecompanion.Part
---@param entries table
---@param no_entries table<string, true> keys of it that are none
---@param is_again? boolean
---@return boolean ok
local function compare(part, entries, no_entries, is_again)
  local all_ok, gone, new = true, {}, {}
  for name in pairs(part.seen) do
    if not rawget(entries, name) then
      gone[#gone + 1] = name
    end
  end
  for name, entry in next, entries do
    local seen = part.seen[name]
    if not no_entries[name] and entry ~= false and (not value.is_same(seen, entry) or is_again and is_due(seen)) then
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
    local told = part.seen[name] and part.seen[name].problem
    part.seen[name] = value.look(entries[name])
    local ok, problem = part.take(name, entries[name])
    all_ok = ok and all_ok
    -- What is wrong with an entry is reported once.
    part.seen[name].problem = problem
    if problem and problem ~= told then
      notify.say(vim.log.levels.ERROR, problem)
    end
  end
  return all_ok
end

--- Registers and removes what has changed in the tools table.
---@param is_again? boolean whether what could not be used is tried again, and functions of groups are asked again
---@return boolean ok
function M.sync(is_again)
  restore()
  local all_ok = compare(parts.tools, M.tools, NO_TOOLS, is_again)
  return compare(parts.groups, M.tools.groups, {}, is_again) and all_ok
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
  local is_taken = not NO_TOOLS[name] and not vim.in_fast_event() and parts.tools.take(name, entry)
  if not is_taken then
    vim.schedule(M.sync)
  end
end

--- Puts an entry into the table, or takes it out.
---@param kind "tools"|"groups"
---@param name string
---@param entry any nil to take it out
---@param is_done? boolean whether it is registered; if false, the next `sync` does that even if nothing has changed
function M.put(kind, name, entry, is_done)
  rawset(kind == "tools" and M.tools or M.tools.groups, name, entry)
  if is_done ~= nil then
    parts[kind].seen[name] = is_done and entry and value.look(entry) or nil
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
    callback = function()
      M.sync(true)
    end,
  })
end

return M
