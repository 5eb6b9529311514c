--- Picking one of a project's conversations: `:Flemma open`, and what the pickers of other plugins show.
---
--- The library reads the folder in the background, so the picker opens a moment after the command.
local M = {}

---@class flemma.ConversationRow
---@field path string the absolute path of the file
---@field name string the name of the file, without `.chat`
---@field title string the first line of the user's first message, or the name
---@field modified? integer seconds since 1970; nil if there is no file yet
---@field model string
---@field state "idle"|"waiting"|"working"

---@class flemma.ConversationItem: flemma.ConversationRow
---@field date string when the file was written, in a few words
---@field given? string the title that the user gave it, as the name of its file has it
---@field text string everything that the user may type to find it, on one line

local function native(...)
  return require("flemma.native").call(...)
end

---@param level integer
---@param message string
local function say(level, message)
  require("flemma.notify").say(level, message)
end

--- How the name of a file begins.
local DATE = "^%d%d%d%d%-%d%d%-%d%d%-"

--- The title in the name of a file that has a date; nil if it has the time instead.
---@param name string
---@return string?
local function given_title(name)
  local title, count = name:gsub(DATE, "")
  if count == 1 and not title:find("^%d%d%d%d$") and not title:find("^%d%d%d%d%-%d+$") then
    return (title:gsub("-", " "))
  end
end

local marks = { waiting = "waiting", working = "working", idle = "" }

---@param row flemma.ConversationRow
---@return flemma.ConversationItem
local function item_of(row)
  local date = row.modified and os.date("%Y-%m-%d %H:%M", row.modified) or "not saved yet"
  local parts = { date, row.title, row.model }
  if marks[row.state] ~= "" then
    table.insert(parts, 2, ("[%s]"):format(marks[row.state]))
  end
  local given = given_title(row.name)
  local name = given or not row.name:find(DATE) and row.name or row.title
  if name ~= row.title then
    parts[#parts + 1] = name
  end
  return vim.tbl_extend("error", row, { date = date, given = given, text = table.concat(parts, "  ") })
end

---@type table<string, flemma.ConversationItem[]> what was listed last, by project
local listed = {}

--- Lists the conversations of a project, the newest first.
---@param root string
---@param callback fun(items?: flemma.ConversationItem[], problem?: string) called once, later
function M.list(root, callback)
  native("list_conversations", root, function(rows, problem)
    if rows then
      listed[root] = vim.tbl_map(item_of, rows)
    end
    callback(rows and listed[root], problem)
  end)
end

--- Lists the conversations of the current buffer's project, for a picker that shows them. A message says if there are none.
---@param callback fun(items: flemma.ConversationItem[])
function M.gather(callback)
  local root, unknown = require("flemma.conversations").root()
  if not root then
    return say(vim.log.levels.ERROR, unknown or "the project is not known")
  end
  M.list(root, function(items, problem)
    if not items then
      say(vim.log.levels.ERROR, problem or "the conversations cannot be listed")
    elseif not items[1] then
      say(vim.log.levels.INFO, "no conversation yet; `:Flemma new` begins one")
    else
      callback(items)
    end
  end)
end

--- Shows a conversation that was picked.
---@param item? flemma.ConversationItem nil if the user has picked none
---@param layout? flemma.Layout
function M.show(item, layout)
  if item then
    require("flemma.conversations").show({ path = item.path, layout = layout })
  end
end

---@param items flemma.ConversationItem[]
local function select(items)
  vim.ui.select(items, {
    prompt = "Conversation",
    kind = "flemma.conversation",
    format_item = function(item)
      return item.text
    end,
  }, function(item)
    M.show(item)
  end)
end

---@type table<string, string> the module of each picker
local pickers = {
  telescope = "flemma.integrations.telescope",
  snacks = "flemma.integrations.snacks",
  ["fzf-lua"] = "flemma.integrations.fzf_lua",
}

--- Lets the user pick, with the picker of the options.
---@param items flemma.ConversationItem[]
local function pick(items)
  local options = require("flemma.options").get()
  local name = options and options.conversations.picker
  local picker = pickers[name]
  if picker and not require(picker).pick(items) then
    say(vim.log.levels.WARN, ("`conversations.picker` is `%s`, which is not installed"):format(name))
    picker = nil
  end
  if not picker then
    select(items)
  end
end

--- A name without what a file name leaves out of a title.
---@param text string
---@return string
local function plain(text)
  return vim.trim((vim.fn.tolower(text):gsub("[%s%p]+", " ")))
end

--- Whether what was typed names a conversation: 1 for its whole title, name or path, 2 for a part of one.
---@param item flemma.ConversationItem
---@param words string
---@return 1|2|nil
local function fit(item, words)
  local wanted = plain(words)
  for _, own in ipairs({ item.title, item.name, item.path, vim.fs.basename(item.path), item.given }) do
    if plain(own) == wanted then
      return 1
    end
  end
  local found = plain(item.title):find(wanted, 1, true) or plain(item.name):find(wanted, 1, true)
  return found and 2 or nil
end

--- Shows the conversation that words name, or lets the user pick among those that they may mean.
---@param items flemma.ConversationItem[]
---@param words string
local function open_named(items, words)
  local whole, parts = {}, {}
  for _, item in ipairs(items) do
    local how = fit(item, words)
    if how then
      table.insert(how == 1 and whole or parts, item)
    end
  end
  local found = whole[1] and whole or parts
  if not found[1] then
    say(vim.log.levels.ERROR, ("no conversation of this project is called `%s`; `:Flemma open` lists all"):format(words))
  elseif found[2] then
    pick(found)
  else
    M.show(found[1])
  end
end

--- `:Flemma open`.
---@param root string the project
---@param words? string a path, or what a title or a name has
function M.open(root, words)
  local path = words and vim.fs.normalize(vim.fn.fnamemodify(words, ":p"))
  if path and vim.endswith(path, ".chat") then
    local found, _, problem = native("found_file", path)
    if problem then
      return say(vim.log.levels.ERROR, problem)
    elseif found then
      require("flemma.conversations").show({ path = path })
      return
    end
  end
  M.list(root, function(items, problem)
    if not items then
      say(vim.log.levels.ERROR, problem or "the conversations cannot be listed")
    elseif not items[1] then
      say(vim.log.levels.INFO, "no conversation yet; `:Flemma new` begins one")
    elseif words then
      open_named(items, words)
    else
      pick(items)
    end
  end)
end

---@type table<string, boolean> the projects whose conversations are being listed for completion
local listing = {}

--- Lists the conversations of a project in the background, for the completion that follows.
---@param root string
local function list_ahead(root)
  if not listing[root] then
    listing[root] = true
    M.list(root, function()
      listing[root] = nil
    end)
  end
end

---@type table<string, string> the roots of projects that were found last, by where the search for them starts
local roots = {}

--- Finds the root of the current buffer's project in the background, and lists its conversations.
---@return string? root as it was found last
local function root_ahead()
  local conversations = require("flemma.conversations")
  local buf = vim.api.nvim_get_current_buf()
  local project = conversations.project(buf)
  if project then
    list_ahead(project)
    return project
  end
  local start, cwd = conversations.start(buf)
  local key = start .. "\n" .. cwd
  native("look_for_project_root", start, cwd, function(root)
    if root then
      roots[key] = root
      list_ahead(root)
    end
  end)
  return roots[key]
end

--- The user may be about to name a conversation: the list is made ahead.
function M.prepare()
  root_ahead()
end

--- Completes the titles of the project's conversations: those that were listed last. The command line does not wait for the disk,
--- so the first time there may be none yet.
---@param words string[] what was typed before the word
---@param lead string
---@return string[]
function M.complete(words, lead)
  local root = root_ahead()
  local before = #words > 0 and table.concat(words, " ") .. " " or ""
  local typed = (before .. lead):lower()
  local found, seen = {}, {}
  for _, item in ipairs(listed[root or ""] or {}) do
    for _, title in ipairs({ item.title, item.given }) do
      if vim.startswith(title:lower(), typed) and not seen[title] then
        seen[title] = true
        found[#found + 1] = title:sub(#before + 1)
      end
    end
  end
  return found
end

return M
