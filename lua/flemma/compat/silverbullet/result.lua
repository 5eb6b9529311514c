--- What a handler returned, as a result of ours.
local M = {}

local notify = require("flemma.notify")
local value = require("flemma.compat.codecompanion.value")

--- How a text begins that says what went wrong.
local ERROR = "^%s*Error:"

--- The text of a result, with what the model is told besides it.
---@param run flemma.silverbullet.Run
---@param text string
---@return string
local function with_notes(run, text)
  if #run.notes == 0 then
    return text
  end
  return vim.trim(text .. "\n\n" .. table.concat(run.notes, "\n\n"))
end

--- The files that are attached, which are in the folder of notes.
---@param run flemma.silverbullet.Run
---@param paths any
---@return string[]?
---@return string? problem
local function attached(run, paths)
  paths = type(paths) == "string" and { paths } or paths
  if paths ~= nil and type(paths) ~= "table" then
    return nil, ("`attachPaths` must be a list of paths, not a %s"):format(type(paths))
  end
  local found = {}
  for _, path in ipairs(paths or {}) do
    if type(path) ~= "string" or path == "" then
      return nil, "`attachPaths` must be a list of paths"
    end
    local ok, file = pcall(run.request, run, "attachPaths", { op = "file", path = path })
    if ok then
      found[#found + 1] = require("flemma.tools.paths").show(run.ctx, file)
    else
      run.notes[#run.notes + 1] = value.thrown(file)
    end
  end
  return paths and found
end

--- The result of a handler that threw.
---@param run flemma.silverbullet.Run
---@param thrown string
---@return table
function M.failure(run, thrown)
  -- The line of the author's code, without the folder that it is in.
  thrown = thrown:gsub("^[^\n]*/([^/\n]+:%d+: )", "%1")
  local words = thrown:find(ERROR) and thrown or ("Error: " .. thrown)
  return { success = false, error = with_notes(run, words) }
end

--- What a handler's value says.
---@param returned any
---@return string? text
---@return boolean is_error
local function read(returned)
  if type(returned) == "string" then
    return returned, returned:find(ERROR) ~= nil
  elseif returned == nil then
    return nil, false
  end
  return value.text(returned), false
end

--- The result of a handler that returned this.
---@param run flemma.silverbullet.Run
---@param returned any
---@return table
function M.of(run, returned)
  local about = {}
  if type(returned) == "table" and not vim.islist(returned) then
    if returned.result ~= nil or returned.summary ~= nil or returned.attachPaths ~= nil then
      about, returned = returned, returned.result
      if returned == nil then
        returned = about.summary
      end
    end
  end
  local text, is_error = read(returned)
  if is_error then
    return { success = false, error = with_notes(run, text or "") }
  end
  local files, problem = attached(run, about.attachPaths)
  if problem then
    return M.failure(run, ("the tool `%s` returned a result that cannot be used: %s"):format(run.name, problem))
  elseif text == nil and not files then
    return M.failure(run, ("the tool `%s` returned nothing. (For its author: return a string.)"):format(run.name))
  end
  if type(about.summary) == "string" and about.result ~= nil then
    notify.say(vim.log.levels.INFO, ("%s: %s"):format(run.name, about.summary))
  end
  return { success = true, output = with_notes(run, text or ""), attachments = files }
end

return M
