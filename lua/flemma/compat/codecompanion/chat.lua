--- The stand-in for CodeCompanion's chat: one object for each conversation, which calls see through a view of their own.
---
--- What tools say to the chat becomes the result of their call. Fields that tools write stay on the conversation's object.
local M = {}

local api = vim.api
local absent = require("flemma.compat.codecompanion.modules").absent
local config = require("flemma.compat.codecompanion.config")
local notify = require("flemma.notify")
local value = require("flemma.compat.codecompanion.value")

---@type table<integer, table>
local chats = {}
local last_id, last_buf = 0, -1

local WHY = "Flemma sends requests itself"

---@type table<table, flemma.codecompanion.Call>
local call_of_tool = setmetatable({}, { __mode = "kv" })

local ROLES = { You = "user", Assistant = "llm", System = "system" }

--- Methods that would take the conversation over.
local OUT_OF_REACH = "submit stop close clear reset regenerate change_adapter change_model apply_settings complete done"

--- The messages of a conversation: a copy.
---@param buf integer
---@return { role: string, content: string }[]
local function messages(buf)
  local found = {}
  if not api.nvim_buf_is_loaded(buf) then
    return found
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  local native = require("flemma.native")
  local start = lines[1] and lines[1]:find("^@%a+:") and 0 or native.call("find", buf, "message", { line = 0, forward = true })
  while start do
    local after = native.call("find", buf, "message", { line = start, forward = true })
    local role, rest = lines[start + 1]:match("^@(%a+):%s*(.*)")
    local body = vim.list_slice(lines, start + 2, after or #lines)
    if role then
      found[#found + 1] = { role = ROLES[role] or role:lower(), content = vim.trim(rest .. "\n" .. table.concat(body, "\n")) }
    end
    start = after
  end
  return found
end

--- The stand-in for the adapter: its name and the model's.
---@return table
function M.adapter()
  local options = require("flemma.options").get()
  local provider = options and options.provider or ""
  local model = options and options.model or ""
  local known = {
    name = provider,
    formatted_name = provider,
    type = "http",
    model = setmetatable({ name = model, formatted_name = model }, {
      __tostring = function()
        return model
      end,
    }),
  }
  return setmetatable(known, { __index = absent("adapter", WHY) })
end

--- A tool's words came when its call was over.
---@param call flemma.codecompanion.Call
---@param text string
local function keep_late(call, text)
  call.late = call.late and call.late .. "\n\n" .. text or text
  vim.schedule(function()
    vim.fn.setreg("-", call.late, "c")
    if not call.is_late_told then
      call.is_late_told = true
      notify.say(
        vim.log.levels.WARN,
        ('%s (%s): what the tool said came too late, because the call is over. It is in register -: "-p puts it'):format(
          call.name,
          call.id
        )
      )
    end
  end)
end

--- Takes what a tool says.
---@param call flemma.codecompanion.Call
---@param text string
---@param by string the method
local function say(call, text, by)
  if text == "" or call.is_mute then
    return
  elseif call.is_over then
    return keep_late(call, text)
  end
  local said = call.said
  local before = said[#said]
  -- Tools say the same once to the model and once to the user.
  if before and before.text == text and before.by ~= by then
    return
  end
  said[#said + 1] = { text = text, by = by }
end

--- The text of a message.
---@param message any
---@return string
local function content(message)
  if type(message) == "table" and not vim.islist(message) then
    return value.text(message.content)
  end
  return value.text(message)
end

local sayings = {}

--- Shows an image with the result of a call.
---@param call flemma.codecompanion.Call
---@param image any
---@return boolean is_image
local function show(call, image)
  if not image then
    return false
  elseif call.is_over then
    keep_late(call, type(image) == "string" and image or ("an image of %d bytes"):format(#image.data))
  elseif not call.is_mute then
    call.attachments[#call.attachments + 1] = image
  end
  return true
end

function sayings.add_image_message(call, image)
  local attachment = require("flemma.compat.codecompanion.image").attachment(image)
  if not show(call, attachment) then
    error("add_image_message: there is no image; give a path, or a table with `path` or `base64`", 3)
  end
end

function sayings.add_tool_output(call, tool, for_llm, for_user)
  local text = for_llm
  if text == nil then
    text = for_user
  end
  say(type(tool) == "table" and call_of_tool[tool] or call, value.text(text), "add_tool_output")
end

function sayings.add_message(call, message, opts)
  if show(call, require("flemma.compat.codecompanion.image").of_message(message, opts)) then
    return
  end
  say(call, content(message), "add_message")
end

function sayings.add_buf_message(call, message)
  say(call, content(message), "add_buf_message")
end

function sayings.add_context(call, message, source, id)
  local items = call.tools.chat.context_items
  items[#items + 1] = { source = source, id = id }
  if show(call, require("flemma.compat.codecompanion.image").of_message(message)) then
    return
  end
  say(call, content(message), "add_context")
end

sayings.add_reference = sayings.add_context

--- Puts a buffer or a file into the context: `chat.context:add()`.
local function add_item(call, item)
  local items = call.tools.chat.context_items
  items[#items + 1] = item
  call.context[#call.context + 1] = type(item) == "table" and item or nil
end

--- What is said to the chat, for somebody who speaks for this call.
---@param call_of fun(): flemma.codecompanion.Call
---@return table
local function methods_of(call_of)
  local methods = {}
  for name, take in pairs(sayings) do
    methods[name] = function(_, ...)
      take(call_of(), ...)
    end
  end
  methods.context = {
    add = function(_, ...)
      add_item(call_of(), ...)
    end,
  }
  methods.references = methods.context
  return methods
end

--- The tools that are in use in a chat. What a tool adds to them is offered from then on.
local function new_registry()
  local registry = { in_use = {}, added = {}, flags = {}, groups = {} }
  local function mark(names, is_added)
    for _, name in ipairs(names) do
      registry.in_use[name], registry.added[name] = is_added, is_added
    end
  end
  function registry.add(_, name)
    mark({ name }, true)
  end
  function registry.add_group(_, name)
    local group = config.tools.groups[name]
    registry.groups[name] = group
    mark(group and group.tools or {}, true)
    return group
  end
  function registry.remove_group(_, name)
    mark(registry.groups[name] and registry.groups[name].tools or {}, nil)
    registry.groups[name] = nil
  end
  return registry
end

--- The object of a conversation. Who speaks to it, and not to what a call sees of it, speaks for the call that runs.
---@param buf integer
---@return table
local function of(buf)
  if chats[buf] then
    return chats[buf]
  end
  last_id = last_id + 1
  local options = require("flemma.options").get()
  local chat = methods_of(function()
    for _, call in pairs(call_of_tool) do
      if call.bufnr == buf and call.is_running and not call.is_over then
        return call
      end
    end
    error("no call of a tool runs whose result this could be (:help flemma-codecompanion)", 3)
  end)
  chat.id, chat.bufnr, chat.opts, chat.context_items = last_id, buf, {}, {}
  chat.settings = value.copy(options and options.parameters or {})
  chat.adapter, chat.tool_registry = M.adapter(), new_registry()
  chat.tools = chat.tool_registry
  for name in OUT_OF_REACH:gmatch("%S+") do
    chat[name] = absent("chat:" .. name, WHY)
  end
  chats[buf] = setmetatable(chat, {
    __index = function(_, key)
      return key == "messages" and messages(buf) or nil
    end,
  })
  return chat
end

--- The chat as a call sees it.
---@param call flemma.codecompanion.Call
---@return table
function M.view(call)
  local chat = of(call.bufnr)
  call_of_tool[call.tool] = call
  chat.tool_registry.in_use[call.name] = true
  last_buf = call.bufnr
  local methods = methods_of(function()
    return call
  end)
  return setmetatable({}, {
    __index = function(_, key)
      if methods[key] then
        return methods[key]
      end
      return chat[key]
    end,
    __newindex = function(_, key, new)
      chat[key] = new
    end,
  })
end

--- The chat of a conversation, for somebody who is not one of its calls.
---@param buf? integer 0 for the current buffer; nil for all chats
---@return table? chat nil if the buffer is no conversation
function M.find(buf)
  if buf == nil then
    return vim.tbl_map(function(number)
      return { chat = M.find(number), bufnr = number, name = api.nvim_buf_get_name(number) }
    end, vim.tbl_filter(api.nvim_buf_is_valid, vim.tbl_keys(chats)))
  end
  buf = buf == 0 and api.nvim_get_current_buf() or buf
  if not (type(buf) == "number" and api.nvim_buf_is_valid(buf) and vim.bo[buf].filetype == "chat") then
    return nil
  end
  return of(buf)
end

--- Whether a tool has added another one to the chat, which is offered then.
---@param buf integer
---@param name string
---@return boolean
function M.has_added(buf, name)
  return chats[buf] ~= nil and chats[buf].tool_registry.added[name] == true
end

--- The chat of the current buffer, or that of the last call.
---@return table?
function M.last()
  return M.find(0) or M.find(last_buf)
end

--- A buffer is gone.
---@param buf integer
function M.forget(buf)
  chats[buf] = nil
end

return M
