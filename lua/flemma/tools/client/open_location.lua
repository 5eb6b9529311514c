--- `open_location`: shows the user a place in a file.

---@param input { path: string, line?: integer, column?: integer, pattern?: string }
---@param ctx flemma.ExecutionContext
---@return table
return function(input, ctx)
  return require("flemma.tools.location").open(input, ctx)
end
