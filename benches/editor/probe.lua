-- The measurements inside the editor. This is loaded once, as a global, and reports milliseconds.
local uv, api = vim.uv, vim.api

local PERIOD = 5
-- The processor time of a tenth of a second in which only these measurements run.
local QUIET = 8
local watch = assert(uv.new_timer())
local channel, began, cpu_before, last, stall, busy_before, busiest, main_before, screens, marks, looks

local function now()
  return uv.hrtime() / 1e6
end

-- For the whole process, including the threads of the library.
local function cpu()
  local used = uv.getrusage()
  return (used.utime.sec + used.stime.sec) * 1e3 + (used.utime.usec + used.stime.usec) / 1e3
end

-- For the main thread alone.
local function busy()
  local used = uv.getrusage_thread()
  return (used.utime.sec + used.stime.sec) * 1e3 + (used.utime.usec + used.stime.usec) / 1e3
end

-- Counts how often the screen is drawn.
api.nvim_set_decoration_provider(api.nvim_create_namespace("probe"), {
  on_start = function()
    screens = (screens or 0) + 1
    return false
  end,
})

-- The usage so far. Waking up for the measurement is not counted in `wakes`.
local function used()
  return {
    wall = now() - began,
    cpu = cpu() - cpu_before,
    stall = stall,
    busy = busiest,
    main = busy() - main_before,
    screens = screens,
    wakes = uv.getrusage().nvcsw - looks,
    memory = uv.resident_set_memory() / 2 ^ 20,
  }
end

local function look()
  local time = now()
  looks = looks + 1
  stall = math.max(stall, time - last - PERIOD)
  last = time
  local used_now = busy()
  busiest = math.max(busiest, used_now - busy_before)
  busy_before = used_now
  if marks[1] and time - began >= marks[1].at then
    marks.passed[#marks.passed + 1] = used()
    table.remove(marks, 1)
  end
end

-- `at` lists the times, in milliseconds, at which the usage so far is recorded.
local function start(at)
  screens, stall, looks = 0, 0, 0
  marks = vim.tbl_map(function(time)
    return { at = time }
  end, at or {})
  marks.passed = {}
  cpu_before, began = cpu(), now()
  busy_before, busiest = busy(), 0
  main_before = busy_before
  last = began
  watch:start(PERIOD, PERIOD, look)
end

local function stop()
  look()
  watch:stop()
  return vim.tbl_extend("force", used(), { wall = last - began, marks = marks.passed })
end

-- Reports the end of a measurement when its remaining work in the event loop is done.
local function report(extra)
  vim.schedule(function()
    vim.cmd.redraw()
    vim.rpcnotify(channel, "measured", vim.tbl_extend("force", stop(), extra or {}))
  end)
end

-- Reports the end of a measurement when the event loop has been idle for a while.
local function report_at_rest(extra)
  local timer = assert(uv.new_timer())
  local before = cpu()
  timer:start(100, 100, vim.schedule_wrap(function()
    local used = cpu()
    if used - before < QUIET and not timer:is_closing() then
      timer:close()
      vim.rpcnotify(channel, "measured", vim.tbl_extend("force", stop(), extra or {}))
    end
    before = used
  end))
end

-- Calls `tell` when the reply is complete.
local function when_finished(tell)
  api.nvim_create_autocmd("User", {
    pattern = "FlemmaRequestFinished",
    once = true,
    callback = function()
      tell()
    end,
  })
end

-- Does something after the timer that detects stalls has run once.
local function when_watched(fn)
  vim.defer_fn(fn, 4 * PERIOD)
end

Probe = {}

function Probe.init(number)
  channel = number
end

Probe.start, Probe.stop, Probe.report = start, stop, report

function Probe.memory()
  collectgarbage("collect")
  return uv.resident_set_memory() / 2 ^ 20
end

-- Presses the key that sends, and measures until the last byte of the reply.
function Probe.send(at)
  when_finished(report)
  start(at)
  api.nvim_input("<C-]>")
end

-- Presses the key that sends, and measures the longest time without a response to keys until everything is done.
function Probe.send_to_rest()
  when_finished(report_at_rest)
  start()
  when_watched(function()
    api.nvim_input("<C-]>")
  end)
end

-- Presses keys, and measures the longest time without a response to others until nothing more is done.
function Probe.press(keys)
  start()
  when_watched(function()
    api.nvim_input(keys)
    report_at_rest()
  end)
end

-- Changes the text, and measures the time until it is drawn and the longest time without a response to keys.
function Probe.edit(edit)
  start()
  when_watched(function()
    local before = now()
    edit()
    vim.cmd.redraw()
    report_at_rest({ took = now() - before })
  end)
end

-- Opens these files in separate windows, sends them all, and waits until the last reply is complete.
function Probe.send_all(paths)
  vim.o.winminheight = 0
  vim.cmd.edit(paths[1])
  for index = 2, #paths do
    vim.cmd.split(paths[index])
  end
  vim.cmd.wincmd("=")
  local open = #paths
  api.nvim_create_autocmd("User", {
    pattern = "FlemmaRequestFinished",
    callback = function()
      open = open - 1
      if open == 0 then
        report()
      end
    end,
  })
  start()
  for _, win in ipairs(api.nvim_list_wins()) do
    api.nvim_set_current_win(win)
    vim.cmd("normal! G$")
    require("flemma.core").send_or_execute()
  end
end

-- Measures for a while without doing anything.
function Probe.watch(milliseconds)
  start()
  vim.defer_fn(report, milliseconds)
end

-- The minimum work for pieces that arrive one after the other: each is appended and drawn.
function Probe.trickle(pieces, count, period, at)
  local row = api.nvim_buf_line_count(0) - 1
  local column = #api.nvim_buf_get_lines(0, row, row + 1, true)[1]
  local split = vim.tbl_map(function(piece)
    return vim.split(piece, "\n", { plain = true })
  end, pieces)
  local done = 0
  local timer = assert(uv.new_timer())
  timer:start(0, period, vim.schedule_wrap(function()
    if done == count then
      if not timer:is_closing() then
        timer:close()
        report()
      end
      return
    end
    local lines = split[done % #split + 1]
    api.nvim_buf_set_text(0, row, column, row, column, lines)
    row, column = row + #lines - 1, #lines == 1 and column + #lines[1] or #lines[#lines]
    api.nvim_win_set_cursor(0, { row + 1, column })
    done = done + 1
  end))
  start(at)
end

-- The minimum work: appends `pieces` one after the other, `count` in total, in slices, so that the screen is updated.
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

-- Opens a file, and measures the time until it is on the screen, until `is_read` returns true, and until the editor is
-- idle.
function Probe.open(path, is_read)
  start()
  vim.cmd.edit(path)
  vim.cmd.redraw()
  local screen = now() - began
  local read
  local timer = assert(uv.new_timer())
  local function look_on()
    if not read and is_read() then
      read = now() - began
      timer:close()
      report_at_rest({ screen = screen, read = read })
    end
  end
  timer:start(2, 2, vim.schedule_wrap(look_on))
  look_on()
end

-- Whether the last message is coloured: everything before it has been parsed then.
function Probe.is_parsed()
  local count = api.nvim_buf_line_count(0)
  return #(require("flemma.native").call("decorations", api.nvim_get_current_buf(), math.max(0, count - 30), count) or {}) > 0
end

-- The times at which requests were sent, relative to the first.
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
