--- The tags of the help file. Plugin managers only generate them for plugins that they have installed.
local M = {}

local root =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p")))))
local doc = vim.fs.joinpath(root, "doc")

--- Whether `:help flemma` finds its page.
---@return boolean
function M.are_there()
  return vim.uv.fs_stat(vim.fs.joinpath(doc, "tags")) ~= nil
end

--- The folder of the help file.
M.folder = doc

--- Generates the tags if they are missing or older than the help. Another Neovim does this, so that this one does not wait
--- for the disk, unless the other one cannot be started. If the folder is not writable, `:checkhealth flemma` says so.
function M.ensure()
  vim.uv.fs_stat(vim.fs.joinpath(doc, "flemma.txt"), function(_, help)
    vim.uv.fs_stat(vim.fs.joinpath(doc, "tags"), function(_, tags)
      if not help or (tags and tags.mtime.sec >= help.mtime.sec) then
        return
      end
      vim.schedule(function()
        local command = "silent! helptags " .. vim.fn.fnameescape(doc)
        local arguments = { vim.v.progpath, "--clean", "--headless", "-es", "-c", command, "-c", "quit" }
        -- If a loader has started Neovim, `v:progpath` is the loader, and starting it fails.
        local function finish(done)
          if done.code ~= 0 then
            pcall(vim.cmd, command)
          end
        end
        if not pcall(vim.system, arguments, { stdout = false, stderr = false }, vim.schedule_wrap(finish)) then
          finish({ code = 1 })
        end
      end)
    end)
  end)
end

return M
