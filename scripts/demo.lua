-- The configuration of `make demo`: the plugin from this folder, on the embedded provider's tour.

local root = vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2))))
vim.opt.runtimepath:prepend(root)

-- At its natural pace the tour is there to be watched; with nobody watching it need not be waited for.
local watched = not vim.list_contains(vim.v.argv, "--headless")
vim.o.showmode = watched
vim.o.linebreak = true
require("flemma").setup({
  provider = "rehearsal",
  model = "tour",
  parameters = { rehearsal = { pace = watched and 1 or 0 } },
})
