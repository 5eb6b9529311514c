-- What measures edits of many lines, and sending. It is loaded behind `probe.lua`.
local uv, api = vim.uv, vim.api

local function now()
  return uv.hrtime() / 1e6
end

-- Reports when the loop has had nothing to do for a while.
local function report(channel, extra)
  local used = function()
    local cpu = uv.getrusage()
    return (cpu.utime.sec + cpu.stime.sec) * 1e3 + (cpu.utime.usec + cpu.stime.usec) / 1e3
  end
  local before = used()
  local timer = assert(uv.new_timer())
  timer:start(100, 100, vim.schedule_wrap(function()
    local cpu = used()
    -- The probe's own timer takes a little.
    if cpu - before < 8 and not timer:is_closing() then
      timer:close()
      vim.rpcnotify(channel, "measured", vim.tbl_extend("force", Probe.stop(), extra))
    end
    before = cpu
  end))
end

-- Does something to the text: how long it takes until it is on the screen, and for how long no key would be heard.
function Probe.edit(channel, edit)
  Probe.start()
  -- The timer that looks for stalls has to have run once.
  vim.defer_fn(function()
    local before = now()
    edit()
    vim.cmd.redraw()
    report(channel, { took = now() - before })
  end, 20)
end

-- Presses the key that sends: how long until the request is out, and for how long no key would be heard meanwhile.
function Probe.press_send(channel)
  api.nvim_create_autocmd("User", {
    pattern = "FlemmaRequestFinished",
    once = true,
    callback = function()
      report(channel, {})
    end,
  })
  Probe.start()
  vim.defer_fn(function()
    api.nvim_input("<C-]>")
  end, 20)
end
