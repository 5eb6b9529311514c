-- The configuration for `make demo`: the plugin from this folder, with the tour of the embedded provider.

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2))))
vim.opt.runtimepath:prepend(root)

-- The tour runs at its natural pace if a user is watching, and without pauses otherwise.
local watched = not vim.list_contains(vim.v.argv, "--headless")
vim.o.showmode = watched
vim.o.linebreak = true
require("flemma").setup({
  provider = "rehearsal",
  model = "tour",
  parameters = { rehearsal = { pace = watched and 1 or 0 } },
})
