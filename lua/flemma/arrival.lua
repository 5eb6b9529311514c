--- Conversations without the native library: what the buffer shows, and what happens when the library becomes available.
local M = {}

local api = vim.api

local namespace = api.nvim_create_namespace("flemma.arrival")

--- The options of a `setup` call that found no library.
---@type flemma.Options?
local postponed

--- Keeps the options of `setup` until the library is available.
---@param opts flemma.Options
function M.postpone(opts)
  postponed = opts
end

--- Maps the keys that send, so that they report what is missing. Neovim's own Ctrl-] would look for a tag.
---@param buf integer
local function map(buf)
  local wanted = postponed and postponed.keymaps or {}
  local function key(mode)
    local given = type(wanted[mode]) == "table" and wanted[mode].send
    return { send = (given == false or type(given) == "string") and given or "<C-]>" }
  end
  local keymaps = require("flemma.keymaps")
  keymaps.remove(buf)
  keymaps.apply(buf, { enabled = wanted.enabled ~= false, normal = key("normal"), insert = key("insert") })
end

---@param buf integer
---@param problem string
local function draw(buf, problem)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local width = require("flemma.ui").text_width(buf)
  local lines = vim.tbl_map(function(line)
    return { { line, "WarningMsg" } }
  end, require("flemma.notify").wrap("Flemma: " .. problem, width))
  api.nvim_buf_set_extmark(buf, namespace, 0, 0, { virt_lines = lines })
end

--- Undoes the effects of `tell` in a buffer.
---@param buf integer
function M.release(buf)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  pcall(api.nvim_del_augroup_by_name, "flemma.arrival." .. buf)
  require("flemma.keymaps").remove(buf)
end

--- Shows in a buffer what is missing: below its first line, and when a key that sends is pressed.
---@param buf integer
---@param problem string
function M.tell(buf, problem)
  draw(buf, problem)
  map(buf)
  local group = api.nvim_create_augroup("flemma.arrival." .. buf, { clear = true })
  api.nvim_create_autocmd({ "WinResized", "BufWinEnter" }, {
    group = group,
    desc = "Flemma: fit the message about the missing library into the window",
    callback = function()
      if not api.nvim_buf_is_loaded(buf) then
        return true
      elseif #vim.fn.win_findbuf(buf) > 0 then
        draw(buf, problem)
      end
    end,
  })
  api.nvim_create_autocmd("FileType", {
    group = group,
    buffer = buf,
    desc = "Flemma: check whether the buffer is still a conversation",
    callback = function()
      if vim.bo[buf].filetype ~= "chat" then
        M.release(buf)
      end
    end,
  })
end

--- The library was built: loads it, applies the options of `setup`, and attaches to the conversations that are open.
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
    if vim.bo[buf].filetype == "chat" then
      M.release(buf)
    end
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].filetype == "chat" then
      require("flemma.buffer").attach(buf)
    end
  end
  notify.say(vim.log.levels.INFO, "the library is built and loaded; Ctrl-] sends a conversation")
end

return M
