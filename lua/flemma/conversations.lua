--- The conversations of projects: where they are, which one is shown, and in which window.
---
--- The project of a buffer is the root that `conversations.markers` finds above its file, or else the working directory. Paths in
--- a project's conversation start at the project's root (|M.base|), wherever the file of the conversation is.
local M = {}

local api = vim.api

local function native(...)
  return require("flemma.native").call(...)
end

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

--- The root of the project to which the conversation in a buffer belongs.
---@param buf integer 0 for the current buffer
---@return string? root nil if the buffer is not among the conversations of a project
function M.project(buf)
  local name = api.nvim_buf_get_name(buf)
  return name:find("^/") and native("conversation_project", name) or nil
end

--- The folder in which relative paths of a conversation start: the root of its project, or else the folder of its file.
---@param buf integer
---@return string
function M.base(buf)
  local name = api.nvim_buf_get_name(buf)
  return M.project(buf) or (name ~= "" and vim.fs.dirname(name)) or vim.fn.getcwd()
end

--- Where the search for the root of a buffer's project starts, and the working directory.
---@param buf integer
---@return string start
---@return string cwd
function M.start(buf)
  local name = api.nvim_buf_get_name(buf)
  local cwd = vim.fn.getcwd()
  return vim.bo[buf].buftype == "" and name:find("^/") and name or cwd, cwd
end

--- The root of a buffer's project. This looks at the disk, and waits a moment for it.
---@param buf? integer the current one by default
---@return string? root nil if the disk does not answer
---@return string? problem
function M.root(buf)
  buf = buf or api.nvim_get_current_buf()
  local project = M.project(buf)
  if project then
    return project
  end
  return native("project_root", M.start(buf))
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
  local root, unknown = M.root(opts.buf)
  if not root then
    return refuse(unknown or "the project is not known")
  end
  local path = opts.path
  if not path and not opts.new then
    path, unknown = native("last_conversation", root)
    if unknown then
      return refuse(unknown)
    end
  end
  if not path then
    local problem
    path, problem = native("new_conversation", root, opts.title or "", os.date("%Y-%m-%d"), os.date("%H%M"))
    if not path then
      return refuse(problem or "no conversation could be begun")
    end
  end
  local buf = vim.fn.bufadd(path)
  local was_loaded = api.nvim_buf_is_loaded(buf)
  vim.bo[buf].buflisted = true
  local windows = require("flemma.conversations.windows")
  local win, problem = windows.show(buf, {
    layout = opts.layout or options.conversations.layout,
    width = options.conversations.width,
    height = options.conversations.height,
    enter = opts.enter ~= false,
    replaces = function(other)
      return M.project(other) == root
    end,
  })
  if not win then
    return refuse(problem or "the conversation could not be shown")
  end
  -- Whatever hides a window must not drop what is in it.
  vim.bo[buf].bufhidden = "hide"
  if vim.bo[buf].filetype == "" then
    vim.bo[buf].filetype = "chat"
  end
  if not was_loaded then
    -- What comes next is written at the end.
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  elseif require("flemma.lock").is_locked(buf) then
    api.nvim_win_call(win, function()
      vim.cmd("normal! G0")
      require("flemma.following").watch(buf)
    end)
  end
  native("conversation_used", api.nvim_buf_get_name(buf), true)
  return buf, win
end

--- Begins a conversation of the current buffer's project: `:Flemma new`.
---@param title? string
---@return integer? buf
---@return integer|string win
function M.new(title)
  return M.show({ new = true, title = title })
end

--- Shows the conversation of the project, or hides its window: `:Flemma toggle`. What is in it goes on, and nothing of it is lost.
---@param layout? flemma.Layout instead of `conversations.layout`; a window in another layout changes to this one
function M.toggle(layout)
  local windows = require("flemma.conversations.windows")
  local root, unknown = M.root()
  if not root then
    return refuse(unknown or "the project is not known")
  end
  local shown = windows.find_own(function(buf)
    return M.project(buf) == root
  end)
  if not shown[1] then
    M.show({ layout = layout })
    return
  end
  local buf = api.nvim_win_get_buf(shown[1])
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
    M.show({ path = api.nvim_buf_get_name(buf), layout = layout })
  end
end

--- Lets the user pick a conversation of the project, or shows the one that words name: `:Flemma open`.
---@param words? string a path, or what its title or the name of its file has
function M.open(words)
  local root, unknown = M.root()
  if not root then
    return refuse(unknown or "the project is not known")
  end
  require("flemma.conversations.picker").open(root, words)
end

--- Follows which conversation of a project is used.
---@param buf integer
---@param group integer of its autocommands
function M.follow(buf, group)
  api.nvim_create_autocmd({ "BufEnter", "BufWritePost" }, {
    group = group,
    buffer = buf,
    desc = "Flemma: note which conversation of the project was used last",
    callback = function(args)
      local name = api.nvim_buf_get_name(buf)
      if name:find("^/") then
        native("conversation_used", name, args.event == "BufEnter")
      end
    end,
  })
end

return M
