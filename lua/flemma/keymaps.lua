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
  tool_approve = { "approve", "approve the tool call at the cursor" },
  tool_approve_always = { "approve_always", "approve the tool call at the cursor, and similar ones from now on" },
  tool_reject = { "reject_with_reason", "reject the tool call at the cursor with a reason" },
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

--- The modes of the <Plug> mappings by the kind of an action; the modes of the keys of an option.
local plug_modes = { motion = { "n", "i", "x", "o" }, object = { "x", "o" }, selection = { "n", "x" } }
local key_modes = { normal = { "n" }, insert = { "i" }, objects = { "x", "o" } }

---@type table<integer, { mode: string, key: string, name: string }[]> the mappings in a buffer
local set = {}

--- What the keys that are mapped in Normal mode in a buffer are called in messages, by action: `{ tool_execute = "Alt-Enter", … }`.
---@param buf integer
---@return table<string, string>
local function names(buf)
  local found = {}
  for _, map in ipairs(set[buf]) do
    found[map.name] = map.mode == "n" and map.key:gsub("^<C%-(.)>$", "Ctrl-%1"):gsub("^<M%-CR>$", "Alt-Enter") or found[map.name]
  end
  return found
end

--- Removes the mappings.
---@param buf integer
function M.remove(buf)
  for _, map in ipairs(set[buf] or {}) do
    pcall(vim.keymap.del, map.mode, map.key, { buffer = buf })
  end
  set[buf] = nil
  require("flemma.view.previews").keys[buf] = nil
end

--- Maps a key to an action. A key that moves the cursor is a motion after an operator.
---@param mode string
---@param key string
---@param action flemma.Action
---@param buf? integer
local function map(mode, key, action, buf)
  local name, kind = action[1], action.kind
  local function act()
    if mode == "o" then
      return require(kind == "object" and "flemma.edit.text_objects" or "flemma.edit.motion").keys(name)
    elseif kind == "object" then
      require("flemma.edit.text_objects").select(name)
    else
      require("flemma.core")[name]()
    end
  end
  vim.keymap.set(mode, key, act, { buffer = buf, expr = mode == "o", desc = "Flemma: " .. action[2] })
end

---@param buf integer
---@param options table `keymaps` of the options
function M.apply(buf, options)
  set[buf] = {}
  vim.api.nvim_buf_call(buf, function()
    for kind, plain in pairs(options.enabled and key_modes or {}) do
      for name, key in pairs(options[kind] or {}) do
        local action = actions[name]
        for _, mode in ipairs(action and key and (action.kind == "motion" and { "n", "x", "o" } or plain) or {}) do
          -- A mapping of the buffer's own stays, and for some keys any other.
          local found = vim.fn.maparg(key, mode, false, true)
          if not next(found) or found.buffer ~= 1 and not action.yields then
            map(mode, key, action, buf)
            table.insert(set[buf], { mode = mode, key = key, name = name })
          end
        end
      end
    end
  end)
  require("flemma.view.previews").keys[buf] = names(buf)
end

--- Makes the <Plug> mappings.
function M.plugs()
  for name, action in pairs(actions) do
    for _, mode in ipairs(plug_modes[action.kind] or { "n", "i" }) do
      map(mode, "<Plug>(flemma-" .. name:gsub("_", "-") .. ")", action)
    end
  end
  vim.keymap.set("n", "<Plug>(flemma-ask-operator)", function()
    vim.o.operatorfunc = "v:lua.require'flemma.conversations.from_code'.operate"
    return "g@"
  end, { expr = true, desc = "Flemma: ask about what the motion covers" })
end

return M
