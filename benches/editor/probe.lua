-- What measures inside the editor. It is loaded once, as a global, and answers in milliseconds.
local uv, api = vim.uv, vim.api

local PERIOD = 5
-- The time that a tenth of a second costs when there is nothing to do but these measurements.
local QUIET = 8
local watch = assert(uv.new_timer())
local channel, began, cpu_before, last, stall, screens

local function now()
  return uv.hrtime() / 1e6
end

-- Of the whole process, the threads of the library included.
local function cpu()
  local used = uv.getrusage()
  return (used.utime.sec + used.stime.sec) * 1e3 + (used.utime.usec + used.stime.usec) / 1e3
end

-- Counts the times that the screen is drawn.
api.nvim_set_decoration_provider(api.nvim_create_namespace("probe"), {
  on_start = function()
    screens = (screens or 0) + 1
    return false
  end,
})

local function look()
  local time = now()
  stall = math.max(stall, time - last - PERIOD)
  last = time
end

local function start()
  screens, stall = 0, 0
  cpu_before, began = cpu(), now()
  last = began
  watch:start(PERIOD, PERIOD, look)
end

local function stop()
  look()
  watch:stop()
  return { wall = last - began, cpu = cpu() - cpu_before, stall = stall, screens = screens }
end

-- Says that a measurement is over, when what it left for the loop to do is done.
local function report(extra)
  vim.schedule(function()
    vim.cmd.redraw()
    vim.rpcnotify(channel, "measured", vim.tbl_extend("force", stop(), extra or {}))
  end)
end

Probe = {}

function Probe.init(number)
  channel = number
end

Probe.start, Probe.stop = start, stop

function Probe.memory()
  collectgarbage("collect")
  return uv.resident_set_memory() / 2 ^ 20
end

-- Presses the key that sends; the reply's last byte ends it.
function Probe.send()
  api.nvim_create_autocmd("User", {
    pattern = "FlemmaRequestFinished",
    once = true,
    callback = function()
      report()
    end,
  })
  start()
  api.nvim_input("<C-]>")
end

-- The least that can be done: puts `pieces` at the end, one after the other, `count` in all. A slice at a time,
-- so that the screen follows.
function Probe.insert(pieces, count, slice)
  local split = vim.tbl_map(function(piece)
    return vim.split(piece, "\n", { plain = true })
  end, pieces)
  local row = api.nvim_buf_line_count(0) - 1
  local column = #api.nvim_buf_get_lines(0, row, row + 1, true)[1]
  local done = 0
  local function go_on()
    for _ = 1, slice do
      if done == count then
        return report()
      end
      local lines = split[done % #split + 1]
      api.nvim_buf_set_text(0, row, column, row, column, lines)
      if #lines == 1 then
        column = column + #lines[1]
      else
        row, column = row + #lines - 1, #lines[#lines]
      end
      done = done + 1
    end
    vim.defer_fn(go_on, 0)
  end
  start()
  go_on()
end

-- Opens a file: until it is on the screen, until `is_read` says that all of it is read, and until nothing
-- happens any more.
function Probe.open(path, is_read)
  start()
  vim.cmd.edit(path)
  vim.cmd.redraw()
  local screen = now() - began
  local read
  local timer = assert(uv.new_timer())
  local function rest()
    local before = cpu()
    timer:start(100, 100, vim.schedule_wrap(function()
      local used = cpu()
      if used - before < QUIET and not timer:is_closing() then
        timer:close()
        vim.rpcnotify(channel, "measured", vim.tbl_extend("force", stop(), { screen = screen, read = read }))
      end
      before = used
    end))
  end
  local function look_on()
    if not read and is_read() then
      read = now() - began
      rest()
    end
  end
  timer:start(2, 2, vim.schedule_wrap(look_on))
  look_on()
end

-- Whether the last message has its colours: then everything before it is parsed.
function Probe.is_parsed()
  local count = api.nvim_buf_line_count(0)
  return #(require("flemma.native").call("decorations", api.nvim_get_current_buf(), math.max(0, count - 30), count) or {}) > 0
end

-- The times, since the first, at which requests went out.
function Probe.requests()
  local times = {}
  api.nvim_create_autocmd("User", {
    pattern = "FlemmaRequestSending",
    callback = function()
      times[#times + 1] = now()
    end,
  })
  api.nvim_create_autocmd("User", {
    pattern = "FlemmaRequestFinished",
    callback = function()
      vim.schedule(function()
        if vim.bo.modifiable then
          report({ times = times })
        end
      end)
    end,
  })
  start()
  api.nvim_input("<C-]>")
end
