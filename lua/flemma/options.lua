--- The effective options, as the library read them. They are shared: whoever hands them out makes a copy.
local M = {}

---@type flemma.Options?
local effective

---@param options flemma.Options
function M.set(options)
  effective = options
end

--- The options if they were read already. Loads nothing.
---@return flemma.Options?
function M.taken()
  return effective
end

--- The options; the defaults where `setup` was never called.
---@return flemma.Options? options nil when the library is not there
function M.get()
  if not effective and require("flemma.native").load() then
    require("flemma").setup()
  end
  return effective
end

return M
