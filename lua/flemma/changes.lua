--- `:Flemma undo`, `redo`, `rollback` and `changes`: what tools have changed in files, and taking that back.
---
--- What would happen is shown in a tab first, as a diff. Nothing happens before the user presses `y` there; closing it means no.
--- A file that somebody else has changed gets a question of its own. Files with unsaved changes are never touched, and open
--- buffers of files that were changed are read again by Neovim, with their undo history.
local M = {}

local api = vim.api

---@class flemma.ProposedFile
---@field path string
---@field changed boolean whether somebody else has changed it, and that would be lost
---@field problem? string why it is left alone

---@class flemma.Proposed
---@field number integer
---@field lines string[] what would happen
---@field files flemma.ProposedFile[]

---@class flemma.ChangedFiles
---@field lines string[]
---@field paths string[] the file of each line; empty for none

local function native(...)
  return require("flemma.native").call(...)
end

---@param level integer
---@param words string
local function say(level, words)
  require("flemma.notify").say(level, words)
end

---@param path string
local function short(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

--- The files that have changes in the editor which are not saved.
---@return string[]
function M.unsaved()
  local files = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buf)
    if name ~= "" and api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified and vim.bo[buf].buftype == "" then
      files[#files + 1] = vim.fs.abspath(name)
    end
  end
  return files
end

---@param what string what was done
---@param files { path: string, problem?: string, moved_to?: string }[]
local function report(what, files)
  local done, left, paths, moved = 0, {}, {}, {}
  for _, file in ipairs(files) do
    if file.problem then
      left[#left + 1] = ("%s %s"):format(short(file.path), file.problem)
    else
      done = done + 1
      paths[#paths + 1] = file.path
      if file.moved_to then
        moved[#moved + 1] = { file.path, file.moved_to }
      end
    end
  end
  require("flemma.checktime").all(paths, moved)
  local words = done == 0 and "nothing was changed" or ("%s %d file%s"):format(what, done, done == 1 and "" or "s")
  if #left > 0 then
    words = ("%s. Left alone: %s."):format(words, table.concat(left, "; "))
  end
  say(#left > 0 and vim.log.levels.WARN or vim.log.levels.INFO, words)
end

--- Asks about each file that somebody else has changed.
---@param files flemma.ProposedFile[]
---@param decide fun(overwrite: integer[]) gets the places of those that are overwritten
local function ask_about_changed(files, decide)
  local overwrite = {}
  local function ask(from)
    for place = from, #files do
      if files[place].changed then
        local prompt = ("%s was changed by somebody else. Going back loses that:"):format(short(files[place].path))
        return require("flemma.ask").select({ "Leave it as it is", "Overwrite it" }, { prompt = prompt }, function(_, choice)
          if choice == 2 then
            overwrite[#overwrite + 1] = place
          end
          ask(place + 1)
        end)
      end
    end
    decide(overwrite)
  end
  ask(1)
end

--- A buffer to look at. It goes with its window.
---@param lines string[]
---@param name string
---@param filetype string
---@return integer
local function page(lines, name, filetype)
  local buf = require("flemma.scratch").create()
  vim.bo[buf].bufhidden = "wipe"
  lines = vim.tbl_map(function(line)
    return (line:gsub("\n", "⤶"))
  end, lines)
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  pcall(api.nvim_buf_set_name, buf, ("flemma://%s/%d"):format(name, buf))
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  return buf
end

---@param buf integer
local function close(buf)
  if api.nvim_buf_is_valid(buf) then
    pcall(api.nvim_buf_delete, buf, { force = true })
  end
end

local verbs = {
  undo = { title = "undo", question = "take this back", done = "took back" },
  redo = { title = "redo", question = "make this again", done = "made again" },
  rollback = { title = "rollback", question = "take all of this back", done = "took back" },
}

--- Shows what would happen, and does it when the user presses `y`.
---@param chat integer
---@param proposed flemma.Proposed
---@param verb { title: string, question: string, done: string }
local function show(chat, proposed, verb)
  local possible = vim.iter(proposed.files):any(function(file)
    return not file.problem
  end)
  local head = possible and ("# y: %s.   q: leave everything as it is."):format(verb.question)
    or "# Nothing of this can be done.   q: close this."
  local lines = vim.list_extend({ head, "" }, proposed.lines)
  local buf = page(lines, verb.title, "diff")
  -- Before this tab, so that closing it, even with `:q`, leads back here.
  vim.cmd("-tab sbuffer " .. buf)
  local function map(key, run, desc)
    vim.keymap.set("n", key, run, { buffer = buf, nowait = true, desc = "Flemma: " .. desc })
  end
  map("q", function()
    close(buf)
  end, "leave everything as it is")
  map("y", function()
    if not possible then
      return say(vim.log.levels.INFO, "nothing of this can be done; `q` closes it")
    end
    ask_about_changed(proposed.files, function(overwrite)
      close(buf)
      native("restore_files", chat, proposed.number, overwrite, M.unsaved(), function(files, problem)
        if files then
          report(verb.done, files)
        else
          say(vim.log.levels.ERROR, ("nothing was changed: %s"):format(problem))
        end
      end)
    end)
  end, verb.question)
end

---@param verb "undo"|"redo"|"rollback"
---@param what "last"|"call"|"redo"|"after"
---@param about? string
local function propose(verb, what, about)
  local chat = require("flemma.buffer").resolve()
  if not chat then
    return
  end
  native("propose_taking_back", chat, what, about, M.unsaved(), function(proposed, problem)
    if proposed then
      show(chat, proposed, verbs[verb])
    else
      say(vim.log.levels.WARN, ("%s: %s"):format(verb, problem))
    end
  end)
end

--- Takes back the last write, or what one call has written.
---@param call? string the call's id
function M.undo(call)
  propose("undo", call and "call" or "last", call)
end

--- Makes again what was taken back last.
function M.redo()
  propose("redo", "redo")
end

--- Takes back everything after the message under the cursor.
function M.rollback()
  propose("rollback", "after", tostring(api.nvim_win_get_cursor(require("flemma.buffer").window())[1] - 1))
end

--- Shows which files this conversation has changed. Enter opens one.
function M.list()
  local chat = require("flemma.buffer").resolve()
  if not chat then
    return
  end
  native("changed_files", chat, function(files, problem)
    if not files then
      return say(vim.log.levels.ERROR, ("changes: %s"):format(problem))
    end
    local buf = page(files.lines, "changes", "flemma-changes")
    vim.cmd(("botright %dsplit"):format(math.max(1, math.min(#files.lines, math.floor(vim.o.lines / 3)))))
    api.nvim_win_set_buf(0, buf)
    vim.wo[0].winfixheight = true
    for line, path in ipairs(files.paths) do
      if path ~= "" then
        api.nvim_win_set_cursor(0, { line, 0 })
        break
      end
    end
    vim.keymap.set("n", "<CR>", function()
      local path = files.paths[api.nvim_win_get_cursor(0)[1]]
      if path and path ~= "" then
        close(buf)
        vim.cmd.edit(vim.fn.fnameescape(path))
      end
    end, { buffer = buf, nowait = true, desc = "Flemma: open the file" })
    vim.keymap.set("n", "q", function()
      close(buf)
    end, { buffer = buf, nowait = true, desc = "Flemma: close the list" })
  end)
end

--- Completes the argument of `:Flemma undo`.
---@param words string[] those before the cursor
---@param lead string
---@return string[]
function M.complete(words, lead)
  local buf = api.nvim_get_current_buf()
  if #words > 0 or not require("flemma.buffer").is_attached(buf) then
    return {}
  end
  return vim.tbl_filter(function(id)
    return vim.startswith(id, lead)
  end, native("undo_words", buf) or {})
end

return M
