-- A colour scheme as plugins have them: the colours of Catppuccin (Mocha and Latte) for the groups of its style guide. With
-- `vim.g.pastel_transparent`, the background is that of the terminal.

local dark = {
  base = "#1e1e2e", surface = "#313244", overlay = "#6c7086", text = "#cdd6f4", red = "#f38ba8", maroon = "#eba0ac",
  peach = "#fab387", yellow = "#f9e2af", green = "#a6e3a1", teal = "#94e2d5", sky = "#89dceb", blue = "#89b4fa",
  mauve = "#cba6f7", pink = "#f5c2e7",
}
local light = {
  base = "#eff1f5", surface = "#ccd0da", overlay = "#9ca0b0", text = "#4c4f69", red = "#d20f39", maroon = "#e64553",
  peach = "#fe640b", yellow = "#df8e1d", green = "#40a02b", teal = "#179299", sky = "#04a5e5", blue = "#1e66f5",
  mauve = "#8839ef", pink = "#ea76cb",
}

vim.cmd("highlight clear")
vim.g.colors_name = "pastel"
local colours = vim.o.background == "light" and light or dark
local groups = {
  Normal = "text", Comment = "overlay", String = "green", Constant = "peach", Identifier = "maroon", Function = "blue",
  Statement = "mauve", PreProc = "pink", Type = "yellow", Special = "pink", Directory = "blue", WarningMsg = "yellow",
  ErrorMsg = "red", MoreMsg = "blue", DiagnosticError = "red", DiagnosticWarn = "yellow", DiagnosticInfo = "sky",
  DiagnosticHint = "teal", DiagnosticOk = "green", Added = "green", Changed = "blue", Removed = "red",
}
for name, colour in pairs(groups) do
  vim.api.nvim_set_hl(0, name, { fg = colours[colour] })
end
vim.api.nvim_set_hl(0, "Normal", { fg = colours.text, bg = not vim.g.pastel_transparent and colours.base or nil })
vim.api.nvim_set_hl(0, "Folded", { fg = colours.blue, bg = colours.surface })
vim.api.nvim_set_hl(0, "CursorLine", { bg = colours.surface })
