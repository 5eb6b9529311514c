--- Conversations without the native library: what the buffer shows, and what happens when the library becomes available.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.arrival")

--- How to attach to each buffer that shows what is missing.
---@type table<integer, fun()>
local attach = {}

--- Maps the keys that send, so that they report what is missing. Neovim's own Ctrl-] would look for a tag.
---@param buf integer
local function map(buf)
  local postponed = require("flemma.options").postponed
  local wanted, key = postponed and postponed.keymaps or {}, { send = "<C-]>" }
  local keymaps = require("flemma.keymaps")
  keymaps.remove(buf)
  keymaps.apply(buf, { enabled = wanted.enabled ~= false, normal = key, insert = key })
end

---@param buf integer
---@param problem string
local function draw(buf, problem)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local width = require("flemma.view.activity").text_width(buf)
  local lines = vim.tbl_map(function(line)
    return { { line, "WarningMsg" } }
  end, require("flemma.notify").wrap("Flemma: " .. problem, width))
  api.nvim_buf_set_extmark(buf, namespace, 0, 0, { virt_lines = lines })
end

--- Undoes the effects of `tell` in a buffer.
---@param buf integer
function M.release(buf)
  attach[buf] = nil
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  pcall(api.nvim_del_augroup_by_name, "flemma.arrival." .. buf)
  require("flemma.keymaps").remove(buf)
end

--- Shows in a buffer what is missing: below its first line, and when a key that sends is pressed.
---@param buf integer
---@param problem string
---@param attach_again fun() attaches to the buffer when the library is available
function M.tell(buf, problem, attach_again)
  attach[buf] = attach_again
  draw(buf, problem)
  map(buf)
  api.nvim_create_autocmd({ "WinResized", "BufWinEnter", "FileType" }, {
    group = api.nvim_create_augroup("flemma.arrival." .. buf, { clear = true }),
    desc = "Flemma: fit the message about the missing library into the window of a conversation",
    callback = function()
      if not api.nvim_buf_is_loaded(buf) then
        return true
      elseif vim.bo[buf].filetype ~= "chat" then
        M.release(buf)
      elseif #vim.fn.win_findbuf(buf) > 0 then
        draw(buf, problem)
      end
    end,
  })
end

--- The library was built: loads it, applies the options of `setup`, and attaches to the conversations that wait for it.
function M.take()
  local native = require("flemma.native")
  native.forget()
  local library, problem = native.load()
  local notify = require("flemma.notify")
  if not library then
    return notify.say(vim.log.levels.ERROR, problem)
  end
  local options = require("flemma.options")
  if options.postponed then
    local opts = options.postponed
    options.postponed = nil
    options.apply(opts)
  end
  -- Attaching may fail, and ask to be tried again.
  for buf, attach_again in pairs(vim.deepcopy(attach)) do
    M.release(buf)
    if api.nvim_buf_is_loaded(buf) then
      attach_again()
    end
  end
  notify.say(vim.log.levels.INFO, "the library is installed and loaded; Ctrl-] sends a conversation")
end

require("flemma.native").on_arrival = M.take

return M
