--- Images that tools show to the model.
local M = {}

--- The bytes of an image in base64.
---@param text any
---@return string? bytes
local function decode(text)
  if type(text) ~= "string" then
    return nil
  end
  -- Some write it as a URL.
  local ok, bytes = pcall(vim.base64.decode, (text:gsub("^data:[%w/+.-]*;base64,", ""):gsub("%s", "")))
  return ok and bytes ~= "" and bytes or nil
end

--- What a result has to attach to show an image.
---@param image any a path, or a table with `path`, or with `base64`
---@return (string|{ data: string })? attachment nil if it is no image
function M.attachment(image)
  if type(image) == "string" then
    return image ~= "" and image or nil
  elseif type(image) ~= "table" then
    return nil
  end
  local bytes = decode(image.base64)
  local path = type(image.path) == "string" and image.path ~= "" and image.path or nil
  -- What stays where it is need not be saved once more.
  return path and not (bytes and not vim.uv.fs_stat(path)) and path or bytes and { data = bytes }
end

--- The same for a message.
---@param message any
---@param opts? any
---@return (string|{ data: string })? attachment nil if the message is text
function M.of_message(message, opts)
  if type(message) ~= "table" then
    return nil
  end
  for _, about in ipairs({ opts or false, message.opts or false, message._meta or false }) do
    if type(about) == "table" and about.tag == "image" then
      return M.attachment({ base64 = message.content, path = about.path })
        or M.attachment(type(message.content) == "table" and message.content or nil)
    end
  end
  local content = message.content
  if type(content) == "table" and (content.base64 or content.type == "image") then
    return M.attachment(content)
  end
  return M.attachment({ base64 = message.base64 })
end

return M
