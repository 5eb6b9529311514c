--- `:Flemma tour`: a conversation with a scripted model about a small project.
---
--- The files are copied to a new folder, so that the plugin's own files are not changed and the tour can be repeated.
--- Only this conversation uses the script, through its frontmatter.
local M = {}

local root =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))))

local FRONTMATTER = '```json\n{ "provider": "rehearsal", "model": "tour" }\n```\n\n'

--- The texts of the tour's files by file name.
---@return table<string, string>? files
---@return string? problem
local function read()
  local files = {}
  local paths = { vim.fs.joinpath(root, "doc", "tour.chat") }
  for name, kind in vim.fs.dir(vim.fs.joinpath(root, "doc", "tour")) do
    if kind == "file" then
      paths[#paths + 1] = vim.fs.joinpath(root, "doc", "tour", name)
    end
  end
  for _, path in ipairs(paths) do
    local file, problem = io.open(path, "rb")
    if not file then
      return nil, problem
    end
    files[vim.fs.basename(path)] = file:read("*a")
    file:close()
  end
  return files
end

--- Copies the tour's files into a new folder, outside of Neovim's own folders, where every write would ask.
---@param files table<string, string>
---@return string? folder
---@return string? problem
local function prepare(files)
  local temporary = vim.uv.os_tmpdir()
  local folder, why = vim.uv.fs_mkdtemp(vim.fs.joinpath(temporary, "flemma-tour-XXXXXX"))
  if not folder then
    return nil, why
  end
  for name, text in pairs(files) do
    local file, failed = io.open(vim.fs.joinpath(folder, name), "wb")
    if not file then
      return nil, failed
    end
    file:write(text)
    file:close()
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
  local files, problem = read()
  local folder
  if files then
    folder, problem = prepare(files)
  end
  if not files or not folder then
    return notify.say(vim.log.levels.ERROR, ("the tour cannot be opened: %s"):format(problem))
  end
  vim.cmd.tabedit({ args = { vim.fn.fnameescape(vim.fs.joinpath(folder, "tour.chat")) }, mods = { silent = true } })
  vim.cmd.tcd({ args = { vim.fn.fnameescape(folder) }, mods = { silent = true } })
  -- The user has asked for these options. In a file that is opened, they would be a stranger's.
  vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, vim.split(FRONTMATTER, "\n"))
  vim.cmd.write({ mods = { silent = true } })
  vim.cmd("normal! G")
end

return M
