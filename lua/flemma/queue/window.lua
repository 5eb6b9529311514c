--- The input window: a float at the bottom of a conversation's window, in which the user writes a message for later.
---
--- Its buffer is an ordinary one that is written to no file: `:write` queues the message. What was not queued stays in the
--- buffer, which is hidden with the window, and is there when the window is opened again. The library keeps it on the disk too,
--- for the next session: it is told at every pause, and not with every key.
local M = {}

local api = vim.api

---@class flemma.Draft
---@field buf integer the conversation
---@field draft integer the buffer of the window
---@field win? integer
---@field id? integer the queued message that is being changed
---@field original? string what it said
---@type table<integer, flemma.Draft> by conversation
local drafts = {}

local function native(...)
  return require("flemma.native").call(...)
end

---@param draft integer
---@return string
local function text_of(draft)
  return table.concat(api.nvim_buf_get_lines(draft, 0, -1, false), "\n")
end

---@param state flemma.Draft?
---@return boolean
local function has_text(state)
  return state ~= nil and api.nvim_buf_is_valid(state.draft) and text_of(state.draft):find("%S") ~= nil
end

--- Keeps what is written, unless the conversation is closed.
---@param state flemma.Draft
local function keep_on_disk(state)
  if api.nvim_buf_is_valid(state.draft) and require("flemma.buffer").is_attached(state.buf) then
    local text = text_of(state.draft)
    -- A queued message that was not changed is kept as such.
    native("keep_draft", state.buf, text ~= state.original and text or "")
  end
end

--- Replaces the text of the window without a step of undo: what was there before is not what the user would undo to.
---@param state flemma.Draft
---@param text string
local function set_text(state, text)
  local bo = vim.bo[state.draft]
  local undolevels = bo.undolevels
  bo.undolevels = -1
  api.nvim_buf_set_lines(state.draft, 0, -1, false, vim.split(text, "\n", { plain = true }))
  bo.undolevels = undolevels
  bo.modified = false
  keep_on_disk(state)
end

--- The window that shows the conversation: the current one, or the first.
---@param buf integer
---@return integer?
local function host_window(buf)
  local win = api.nvim_get_current_win()
  if api.nvim_win_get_buf(win) == buf then
    return win
  end
  return vim.fn.win_findbuf(buf)[1]
end

--- Where the window is, and how large.
---@param state flemma.Draft
---@param host integer the conversation's window
---@return vim.api.keyset.win_config
local function layout(state, host)
  local width, room = api.nvim_win_get_width(host), api.nvim_win_get_height(host)
  local needed = 0
  for _, line in ipairs(api.nvim_buf_get_lines(state.draft, 0, room, false)) do
    needed = needed + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / math.max(width, 1)))
  end
  local height = math.max(1, math.min(math.max(needed, 3), math.floor(room / 2) - 1))
  local title = state.id and " Change the queued message " or " Queue a message "
  local rule = require("flemma.looks").signs() == "ascii" and "-" or "─"
  local keys = " Enter or :w queues it, :q keeps it "
  if #title + #keys + 4 <= width then
    title = title .. rule .. keys
  elseif #title > width then
    title = ""
  end
  return {
    relative = "win",
    win = host,
    anchor = "SW",
    row = room,
    col = 0,
    width = math.max(width, 1),
    height = height,
    border = { rule, rule, rule, "", "", "", "", "" },
    title = title ~= "" and title or nil,
    style = "minimal",
  }
end

--- Fits the window to its text and to the conversation's window.
---@param state flemma.Draft
local function fit(state)
  local win = state.win
  if not win or not api.nvim_win_is_valid(win) then
    return
  end
  local host = api.nvim_win_get_config(win).win
  if host and api.nvim_win_is_valid(host) then
    local config = layout(state, host)
    config.style = nil
    api.nvim_win_set_config(win, config)
    require("flemma.queue.view").reveal(state.buf)
  end
end

--- How many rows of a window the input window covers.
---@param buf integer the conversation
---@return integer rows
---@return integer? host
function M.covers(buf)
  local win = drafts[buf] and drafts[buf].win
  if not win or not api.nvim_win_is_valid(win) then
    return 0
  end
  -- With the line that has the title.
  return api.nvim_win_get_height(win) + 1, api.nvim_win_get_config(win).win
end

--- The window was closed. A message that was not changed is released; other text stays as a draft.
---@param state flemma.Draft
local function closed(state)
  state.win = nil
  if not state.id then
    return
  end
  native("release_queued", state.buf, state.id)
  if api.nvim_buf_is_valid(state.draft) and text_of(state.draft) == state.original then
    state.id, state.original = nil, nil
    set_text(state, "")
  end
end

---@param state flemma.Draft
local function close(state)
  local win = state.win
  if win and api.nvim_win_is_valid(win) then
    local is_current = api.nvim_get_current_win() == win
    local host = api.nvim_win_get_config(win).win
    if is_current then
      vim.cmd.stopinsert()
    end
    api.nvim_win_close(win, true)
    if is_current and host and api.nvim_win_is_valid(host) then
      api.nvim_set_current_win(host)
    end
  end
end

--- Queues what is in the window, and closes it.
---@param state flemma.Draft
local function submit(state)
  local text = text_of(state.draft)
  if not api.nvim_buf_is_loaded(state.buf) or not require("flemma.buffer").is_attached(state.buf) then
    local message = "the conversation is not open any more; your text stays in this buffer"
    require("flemma.notify").say(vim.log.levels.ERROR, message)
    return
  end
  require("flemma.following").watch(state.buf)
  if state.id then
    native("change_queued", state.buf, state.id, text)
  elseif text:find("%S") and not native("queue", state.buf, text, false) then
    return
  end
  state.id, state.original = nil, nil
  set_text(state, "")
  -- `:wq` closes the window itself.
  vim.schedule(function()
    close(state)
    require("flemma.queue.view").confirm(state.buf)
  end)
end

--- Makes the buffer of the window.
---@param buf integer
---@return flemma.Draft
local function create(buf)
  local draft = api.nvim_create_buf(false, false)
  local state = { buf = buf, draft = draft }
  drafts[buf] = state
  pcall(api.nvim_buf_set_name, draft, ("flemma://queue/%d"):format(buf))
  local bo = vim.bo[draft]
  bo.buftype, bo.bufhidden, bo.swapfile = "acwrite", "hide", false
  bo.filetype = "flemma_queue"
  if bo.omnifunc == "" then
    bo.omnifunc = "v:lua.require'flemma.completion'.omnifunc"
  end
  pcall(vim.treesitter.start, draft, "markdown")
  local group = api.nvim_create_augroup("flemma.queue." .. buf, { clear = true })
  api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    buffer = draft,
    desc = "Flemma: queue the message",
    callback = function()
      submit(state)
    end,
  })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    group = group,
    buffer = draft,
    desc = "Flemma: fit the input window to its text",
    callback = function()
      fit(state)
    end,
  })
  api.nvim_create_autocmd({ "InsertLeave", "TextChanged", "CursorHoldI", "BufLeave" }, {
    group = group,
    buffer = draft,
    desc = "Flemma: keep what is written for the next session",
    callback = function()
      keep_on_disk(state)
    end,
  })
  -- `:wall` in another window must not queue a draft.
  api.nvim_create_autocmd({ "BufEnter", "BufLeave" }, {
    group = group,
    buffer = draft,
    desc = "Flemma: a draft counts as unsaved only where it is being written",
    callback = function(args)
      vim.bo[draft].modified = args.event == "BufEnter" and has_text(state)
    end,
  })
  api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "Flemma: keep what was not queued",
    callback = function(args)
      local win = tonumber(args.match)
      if win == state.win then
        closed(state)
      elseif state.win and api.nvim_win_is_valid(state.win) and api.nvim_win_get_config(state.win).win == win then
        vim.schedule(function()
          close(state)
        end)
      end
    end,
  })
  api.nvim_create_autocmd("WinResized", {
    group = group,
    desc = "Flemma: fit the input window to the conversation's",
    callback = function()
      fit(state)
    end,
  })
  local function map(mode, key)
    if key then
      vim.keymap.set(mode, key, function()
        submit(state)
      end, { buffer = draft, desc = "Flemma: queue the message" })
    end
  end
  map("n", "<CR>")
  local options = require("flemma.options").get()
  if options and options.keymaps.enabled then
    map("n", options.keymaps.normal.send)
    map("i", options.keymaps.insert.send)
  end
  return state
end

--- Puts the message that is to be changed into an empty window: the last one that is queued.
---@param state flemma.Draft
local function load_last(state)
  local ids = native("queued", state.buf) or {}
  local id = ids[#ids]
  local text = id and native("hold_queued", state.buf, id)
  if text then
    state.id, state.original = id, text
    set_text(state, text)
  end
end

--- The draft changes a queued message: it is held again, or was sent meanwhile.
---@param state flemma.Draft
local function resume(state)
  if state.id and not native("hold_queued", state.buf, state.id) then
    state.id, state.original = nil, nil
    local message = "the message that you were changing was sent; this text would be another one"
    require("flemma.notify").say(vim.log.levels.INFO, message)
  end
end

--- Opens the window, or goes to it. It has the draft; without one, the last message that is queued, if that is to be changed.
---@param buf integer the conversation
---@param action "edit"|"new"|"paste"
---@param register? string what is pasted
function M.open(buf, action, register)
  local state = drafts[buf]
  if not state or not api.nvim_buf_is_valid(state.draft) then
    state = create(buf)
  end
  if not state.win or not api.nvim_win_is_valid(state.win) then
    local host = host_window(buf)
    if not host then
      return
    end
    local kept = not has_text(state) and native("draft", buf) or ""
    if kept ~= "" then
      -- From an earlier session.
      state.id, state.original = nil, nil
      set_text(state, kept)
    elseif has_text(state) then
      resume(state)
    else
      state.id, state.original = nil, nil
      if action == "edit" then
        load_last(state)
      end
    end
    state.win = api.nvim_open_win(state.draft, true, layout(state, host))
    local wo = vim.wo[state.win]
    wo.wrap, wo.linebreak, wo.winfixbuf = true, true, true
    require("flemma.queue.view").reveal(buf)
  else
    api.nvim_set_current_win(state.win)
  end
  local last = api.nvim_buf_line_count(state.draft)
  api.nvim_win_set_cursor(state.win, { last, #api.nvim_buf_get_lines(state.draft, last - 1, last, false)[1] })
  if action == "paste" then
    vim.cmd.normal({ args = { '"' .. (register ~= "" and register or '"') .. "p" }, bang = true })
  else
    vim.cmd.startinsert({ bang = true })
  end
end

--- Puts text that was taken back into the draft, behind what is there.
---@param buf integer
---@param text string
function M.keep(buf, text)
  local state = drafts[buf]
  if not state or not api.nvim_buf_is_valid(state.draft) then
    state = create(buf)
  end
  if has_text(state) then
    local count = api.nvim_buf_line_count(state.draft)
    api.nvim_buf_set_lines(state.draft, count, count, false, vim.split("\n" .. text, "\n", { plain = true }))
  else
    state.id, state.original = nil, nil
    set_text(state, text)
  end
  keep_on_disk(state)
  fit(state)
end

--- The conversation for which a message is written in a buffer.
---@param draft integer
---@return integer?
function M.conversation_of(draft)
  for buf, state in pairs(drafts) do
    if state.draft == draft then
      return buf
    end
  end
end

--- Whether there is text for a conversation that was not queued.
---@param buf integer
---@return boolean
function M.has_draft(buf)
  return has_text(drafts[buf])
end

--- The buffer is no longer a conversation. A draft stays where the user finds it.
---@param buf integer
function M.forget(buf)
  local state = drafts[buf]
  if not state or has_text(state) then
    return
  end
  drafts[buf] = nil
  pcall(api.nvim_del_augroup_by_name, "flemma.queue." .. buf)
  if state.win and api.nvim_win_is_valid(state.win) then
    pcall(api.nvim_win_close, state.win, true)
  end
  if api.nvim_buf_is_valid(state.draft) then
    pcall(api.nvim_buf_delete, state.draft, { force = true })
  end
end

return M
