--- The key mappings in the buffer of a conversation, and the <Plug> mappings.
local M = {}

---@class flemma.Action
---@field [1] string a function of `flemma.core`, or a text object
---@field [2] string what it does
---@field kind? "motion"|"object"|"selection"
---@field yields? boolean whether a mapping of the user's for all buffers is left as it is

---@type table<string, flemma.Action>
local actions = {
  send = { "send_or_execute", "send, or run what is approved" },
  cancel = { "cancel", "stop the reply and the tools" },
  tool_execute = { "execute_at_cursor", "run or resolve the tool call at the cursor" },
  tool_review = { "review", "review the change of the tool call at the cursor" },
  ask = { "ask", "ask about the selection, or the line", kind = "selection" },
  new = { "new", "new conversation of the project" },
  open = { "open", "pick a conversation of the project" },
  toggle = { "toggle", "show or hide the conversation of the project" },
  queue = { "queue", "write a message for the end of the turn" },
  unqueue = { "unqueue", "take the last queued message back" },
  steer = { "steer", "send what is queued before the next request" },
  next_message = { "next_message", "next message", kind = "motion" },
  prev_message = { "prev_message", "previous message", kind = "motion" },
  next_waiting = { "next_waiting", "next call that waits", kind = "motion", yields = true },
  prev_waiting = { "prev_waiting", "previous call that waits", kind = "motion", yields = true },
  inner_message = { "inner_message", "message", kind = "object", yields = true },
  around_message = { "around_message", "message with its marker", kind = "object", yields = true },
  inner_tool = { "inner_tool", "content of a tool card", kind = "object", yields = true },
  around_tool = { "around_tool", "tool card", kind = "object", yields = true },
}

---@type table<integer, { [1]: string, [2]: string }[]> the mappings in a buffer
local set = {}

--- Removes the mappings.
---@param buf integer
function M.remove(buf)
  for _, map in ipairs(set[buf] or {}) do
    pcall(vim.keymap.del, map[1], map[2], { buffer = buf })
  end
  set[buf] = nil
end

--- Maps a key to an action. A key that moves the cursor is a motion after an operator.
---@param mode string
---@param key string
---@param action flemma.Action
---@param opts table for |vim.keymap.set()|
local function map(mode, key, action, opts)
  local name = action[1]
  if mode == "o" then
    opts.expr = true
    local module = action.kind == "object" and "flemma.objects" or "flemma.motion"
    vim.keymap.set(mode, key, function()
      return require(module).keys(name)
    end, opts)
  elseif action.kind == "object" then
    vim.keymap.set(mode, key, function()
      require("flemma.objects").select(name)
    end, opts)
  else
    vim.keymap.set(mode, key, function()
      require("flemma.core")[name]()
    end, opts)
  end
end

--- Whether the user has mapped a key.
---@param mode string
---@param key string
---@param action flemma.Action
---@return boolean
local function is_taken(mode, key, action)
  local found = vim.fn.maparg(key, mode, false, true)
  return next(found) ~= nil and (found.buffer == 1 or action.yields == true)
end

---@param buf integer
---@param options table `keymaps` of the options
function M.apply(buf, options)
  set[buf] = {}
  if not options.enabled then
    return
  end
  local modes = { normal = { "n" }, insert = { "i" }, objects = { "x", "o" } }
  vim.api.nvim_buf_call(buf, function()
    for kind, plain in pairs(modes) do
      for name, key in pairs(options[kind] or {}) do
        local action = actions[name]
        for _, mode in ipairs(action and key and (action.kind == "motion" and { "n", "x", "o" } or plain) or {}) do
          if not is_taken(mode, key, action) then
            map(mode, key, action, { buffer = buf, desc = "Flemma: " .. action[2] })
            table.insert(set[buf], { mode, key })
          end
        end
      end
    end
  end)
end

--- Makes the <Plug> mappings.
function M.plugs()
  for name, action in pairs(actions) do
    local modes = { "n", "i" }
    if action.kind == "motion" then
      modes = { "n", "i", "x", "o" }
    elseif action.kind == "object" then
      modes = { "x", "o" }
    elseif action.kind == "selection" then
      modes = { "n", "x" }
    end
    for _, mode in ipairs(modes) do
      map(mode, "<Plug>(flemma-" .. name:gsub("_", "-") .. ")", action, { desc = "Flemma: " .. action[2] })
    end
  end
  vim.keymap.set("n", "<Plug>(flemma-ask-operator)", function()
    return require("flemma.from_code").operator()
  end, { expr = true, desc = "Flemma: ask about what the motion covers" })
end

return M
