--- The keys of a conversation's buffer.
local M = {}

local actions = {
  send = { "send_or_execute", "send, or run what is approved" },
  cancel = { "cancel", "stop the reply and the tools" },
  tool_execute = { "execute_at_cursor", "run or resolve the tool call at the cursor" },
  next_message = { "next_message", "next message" },
  prev_message = { "prev_message", "previous message" },
}

---@type table<integer, { [1]: string, [2]: string }[]> what was mapped in a buffer
local set = {}

--- Takes the keys away again.
---@param buf integer
function M.remove(buf)
  for _, map in ipairs(set[buf] or {}) do
    pcall(vim.keymap.del, map[1], map[2], { buffer = buf })
  end
  set[buf] = nil
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
        vim.keymap.set(mode, key, function()
          require("flemma.core")[action[1]]()
        end, { buffer = buf, desc = "Flemma: " .. action[2] })
        table.insert(set[buf], { mode, key })
      end
    end
  end
end

return M
