--- A conversation whose native library is not there: what the buffer says, and what happens when the library arrives.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.arrival")

--- The options of a `setup` that found no library.
---@type flemma.Options?
local postponed

--- Keeps what `setup` was given until the library is there.
---@param opts flemma.Options
function M.postpone(opts)
  postponed = opts
end

--- Says in a buffer what is missing, below its first line.
---@param buf integer
---@param problem string
function M.tell(buf, problem)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local width = require("flemma.ui").text_width(buf)
  local lines = vim.tbl_map(function(line)
    return { { line, "WarningMsg" } }
  end, require("flemma.notify").wrap("Flemma: " .. problem, width))
  api.nvim_buf_set_extmark(buf, namespace, 0, 0, { virt_lines = lines })
end

--- The library was built: loads it, takes the options of `setup`, and takes the conversations that are open in hand.
function M.take()
  local native = require("flemma.native")
  native.forget()
  local library, problem = native.load()
  local notify = require("flemma.notify")
  if not library then
    return notify.say(vim.log.levels.ERROR, problem)
  end
  if postponed then
    local opts = postponed
    postponed = nil
    require("flemma").setup(opts)
  end
  for _, buf in ipairs(api.nvim_list_bufs()) do
    api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].filetype == "chat" then
      require("flemma.buffer").attach(buf)
    end
  end
  notify.say(vim.log.levels.INFO, "the native library is built and loaded; Ctrl-] sends a conversation")
end

return M
