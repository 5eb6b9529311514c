--- The options in effect, as read by the library. They are shared: copy them before you pass them on.
local M = {}

---@type flemma.Options?
local effective

---@param options flemma.Options
function M.set(options)
  effective = options
end

--- The options if they have already been read. Loads nothing.
---@return flemma.Options?
function M.taken()
  return effective
end

--- The options; the defaults if `setup` was never called.
---@return flemma.Options? options nil when the library is missing
function M.get()
  if not effective and require("flemma.native").load() then
    require("flemma").setup()
  end
  return effective
end

return M
