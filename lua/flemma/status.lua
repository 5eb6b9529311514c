--- Pages of words in a window below the others: `:Flemma status`, `:Flemma tool:list`, `:Flemma usage`.
local M = {}

local api = vim.api

local native = require("flemma.native").call

--- Shows lines, which `q` closes.
---@param lines string[]
---@param name string the last part of the buffer's name, which is what a tab line shows
---@param most? integer how many bytes of a line are shown
local function show(lines, name, most)
  -- Text from a file or a model is shown on one line each, without characters that a line cannot contain.
  lines = vim.tbl_map(function(line)
    return (line:gsub("[\r\n]+", "⤶"):gsub("%c", "�"):sub(1, most or 500))
  end, lines)
  local buf = require("flemma.buffer.scratch").create()
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  pcall(api.nvim_buf_set_name, buf, ("flemma://%d/%s"):format(buf, name))
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  vim.bo[buf].bufhidden = "wipe"
  local height = math.max(1, math.min(#lines, vim.o.lines - 8))
  local ok = pcall(api.nvim_open_win, buf, true, { win = -1, split = "below", height = height, style = "minimal" })
  if not ok then
    -- There is no room for a window.
    return require("flemma.notify").say(vim.log.levels.INFO, table.concat(lines, "; "))
  end
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, nowait = true, desc = "Flemma: close the page" })
end

--- All that is known of a conversation and its options.
---@param buf integer
---@return string[]
function M.lines(buf)
  return native("state", buf, "page", { page = "all" }) or {}
end

--- `:Flemma status`: what happens now and what waits, and the options that differ from the defaults, or all of them.
---@param page? "all"|"tools" instead
function M.open(page)
  local buf = require("flemma.buffer.target").resolve()
  if buf then
    local lines = native("state", buf, "page", { page = page or "short", width = vim.o.columns })
    show(lines or {}, page == "tools" and "tools" or "status")
  end
end

--- `:Flemma tool:list`: the running and pending calls, and all tools.
function M.open_tools()
  M.open("tools")
end

--- `:Flemma usage`: what has been used, by model and in total.
function M.open_usage()
  show(native("usage", "page", { buffer = api.nvim_get_current_buf(), width = vim.o.columns }) or {}, "usage")
end

--- `:Flemma preview`: what the next request would say.
function M.preview()
  local buf = require("flemma.buffer.target").resolve()
  if buf then
    native("dispatch", buf, "preview", nil, function(lines, problem)
      if lines then
        show(lines, "preview", vim.v.maxcol)
      else
        require("flemma.notify").say(vim.log.levels.WARN, problem)
      end
    end)
  end
end

--- `:Flemma usage:estimate`: what the conversation would use if it were sent now. A long conversation is read in slices, so
--- that the user can type in between.
function M.estimate()
  local buf = require("flemma.buffer.target").resolve()
  local function go_on()
    if buf and require("flemma.buffer.target").is_attached(buf) and native("dispatch", buf, "estimate") then
      vim.schedule(go_on)
    end
  end
  go_on()
end

return M
