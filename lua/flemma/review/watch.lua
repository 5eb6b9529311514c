--- Watches the files that calls would write: the library looks at them again when the system reports that something has happened in
--- their folders. Where it reports nothing, as on some network drives, an approval finds out that a file has changed.
local M = {}

--- How long a program may take to write them, in milliseconds.
local PAUSE = 50

--- Begins to watch.
---@param paths string[] at least one
---@return fun() stop
function M.start(paths)
  local events, names, is_noted = {}, {}, false
  local function note()
    if not is_noted then
      is_noted = true
      vim.defer_fn(function()
        is_noted = false
        require("flemma.native").call("editor_event", "files_changed")
      end, PAUSE)
    end
  end
  for _, path in ipairs(paths) do
    local folder = vim.fs.dirname(path)
    names[path] = true
    if not events[folder] then
      events[folder] = assert(vim.uv.new_fs_event())
      local callback = vim.schedule_wrap(function(_, name)
        if not name or names[vim.fs.joinpath(folder, name)] then
          note()
        end
      end)
      events[folder]:start(folder, {}, callback)
    end
  end
  -- Something may have happened between the last look and now.
  note()
  return function()
    for _, event in pairs(events) do
      event:close()
    end
  end
end

return M
