--- The stand-in for the helpers that published tools share. Their parameters changed from version to version, so the arguments
--- are told apart by what they are.
local M = {}

--- The arguments that are tables, those inside them included.
---@return table[]
local function tables_of(...)
  local found = {}
  local arguments = vim.F.pack_len(...)
  for i = 1, arguments.n do
    local argument = arguments[i]
    if type(argument) == "table" then
      found[#found + 1] = argument
      for _, key in ipairs({ "tools", "opts" }) do
        found[#found + 1] = type(argument[key]) == "table" and argument[key] or nil
      end
    end
  end
  return found
end

--- The first text under a name.
---@param tables table[]
---@param name string
---@return string?
local function text_of(tables, name)
  for _, item in ipairs(tables) do
    if type(item[name]) == "string" and item[name] ~= "" then
      return item[name]
    end
  end
end

--- The chat among the arguments.
---@param tables table[]
---@return table
local function chat_of(tables)
  for _, item in ipairs(tables) do
    if vim.is_callable(item.add_tool_output) then
      return item
    end
    local chat = item.chat
    if type(chat) == "table" and vim.is_callable(chat.add_tool_output) then
      return chat
    end
  end
  error("give the Tools object, or the chat", 3)
end

--- Tells the model that the user has rejected the call.
---@param tool table
---@param ... any the Tools object, or a table with it; the command; options with `message` and `reason`
function M.rejected(tool, ...)
  local tables = tables_of(...)
  -- The arguments that the model gave may have such fields as well.
  local options = vim.tbl_filter(function(item)
    return type(tool) ~= "table" or not rawequal(item, tool.args)
  end, tables)
  local name = type(tool) == "table" and tool.name or "?"
  local text = text_of(options, "message") or ("The user rejected the execution of the tool `%s`"):format(name)
  local reason = text_of(options, "reason")
  if reason and not text:find(reason, 1, true) then
    text = ('%s: "%s"'):format(text, reason)
  end
  chat_of(tables):add_tool_output(tool, text)
end

--- Shows an image to the model, with the result of the call.
---@param ... any the Tools object or the chat, and the image: a path, or a table with `path` or `base64`
function M.add_image(...)
  local images = require("flemma.compat.codecompanion.image")
  local chat = chat_of(tables_of(...))
  local arguments = vim.F.pack_len(...)
  for i = 1, arguments.n do
    local argument = arguments[i]
    local is_image = type(argument) == "string"
      or type(argument) == "table" and (rawget(argument, "path") or rawget(argument, "base64"))
    if is_image and images.attachment(argument) then
      return chat:add_image_message(argument)
    end
  end
  error("add_image: there is no image; give a path, or a table with `path` or `base64`", 2)
end

return M
