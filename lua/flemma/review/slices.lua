--- Work that is done a little at a time, so that keys are heard in between.
local M = {}

--- How long one slice may take, in nanoseconds.
local SLICE = 8e6

--- The pause between two slices, in milliseconds.
local PAUSE = 1

--- Does something for each number from 1 to `count`: what can be done in a moment now, and the rest later.
---@param count integer
---@param work fun(at: integer)
---@param goes_on fun(): boolean whether the rest is still wanted
function M.run(count, work, goes_on)
  local at = 1
  local function slice()
    local stop = vim.uv.hrtime() + SLICE
    while at <= count and vim.uv.hrtime() < stop do
      work(at)
      at = at + 1
    end
    if at <= count then
      vim.defer_fn(function()
        if goes_on() then
          slice()
        end
      end, PAUSE)
    end
  end
  slice()
end

return M
