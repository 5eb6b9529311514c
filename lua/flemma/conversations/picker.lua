--- Picking one of a project's conversations: `:Flemma open`.
---
--- The library reads the folder in the background, so the list opens a moment after the command.
local M = {}

---@class flemma.ConversationRow
---@field path string the absolute path of the file
---@field name string the name of the file, without `.chat`
---@field title string the first line of the user's first message, or the title that they gave it
---@field given? string the title that the user gave it, as the name of its file has it
---@field modified? integer seconds since 1970; nil if there is no file yet
---@field model string
---@field state "idle"|"waiting"|"working"

local say = require("flemma.notify").say

---@type table<string, flemma.ConversationRow[]> what was listed last, by where the search for the project starts
local listed = {}
---@type table<string, boolean> the lists that are on their way
local listing = {}

--- Lists the conversations of the current buffer's project, the newest first.
---@param callback? fun(rows?: flemma.ConversationRow[], problem?: string) called once, later
---@return string key
local function list(callback)
  local start, otherwise = require("flemma.conversations").start()
  local key = start .. "\n" .. otherwise
  if callback or not listing[key] then
    listing[key] = true
    require("flemma.native").call("list", "conversations", { start = start, otherwise = otherwise }, function(rows, problem)
      listing[key] = nil
      listed[key] = rows or listed[key]
      if callback then
        callback(rows, problem)
      end
    end)
  end
  return key
end

--- How long ago something was, in a few words.
---@param modified? integer
---@return string
local function age(modified)
  local seconds = modified and os.time() - modified
  if not seconds then
    return "not saved"
  end
  for _, unit in ipairs({ { 86400, "d" }, { 3600, "h" }, { 60, "min" } }) do
    if seconds >= unit[1] then
      return ("%d %s"):format(seconds / unit[1], unit[2])
    end
  end
  return "now"
end

---@param text string
---@param width integer cells
---@return string
local function padded(text, width)
  if vim.fn.strdisplaywidth(text) > width then
    text = vim.fn.strcharpart(text, 0, width - 1) .. "…"
  end
  return text .. (" "):rep(width - vim.fn.strdisplaywidth(text))
end

--- Lets the user pick: title, age, state, and model in columns.
---@param rows flemma.ConversationRow[]
local function pick(rows)
  local widths, cells = { 0, 0, 0, 0 }, {}
  for place, row in ipairs(rows) do
    cells[place] = { row.given or row.title, age(row.modified), row.state == "idle" and "" or row.state, row.model }
    for column, text in ipairs(cells[place]) do
      widths[column] = math.max(widths[column], vim.fn.strdisplaywidth(text))
    end
  end
  -- The numbers of the list take some as well.
  widths[1] = math.min(widths[1], math.max(20, vim.o.columns - widths[2] - widths[3] - widths[4] - 12))
  local places = {}
  for place in ipairs(rows) do
    places[place] = place
  end
  require("flemma.ask").select(places, {
    prompt = "Conversation",
    kind = "flemma.conversation",
    format_item = function(place)
      local texts = {}
      for column, text in ipairs(cells[place]) do
        texts[column] = padded(text, widths[column])
      end
      return vim.trim(table.concat(texts, "  "))
    end,
  }, function(place)
    if place then
      require("flemma.conversations").show({ path = rows[place].path })
    end
  end)
end

--- A name without what a file name leaves out of a title.
---@param text string
---@return string
local function plain(text)
  return vim.trim((vim.fn.tolower(text):gsub("[%s%p]+", " ")))
end

--- The conversations that words name: by a whole title, name or path, or else by a part of one.
---@param rows flemma.ConversationRow[]
---@param words string
---@return flemma.ConversationRow[]
local function named(rows, words)
  local wanted, whole, parts = plain(words), {}, {}
  for _, row in ipairs(rows) do
    local names = { row.title, row.name, row.path, vim.fs.basename(row.path), row.given }
    if vim.list_contains(vim.tbl_map(plain, names), wanted) then
      whole[#whole + 1] = row
    elseif plain(row.title):find(wanted, 1, true) or plain(row.name):find(wanted, 1, true) then
      parts[#parts + 1] = row
    end
  end
  return whole[1] and whole or parts
end

--- `:Flemma open`.
---@param words? string a path, or what a title or a name has
function M.open(words)
  local path = words and vim.fs.normalize(vim.fn.fnamemodify(words, ":p"))
  if path and vim.endswith(path, ".chat") then
    local found, problem = require("flemma.native").call("path", "file", { path = path })
    if found then
      return require("flemma.conversations").show({ path = path })
    elseif problem then
      return say(vim.log.levels.ERROR, problem)
    end
  end
  list(function(rows, problem)
    local found = rows and (words and named(rows, words) or rows)
    if not rows or not found then
      say(vim.log.levels.WARN, problem or "the conversations cannot be listed")
    elseif not found[1] then
      say(vim.log.levels.ERROR, ("no conversation of this project is called `%s`; `:Flemma open` lists all"):format(words))
    elseif words and not found[2] then
      require("flemma.conversations").show({ path = found[1].path })
    else
      pick(found)
    end
  end)
end

--- Completes the titles of the project's conversations: those that were listed last, which begins to be done again. The command line
--- does not wait for the disk, so the first time there may be none yet.
---@param words string[] what was typed before the word
---@param lead string
---@return string[]
function M.complete(words, lead)
  local key = list()
  local before = #words > 0 and table.concat(words, " ") .. " " or ""
  local typed = (before .. lead):lower()
  local found, seen = {}, {}
  for _, row in ipairs(listed[key] or {}) do
    for _, title in ipairs({ row.title, row.given }) do
      if vim.startswith(title:lower(), typed) and not seen[title] then
        seen[title] = true
        found[#found + 1] = title:sub(#before + 1)
      end
    end
  end
  return found
end

return M
