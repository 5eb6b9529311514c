--- Watches the files that calls would write: the library looks at them again when something may have happened to them.
---
--- The system reports changes in their folders. Some file systems report nothing, so the files are also looked at now and then. Both
--- happen away from the main thread.
local M = {}

local uv = vim.uv

--- How often the files are looked at, and how long a program may take to write them, in milliseconds.
local INTERVAL, PAUSE = 2000, 50

---@class flemma.Watch
---@field private handles uv.uv_handle_t[]
---@field private timer uv.uv_timer_t?
---@field private is_over? boolean
local Watch = {}
Watch.__index = Watch

--- Something may have happened to a file.
function Watch:note()
  if self.is_over or not self.timer or self.timer:is_active() then
    return
  end
  self.timer:start(
    PAUSE,
    0,
    vim.schedule_wrap(function()
      if not self.is_over then
        require("flemma.native").call("check_proposals")
      end
    end)
  )
end

--- Watches these files instead.
---@param paths string[]
function Watch:set(paths)
  self:clear()
  local folders = {}
  for _, path in ipairs(paths) do
    local poll = uv.new_fs_poll()
    if poll and poll:start(path, INTERVAL, function()
      self:note()
    end) then
      self.handles[#self.handles + 1] = poll
    end
    local folder = vim.fs.dirname(path)
    folders[folder] = folders[folder] or {}
    folders[folder][vim.fs.basename(path)] = true
  end
  for folder, names in pairs(folders) do
    local event = uv.new_fs_event()
    if event and event:start(folder, {}, function(_, name)
      if not name or names[name] then
        self:note()
      end
    end) then
      self.handles[#self.handles + 1] = event
    end
  end
  -- Something may have happened between the last look and now.
  if #paths > 0 then
    self:note()
  end
end

---@private
function Watch:clear()
  for _, handle in ipairs(self.handles) do
    if not handle:is_closing() then
      handle:close()
    end
  end
  self.handles = {}
end

function Watch:stop()
  if self.is_over then
    return
  end
  self.is_over = true
  self:clear()
  if self.timer and not self.timer:is_closing() then
    self.timer:close()
  end
end

--- Begins to watch.
---@param paths string[]
---@return flemma.Watch
function M.start(paths)
  local watch = setmetatable({ handles = {}, timer = uv.new_timer() }, Watch)
  watch:set(paths)
  return watch
end

--- The paths of the files of a review.
---@param files flemma.ReviewedFile[]
---@return string[]
function M.paths(files)
  return vim.tbl_map(function(file)
    return file.path
  end, files)
end

return M
