--- The tags of the help file, which plugin managers make only for what they have installed themselves.
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

--- Makes them where there are none, or the help is newer. Another Neovim does it, so that this one never waits for the
--- disk, unless it cannot be started. A folder that cannot be written to is left alone; `:checkhealth flemma` says so.
function M.ensure()
  vim.uv.fs_stat(vim.fs.joinpath(doc, "flemma.txt"), function(_, help)
    vim.uv.fs_stat(vim.fs.joinpath(doc, "tags"), function(_, tags)
      if not help or (tags and tags.mtime.sec >= help.mtime.sec) then
        return
      end
      vim.schedule(function()
        local command = "silent! helptags " .. vim.fn.fnameescape(doc)
        local arguments = { vim.v.progpath, "--clean", "--headless", "-es", "-c", command, "-c", "quit" }
        -- Where a loader has started Neovim, `v:progpath` names the loader, and what it starts here fails.
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
