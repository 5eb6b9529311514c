-- Definitions that go wrong, and definitions that answer with something odd.

_G.seen = {}
local function note(text)
  seen[#seen + 1] = text
end

local function define(fields)
  fields.schema = fields.schema
    or { type = "function", ["function"] = { name = "x", description = "Does x.", parameters = {} } }
  fields.handlers = fields.handlers or {}
  fields.handlers.on_exit = fields.handlers.on_exit or function(self)
    note("exit " .. self.name)
  end
  return { callback = fields }
end

local function answers(...)
  local answer = vim.F.pack_len(...)
  return {
    function()
      return vim.F.unpack_len(answer)
    end,
  }
end

local function good()
  return answers({ status = "success", data = "good" })
end

local deep = {}
for _ = 1, 100000 do
  deep = { deep }
end

local loop = { name = "loop" }
loop.itself = loop

_G.tools = {
  t01_cmd = define({ cmds = { function() error("in cmds") end, function() note("never") end } }),
  t02_table = define({ cmds = { function() error({ code = 3 }) end } }),
  t03_success = define({ cmds = good(), output = { success = function() error("in success") end } }),
  t04_error = define({ cmds = answers({ status = "error", data = "bad" }), output = { error = function() error("in error") end } }),
  t05_setup = define({ cmds = good(), handlers = { setup = function() error("in setup") end } }),
  t06_env = define({ cmds = good(), env = function() error("in env") end }),
  t07_exit = define({ cmds = good(), handlers = { on_exit = function() error("in on_exit") end } }),
  t08_prompt = define({ cmds = good(), output = { prompt = function() error("in prompt") end } }),
  t10_false = define({ cmds = answers(false) }),
  t11_text = define({ cmds = answers("plain") }),
  t12_none = define({ cmds = answers({ status = "success" }) }),
  t13_no = define({ cmds = answers({ status = "success", data = false }) }),
  t14_loop = define({ cmds = answers({ status = "success", data = loop }) }),
  t15_print = define({ cmds = answers({ status = "success", data = print }) }),
  t16_bare = define({ cmds = answers({ "one", 2 }) }),
  t17_bytes = define({ cmds = answers({ status = "success", data = "a\255b" }) }),
  t18_empty = define({ cmds = {} }),
  t19_error = define({ cmds = answers({ status = "error" }) }),
  t20_nil = define({ cmds = { function(_, _, _, output_handler) output_handler(nil) end } }),
  t21_both = define({ cmds = { function(_, _, _, output_handler)
    output_handler({ status = "success", data = "first" })
    return { status = "error", data = "second" }
  end } }),
  t22_odd = define({ cmds = answers({ status = "success", data = "x" }), output = { success = function(_, tools, _, _)
    tools.chat:add_tool_output(tools.tool, nil, "for the user")
    tools.chat:add_message({ role = "user" })
    tools.chat:add_tool_output(tools.tool, { "a", "b" })
    tools.chat:add_message({ role = "user", content = "said twice" }, { visible = false })
    tools.chat:add_buf_message({ role = "user", content = "said twice" })
  end } }),
  t23_adapter = define({ cmds = { function(tools) return { status = "success", data = tools.adapter.name .. tools.adapter.schema.model.default } end } }),
  t24_submit = define({ cmds = { function(tools) tools.chat:submit() end } }),
  t25_later = define({ cmds = good(), output = { success = function(_, tools, _, _)
    vim.schedule(function() tools.chat:add_tool_output(tools.tool, "a moment later") end)
  end } }),
  t26_setup_makes = define({ handlers = { setup = function(self)
    self.cmds = good()
  end } }),
  t27_messages = define({ cmds = { function(tools)
    local messages = tools.chat.messages
    messages[1].content = "changed"
    return { status = "success", data = messages[1].role .. " " .. tools.chat.messages[1].content .. " " .. tools.adapter.model.name }
  end } }),
  t28_deep = define({ cmds = answers({ status = "success", data = deep }) }),
  t29_object = define({ cmds = answers(setmetatable({}, { __index = function() error("in __index") end })) }),
  t30_behind = define({ cmds = { function(_, _, _, output_handler)
    vim.schedule(function()
      output_handler(setmetatable({}, { __index = function() error("in __index") end }))
    end)
  end } }),
  t32_status = define({ cmds = answers({ status = "banana", data = "x" }) }),
  t33_case = define({ cmds = answers({ status = "Success", data = "fine" }) }),
  t34_number = define({ cmds = { 5 } }),
  t35_third = define({ env = function() return { v = "a b" } end, cmds = { "echo one", "echo two", "eval ${v}" } }),
  t36_found = define({ cmds = good(), output = { success = function() error("in success") end } }),
  t37_output = define({ cmds = good(), output = { success = function(_, tools, _, _)
    tools.chat:add_tool_output(tools.tool, "half")
    error("after half")
  end } }),
  t31_last = define({ cmds = good() }),
}
