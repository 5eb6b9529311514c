-- An extension whose tools show images and refuse politely.
local helpers = require("codecompanion.interactions.chat.tools.builtin.helpers")

local function schema(name)
  return { type = "function", ["function"] = { name = name, description = name, parameters = { type = "object", properties = { message = { type = "string" } } } } }
end

local function done()
  return { status = "success", data = "done" }
end

return {
  setup = function(opts)
    assert(helpers == require("codecompanion.strategies.chat.tools.catalog.helpers"))
    local tools = require("codecompanion.config").strategies.chat.tools
    tools.by_path = { callback = { cmds = { done }, schema = schema("by_path"), output = {
      success = function(self, stdout, meta)
        helpers.add_image(meta.tools.chat, { path = opts.path, mimetype = "image/png" })
      end,
    } } }
    tools.by_data = { callback = { cmds = { done }, schema = schema("by_data"), output = {
      success = function(self, tools_object, cmd, stdout)
        tools_object.chat:add_context({ role = "user", content = opts.base64, opts = { tag = "image", mimetype = "image/png" } }, "pictures", "<image>x</image>")
        tools_object.chat:add_tool_output(self, "see the image")
      end,
    } } }
    tools.refuses = { callback = { cmds = { done }, schema = schema("refuses"), output = {
      rejected = function(self, tools_object, cmd, rejection)
        helpers.rejected(self, tools_object, cmd, vim.tbl_extend("force", { message = "Not this time" }, rejection or {}))
      end,
    } }, opts = { require_approval_before = true } }
  end,
}
