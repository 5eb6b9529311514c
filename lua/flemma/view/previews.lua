--- Previews: below each status block that waits, what the call would do, and the first lines of what it would change in files.
---
--- They are virtual lines, which the library has cut to the width of the window. They are set again when a status block changes.
local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace("flemma.previews")
local hints = api.nvim_create_namespace("flemma.keys")

--- What the keys of a buffer are called that do something with a call, by action; set by `flemma.keymaps`.
---@type table<integer, table<string, string>>
M.keys = {}

--- The highlight group of a line of a diff, by its kind.
local groups = {
  hunk = "FlemmaDiffHunk",
  context = "FlemmaDiffContext",
  add = "FlemmaDiffAdd",
  delete = "FlemmaDiffDelete",
  more = "FlemmaDiffNote",
  note = "FlemmaDiffNote",
  warning = "FlemmaWaiting",
}

---@class flemma.Preview
---@field line integer from 0: the first line of the status block
---@field text string
---@field asks boolean whether the text is a question to the user
---@field keys string[][] what the user's keys do with the call: the action of each, and a word for it
---@field diff? { kind: string, text: string }[]
---@field files string[] the files that the call would write

--- The files that the calls of a conversation would write, and what watches them.
---@type table<integer, { files: string[], stop: fun() }>
local watched = {}

--- Has the calls of a conversation looked at again when one of these files changes.
---@param buf integer
---@param files string[]
local function watch(buf, files)
  local before = watched[buf]
  if vim.deep_equal(before and before.files or {}, files) then
    return
  end
  if before then
    before.stop()
    watched[buf] = nil
  end
  if #files > 0 then
    watched[buf] = { files = files, stop = require("flemma.review.watch").start(files) }
  end
end

--- How often each buffer was drawn.
---@type table<integer, integer>
local rounds = {}

--- Takes the previews of a buffer away.
---@param buf integer
function M.forget(buf)
  rounds[buf] = nil
  watch(buf, {})
  if api.nvim_buf_is_valid(buf) then
    api.nvim_buf_clear_namespace(buf, M.namespace, 0, -1)
    api.nvim_buf_clear_namespace(buf, hints, 0, -1)
  end
end

--- The keys that decide about a call, in a line.
---@param buf integer
---@param preview flemma.Preview
---@param width integer cells
---@return string line empty if it has none
local function keys_for(buf, preview, width)
  local line = ""
  for _, offer in ipairs(preview.keys) do
    local key = (M.keys[buf] or {})[offer[1]]
    local longer = key and ("%s  %s %s"):format(line, key, offer[2])
    if longer and api.nvim_strwidth(longer) <= width then
      line = longer
    end
  end
  return line
end

--- Draws the previews of some calls, and comes back for the others.
---@param buf integer
---@param first integer how many calls are drawn already
---@param round integer
---@param files string[] the files of the calls that are drawn already
local function draw_from(buf, first, round, files)
  if rounds[buf] ~= round or not api.nvim_buf_is_loaded(buf) then
    return
  end
  local tick, width = api.nvim_buf_get_changedtick(buf), require("flemma.view.activity").text_width(buf)
  ---@type flemma.Preview[], integer?
  local items, next_call = require("flemma.native").call("previews", buf, width, first)
  if api.nvim_buf_get_changedtick(buf) ~= tick then
    -- A tool's own preview is foreign code. It has changed the text, so the line numbers are no longer valid.
    return
  end
  for _, preview in ipairs(items or {}) do
    vim.list_extend(files, preview.files)
    -- A question is to be read first of all.
    local own = preview.asks and "FlemmaToolSummary" or "FlemmaToolPreview"
    local lines = preview.text ~= "" and { { { preview.text, own } } } or {}
    for _, line in ipairs(preview.diff or {}) do
      lines[#lines + 1] = { { line.text, line.kind == "call" and own or groups[line.kind] or "FlemmaDiffContext" } }
    end
    api.nvim_buf_set_extmark(buf, M.namespace, preview.line, 0, { virt_lines = lines })
    local keys = keys_for(buf, preview, width)
    if keys ~= "" then
      api.nvim_buf_set_extmark(buf, hints, preview.line, 0, { virt_lines = { { { keys, "FlemmaMeta" } } } })
    end
  end
  if not next_call then
    return watch(buf, files)
  end
  vim.schedule(function()
    draw_from(buf, next_call, round, files)
  end)
end

---@param buf integer
function M.draw(buf)
  if not api.nvim_buf_is_loaded(buf) or not require("flemma.buffer.target").is_attached(buf) then
    return M.forget(buf)
  end
  api.nvim_buf_clear_namespace(buf, M.namespace, 0, -1)
  api.nvim_buf_clear_namespace(buf, hints, 0, -1)
  rounds[buf] = (rounds[buf] or 0) + 1
  draw_from(buf, 0, rounds[buf], {})
end

return M
