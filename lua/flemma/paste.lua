--- `:Flemma paste`: puts the image in the system's clipboard into a file beside the conversation, and a reference to it into the message.
local M = {}

--- The programs that print such an image, as PNG, in the order in which they are tried.
local PROGRAMS = {
  { "wl-paste", "--no-newline", "--type", "image/png" },
  { "xclip", "-selection", "clipboard", "-target", "image/png", "-out" },
  { "pngpaste", "-" },
}

---@param level "INFO"|"WARN"
---@param words string
local function say(level, words)
  require("flemma.notify").say(vim.log.levels[level], words)
end

--- A reference to a file, as a message has it.
---@param buf integer
---@param file string
---@return string
local function reference(buf, file)
  local below = vim.fs.relpath(require("flemma.conversations").base(buf), file)
  local path = below and "./" .. below or vim.fn.fnamemodify(file, ":~"):gsub("^/", "//")
  return "@" .. path:gsub("[^%w%-%._~/]", function(char)
    return ("%%%02X"):format(char:byte())
  end)
end

--- Asks one program after the other. Each writes the file itself, so that Neovim waits for no disk.
---@param buf integer
---@param file string
---@param programs string[][]
local function try(buf, file, programs)
  local program = table.remove(programs, 1)
  if not program then
    return say("INFO", "there is no image in the clipboard")
  end
  local command = vim.list_extend({ "sh", "-c", 'set -C && "$@" > "$0" && test -s "$0"', file }, program)
  local function ended(done)
    if done.code ~= 0 then
      vim.uv.fs_unlink(file, function()
        vim.schedule(function()
          try(buf, file, programs)
        end)
      end)
    elseif vim.api.nvim_get_current_buf() == buf and vim.bo[buf].modifiable then
      vim.api.nvim_put({ reference(buf, file) .. " " }, "c", true, true)
    else
      say("INFO", ("the image is in %s; `%s` shows it to the model"):format(file, reference(buf, file)))
    end
  end
  vim.system(command, { timeout = 10000 }, vim.schedule_wrap(ended))
end

--- Pastes the image.
function M.image()
  local buf = require("flemma.buffer.target").resolve()
  local name = buf and vim.api.nvim_buf_get_name(buf)
  local programs = vim.tbl_filter(function(program)
    return vim.fn.executable(program[1]) == 1
  end, PROGRAMS)
  if not buf then
    return
  elseif name == "" then
    return say("WARN", "write this conversation to a file first: the image is put beside it")
  elseif #programs == 0 then
    return say("WARN", "install wl-clipboard, xclip or pngpaste: no program here reads images from the clipboard")
  end
  try(buf, ("%s-%s.png"):format(vim.fn.fnamemodify(name, ":r"), os.date("%Y%m%d-%H%M%S")), programs)
end

return M
