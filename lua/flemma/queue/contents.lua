--- The text that is being written in an input window, where it comes from and where it is kept.
local M = {}

local api = vim.api

---@class flemma.Draft
---@field buf integer the conversation
---@field draft integer the buffer of the window
---@field win? integer
---@field id? integer the queued message that is being changed
---@field opened? string what `:edit!` brings back: what the queued message says, or the draft as it was opened
---@field taken? { id: integer, mark: integer }[] the messages that were taken back into the draft, and where each of them ends
---@field kept? string the text that outlives the conversation's buffer
---@field is_due? boolean whether what is written is about to be kept

local function native(...)
  return require("flemma.native").call(...)
end

---@param draft integer
---@return string
function M.of(draft)
  return table.concat(api.nvim_buf_get_lines(draft, 0, -1, false), "\n")
end

---@param state flemma.Draft?
---@return boolean
function M.has_any(state)
  return state ~= nil and api.nvim_buf_is_valid(state.draft) and M.of(state.draft):find("%S") ~= nil
end

--- Keeps what is written, unless the conversation is closed.
---@param state flemma.Draft
function M.keep(state)
  if api.nvim_buf_is_loaded(state.draft) and require("flemma.buffer").is_attached(state.buf) then
    local text = M.of(state.draft)
    state.kept = native("keep_draft", state.buf, text, state.id) and text or nil
  end
end

--- For how many milliseconds at most what is written is not kept.
local PATIENCE = 1000

--- Keeps what is being written, soon. A user who does not stop typing loses no more than the last words.
---@param state flemma.Draft
function M.keep_soon(state)
  if state.is_due then
    return
  end
  state.is_due = true
  vim.defer_fn(function()
    state.is_due = nil
    if api.nvim_buf_is_loaded(state.draft) and M.of(state.draft) ~= state.kept then
      M.keep(state)
    end
  end, PATIENCE)
end

--- Replaces the text of the window without a step of undo: what was there before is not what the user would undo to.
---@param state flemma.Draft
---@param text string
function M.set(state, text)
  state.taken = nil
  local bo = vim.bo[state.draft]
  local undolevels = bo.undolevels
  bo.undolevels = -1
  api.nvim_buf_set_lines(state.draft, 0, -1, false, vim.split(text, "\n", { plain = true }))
  bo.undolevels = undolevels
  bo.modified = false
  M.keep(state)
end

local ends = api.nvim_create_namespace("flemma.queue.taken")

--- Puts a message that was taken back into the draft. Messages stand in the order in which they were queued, and what is being
--- written is newer than all of them.
---@param state flemma.Draft
---@param text string
---@param id integer
function M.take_back(state, text, id)
  local lines = vim.split(text, "\n", { plain = true })
  local last = #lines - 1
  if M.has_any(state) then
    local before, at = 0, nil
    for _, taken in ipairs(state.taken or {}) do
      if taken.id < id and taken.id > before then
        before = taken.id
        at = api.nvim_buf_get_extmark_by_id(state.draft, ends, taken.mark, {})[1]
      end
    end
    table.insert(lines, at and 1 or #lines + 1, "")
    local first = at and at + 1 or 0
    api.nvim_buf_set_lines(state.draft, first, first, false, lines)
    last = first + last + (at and 1 or 0)
  else
    M.set(state, text)
  end
  state.taken = state.taken or {}
  local column = #api.nvim_buf_get_lines(state.draft, last, last + 1, false)[1]
  table.insert(state.taken, { id = id, mark = api.nvim_buf_set_extmark(state.draft, ends, last, column, {}) })
end

--- Empties the window. What was in it is somewhere else now.
---@param state flemma.Draft
function M.clear(state)
  state.id, state.opened = nil, nil
  if api.nvim_buf_is_loaded(state.draft) then
    M.set(state, "")
  end
end

--- Whether the queued message that is being changed still waits.
---@param state flemma.Draft
---@return boolean
function M.is_queued(state)
  return state.id ~= nil and vim.list_contains(native("queued", state.buf) or {}, state.id)
end

--- Puts the message that is to be changed into an empty window: the last one that is queued.
---@param state flemma.Draft
function M.load_last(state)
  local ids = native("queued", state.buf) or {}
  local id = ids[#ids]
  local text, change = nil, nil
  if id then
    text, change = native("hold_queued", state.buf, id)
  end
  if text then
    state.id = id
    M.set(state, change or text)
    state.opened = text
  end
end

--- The draft changes a queued message: it is held again, or was sent meanwhile.
---@param state flemma.Draft
function M.resume(state)
  local text = state.id and native("hold_queued", state.buf, state.id) or nil
  state.opened = text or M.of(state.draft)
  if state.id and not text then
    state.id = nil
    M.keep(state)
    local message = "the message that you were changing is no longer queued; this text would be another one"
    require("flemma.notify").say(vim.log.levels.INFO, message)
  end
end

--- What Neovim does to the buffer by its name: it is read again and gets another name.
---@param state flemma.Draft
---@param group integer the autocommands' group
---@param name string its own name
---@param changed fun(state: flemma.Draft) called when it has another text
function M.follow_name(state, group, name, changed)
  local draft = state.draft
  local before = {}
  api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = draft,
    desc = "Flemma: keep what `:edit!` throws away for undo",
    callback = function()
      before = api.nvim_buf_get_lines(draft, 0, -1, false)
    end,
  })
  api.nvim_create_autocmd("BufReadCmd", {
    group = group,
    pattern = name,
    desc = "Flemma: bring back what was there when the input window was opened",
    callback = function()
      local text = state.opened or native("draft", state.buf) or ""
      -- One step of undo leads to what was there just before. Neovim's own would lead to an empty buffer first.
      local levels = vim.bo[draft].undolevels
      vim.bo[draft].undolevels = -1
      api.nvim_buf_set_lines(draft, 0, -1, false, before)
      vim.bo[draft].undolevels = levels
      api.nvim_buf_set_lines(draft, 0, -1, false, vim.split(text, "\n", { plain = true }))
      vim.bo[draft].modified = false
      vim.schedule(function()
        if api.nvim_buf_is_loaded(draft) then
          require("flemma.queue.writes").watch_text(draft)
          pcall(vim.treesitter.start, draft, "markdown")
          M.keep(state)
          changed(state)
        end
      end)
    end,
  })
  -- `:saveas` and `:file` are for the text, and not for the window.
  api.nvim_create_autocmd("BufFilePost", {
    group = group,
    buffer = draft,
    desc = "Flemma: keep the name of the input window",
    callback = function()
      if api.nvim_buf_get_name(draft) == name then
        return
      end
      -- So that Neovim writes the file itself.
      vim.bo[draft].buftype = ""
      vim.schedule(function()
        if api.nvim_buf_is_valid(draft) then
          pcall(api.nvim_buf_set_name, draft, name)
          vim.bo[draft].buftype = "acwrite"
        end
      end)
    end,
  })
end

return M
