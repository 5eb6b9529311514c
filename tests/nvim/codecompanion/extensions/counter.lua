-- An extension that registers its tool when it is set up, and exports what others use.
---@class CodeCompanion.Extension
local Extension = {}

local config = require("codecompanion.config")
local log = require("codecompanion.utils.log")

local total = 0

function Extension.setup(opts)
  local tools = config.interactions.chat.tools
  tools[opts.name or "count"] = {
    description = "Counts",
    callback = {
      name = "count",
      cmds = {
        function(self, args)
          total = total + (args.step or 1)
          log:debug("[counter] %d after %s", total, { step = args.step })
          return { status = "success", data = total }
        end,
      },
      schema = {
        type = "function",
        ["function"] = {
          name = "count",
          description = "Counts up",
          parameters = { type = "object", properties = { step = { type = "integer" } } },
        },
      },
      output = {
        success = function(self, tools_object, cmd, stdout)
          tools_object.chat:add_tool_output(self, ("the count is %d"):format(stdout[#stdout]))
        end,
      },
    },
    opts = { require_approval_before = false },
  }
end

Extension.exports = {
  total = function()
    return total
  end,
}

return Extension
