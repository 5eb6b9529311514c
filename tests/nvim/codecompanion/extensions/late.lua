-- An extension that registers its tools when a server has answered, which a timer stands for. It uses what another exports.
local M = {}

local function tool(name, answer)
  return {
    name = name,
    cmds = {
      function(_, _, opts)
        opts.output_cb({ status = "success", data = answer() })
      end,
    },
    schema = { type = "function", ["function"] = { name = name, description = name, parameters = { type = "object", properties = {} } } },
    output = {
      success = function(self, stdout, meta)
        meta.tools.chat:add_tool_output(self, tostring(stdout[#stdout]))
      end,
    },
    opts = { require_approval_before = false },
  }
end

M.setup = function(opts)
  assert(opts.delay, "no delay")
  local timer = assert(vim.uv.new_timer())
  timer:start(opts.delay, 0, vim.schedule_wrap(function()
    timer:close()
    local tools = require("codecompanion.config").interactions.chat.tools
    -- First the key, then what belongs to it.
    tools.ask_counter = {}
    tools.ask_counter.callback = tool("ask_counter", function()
      return require("codecompanion").extensions.counter.total()
    end)
    tools.goes = { callback = tool("goes", function() end) }
    tools.swap = { callback = tool("swap", function() return "first" end) }
    tools.groups.both = { description = "Both", tools = { "count", "ask_counter" } }
    _G.is_late_done = true
  end))
end

return M
