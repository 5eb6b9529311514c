-- Definitions as they are written for the second and third signatures of CodeCompanion's tools.

_G.seen = {}
local function note(text)
  seen[#seen + 1] = text
end

--- The schema of a function with one text parameter.
local function schema(name, parameter)
  return {
    type = "function",
    ["function"] = {
      name = name,
      description = "Does " .. name .. ".",
      parameters = {
        type = "object",
        properties = { [parameter or "text"] = { type = "string", description = "what it is about" } },
        required = { parameter or "text" },
      },
      strict = true,
    },
  }
end

local Point = {}
Point.__index = Point
function Point:show()
  return ("(%d, %d)"):format(self.x, self.y)
end

_G.tools = {
  -- A function that answers at once. It looks at the last of what was found, as its authors do.
  b_count = {
    description = "for the menu",
    callback = {
      name = "b_count",
      system_prompt = "Use b_count for every text.",
      cmds = {
        function(self, args, input)
          note(("b_count %s %s %s"):format(self.tool.name, type(self.chat), tostring(input)))
          return { status = "success", data = #args.text }
        end,
        function(self, args, input)
          return { status = "success", data = input.status .. " " .. input.data * 2 }
        end,
      },
      schema = schema("b_count"),
      handlers = {
        setup = function(self, tools)
          note("setup " .. self.name .. " " .. tools.status .. " " .. self.args.text)
        end,
        on_exit = function(self, tools)
          note("exit " .. tools.status .. " " .. #tools.stdout)
        end,
      },
      output = {
        success = function(self, tools, cmd, stdout)
          note("success " .. cmd.text .. " " .. #stdout)
          return tools.chat:add_tool_output(self, "found " .. stdout[#stdout])
        end,
      },
    },
  },
  -- It answers later, with an object that has methods.
  b_point = {
    callback = function()
      return {
        name = "b_point",
        cmds = {
          function(tools, args, _, output_handler)
            vim.defer_fn(function()
              local point = setmetatable({ x = 1, y = tonumber(args.text) }, Point)
              output_handler({ status = "success", data = point })
              output_handler({ status = "error", data = "dropped" })
            end, 5)
          end,
        },
        schema = schema("b_point"),
        output = {
          success = function(self, tools, _, stdout)
            tools.chat.points = (tools.chat.points or 0) + 1
            tools.chat:add_tool_output(self, stdout[1]:show() .. " " .. tools.chat.points, "for the user")
          end,
        },
      }
    end,
  },
  -- It returns its error, and calls back with what is good.
  b_paths = {
    callback = {
      cmds = {
        function(tools, args, input, output_handler)
          if args.text == "bad" then
            return { status = "error", data = "there is no " .. args.text }
          end
          output_handler({ status = "success", data = "there is " .. args.text })
        end,
      },
      schema = schema("b_paths"),
      output = {
        error = function(self, tools, cmd, stderr, stdout)
          tools.chat:add_tool_output(self, "sorry: " .. stderr[#stderr] .. " " .. #stdout)
        end,
      },
    },
  },
  -- It decides about its own approval.
  b_guarded = {
    callback = {
      cmds = {
        function(_, args)
          return { status = "success", data = "did " .. args.text }
        end,
      },
      schema = schema("b_guarded"),
      handlers = {
        prompt_condition = function(self, tools, config)
          return self.args.text ~= "harmless" and config ~= nil and tools.tool == self
        end,
      },
      output = {
        prompt = function(self, tools)
          return ("Really %s in %d?"):format(self.args.text, tools.bufnr)
        end,
        rejected = function(self, tools, cmd, opts)
          tools.chat:add_tool_output(self, ("The user keeps %s: %s"):format(cmd.text, opts.reason or "no reason"))
        end,
      },
      opts = { require_approval_before = { "all" } },
    },
  },
  c_search = {
    callback = {
      cmds = {
        function(self, args, opts)
          vim.schedule(function()
            opts.output_cb({ status = "success", data = { "one " .. args.text, "two" } })
          end)
        end,
      },
      schema = schema("c_search"),
      handlers = {
        setup = function(self, meta)
          note("c setup " .. meta.tools.tool.name)
        end,
        on_exit = function(self, meta)
          note("c exit " .. #meta.tools.stdout)
        end,
      },
      output = {
        success = function(self, stdout, meta)
          local chat = meta.tools.chat
          chat:add_tool_output(self, table.concat(stdout[#stdout], ", "), "")
          chat:add_tool_output(self, "for " .. meta.cmd.text)
        end,
      },
    },
  },
  -- The definition stands in the entry itself, as it may since then.
  c_inline = {
    description = "Says it is here.",
    cmds = {
      function(self, args, opts)
        return { status = "success", data = { said = args.text, before = opts.input == nil } }
      end,
    },
    schema = schema("c_inline"),
    output = {
      error = function(self, stderr, meta) end,
    },
  },
  c_more = {
    extends = "c_search",
    opts = { times = 2 },
    output = {
      success = function(self, stdout, meta)
        meta.tools.chat:add_message({ role = "user", content = self.name .. " " .. self.opts.times .. " " .. stdout[1][1] })
      end,
    },
  },
  c_asks = {
    callback = {
      cmds = {
        function(_, _, opts)
          return { status = "error", data = { code = 7, why = "closed" } }
        end,
      },
      schema = schema("c_asks"),
      output = {
        prompt = function(self, meta)
          return "Open " .. self.args.text .. " in " .. meta.tools.bufnr .. "?"
        end,
        rejected = function(self, meta)
          meta.tools.chat:add_tool_output(self, "Kept closed: " .. tostring(meta.opts.reason))
        end,
        error = function(self, stderr, meta)
          meta.tools.chat:add_tool_output(self, ("code %d for %s"):format(stderr[1].code, meta.cmd.text))
        end,
      },
    },
    opts = {
      require_approval_before = function(tool, tools)
        return tool.args.text ~= "harmless" and tools.tool == tool
      end,
    },
  },
  -- Its functions have so few parameters that their signature cannot be told.
  e_either = {
    callback = {
      cmds = {
        function(self, args)
          return { status = "success", data = args.text }
        end,
        function(self, args, input)
          return { status = "success", data = input.data .. "!" }
        end,
      },
      schema = schema("e_either"),
      handlers = {
        setup = function(self, object)
          note("e " .. tostring(object.tools.chat == object.chat))
        end,
      },
      output = {
        success = function(self, object)
          object.chat:add_tool_output(self, ("%s %d %s"):format(object[#object], #object, object.tools.status))
        end,
      },
    },
  },
}
