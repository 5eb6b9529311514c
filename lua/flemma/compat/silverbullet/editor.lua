--- The table `editor`: what the user sees and is asked.
local M = {}

local runs = require("flemma.compat.silverbullet.run")

local api = vim.api

--- What a reference names: a page, and a heading, a line with a column, or a position in it. An `@` may also be a part of a name.
---@param ref string
---@return { page: string, section?: string, line?: integer, column?: integer, position?: integer }
local function target_of(ref)
  local page, line, column = ref:match("^(.+)@[Ll](%d+)[Cc]?(%d*)$")
  if page then
    return { page = page, line = tonumber(line), column = tonumber(column) }
  end
  local position
  page, position = ref:match("^(.+)@(%d+)$")
  if page then
    return { page = page, position = tonumber(position) }
  end
  local section = ref:match("#%s*(.*)$")
  return { page = vim.trim(ref:match("^[^#]*")), section = section }
end

--- Shows a page: `Page`, `Page#Heading`, `Page@L12`, `Page@L12C5`, or `Page@123` for the 123rd character.
---@param ref string|{ page: string }
function M.navigate(ref)
  local what = "editor.navigate"
  local run = runs.current(what)
  local written = type(ref) == "table" and (ref.page or ref.ref) or ref
  if type(written) ~= "string" then
    error(("%s: the reference must be a string, not a %s"):format(what, type(ref)), 0)
  end
  local input = target_of(written)
  -- Judged by its name, so that nothing says where the notes are.
  runs.request(what, { op = "exists", page = input.page })
  if input.position then
    -- They are counted from 0, as JavaScript does.
    local content = runs.request(what, { op = "read", page = input.page })
    local before = content:sub(1, vim.str_byteindex(content, "utf-16", input.position, false))
    input.line = select(2, before:gsub("\n", "")) + 1
    input.column = vim.fn.strchars(before:match("[^\n]*$")) + 1
  end
  local shown = require("flemma.tools.client.navigate")(input, run.ctx)
  if type(shown) == "table" and shown.success == false then
    error(shown.error, 0)
  end
end

--- Asks the user for a text.
---@param label string
---@param default? string
---@return string? text nil if they cancel
function M.prompt(label, default)
  return (runs.await("editor.prompt", function(_, done)
    vim.schedule(function()
      vim.ui.input({ prompt = tostring(label) .. " ", default = default }, vim.schedule_wrap(done))
    end)
    return true
  end))
end

--- Lets the user choose.
---@param label string
---@param options table[] each with a `name`
---@return table? option nil if they cancel
function M.filterBox(label, options)
  local what = "editor.filterBox"
  if type(options) ~= "table" then
    error(("%s: the options must be a list, not a %s"):format(what, type(options)), 0)
  end
  return (runs.await(what, function(_, done)
    vim.schedule(function()
      vim.ui.select(options, {
        prompt = tostring(label),
        format_item = function(option)
          local name = type(option) == "table" and option.name or option
          local about = type(option) == "table" and option.description
          return about and ("%s  %s"):format(name, about) or tostring(name)
        end,
      }, vim.schedule_wrap(function(option)
        done(type(option) == "string" and { name = option } or option)
      end))
    end)
    return true
  end))
end

--- The buffer that the user looks at beside the conversation.
---@param chat integer
---@return integer?
local function beside(chat)
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local wins = api.nvim_tabpage_list_wins(0)
  table.insert(wins, 1, previous)
  for _, win in ipairs(wins) do
    if win ~= 0 and api.nvim_win_is_valid(win) and api.nvim_win_get_config(win).relative == "" then
      local buf = api.nvim_win_get_buf(win)
      if buf ~= chat and vim.bo[buf].buftype == "" and not require("flemma.tools.paths").is_chat(buf) then
        return buf
      end
    end
  end
end

--- Notes that a run has read what a buffer shows, as if it had read the page: it must not write over what it has not seen.
---@param what string the function that was called
---@param buf integer
local function note_read(what, buf)
  local encoding = vim.bo[buf].fileencoding
  local is_utf8 = encoding == "" or encoding == "utf-8"
  local content = require("flemma.review.content").read(buf, false)
  if api.nvim_buf_get_name(buf) ~= "" and is_utf8 and content ~= "" then
    -- Where it cannot wait, or the text is no UTF-8, nothing is noted.
    pcall(runs.request, what, {
      op = "saw",
      path = vim.fs.abspath(api.nvim_buf_get_name(buf)),
      content = content,
    })
  end
end

--- The text of the page that is open beside the conversation.
---@return string
function M.getText()
  local what = "editor.getText"
  local run = runs.current(what)
  local buf = beside(run.ctx.bufnr)
  if not buf then
    error(("%s: no page is open beside the conversation"):format(what), 0)
  elseif not require("flemma.tools.paths").readable(run.ctx, { buf })[buf] then
    error(("%s: the user's policy denies reading the page that is open"):format(what), 0)
  end
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  local text = table.concat(lines, "\n") .. (vim.bo[buf].endofline and "\n" or "")
  note_read(what, buf)
  return text
end

--- Shows a message.
---@param message string
---@param kind? "info"|"warning"|"error"
function M.flashNotification(message, kind)
  local levels = { error = vim.log.levels.ERROR, warning = vim.log.levels.WARN, warn = vim.log.levels.WARN }
  require("flemma.notify").say(levels[kind] or vim.log.levels.INFO, tostring(message))
end

return M
