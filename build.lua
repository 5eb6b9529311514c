-- lazy.nvim runs this file after it has installed or updated the plugin, if the spec has no `build`. It runs in a coroutine,
-- in which the library must not be loaded, so it is only installed here. A callback for `PackChanged` of vim.pack can run it as
-- well. That is a coroutine, too, but one that takes no lines of progress.
local root = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))
local build = dofile(vim.fs.joinpath(root, "lua", "flemma", "install", "build.lua"))
build.wait(package.loaded.lazy and coroutine.running() and coroutine.yield or nil)
