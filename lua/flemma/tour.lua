--- `:Flemma tour`: a conversation with a scripted model about a small project.
---
--- The files are copied to a new folder, so that the plugin's own files are not changed and the tour can be repeated.
--- Only this conversation uses the script, through its frontmatter.
local M = {}

local FRONTMATTER = '```json\n{ "provider": "rehearsal", "model": "tour" }\n```\n\n'

--- Copies the tour's files into a new folder, outside of Neovim's own folders, where every write would ask.
---@return string folder
local function prepare()
  local doc = require("flemma.install.helptags").folder
  local folder = assert(vim.uv.fs_mkdtemp(vim.fs.joinpath(vim.uv.os_tmpdir(), "flemma-tour-XXXXXX")))
  local paths = vim.fn.globpath(vim.fn.escape(doc, ","), "tour/*", true, true)
  for _, path in ipairs(vim.list_extend(paths, { doc .. "/tour.chat" })) do
    vim.fn.writefile(vim.fn.readfile(path, "b"), vim.fs.joinpath(folder, vim.fs.basename(path)), "b")
  end
  return folder
end

--- Opens the tour in a new tab page, with the tour's folder as the working directory.
function M.open()
  local notify = require("flemma.notify")
  local library, missing = require("flemma.native").load()
  if not library then
    return notify.say(vim.log.levels.ERROR, missing)
  end
  local ok, folder = pcall(prepare)
  if not ok then
    return notify.say(vim.log.levels.ERROR, ("the tour cannot be opened: %s"):format(folder))
  end
  vim.cmd.tabedit({ args = { vim.fn.fnameescape(vim.fs.joinpath(folder, "tour.chat")) }, mods = { silent = true } })
  vim.cmd.tcd({ args = { vim.fn.fnameescape(folder) }, mods = { silent = true } })
  -- The user has asked for these options. In a file that is opened, they would be a stranger's.
  vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, vim.split(FRONTMATTER, "\n"))
  vim.cmd.write({ mods = { silent = true } })
  vim.cmd("normal! G")
end

return M
