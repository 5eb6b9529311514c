--- The conversations of projects: where they are, which one is shown, and in which window.
---
--- The project of a buffer is the root that `conversations.markers` finds above its file, or else the working directory. Paths in
--- a project's conversation start at the project's root (|M.base|), wherever the file of the conversation is.
local M = {}

local api = vim.api

local windows = require("flemma.conversations.windows")

local native = require("flemma.native").call

---@class flemma.ShowOptions
---@field path? string the conversation, instead of the one that was used last
---@field new? boolean whether a new conversation is begun
---@field title? string the title of a new conversation, which becomes part of its file's name
---@field layout? flemma.Layout instead of `conversations.layout`
---@field enter? boolean whether the window becomes the current one; `true` by default
---@field buf? integer the buffer whose project it is; the current one by default

---@param problem string
local function refuse(problem)
  require("flemma.notify").say(vim.log.levels.ERROR, problem)
  return nil, problem
end

---@param name string the name of a buffer
---@return string? root of the project whose conversation it is
local function project_of(name)
  return name:find("^/") and native("path", "project", { path = name }) or nil
end

--- The root of the project to which the conversation in a buffer belongs.
---@param buf integer 0 for the current buffer
---@return string? root nil if the buffer is not among the conversations of a project
function M.project(buf)
  return project_of(api.nvim_buf_get_name(buf))
end

--- The folder in which relative paths of a conversation start: the root of its project, or else the folder of its file.
---@param buf integer
---@return string
function M.base(buf)
  local name = api.nvim_buf_get_name(buf)
  return project_of(name) or (name ~= "" and vim.fs.dirname(name)) or vim.fn.getcwd()
end

--- Where the search for the root of a buffer's project starts, and the folder that counts where it finds none.
---@param buf? integer the current one by default
---@return string start
---@return string otherwise
function M.start(buf)
  buf = buf or api.nvim_get_current_buf()
  local name, project, cwd = api.nvim_buf_get_name(buf), M.project(buf), vim.fn.getcwd()
  if project then
    return project, project
  end
  return vim.bo[buf].buftype == "" and name:find("^/") and name or cwd, cwd
end

--- The conversation of the current buffer's project that was used last.
---@return string? path
---@return string? problem
function M.last()
  local start, otherwise = M.start()
  return native("path", "last", { start = start, otherwise = otherwise })
end

--- The title of a conversation: what its text says, as far as it is known, or else the name of its file.
---@param buf integer
---@return string
function M.title(buf)
  local title, name = vim.b[buf].flemma_title, vim.fs.basename(api.nvim_buf_get_name(buf))
  return title and title ~= "" and title or name ~= "" and name or "[No Name]"
end

--- Shows a conversation of the project in the window that is for it: the one of this tab page that has a conversation of the
--- project, or a new one. Without options it is the conversation that was used last, or a new one if there is none.
---@param opts? flemma.ShowOptions
---@return integer? buf nil if it cannot be shown, which a message has said
---@return integer|string win the window, or the message
function M.show(opts)
  opts = opts or {}
  local options = require("flemma.options").get()
  local _, missing = require("flemma.native").load()
  if not options then
    return refuse(missing or "the options could not be read; `:messages` says why")
  end
  local start, otherwise = M.start(opts.buf)
  local path, problem = opts.path, nil
  if not path and not opts.new then
    path, problem = native("path", "last", { start = start, otherwise = otherwise })
  end
  if not path and not problem then
    path, problem = native("path", "new", { start = start, otherwise = otherwise, title = opts.title or "" })
  end
  if not path then
    return refuse(problem or "no conversation could be begun")
  end
  local root = project_of(path)
  local buf = vim.fn.bufadd(path)
  local was_loaded = api.nvim_buf_is_loaded(buf)
  vim.bo[buf].buflisted = true
  local win, why = windows.show(buf, {
    layout = opts.layout or options.conversations.layout,
    width = options.conversations.width,
    height = options.conversations.height,
    enter = opts.enter ~= false,
    replaces = function(other)
      return root ~= nil and M.project(other) == root
    end,
  })
  if not win then
    return refuse(why or "the conversation could not be shown")
  end
  -- Whatever hides a window must not drop what is in it.
  vim.bo[buf].bufhidden = "hide"
  if vim.bo[buf].filetype == "" then
    vim.bo[buf].filetype = "chat"
  end
  if not was_loaded then
    -- What comes next is written at the end.
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  elseif require("flemma.buffer.lock").is_locked(buf) then
    api.nvim_win_call(win, function()
      vim.cmd("normal! G0")
      require("flemma.view.cursor").watch(buf)
    end)
  end
  native("event", buf, "used", { path = api.nvim_buf_get_name(buf), cwd = vim.fn.getcwd(), is_entered = true })
  return buf, win
end

--- Begins a conversation of the current buffer's project: `:Flemma new`.
---@param title? string
---@return integer? buf
---@return integer|string win
function M.new(title)
  return M.show({ new = true, title = title })
end

--- Shows the conversation of the project, or hides the one on the screen: `:Flemma toggle`. What is in it goes on, and nothing of it is lost.
---@param layout? flemma.Layout instead of `conversations.layout`; a window in another layout changes to this one
function M.toggle(layout)
  local shown = windows.find_own(require("flemma.buffer.target").is_attached)
  if not shown[1] then
    M.show({ layout = layout })
    return
  end
  local name = api.nvim_buf_get_name(api.nvim_win_get_buf(shown[1]))
  if vim.list_contains(shown, api.nvim_get_current_win()) then
    -- What is typed next must not go into the file below.
    vim.cmd.stopinsert()
  end
  local moves = layout ~= nil and vim.w[shown[1]].flemma_layout ~= layout
  for _, win in ipairs(shown) do
    local problem = windows.hide(win)
    if problem then
      return refuse(problem)
    end
  end
  if moves then
    M.show({ path = name, layout = layout })
  end
end

---@class flemma.Target
---@field buf integer
---@field win? integer the window of this tab page that shows it
---@field title string

--- Puts the cursor of a window on the only call that waits in its conversation, if the window shows it.
---@param meant flemma.Target
---@return string? problem
local function find_call(meant)
  local calls = native("calls", meant.buf, "pending") or {}
  if #calls ~= 1 then
    local count = #calls == 0 and "no call waits in %s" or "%d calls wait in %s; go there to choose one"
    return count:format(unpack(#calls == 0 and { meant.title } or { #calls, meant.title }))
  end
  local line = calls[1].line + 1
  if line < vim.fn.line("w0", meant.win) or line > vim.fn.line("w$", meant.win) then
    return ("the call that waits in %s is not on the screen; go there to look at it"):format(meant.title)
  end
  api.nvim_win_set_cursor(meant.win, { line, 0 })
end

--- The conversation that is meant by a command which is given outside of one: the one that this tab page shows, or else the
--- project's that was used last. A command for a call means the only one that waits, if it is on the screen.
---@param is_call boolean
---@return flemma.Target? meant
---@return string? problem
function M.meant(is_call)
  local win = windows.find(require("flemma.buffer.target").is_attached)[1]
  local buf, problem = win and api.nvim_win_get_buf(win), nil
  if not buf and is_call then
    return nil, "no conversation is on the screen"
  elseif not buf then
    local path
    path, problem = M.last()
    if not path then
      return nil, problem or "the project has no conversation yet; `:Flemma new` begins one"
    end
    buf = vim.fn.bufadd(path)
    if not require("flemma.buffer.target").is_attached(buf) then
      return nil, ("`:Flemma toggle` opens the project's conversation: %s is not open"):format(vim.fs.basename(path))
    end
  end
  local meant = { buf = buf, win = win, title = M.title(buf) }
  problem = is_call and find_call(meant) or nil
  return not problem and meant or nil, problem
end

--- Follows which conversation of a project is used, and what its title is (`b:flemma_title`).
---@param buf integer
---@param group integer of its autocommands
function M.follow(buf, group)
  api.nvim_create_autocmd({ "BufEnter", "BufWritePost" }, {
    group = group,
    buffer = buf,
    desc = "Flemma: note which conversation of the project was used last, and its title",
    callback = function(args)
      local used = { path = api.nvim_buf_get_name(buf), cwd = vim.fn.getcwd(), is_entered = args.event == "BufEnter" }
      native("event", buf, "used", used)
      vim.b[buf].flemma_title = native("state", buf, "title")
    end,
  })
end

return M
