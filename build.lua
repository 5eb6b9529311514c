-- lazy.nvim runs this file after it has installed or updated the plugin, where a spec has no `build` of its own. It runs in a
-- coroutine, in which the library must not be loaded: it is only built here.
local root = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))
local build = dofile(vim.fs.joinpath(root, "lua", "flemma", "build.lua"))
build.wait(coroutine.running() and coroutine.yield or nil)
