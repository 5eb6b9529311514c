--- The table `config`: what tools of this kind are configured with. Only `enableTools` has an effect here.
local M = {}

--- Called when the tools are switched on or off.
function M.on_switch() end

---@type table<string, any>
local values = {}

--- The parts of a path: `ai.chat` is `ai` and in it `chat`.
---@param path any
---@return string[]
local function parts_of(path)
  if type(path) == "table" then
    return path
  end
  return vim.split(tostring(path), ".", { plain = true })
end

--- Whether the user was told that agents are set elsewhere.
local was_told = false

--- Says once that agents have no effect here if any of them restricts something: what they forbid must not seem to be forbidden.
---@param agents any
function M.check_agents(agents)
  for _, agent in pairs(not was_told and type(agents) == "table" and agents or {}) do
    if type(agent) == "table" and (agent.tools or agent.toolsExclude or agent.allowedReadPaths or agent.allowedWritePaths) then
      was_told = true
      require("flemma.notify").say(
        vim.log.levels.WARN,
        "silverbullet: `ai.agents` has no effect; give them to require('flemma').setup({ agents = … }), which takes the same names (:help flemma-agents)"
      )
      return
    end
  end
end

M.module = {}

--- Says what values may be set. They are not checked here.
function M.module.define() end

--- The value at a path, or else the default.
---@param path string|string[]
---@param default any
---@return any
function M.module.get(path, default)
  local found = vim.tbl_get(values, unpack(parts_of(path)))
  if found == nil then
    return default
  end
  return found
end

--- Sets the value at a path, or several at once.
---@param path string|string[]|table<string, any>
---@param value any
function M.module.set(path, value)
  if type(path) == "table" and not vim.islist(path) then
    for key, one in pairs(path) do
      M.module.set(key, one)
    end
    return
  end
  local was_enabled = M.are_tools_enabled()
  local parts, at = parts_of(path), values
  for i = 1, #parts - 1 do
    if type(at[parts[i]]) ~= "table" then
      at[parts[i]] = {}
    end
    at = at[parts[i]]
  end
  at[parts[#parts]] = value
  M.check_agents(vim.tbl_get(values, "ai", "agents"))
  if M.are_tools_enabled() ~= was_enabled then
    M.on_switch()
  end
end

--- Whether the tools of `ai.tools` are offered to models.
---@return boolean
function M.are_tools_enabled()
  return vim.tbl_get(values, "ai", "chat", "enableTools") ~= false
end

return M
