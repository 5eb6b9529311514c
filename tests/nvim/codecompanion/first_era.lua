-- Definitions as they were written at first, with an example of a call in XML.

_G.seen = {}
local function note(...)
  seen[#seen + 1] = table.concat({ ... }, " ")
end

local function schema(name, action)
  return { _attr = { name = name }, action = action or { word = "an example" } }
end

local function one(self, actions)
  note("one", self.tool.name)
  return { status = "success", data = "one " .. actions.word }
end

local output = {
  success = function(agent, cmd, stdout)
    note("success", #stdout)
    agent.chat:add_buf_message({ role = "user", content = stdout[#stdout] })
  end,
  error = function(agent, cmd, stderr, stdout)
    note("error", #stderr, #stdout)
    agent.chat:add_buf_message({ role = "user", content = stderr[1] .. " after " .. stdout[1] })
  end,
}

local handlers = {
  setup = function(agent)
    note("setup", agent.tool.name)
  end,
  on_exit = function(agent)
    note("exit", agent.status)
  end,
}

_G.tools = {
  succeeds = {
    description = "It succeeds twice.",
    callback = {
      name = "succeeds",
      cmds = {
        one,
        function(self, actions, input)
          note("two", input.status)
          return { status = "success", data = "two " .. input.data }
        end,
      },
      schema = schema("succeeds"),
      handlers = handlers,
      output = output,
    },
  },
  fails = {
    description = "It fails in the second function.",
    callback = {
      name = "fails",
      cmds = {
        one,
        function(self, actions, input)
          note("two", input.status)
          return { status = "error", data = "no " .. actions.word }
        end,
        function()
          note("never")
        end,
      },
      schema = schema("fails"),
      handlers = handlers,
      output = output,
    },
  },
  several = {
    description = "It does several things at once.",
    callback = {
      name = "another name",
      cmds = {
        function(_, actions)
          note("first", actions.word)
          return { status = "success", data = "first " .. actions.word }
        end,
        function(_, actions, input)
          note("second", actions.word, input.data)
          return { status = "success", data = "second " .. actions.word }
        end,
      },
      schema = { { tool = schema("several") }, { tool = schema("several", { { word = "a" }, { word = "b" } }) } },
      handlers = { setup = handlers.setup },
    },
  },
  typed = {
    description = "It has actions of several types.",
    callback = {
      name = "typed",
      cmds = {
        function(self, actions)
          local request = self.tool.request
          return {
            status = "success",
            data = request.action._attr.type .. " " .. actions.path .. " in " .. request._attr.name,
          }
        end,
      },
      schema = {
        { tool = { _attr = { name = "typed" }, action = { _attr = { type = "create" }, path = "a.txt" } } },
        { tool = { _attr = { name = "typed" }, action = { _attr = { type = "delete" }, path = "b.txt" } } },
      },
    },
  },
  runs = {
    description = "It runs commands.",
    callback = {
      name = "runs",
      cmds = { { "printf", "<%s>", "${lang}" }, "echo plain  words" },
      schema = schema("runs", { lang = "python" }),
      env = function(xml)
        return { lang = xml.lang }
      end,
    },
  },
}

tools.succeeds.callback.env = function(schema)
  note("env", schema.action.word, schema._attr.name)
end
