--- What the command line (`flemma`) asks of an editor that has a conversation open. Texts go in and out, and none of them
--- is evaluated.
local M = {}

local native = require("flemma.native").call

--- The buffer of a conversation, by its file.
---@param path string
---@return integer?
local function buffer_of(path)
  local bufs = vim.tbl_filter(require("flemma.buffer.target").is_attached, vim.api.nvim_list_bufs())
  local real = require("flemma.buffer.paths").names(bufs, { path })
  for _, buf in ipairs(bufs) do
    local name = vim.api.nvim_buf_get_name(buf)
    if name == path or (real[path] and real[name] == real[path]) then
      return buf
    end
  end
end

---@param kind "approve"|"again"|"reject"|"answer"|"error"
---@param text string
local function result_of(kind, text)
  local ends = { answer = { answer_json = text }, error = { error = text } }
  ends.reject = { approved = false, message = text ~= "" and text or nil }
  return ends[kind] or { approved = true, again = kind == "again" or nil }
end

--- Resolves a call that waits.
---@param path string the conversation
---@param call string the call's id
---@param kind "approve"|"again"|"reject"|"answer"|"error"
---@param text string the message, or the answer as JSON
---@return "done"|"closed"|string outcome `closed` if the conversation is not open here, or is still being opened; otherwise why it
---  was not resolved
function M.resolve(path, call, kind, text)
  local buf = buffer_of(path)
  if not buf or not native("state", buf, "settled") then
    return "closed"
  end
  local ok, problem = native("resolve_call", buf, call, result_of(kind, text), "command-line")
  return ok and "done" or problem or "the native library is missing"
end

return M
