--- `:Flemma undo`, `redo`, `rollback` and `changes`: what tools have changed in files, and taking that back.
---
--- What would be taken back is shown in a tab page first, as a diff. Nothing happens before the user presses Enter on its first line;
--- closing it means no.
--- A file that somebody else has changed gets a question of its own. Files with unsaved changes are never touched, and open
--- buffers of files that were changed are read again by Neovim, with their undo history.
local M = {}

local api, native, notify = vim.api, require("flemma.native"), require("flemma.notify")

---@class flemma.ProposedFile
---@field path string
---@field changed? "overwrite"|"delete" somebody else has changed it, and that would be lost by this
---@field problem? string why it is left alone

---@class flemma.Proposed
---@field number integer
---@field lines string[] what would happen
---@field files flemma.ProposedFile[]

---@class flemma.WrittenFile
---@field path string
---@field before? string what it was before the turn; nil if there was no such file, or with a note
---@field note? "binary"|"not kept" why that is not here

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
  local left, paths, moved = {}, {}, {}
  for _, file in ipairs(files) do
    if file.problem then
      left[#left + 1] = ("%s %s"):format(short(file.path), file.problem)
    else
      paths[#paths + 1] = file.path
      moved[#moved + 1] = file.moved_to and { file.path, file.moved_to }
    end
  end
  require("flemma.buffer.checktime").all(paths, moved)
  local words = #paths == 0 and "nothing was changed" or ("%s %d file%s"):format(what, #paths, #paths == 1 and "" or "s")
  if #left > 0 then
    words = ("%s. Left alone: %s."):format(words, table.concat(left, "; "))
  end
  notify.say(#left > 0 and vim.log.levels.WARN or vim.log.levels.INFO, words)
end

--- Asks about the files that somebody else has changed.
---@param files flemma.ProposedFile[]
---@param decide fun(overwrite: integer[]) gets the places of those that are overwritten
local function ask_about_changed(files, decide)
  local places, names, acts = {}, {}, {}
  for place, file in ipairs(files) do
    if file.changed then
      places[#places + 1], names[#names + 1], acts[file.changed] = place, short(file.path), true
    end
  end
  if not places[1] then
    return decide({})
  end
  local act = acts.overwrite and (acts.delete and "Overwrite or delete it" or "Overwrite it") or "Delete it"
  local opts = { prompt = ("Somebody else has changed %s. Going back loses that:"):format(table.concat(names, " and ")) }
  require("flemma.ask").select({ "Leave it as it is", act }, opts, function(_, choice)
    decide(choice == 2 and places or {})
  end)
end

--- A buffer to look at. It goes with its window.
---@param name string
---@return integer
local function page(name)
  local buf = require("flemma.buffer.scratch").create()
  vim.bo[buf].bufhidden = "wipe"
  pcall(api.nvim_buf_set_name, buf, ("flemma://%d/%s"):format(buf, name))
  return buf
end

local verbs = {
  undo = { title = "undo", question = "take this back", done = "took back" },
  redo = { title = "redo", question = "make this again", done = "made again" },
  rollback = { title = "rollback", question = "take all of this back", done = "took back" },
}

--- Does what was proposed.
---@param chat integer
---@param proposed flemma.Proposed
---@param done string what was done then
local function restore(chat, proposed, done)
  ask_about_changed(proposed.files, function(overwrite)
    local fields = { number = proposed.number, overwrite = overwrite, unsaved = M.unsaved() }
    native.call("dispatch", chat, "restore", fields, function(files, problem)
      if files then
        report(done, files)
      else
        notify.say(vim.log.levels.ERROR, ("nothing was changed: %s"):format(problem))
      end
    end)
  end)
end

--- Shows what would happen. Its first line is a button; the cursor is not on it at first.
---@param chat integer
---@param proposed flemma.Proposed
---@param verb { title: string, question: string, done: string }
local function show(chat, proposed, verb)
  local possible = vim.iter(proposed.files):any(function(file)
    return not file.problem
  end)
  local head = possible and ("# Enter on this line: %s.   q: leave everything as it is."):format(verb.question)
    or "# Nothing of this can be done.   q: close this."
  local buf = page(verb.title)
  vim.b[buf].flemma_conversation = chat
  for at, line in ipairs(vim.list_extend({ head, "" }, proposed.lines)) do
    api.nvim_buf_set_lines(buf, at - 1, -1, false, { (line:gsub("\n", "⤶")) })
  end
  vim.bo[buf].filetype = "diff"
  vim.bo[buf].modifiable = false
  -- Before this tab page, so that closing it, even with `:q`, leads back here.
  vim.cmd("-tab sbuffer " .. buf)
  api.nvim_win_set_cursor(0, { math.min(3, api.nvim_buf_line_count(buf)), 0 })
  local function close()
    pcall(api.nvim_buf_delete, buf, { force = true })
  end
  local function enter()
    if possible and api.nvim_win_get_cursor(0)[1] == 1 then
      close()
      return restore(chat, proposed, verb.done)
    end
    notify.say(vim.log.levels.INFO, possible and "Enter on the first line does it" or "nothing of this can be done")
  end
  vim.keymap.set("n", "q", close, { buffer = buf, nowait = true, desc = "Flemma: leave everything as it is" })
  -- Who presses the key that sends hears what to do.
  local keymaps = require("flemma.options").get().keymaps
  for _, key in ipairs({ "<CR>", keymaps.enabled and keymaps.normal.send or nil }) do
    vim.keymap.set("n", key, enter, { buffer = buf, nowait = true, desc = "Flemma: " .. verb.question })
  end
end

---@param verb "undo"|"redo"|"rollback"
---@param what "last"|"redo"|{ call: string }|{ after: integer }
local function propose(verb, what)
  local chat = require("flemma.buffer.target").resolve()
  if not chat then
    return
  end
  native.call("dispatch", chat, "propose", { what = what, unsaved = M.unsaved() }, function(proposed, problem)
    if proposed then
      show(chat, proposed, verbs[verb])
    else
      notify.say(vim.log.levels.WARN, ("%s: %s"):format(verb, problem))
    end
  end)
end

--- Takes back the last write, or what one call has written.
---@param call? string the call's id
function M.undo(call)
  propose("undo", call and { call = call } or "last")
end

--- Makes again what was taken back last.
function M.redo()
  propose("redo", "redo")
end

--- Takes back everything after the message under the cursor.
function M.rollback()
  local win = require("flemma.buffer.target").window()
  if not win then
    return notify.say(vim.log.levels.WARN, "rollback: show the conversation, and put the cursor on a message")
  end
  propose("rollback", { after = api.nvim_win_get_cursor(win)[1] - 1 })
end

--- The page of a file that the turn has written: what it was, and the file itself.
---@param file flemma.WrittenFile
---@return flemma.Page
local function page_of(file)
  local content, escape = require("flemma.review.content"), require("flemma.review.pages").escape
  return {
    has_no_text = file.note ~= nil,
    left = function()
      local buf = page("before/" .. short(file.path):gsub("%c", "_"))
      local text = file.before or file.note or ""
      content.fill(buf, text, content.form(nil, text))
      vim.bo[buf].filetype = not file.note and vim.filetype.match({ filename = file.path, buf = buf }) or ""
      vim.bo[buf].modifiable = false
      return buf
    end,
    right = function()
      local buf = vim.fn.bufadd(file.path)
      vim.bo[buf].buflisted = true
      return buf
    end,
    bars = function(place)
      local was = (file.before or file.note) and "before the turn" or "did not exist"
      return escape(("%s%s (%s)"):format(place, short(file.path), was)), "now%=]c next difference  ]f next file"
    end,
    keys = {},
  }
end

--- Walks through the files that the last turn has written, side by side with what they were.
function M.walk()
  local chat = require("flemma.buffer.target").resolve()
  if not chat then
    return
  end
  native.call("list", "changed_files", { buffer = chat }, function(files, problem)
    if not files then
      return notify.say(vim.log.levels.WARN, ("changes: %s"):format(problem))
    elseif not files[1] then
      return notify.say(vim.log.levels.INFO, "changes: the last turn has written no file (what commands do is not recorded)")
    end
    require("flemma.review.pages").open(vim.tbl_map(page_of, files))
  end)
end

--- Completes the argument of `:Flemma undo`.
---@param words string[] those before the cursor
---@param lead string
---@return string[]
function M.complete(words, lead)
  local buf = api.nvim_get_current_buf()
  if #words > 0 or not require("flemma.buffer.target").is_attached(buf) then
    return {}
  end
  return vim.tbl_filter(function(id)
    return vim.startswith(id, lead)
  end, native.call("state", buf, "writing_calls") or {})
end

return M
