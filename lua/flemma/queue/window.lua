--- The window in which the user writes a message for later. As with the message of a commit, `:write` finishes the text and closing
--- the window queues it: plugins that save buffers by themselves write half a sentence as well.
---
--- What is being written is kept on the disk too, for the next session.
local M = {}

local api = vim.api

---@type table<integer, integer> the buffer of the window, by conversation
local drafts = {}

local native = require("flemma.native").call

---@param draft integer
---@return string
local function text_of(draft)
  return table.concat(api.nvim_buf_get_lines(draft, 0, -1, false), "\n")
end

--- Keeps what is being written, unless the conversation is closed.
---@param buf integer the conversation
---@param text string
local function keep(buf, text)
  if drafts[buf] then
    native("dispatch", buf, "keep_draft", { text = text })
  end
end

--- `:write`: the text may be queued.
---@param buf integer the conversation
---@param draft integer
local function write(buf, draft)
  if drafts[buf] ~= draft then
    local message = "the conversation is not open any more; your text stays in this buffer"
    return require("flemma.notify").say(vim.log.levels.ERROR, message)
  end
  keep(buf, text_of(draft))
  vim.bo[draft].modified = false
end

--- The window is closed: queues what was written, and forgets the rest.
---@param buf integer the conversation
---@param draft integer
local function close(buf, draft)
  if drafts[buf] ~= draft or vim.v.exiting ~= vim.NIL then
    return
  end
  local text = vim.bo[draft].modified and "" or text_of(draft)
  drafts[buf] = nil
  -- No other buffer can be changed while this one is unloaded.
  vim.schedule(function()
    local is_queued = text:find("%S") and native("dispatch", buf, "queue", { text = text, steers = false })
    if is_queued or not text:find("%S") then
      native("dispatch", buf, "keep_draft", { text = drafts[buf] and text_of(drafts[buf]) or "" })
    end
  end)
end

--- Makes the buffer of the window.
---@param buf integer the conversation
---@return integer draft
local function create(buf)
  local draft = require("flemma.buffer.scratch").create({ is_named = true })
  local name = ("flemma://queue/%d"):format(draft)
  api.nvim_buf_set_name(draft, name)
  drafts[buf] = draft
  vim.b[draft].flemma_conversation = buf
  local bo = vim.bo[draft]
  bo.buftype, bo.bufhidden, bo.swapfile = "acwrite", "wipe", false
  bo.filetype = "flemma_queue"
  bo.omnifunc = "v:lua.require'flemma.completion'.omnifunc"
  pcall(vim.treesitter.start, draft, "markdown")
  -- Only under its own name: `:write file` is Neovim's.
  api.nvim_create_autocmd("BufWriteCmd", {
    pattern = name,
    desc = "Flemma: finish the message",
    callback = function()
      write(buf, draft)
    end,
  })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "BufLeave" }, {
    buffer = draft,
    desc = "Flemma: keep what is being written",
    callback = function()
      keep(buf, text_of(draft))
    end,
  })
  api.nvim_create_autocmd("BufUnload", {
    buffer = draft,
    desc = "Flemma: queue the message, or forget what was thrown away",
    callback = function()
      close(buf, draft)
    end,
  })
  local options = require("flemma.options").get()
  local keymaps = options and options.keymaps.enabled and options.keymaps or { normal = {}, insert = {} }
  for mode, maps in pairs({ n = keymaps.normal, i = keymaps.insert }) do
    if maps.send then
      -- Insert mode ends in this buffer: after Enter, Neovim takes white space off the line of the cursor then.
      vim.keymap.set(mode, maps.send, (mode == "i" and "<Esc>" or "") .. "<Cmd>write | bwipeout<CR>", { buffer = draft, desc = "Flemma: queue the message" })
    end
  end
  if keymaps.normal.cancel then
    vim.keymap.set("n", keymaps.normal.cancel, "<Cmd>Flemma cancel<CR>", { buffer = draft, desc = "Flemma: stop" })
  end
  return draft
end

--- Puts text into the window.
---@param buf integer the conversation
---@param draft integer
---@param text string
---@param is_older? boolean whether it goes before what is there
local function put(buf, draft, text, is_older)
  if text == "" then
    return
  end
  local lines, before = vim.split(text, "\n", { plain = true }), text_of(draft)
  if before ~= "" then
    table.insert(lines, is_older and #lines + 1 or 1, "")
    local at = is_older and 0 or -1
    api.nvim_buf_set_lines(draft, at, at, false, lines)
  else
    api.nvim_buf_set_lines(draft, 0, -1, false, lines)
  end
  keep(buf, text_of(draft))
end

--- Opens the window, or goes to it.
---@param buf integer the conversation
---@param text? string is added to what is there
---@param is_older? boolean whether it goes before that
function M.open(buf, text, is_older)
  local draft = drafts[buf]
  if not draft or not api.nvim_buf_is_loaded(draft) then
    -- From an earlier session.
    local kept = native("state", buf, "draft") or ""
    draft = create(buf)
    put(buf, draft, kept)
  end
  local win = vim.fn.bufwinid(draft)
  if win > 0 then
    api.nvim_set_current_win(win)
  else
    local host = math.max(vim.fn.bufwinid(buf), 0)
    local is_float = api.nvim_win_get_config(host).relative ~= ""
    win = api.nvim_open_win(draft, true, { split = "below", win = is_float and -1 or host, height = 5 })
    local wo = vim.wo[win][0]
    wo.winbar, wo.wrap, wo.linebreak, wo.winfixheight = " Queue a message%<: :wq queues it, :q! throws it away", true, true, true
  end
  put(buf, draft, text or "", is_older)
  local last = api.nvim_buf_line_count(draft)
  api.nvim_win_set_cursor(win, { last, #api.nvim_buf_get_lines(draft, last - 1, last, false)[1] })
end

--- The buffer is no longer a conversation. What was written for it stays where the user finds it.
---@param buf integer
function M.forget(buf)
  local draft = drafts[buf]
  drafts[buf] = nil
  if draft and text_of(draft):find("%S") then
    vim.bo[draft].modified = true
  elseif draft then
    -- No buffer can be deleted while another one is being unloaded.
    vim.schedule(function()
      pcall(api.nvim_buf_delete, draft, {})
    end)
  end
end

return M
