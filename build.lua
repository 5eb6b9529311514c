-- lazy.nvim runs this file after it has installed or updated the plugin, if the spec has no `build`. It runs in a coroutine,
-- in which the library must not be loaded, so it is only installed here. A callback for `PackChanged` of vim.pack can run it as
-- well: that is a coroutine, too, but one that takes no lines of progress and would show an error as a traceback.
local root = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))
local build = dofile(vim.fs.joinpath(root, "lua", "flemma", "install", "build.lua"))
local is_lazy = package.loaded.lazy ~= nil and coroutine.running() ~= nil
local ok, why = pcall(build.wait, is_lazy and coroutine.yield or nil)
if not ok and is_lazy then
  error(why, 0)
elseif not ok then
  vim.notify(why, vim.log.levels.ERROR)
end
