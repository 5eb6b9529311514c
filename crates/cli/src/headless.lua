local channel, path, options = ...
local function tell_errors()
  local is_next = false
  for line in vim.api.nvim_exec2('messages', { output = true }).output:gmatch('[^\n]+') do
    if is_next or line:find('^Error executing ') or line:find('^vim%.schedule callback: ') then
      vim.rpcnotify(channel, 'flemma', 'message', vim.log.levels.WARN, 'an error in the configuration of Neovim: ' .. line)
    end
    is_next = line:find('^Error .*:$')
  end
end
local function run()
  tell_errors()
  local ok, headless = pcall(require, 'flemma.command_line.headless')
  if not ok then
    pcall(vim.cmd.edit, { args = { path }, magic = { file = false, bar = false } })
    if vim.bo.filetype ~= 'chat' then
      pcall(function() vim.bo.filetype = 'chat' end)
    end
    ok, headless = pcall(require, 'flemma.command_line.headless')
  end
  if ok then
    headless.run(channel, path, options)
  else
    vim.rpcnotify(channel, 'flemma', 'refused', (tostring(headless):match('[^\n]*')))
  end
end
if vim.v.vim_did_enter == 1 then
  run()
else
  vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = vim.schedule_wrap(run) })
end
