-- Loads a native library to see whether this Neovim can, and whether it has the version of the plugin: `nvim -l trial.lua LIBRARY`.
vim.opt.runtimepath:prepend(vim.fs.dirname(vim.fs.dirname(vim.fn.fnamemodify(arg[0], ":p"))))
local entry, why = package.loadlib(vim.fn.fnamemodify(arg[1], ":p"), "luaopen_flemma_native")
assert(entry, why)()
local version, wanted = package.loaded.flemma_native.version, require("flemma.native").version
-- An error has to come back, whoever threw it. A library with an unwinder of its own would end Neovim here.
assert(not pcall(package.loaded.flemma_native.init, {}), "the library takes what is no path")
assert(version == wanted, ("the library has version %s, and the plugin has %s"):format(version, wanted))
