--- `:checkhealth flemma`
local M = {}

function M.check()
  local health = vim.health
  local native = require("flemma.native")

  health.start("Flemma " .. native.version)
  if vim.fn.has("nvim-0.11") == 1 then
    health.ok("Neovim " .. tostring(vim.version()))
  else
    health.error("Neovim 0.11 or later is needed; this is " .. tostring(vim.version()))
  end

  local library, problem = native.load()
  if not library then
    return health.error(problem, { "Run `:Flemma build`" })
  end
  health.ok(("native library %s: %s"):format(library.version, native.path()))
  local folder = require("flemma.install.helptags").folder
  if vim.uv.fs_stat(folder .. "/tags") then
    health.ok("help tags: `:help flemma`")
  else
    local advice = { ("If the folder is writable, run `:helptags %s`."):format(folder) }
    health.warn(("there are no help tags in %s, and they could not be generated"):format(folder), advice)
  end

  local options = require("flemma.options").get()
  if not options then
    health.error("the options were not applied; `:messages` says why")
    return
  end
  health.start("Tools")
  local shell = options.tools.bash and options.tools.bash.shell or "bash"
  if vim.fn.executable(shell) == 1 then
    health.ok(("the tool `bash` uses %s"):format(vim.fn.exepath(shell)))
  elseif shell == "bash" and vim.fn.executable("sh") == 1 then
    health.warn(("bash is not installed: the tool `bash` uses %s"):format(vim.fn.exepath("sh")))
  else
    health.error(("the tool `bash` cannot find `%s`; set tools.bash.shell to an installed shell"):format(shell))
  end

  for name, about in pairs({ silverbullet = "about", codecompanion = "about_modules" }) do
    local module = package.loaded["flemma.compat." .. name]
    if module then
      health.info(module[about]())
    end
  end

  health.start("Editor")
  if require("flemma.view.markdown").available() then
    health.ok("tree-sitter parser for Markdown")
  else
    health.warn("no tree-sitter parser for Markdown: conversations are coloured by its syntax file instead")
  end
  local clipboard = vim.fn.has("clipboard") == 1 and vim.fn["provider#clipboard#Executable"]()
  health.info("clipboard: " .. (clipboard or "no program for it is installed, so the registers + and * stay in Neovim"))
  for _, item in ipairs(native.call("options", "health", { versions = native.versions() }) or {}) do
    health[item.level](item.message)
  end
end

return M
