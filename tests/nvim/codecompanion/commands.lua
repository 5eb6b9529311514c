-- Tools that run commands.

_G.seen = {}
local function note(text)
  seen[#seen + 1] = text
end

local schema = {
  type = "function",
  ["function"] = {
    name = "x",
    description = "Does x.",
    parameters = { type = "object", properties = { text = { type = "string" } } },
  },
}

local function define(cmds, output, fields)
  return vim.tbl_extend("force", {
    cmds = cmds,
    schema = schema,
    output = output,
    handlers = { on_exit = function(self) note("exit " .. self.name) end },
  }, fields or {})
end

local hostile = [[$(touch hacked); `touch hacked` "quoted" 'quoted' \ ]] .. "two\nlines && touch hacked #"

_G.tools = {
  good = define({ { "printf", "'one\\ntwo\\n'" }, "echo three" }),
  said = define({ "echo \27[31mred\27[0m", { "echo", "again" } }, {
    success = function(self, tools, cmd, stdout)
      tools.chat:add_tool_output(self, #stdout .. " " .. table.concat(stdout[#stdout], "|"))
    end,
  }),
  stops = define({ "echo first", "echo out; echo err >&2; exit 3", "touch never" }, {
    success = function(_, tools, cmd, stdout)
      note("success " .. cmd)
    end,
    error = function(self, tools, cmd, stderr, stdout)
      note("error " .. cmd)
      tools.chat:add_tool_output(self, table.concat(stderr[#stderr], "|") .. " after " .. stdout[1][1])
    end,
  }),
  silent = define({ "echo out; echo err >&2; exit 3" }),
  missing = define({ "no-such-program-here" }),
  nothing = define({ "true" }),
  little = define({ "true", "echo little", "true" }),
  much = define({ "seq 1 2000000; echo end" }),
  values = define({ { "printf", "'%s'", "${text}" }, 'printf %s "<${text}>"', "printf %s '${text}' ${other}" }, nil, {
    env = function(schema)
      return { text = schema.text, other = 7 }
    end,
  }),
  flags = define({ { cmd = { "true" }, flag = "tested" }, { { "false" }, "linted" } }, {
    error = function(self, tools)
      local flags = tools.chat.tool_registry.flags
      tools.chat:add_tool_output(self, vim.inspect({ flags.tested, flags.linted, tools.chat.tools.flags == flags }))
    end,
  }),
  mixed = define({
    function(_, args)
      return { status = "success", data = "made " .. args.text }
    end,
    { "echo", "ran" },
    function(_, _, input)
      return { status = "success", data = "after " .. input.data }
    end,
  }),
  made = define(nil, nil, {
    handlers = {
      setup = function(self)
        self.cmds = { { "echo", self.args.text } }
      end,
    },
  }),
  odd = define({ { "echo", print } }),
  slow = define({ "echo begun > begun; sleep 1000 & wait", "touch never" }, {
    cancelled = function(self, tools, cmd)
      note("cancelled " .. cmd)
    end,
  }),
}
_G.hostile = hostile
