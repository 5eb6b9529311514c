local channel = ...
local own, answers, asked = vim.call, { confirm = 0, inputlist = 0 }, 0
local questions = { confirm = 1, input = 1, inputdialog = 1, inputlist = 1, inputsecret = 1, getchar = 1, getcharstr = 1 }
local function cancel(name)
  asked = asked + 1
  vim.rpcnotify(channel, 'flemma', 'message', vim.log.levels.WARN, ('`%s()` asked for a key or for text, which nobody can give '
    .. 'it here. This was cancelled; your configuration or a tool has to do without'):format(name))
end
local function call(name, first, ...)
  local is_key = name == 'getchar' or name == 'getcharstr'
  if is_key and (first == 0 or first == 1 or own('getchar', 1) ~= 0) then
    return own(name, first, ...)
  end
  cancel(name)
  if not answers[name] or asked > 100 then
    error('Keyboard interrupt', 0)
  end
  return answers[name]
end
vim.call = function(name, ...)
  if not questions[name] then
    return own(name, ...)
  end
  return call(name, ...)
end
local own_function = vim.api.nvim_call_function
vim.api.nvim_call_function = function(name, arguments)
  if not questions[name] then
    return own_function(name, arguments)
  end
  return call(name, unpack(arguments))
end
vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = function()
  for name, at in pairs({ input = 2, select = 3 }) do
    vim.ui[name] = function(...)
      cancel('vim.ui.' .. name)
      select(at, ...)(nil)
    end
  end
end })
