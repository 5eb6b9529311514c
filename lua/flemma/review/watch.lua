--- Watches the files that calls would write: the library looks at them again when the system reports that something has happened in
--- their folders. Where it reports nothing, as on some network drives, an approval finds out that a file has changed.
local M = {}

local uv = vim.uv

--- How long a program may take to write them, in milliseconds.
local PAUSE = 50

---@class flemma.Watch
---@field private handles uv.uv_fs_event_t[]
---@field private is_noted? boolean
local Watch = {}
Watch.__index = Watch

--- Something may have happened to a file.
---@private
function Watch:note()
  if self.is_noted then
    return
  end
  self.is_noted = true
  vim.defer_fn(function()
    self.is_noted = nil
    require("flemma.native").call("check_proposals")
  end, PAUSE)
end

function Watch:stop()
  for _, handle in ipairs(self.handles) do
    handle:close()
  end
  self.handles = {}
end

--- Begins to watch.
---@param paths string[] at least one
---@return flemma.Watch
function M.start(paths)
  local watch = setmetatable({ handles = {} }, Watch)
  local folders = {}
  for _, path in ipairs(paths) do
    local folder = vim.fs.dirname(path)
    folders[folder] = folders[folder] or {}
    folders[folder][vim.fs.basename(path)] = true
  end
  for folder, names in pairs(folders) do
    local event = uv.new_fs_event()
    local callback = vim.schedule_wrap(function(_, name)
      if not name or names[name] then
        watch:note()
      end
    end)
    if event and event:start(folder, {}, callback) then
      watch.handles[#watch.handles + 1] = event
    elseif event then
      event:close()
    end
  end
  -- Something may have happened between the last look and now.
  watch:note()
  return watch
end

return M
