-- An extension that reaches far into the plugin: it loads on its first lines what it needs in one branch only.
local adapters = require("codecompanion.adapters")
local client = require("codecompanion.http")
local schema_of = require("codecompanion.schema")
local acp = require("codecompanion.acp")
local transform = require("codecompanion.utils.adapters")
local utils = require("codecompanion.utils")
local pickers = require("codecompanion.providers").pickers
local xml2lua = require("codecompanion.utils.xml.xml2lua")
local Chat = require("codecompanion.strategies.chat")
local approvals = require("codecompanion.interactions.chat.tools.approvals")
local cmd_tool = require("codecompanion.interactions.chat.tools.builtin.cmd_tool")
local helpers = require("codecompanion.strategies.chat.tools.catalog.helpers")
local config = require("codecompanion.config").config

local function schema(name, parameters)
  return {
    type = "function",
    ["function"] = {
      name = name,
      description = "x",
      parameters = parameters or { type = "object", properties = { text = { type = "string" } } },
      strict = true,
    },
  }
end

local function define(name, run, output, parameters)
  return {
    callback = {
      name = name,
      cmds = type(run) == "table" and run or { run },
      schema = schema(name, parameters),
      output = output,
    },
  }
end

local function good(data)
  return { status = "success", data = data }
end

local M = {}

function M.setup()
  config.prompt_library.mine = { interaction = "chat", chat_only = config.display.chat.window.layout }
  config.adapters.http.mine = { name = "mine" }
  local tools = config.interactions.chat.tools
  tools.d01_adapter = define("d01_adapter", function()
    return good(adapters.resolve("x").name)
  end)
  tools.d00_helper = define("d00_helper", function()
    helpers.add_diff("x")
  end)
  tools.d02_http = define("d02_http", function()
    client.new({ adapter = schema_of.get_default({}) }):request({})
  end)
  tools.d03_chat = define("d03_chat", function()
    local chat = Chat.new({ messages = {} })
    chat:submit()
  end)
  -- All that it finds is in a buffer that it adds to the context.
  tools.d04_buffer = define("d04_buffer", function(_, args)
    local buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, { "found 1", "found 2" })
    return good(buf)
  end, {
    success = function(self, tools_object, _, stdout)
      tools_object.chat.context:add({ bufnr = stdout[#stdout], id = "<findings>", source = "d04", opts = { watched = true } })
      tools_object.chat:add_tool_output(self, "It is in the buffer.")
    end,
  })
  tools.d05_file = define("d05_file", function()
    return good("x")
  end, {
    success = function(self, tools_object)
      local chat = tools_object.chat
      chat.context:add({ path = "known.txt", id = "known" })
      chat.context:add({ path = "said.txt", id = "said" })
      chat:add_tool_output(self, "The text of the other is: already said. " .. #chat.context_items)
    end,
  })
  tools.d06_undeclared = define("d06_undeclared", function(_, args)
    return good(args.anything.at .. " " .. args.all)
  end, nil, { type = "object", additionalProperties = false })
  tools.d07_missing = define("d07_missing", function()
    require("some.absent.module").go()
  end)
  -- Tools that only build a command.
  tools.d08_built = {
    callback = cmd_tool({
      name = "d08_built",
      description = "Echoes",
      schema = { properties = { text = { type = "string" } }, required = { "text" } },
      build_cmd = function(args)
        return "echo " .. args.text .. "; echo ${text}"
      end,
    }),
  }
  tools.d09_extended = {
    extends = "cmd_tool",
    schema = schema("d09_extended"),
    build_cmd = function(args)
      return "echo extended " .. args.text
    end,
  }
  tools.d10_file = { path = "./extending.lua" }
  -- What a function answers is what the next one gets.
  tools.d11_bare = define("d11_bare", {
    function()
      return "a text"
    end,
    function(_, _, input)
      return { tostring(input), 2 }
    end,
    function(_, _, input)
      return good(input[1] .. " of " .. input[2])
    end,
  })
  -- A command, and what it is called.
  tools.d12_entry = define("d12_entry", { { cmd = { "echo", "out" }, flag = "done" } }, {
    success = function(self, tools_object, cmd, stdout)
      local words = ("%s %s %s %s"):format(cmd.cmd[1], cmd.flag, cmd.text, table.concat(cmd, "+"))
      tools_object.chat:add_tool_output(self, words .. " " .. vim.iter(stdout):flatten():join("|"))
    end,
  })
  -- The table of the third era has fields of its own.
  tools.d13_raw = define("d13_raw", function()
    return good("x")
  end, {
    success = function(_, output, meta)
      meta = vim.tbl_extend("force", { message = "merged" }, meta)
      meta.tools.chat:add_message({ role = "user", content = meta.message .. " " .. output[#output] .. " " .. tostring(meta.cmd.text) })
    end,
  })
  tools.d14_refused = define("d14_refused", function() end, {
    rejected = function(self, meta)
      helpers.rejected(self, vim.tbl_extend("force", { message = "Kept" }, meta or {}))
    end,
  })
  tools.d15_joins = define("d15_joins", function(self)
    local chat = self.chat
    chat.tool_registry:add("d01_adapter", tools.d01_adapter)
    chat._mine = chat._mine or {}
    return good(tostring(chat.tool_registry.in_use.d01_adapter) .. " " .. xml2lua.toXml({ a = 1 }):gsub("%s", ""))
  end)
  -- Whoever listens finds the chat by its buffer, and may speak while a call runs.
  tools.d16_heard = define("d16_heard", function(_, _, _, output_handler)
    vim.schedule(function()
      output_handler(good("the end"))
    end)
  end)
  -- Written for two versions. Before it runs it asks which one it is in, and then it sees.
  local is_new = tonumber(require("codecompanion").version():match("^%d+")) >= 19
  tools.d17_both = define("d17_both", function(_, args, _, output_handler)
    is_new = type(output_handler) ~= "function"
    return good(args.text)
  end, {
    prompt = function(_, second)
      return "In " .. (is_new and second or { tools = second }).tools.bufnr .. "?"
    end,
    success = function(self, second, third, fourth)
      local stdout, meta = second, third
      if not is_new then
        stdout, meta = fourth, { tools = second, cmd = third }
      end
      meta.tools.chat:add_tool_output(self, "both " .. stdout[#stdout] .. " " .. meta.cmd.text)
    end,
  })
  -- It decides about its approval when it is set up.
  tools.d18_setup = define("d18_setup", function(_, args)
    return good("did " .. args.text)
  end)
  tools.d18_setup = {
    callback = vim.tbl_extend("force", tools.d18_setup.callback, {
      handlers = {
        setup = function(self)
          self.opts.require_approval_before = self.args.text ~= "harmless"
        end,
      },
      -- A table of functions of its own.
      env = { mine = print },
    }),
  }
  vim.api.nvim_create_autocmd("User", {
    pattern = "CodeCompanionToolStarted",
    callback = function(args)
      local chat = Chat.buf_get_chat(args.data.bufnr)
      assert(chat.bufnr == args.data.bufnr and chat == require("codecompanion").buf_get_chat(args.data.bufnr))
      if args.data.tool == "d16_heard" then
        chat.opts.title = chat.opts.title or "a title"
        chat:add_message({ role = "user", content = "heard " .. chat.opts.title })
        utils.fire("ChatSeen", { bufnr = chat.bufnr })
      end
    end,
  })
  _G.loaded = { type(acp.new), type(transform), type(pickers), type(approvals.is_approved) }
end

return M
