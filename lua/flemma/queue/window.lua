--- The input window: a float at the bottom of a conversation's window, in which the user writes a message for later.
---
--- Its buffer is an ordinary one that is written to no file: `:write` queues the message, if the user asks for it
--- (`flemma.queue.writes`). What was not queued stays in the buffer, which is hidden with the window, and is there when the
--- window is opened again. The library keeps it on the disk too, for the next session: it is told once a second, and not with
--- every key. A change of a queued message is kept with that message, which does not go out until the change is queued.
local M = {}

local api = vim.api

local contents = require("flemma.queue.contents")

---@type table<integer, flemma.Draft> by conversation
local drafts = {}

local function native(...)
  return require("flemma.native").call(...)
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

--- Whether what is written waits: something runs, or a call waits for the user.
---@param buf integer the conversation
---@return boolean
local function waits(buf)
  return require("flemma.lock").is_locked(buf) or #(native("open_calls", buf) or {}) > 0
end

--- The title of the window, and what its keys do.
---@param state flemma.Draft
---@return string title
---@return string keys
local function titles(state)
  if state.id then
    return " Change the queued message ", " Enter or :w queues it, :q keeps it "
  elseif waits(state.buf) then
    return " Queue a message ", " Enter or :w queues it, :q keeps it "
  end
  return " Write a message ", " Enter or :w sends it, :q keeps it "
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
  local title, keys = titles(state)
  local rule = require("flemma.looks").signs() == "ascii" and "-" or "─"
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

--- The conversation has begun to work, or has come to rest: the title says what the window is for now.
---@param buf integer
function M.refresh(buf)
  local state = drafts[buf]
  if state and state.win then
    vim.schedule(function()
      fit(state)
    end)
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

--- The window was closed. A message that was not changed is released. Other text stays as a draft.
---@param state flemma.Draft
local function closed(state)
  state.win = nil
  contents.keep(state)
  if contents.is_queued(state) then
    if not native("release_queued", state.buf, state.id) then
      contents.clear(state)
    end
  else
    state.id = nil
  end
  vim.schedule(function()
    require("flemma.queue.view").draw(state.buf)
  end)
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
  local text = contents.of(state.draft)
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
  contents.clear(state)
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
  local draft = require("flemma.scratch").create({ is_named = true })
  local state = { buf = buf, draft = draft }
  drafts[buf] = state
  local name = ("flemma://queue/%d"):format(buf)
  pcall(api.nvim_buf_set_name, draft, name)
  local bo = vim.bo[draft]
  bo.buftype, bo.bufhidden, bo.swapfile = "acwrite", "hide", false
  bo.filetype = "flemma_queue"
  if bo.omnifunc == "" then
    bo.omnifunc = "v:lua.require'flemma.completion'.omnifunc"
  end
  pcall(vim.treesitter.start, draft, "markdown")
  local group = api.nvim_create_augroup("flemma.queue." .. buf, { clear = true })
  require("flemma.queue.writes").follow(draft, group)
  contents.follow_name(state, group, name, fit)
  -- Only under its own name: `:write file` is Neovim's.
  api.nvim_create_autocmd("BufWriteCmd", {
    group = group,
    pattern = name,
    desc = "Flemma: queue the message",
    callback = function()
      if require("flemma.queue.writes").is_own(draft) then
        submit(state)
      end
    end,
  })
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    group = group,
    buffer = draft,
    desc = "Flemma: fit the input window to its text, and keep that for the next session",
    callback = function()
      fit(state)
      contents.keep_soon(state)
    end,
  })
  api.nvim_create_autocmd({ "InsertLeave", "TextChanged", "BufLeave" }, {
    group = group,
    buffer = draft,
    desc = "Flemma: keep what was written for the next session",
    callback = function()
      contents.keep(state)
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
  local function map(mode, key, desc, run)
    if key then
      vim.keymap.set(mode, key, run, { buffer = draft, desc = desc })
    end
  end
  local function queue()
    submit(state)
  end
  map("n", "<CR>", "Flemma: queue the message", queue)
  map("n", "ZZ", "Flemma: queue the message", queue)
  local options = require("flemma.options").get()
  if options and options.keymaps.enabled then
    map("n", options.keymaps.normal.send, "Flemma: queue the message", queue)
    map("i", options.keymaps.insert.send, "Flemma: queue the message", queue)
    map("n", options.keymaps.normal.cancel, "Flemma: stop the reply and the tools", function()
      require("flemma.core").cancel(buf)
    end)
  end
  return state
end

--- Opens the window, or goes to it. It has the draft; without one, the last message that is queued, if that is to be changed.
---@param buf integer the conversation
---@param action "edit"|"new"|"paste"
---@param register? string what is pasted
function M.open(buf, action, register)
  local name = register ~= nil and register ~= "" and register or '"'
  if action == "paste" and #(vim.fn.getreg(name, 1, true)) == 0 then
    require("flemma.notify").say(vim.log.levels.INFO, ("there is nothing in the register `%s`"):format(name))
    return
  end
  local state = drafts[buf]
  if not state or not api.nvim_buf_is_valid(state.draft) then
    state = create(buf)
  end
  if not api.nvim_buf_is_loaded(state.draft) then
    -- `:bdelete` takes the options away too. The library has the text.
    api.nvim_buf_delete(state.draft, { force = true })
    state = create(buf)
  end
  if not state.win or not api.nvim_win_is_valid(state.win) then
    local host = host_window(buf)
    if not host then
      return
    end
    local kept = not contents.has_any(state) and native("draft", buf) or ""
    if kept ~= "" then
      -- From an earlier session.
      state.id = nil
      contents.set(state, kept)
      state.opened = kept
    elseif contents.has_any(state) then
      contents.resume(state)
    else
      state.id, state.opened = nil, nil
      if action == "edit" then
        contents.load_last(state)
      end
    end
    state.win = api.nvim_open_win(state.draft, true, layout(state, host))
    require("flemma.queue.pairing").keep(state.win, state.draft, function(win)
      local wo = vim.wo[win]
      wo.wrap, wo.linebreak = true, true
    end)
    require("flemma.queue.view").draw(buf)
    require("flemma.queue.view").reveal(buf)
  else
    api.nvim_set_current_win(state.win)
  end
  local last = api.nvim_buf_line_count(state.draft)
  api.nvim_win_set_cursor(state.win, { last, #api.nvim_buf_get_lines(state.draft, last - 1, last, false)[1] })
  if action == "paste" then
    pcall(vim.cmd.normal, { args = { '"' .. name .. "p" }, bang = true })
  else
    vim.cmd.startinsert({ bang = true })
  end
end

--- Puts text into the draft.
---@param buf integer
---@param put fun(state: flemma.Draft)
local function add(buf, put)
  local state = drafts[buf]
  if not state or not api.nvim_buf_is_valid(state.draft) then
    state = create(buf)
  end
  put(state)
  contents.keep(state)
  fit(state)
  require("flemma.queue.view").draw(buf)
end

--- Puts text into the draft, behind what is there.
---@param buf integer
---@param text string
function M.keep(buf, text)
  add(buf, function(state)
    if contents.has_any(state) then
      local count = api.nvim_buf_line_count(state.draft)
      api.nvim_buf_set_lines(state.draft, count, count, false, vim.split("\n" .. text, "\n", { plain = true }))
    else
      state.id = nil
      contents.set(state, text)
    end
  end)
end

--- A queued message was taken back. Its text becomes the draft, unless the window already has it, perhaps changed.
---@param buf integer
---@param text string
---@param id integer
function M.taken_back(buf, text, id)
  add(buf, function(state)
    local is_there = contents.has_any(state)
    if is_there and state.id == id then
      state.id = nil
      return
    elseif not is_there then
      state.id = nil
    end
    contents.take_back(state, text, id)
  end)
end

--- What is queued has changed. A message that went into the conversation with the change that the window has is not there any
--- more.
---@param buf integer
function M.follow(buf)
  local state = drafts[buf]
  if state and not state.win and state.id and not contents.is_queued(state) then
    contents.clear(state)
  end
end

--- Whether the window is open.
---@param buf integer
---@return boolean
function M.is_open(buf)
  local win = drafts[buf] and drafts[buf].win
  return win ~= nil and api.nvim_win_is_valid(win)
end

--- The window in which a command about the conversation looks at the cursor: the one below the input window, or the current one.
---@return integer
function M.host()
  local state = M.conversation_of(api.nvim_get_current_buf())
  local win = state and drafts[state].win
  local host = win and api.nvim_win_is_valid(win) and api.nvim_win_get_config(win).win
  return host and api.nvim_win_is_valid(host) and host or 0
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
  return contents.has_any(drafts[buf])
end

--- The buffer is no longer a conversation. A draft that is kept on the disk is there again with the conversation; any other one
--- stays where the user finds it.
---@param buf integer
function M.forget(buf)
  local state = drafts[buf]
  if not state then
    return
  elseif contents.has_any(state) and state.kept ~= contents.of(state.draft) then
    state.id = nil
    return
  end
  drafts[buf] = nil
  pcall(api.nvim_del_augroup_by_name, "flemma.queue." .. buf)
  -- No buffer can be deleted while another one is being unloaded.
  vim.schedule(function()
    if state.win and api.nvim_win_is_valid(state.win) then
      pcall(api.nvim_win_close, state.win, true)
    end
    if api.nvim_buf_is_valid(state.draft) then
      pcall(api.nvim_buf_delete, state.draft, { force = true })
    end
  end)
end

return M
