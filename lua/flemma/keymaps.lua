--- The key mappings in the buffer of a conversation.
local M = {}

---@type table<string, { [1]: string, [2]: string, motion?: boolean }>
local actions = {
  send = { "send_or_execute", "send, or run what is approved" },
  cancel = { "cancel", "stop the reply and the tools" },
  tool_execute = { "execute_at_cursor", "run or resolve the tool call at the cursor" },
  next_message = { "next_message", "next message", motion = true },
  prev_message = { "prev_message", "previous message", motion = true },
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
---@param action string a function of `flemma.core`
---@param opts table for |vim.keymap.set()|
function M.map(mode, key, action, opts)
  if mode == "o" then
    opts.expr = true
    vim.keymap.set(mode, key, function()
      return require("flemma.motion").keys(action == "next_message")
    end, opts)
  else
    vim.keymap.set(mode, key, function()
      require("flemma.core")[action]()
    end, opts)
  end
end

---@param buf integer
---@param options table `keymaps` of the options
function M.apply(buf, options)
  set[buf] = {}
  if not options.enabled then
    return
  end
  for mode, keys in pairs({ n = options.normal, i = options.insert }) do
    for name, key in pairs(keys) do
      local action = actions[name]
      if action and key then
        for _, each in ipairs(action.motion and { mode, "x", "o" } or { mode }) do
          M.map(each, key, action[1], { buffer = buf, desc = "Flemma: " .. action[2] })
          table.insert(set[buf], { each, key })
        end
      end
    end
  end
end

return M
