--- What happens around a review side by side: its windows are closed, its text is edited or written, an option is set.
local diffopt = require("flemma.review.diffopt")
local draft = require("flemma.review.draft")
local sides = require("flemma.review.sides")
local writing = require("flemma.review.writing")

local api = vim.api

local M = {}

--- Listens to what happens to a side of a file.
---@param view flemma.TabView
---@param buf integer
---@param path string
---@param side "old"|"new"
function M.listen(view, buf, path, side)
  ---@type string?
  local unloaded
  api.nvim_create_autocmd("BufReadCmd", {
    group = view.group,
    buffer = buf,
    desc = "Flemma: show the proposal again",
    callback = function()
      local file = view:file_of(path)
      if file then
        sides.fill(buf, file, side, unloaded)
        unloaded = nil
      end
    end,
  })
  if side == "new" then
    api.nvim_create_autocmd("BufUnload", {
      group = view.group,
      buffer = buf,
      desc = "Flemma: remember what `:edit!` takes away",
      callback = function()
        local file = view:file_of(path)
        unloaded = file and not view.is_closed and draft.text(view, file) or nil
      end,
    })
    api.nvim_create_autocmd({ "TextChanged", "InsertLeave" }, {
      group = view.group,
      buffer = buf,
      desc = "Flemma: note what diff mode does not show",
      callback = function()
        local file = view:file()
        if not view.is_closed and not view.is_busy and file and file.path == path then
          view:draw_marks(true)
        end
      end,
    })
    api.nvim_create_autocmd({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, {
      group = view.group,
      buffer = buf,
      desc = "Flemma: take the change as it is shown",
      callback = function(args)
        draft.write(view, buf, path, args)
      end,
    })
  end
  api.nvim_create_autocmd("BufFilePost", {
    group = view.group,
    buffer = buf,
    desc = "Flemma: keep the name of a side",
    callback = vim.schedule_wrap(function()
      if not view.is_closed then
        writing.rename(buf, view.names[buf])
      end
    end),
  })
end

--- Listens to what happens to the view.
---@param view flemma.TabView
function M.attach(view)
  api.nvim_create_autocmd({ "WinClosed", "BufWinLeave", "BufUnload", "TabClosed" }, {
    group = view.group,
    desc = "Flemma: end the review whose right side was closed",
    callback = function(args)
      local is_left = args.event == "WinClosed" and tonumber(args.match) == view.left
      -- `:tabclose` closes one window before it finds out that the other one has edits.
      local is_quit = is_left and api.nvim_get_current_win() == view.left and not writing.has_typed("tabclose")
      vim.schedule(function()
        view:settle(is_quit)
        if is_left and not view.is_closed then
          view:complete()
        end
      end)
    end,
  })
  -- Another autocommand of these events may fail, and then ours do not run.
  api.nvim_create_autocmd("SafeState", {
    group = view.group,
    desc = "Flemma: end the review whose right side was closed",
    callback = function()
      view:settle()
      if api.nvim_get_mode().mode == "n" then
        view:note_made()
      end
    end,
  })
  api.nvim_create_autocmd("WinLeave", {
    group = view.group,
    desc = "Flemma: show in the conversation what is there on the right",
    callback = function()
      if view:owns(api.nvim_get_current_buf()) then
        view:note_made()
      end
    end,
  })
  api.nvim_create_autocmd("OptionSet", {
    group = view.group,
    pattern = { "bomb", "endofline", "fileformat" },
    desc = "Flemma: note what these options change in what is written",
    callback = vim.schedule_wrap(function()
      if not view.is_closed and not view.is_busy and view:owns(api.nvim_get_current_buf()) then
        view:draw_marks(true)
      end
    end),
  })
  api.nvim_create_autocmd("TabEnter", {
    group = view.group,
    desc = "Flemma: show every difference in a review",
    callback = diffopt.update,
  })
  api.nvim_create_autocmd("WinResized", {
    group = view.group,
    desc = "Flemma: fit the keys into the window",
    callback = vim.schedule_wrap(function()
      view:draw()
    end),
  })
end

return M
