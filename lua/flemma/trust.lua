--- Asks whether the user trusts the contents of a file: its frontmatter, and the files that it refers to.
local M = {}

local api = vim.api

--- The maximum number of files that a question names.
local NAMED = 5

--- Puts the cursor on a line (from 1) of a window that shows the buffer.
local function show_line(buf, line)
  local win = api.nvim_buf_is_valid(buf) and vim.fn.win_findbuf(buf)[1]
  if win then
    api.nvim_set_current_win(win)
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(win, { math.min(line, api.nvim_buf_line_count(buf)), 0 })
  end
end

--- Asks, and passes the user's choice to the library.
---@param buf integer
---@param question integer the number of the question
---@param show fun() shows what it is about
---@param words string how the question begins and ends, with `%s` for the name of the file
---@param choices string[] to show it, to trust it, and neither
---@param goes_on? boolean whether the last choice goes on as well, so that only no answer takes the wish back
local function ask(buf, question, show, words, choices, goes_on)
  local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":t")
  local prompt = words:gsub("%%s", function()
    return name ~= "" and name or "This buffer"
  end, 1)
  local opts = { prompt = prompt, kind = "flemma.trust", format_item = tostring }
  require("flemma.ask").select(choices, opts, function(choice)
    local native = require("flemma.native")
    if goes_on and choice ~= choices[2] and choice ~= choices[3] then
      native.call("dispatch", buf, "dismiss", { question = question })
    else
      native.call("dispatch", buf, "answer", { question = question, is_yes = choice == choices[2] })
    end
    if choice == choices[1] then
      show()
    end
  end)
end

--- Asks about the frontmatter.
---@param buf integer
---@param question integer the number of the question
---@param language string the language of the frontmatter
function M.ask(buf, question, language)
  local what = language == "lua" and "Lua code" or "options"
  local words = "%s begins with " .. what .. " that you did not write in this session:"
  local function show()
    show_line(buf, 1)
  end
  ask(buf, question, show, words, { "Show it without running anything", "Trust this block in this file", "Not now" })
end

--- Asks whether a conversation may send these files, and what these references mean.
---@param buf integer
---@param question integer the number of the question
---@param files string[] their paths, with links resolved
---@param references string[] the references to what the editor shows
---@param line integer the first line, from 0, that names one of them
function M.ask_files(buf, question, files, references, line)
  local folder = require("flemma.conversations").base(buf) .. "/"
  local has_hidden = vim.iter(files):any(function(file)
    return vim.startswith(file, folder)
  end)
  local named = vim.tbl_map(function(file)
    return (vim.fn.fnamemodify(file, ":~"):gsub("%c", "?"))
  end, vim.list_slice(files, 1, NAMED))
  if #files > NAMED then
    named[#named + 1] = ("%d more"):format(#files - NAMED)
  end
  local what = {}
  if #files > 0 then
    local kind = has_hidden and "hidden files or files outside its folder" or "files outside its folder"
    what[1] = ("%s that you did not name yourself: %s"):format(kind, table.concat(named, ", "))
  end
  if #references > 0 then
    local words = "what your editor shows, by references that you did not write in this session: %s"
    what[#what + 1] = words:format(table.concat(references, ", "))
  end
  local send = #references > 0 and "Send this" or "Send these files, now and in later requests"
  local words = "%s would send " .. table.concat(what, ", and ")
  local function show()
    show_line(buf, line + 1)
  end
  ask(buf, question, show, words, { "Show where, without sending anything", send, "Not now" })
end

--- Asks whether files of the project may instruct the model.
---@param buf integer
---@param question integer the number of the question
---@param files { path: string, name: string, before?: string }[] `before` has what was trusted there before
function M.ask_instructions(buf, question, files)
  local names, is_changed = {}, false
  for at, file in ipairs(files) do
    is_changed = is_changed or file.before ~= nil
    names[#names + 1] = at <= NAMED and file.name or nil
  end
  local more = #files > NAMED and (", and %d more"):format(#files - NAMED) or ""
  local what = is_changed and "were changed outside of this Neovim" or "would instruct the model"
  local words = ("%%s is in a project whose rules and skills %s: %s%s"):format(what, table.concat(names, ", "), more)
  local shown = vim.tbl_filter(function(file)
    return vim.uv.fs_stat(file.path) ~= nil
  end, files)
  local function show()
    for _, file in ipairs(vim.list_slice(shown, 1, NAMED)) do
      vim.cmd.tabedit(vim.fn.fnameescape(file.path))
      if file.before and vim.uv.fs_stat(file.before) then
        vim.cmd("vertical diffsplit " .. vim.fn.fnameescape(file.before))
        vim.bo.readonly, vim.bo.bufhidden = true, "wipe"
      end
    end
  end
  local choices = { "Show them without sending anything", "Trust them", "Leave them out of this conversation" }
  ask(buf, question, show, words, choices, true)
end

return M
