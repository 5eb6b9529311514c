--- Answers of the user that their call does not take any more: says why, and keeps the text.
local M = {}

--- Why a call takes no answer.
---@param buf integer the conversation
---@param call string the call's id
---@return string
function M.why(buf, call)
  return require("flemma.native").call("state", buf, "unanswerable", { call = call }) or "the library is not loaded any more"
end

--- Says that an answer was not taken. The text goes to the register of small deletions.
---@param level integer
---@param tool string
---@param call string the call's id
---@param why string
---@param text string what the user has typed or chosen; empty for nothing
function M.tell(level, tool, call, why, text)
  local words = ("%s (%s): not answered: %s"):format(tool, call, why)
  if text ~= "" then
    vim.fn.setreg("-", text, "c")
    words = words .. '. Your text is in register -: "-p puts it'
  end
  require("flemma.notify").say(level, words)
end

return M
