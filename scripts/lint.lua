-- Reads every Lua file in the repository and reports those that are not valid Lua.
-- Run from the root: nvim --clean -l scripts/lint.lua

local broken = 0
local checked = 0
local paths = { "build.lua" }
for _, folder in ipairs({ "lua", "plugin", "ftplugin", "ftdetect", "scripts", "tests", "benches", "crates" }) do
  local is_lua = function(name) return name:sub(-4) == ".lua" end
  vim.list_extend(paths, vim.fs.find(is_lua, { path = folder, type = "file", limit = math.huge }))
end
for _, path in ipairs(paths) do
  local chunk, problem = loadfile(path)
  checked = checked + 1
  if not chunk then
    broken = broken + 1
    io.stderr:write(problem, "\n")
  end
end
io.stdout:write(("%d Lua files, %d broken\n"):format(checked, broken))
os.exit(broken == 0 and 0 or 1)
