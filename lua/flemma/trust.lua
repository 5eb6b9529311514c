--- Asks whether the user trusts the contents of a file: its frontmatter, and the files that it refers to.
local M = {}

local api = vim.api

--- The maximum number of files that a question names.
local NAMED = 5

--- Puts the cursor on a line (from 1) of a window that shows the buffer.
local function show(buf, line)
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
---@param line integer what is shown on request, from 1
---@param words string how the question begins and ends, with `%s` for the name of the file
---@param choices string[] to show it, to trust it, and neither
local function ask(buf, question, line, words, choices)
  local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ":t")
  local prompt = words:gsub("%%s", function()
    return name ~= "" and name or "This buffer"
  end, 1)
  local opts = { prompt = prompt, kind = "flemma.trust", format_item = tostring }
  require("flemma.ask").select(choices, opts, function(choice)
    require("flemma.native").call("dispatch", buf, "answer", { question = question, is_yes = choice == choices[2] })
    if choice == choices[1] then
      show(buf, line)
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
  ask(buf, question, 1, words, { "Show it without running anything", "Trust this block in this file", "Not now" })
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
  ask(buf, question, line + 1, words, { "Show where, without sending anything", send, "Not now" })
end

return M
