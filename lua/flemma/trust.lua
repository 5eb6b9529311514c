--- Asks whether the user trusts the contents of a file: its frontmatter, and the files that it refers to.
local M = {}

--- The maximum number of files that a question names.
local NAMED = 5

local choices = {
  { answer = "show", text = "Show it without running anything" },
  { answer = "trust", text = "Trust this block in this file" },
  { answer = "later", text = "Not now" },
}

local file_choices = {
  { answer = "show", text = "Show where, without sending anything" },
  { answer = "trust", text = "Send these files, now and in later requests" },
  { answer = "later", text = "Not now" },
}

--- Puts the cursor on a line (from 1) of a window that shows the buffer.
local function show(buf, line)
  local win = vim.api.nvim_buf_is_valid(buf) and vim.fn.win_findbuf(buf)[1]
  if win then
    vim.api.nvim_set_current_win(win)
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(win, { math.min(line, vim.api.nvim_buf_line_count(buf)), 0 })
  end
end

--- Asks, and passes the user's choice to the library.
---@param buf integer
---@param question integer the number of the question
---@param language string the language of the frontmatter
function M.ask(buf, question, language)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":t")
  local what = language == "lua" and "Lua code" or "options"
  require("flemma.ask").select(choices, {
    prompt = ("%s begins with %s that you did not write in this session:"):format(name ~= "" and name or "This buffer", what),
    kind = "flemma.trust",
    format_item = function(choice)
      return choice.text
    end,
  }, function(choice)
    local answer = choice and choice.answer or "later"
    require("flemma.native").call("dispatch", buf, "answer", { question = question, is_yes = answer == "trust" })
    if answer == "show" then
      show(buf, 1)
    end
  end)
end

--- Asks whether a conversation may send these files, and what these references mean, and passes the user's choice to the library.
---@param buf integer
---@param question integer the number of the question
---@param files string[] their paths, with links resolved
---@param references string[] the references to what the editor shows
---@param line integer the first line, from 0, that names one of them
function M.ask_files(buf, question, files, references, line)
  local path = vim.api.nvim_buf_get_name(buf)
  local name = vim.fn.fnamemodify(path, ":t")
  local folder = require("flemma.conversations").base(buf) .. "/"
  local hidden = vim.iter(files):any(function(file)
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
    what[1] = ("%s that you did not name yourself: %s"):format(
      hidden and "hidden files or files outside its folder" or "files outside its folder",
      table.concat(named, ", ")
    )
  end
  if #references > 0 then
    what[#what + 1] = ("what your editor shows, by references that you did not write in this session: %s"):format(
      table.concat(references, ", ")
    )
  end
  local choices_here = vim.deepcopy(file_choices)
  if #references > 0 then
    choices_here[2].text = "Send this"
  end
  require("flemma.ask").select(choices_here, {
    prompt = ("%s would send %s"):format(name ~= "" and name or "This buffer", table.concat(what, ", and ")),
    kind = "flemma.trust",
    format_item = function(choice)
      return choice.text
    end,
  }, function(choice)
    local answer = choice and choice.answer or "later"
    require("flemma.native").call("dispatch", buf, "answer", { question = question, is_yes = answer == "trust" })
    if answer == "show" then
      show(buf, line + 1)
    end
  end)
end

return M
