-- `:Telescope flemma`. telescope.nvim looks for its extensions in this folder.
local function conversations(opts)
  require("flemma.integrations.telescope").open(opts)
end

return require("telescope").register_extension({
  exports = { flemma = conversations, conversations = conversations },
})
