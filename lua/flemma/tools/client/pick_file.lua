--- `pick_file`: lets the user pick a file. Every replacement of |vim.ui.select()| shows the list; Neovim's own one has no
--- filter, so that a long list is narrowed down first.
local tool_paths = require("flemma.tools.paths")

local api = vim.api

--- The maximum number of entries in Neovim's own list, which numbers them.
local MAX_NUMBERED = 60

--- Whether |vim.ui.select()| is Neovim's own.
---@return boolean
local function is_builtin()
  local source = debug.getinfo(vim.ui.select, "S").source
  return vim.fs.normalize(source:sub(2)) == vim.fs.joinpath(vim.fs.normalize(vim.env.VIMRUNTIME), "lua/vim/ui.lua")
end

--- Calls a function when the user is not typing: their keys would answer the prompt.
---@param run fun()
local function when_free(run)
  if vim.startswith(api.nvim_get_mode().mode, "n") then
    return run()
  end
  api.nvim_create_autocmd("ModeChanged", {
    pattern = "*:n*",
    desc = "Flemma: show the list of files when the user is no longer typing",
    once = true,
    callback = vim.schedule_wrap(function()
      when_free(run)
    end),
  })
end

--- Shows the list.
---@param paths string[]
---@param prompt string
---@param is_late fun(): boolean whether the answer has no effect any more
---@param on_choice fun(path: string?)
local function pick(paths, prompt, is_late, on_choice)
  local ask = require("flemma.ask")
  if not is_builtin() or #paths <= MAX_NUMBERED then
    return ask.select(paths, { prompt = prompt, kind = "flemma.pick_file" }, on_choice)
  end
  ask.input({ prompt = ("%s (%d files; a part of the name): "):format(prompt, #paths) }, function(part)
    if not part or is_late() then
      return on_choice(part)
    end
    local found = part == "" and paths or vim.fn.matchfuzzy(paths, part)
    local title = ("%s (%d of %d)"):format(prompt, math.min(#found, MAX_NUMBERED), #found)
    if #found == 0 then
      return pick(paths, ("nothing matches `%s`; %s"):format(part, prompt), is_late, on_choice)
    end
    ask.select(vim.list_slice(found, 1, MAX_NUMBERED), { prompt = title, kind = "flemma.pick_file" }, on_choice)
  end)
end

---@param input { root?: string, prompt?: string }
---@param ctx flemma.ExecutionContext
---@param callback fun(result: table)
---@return fun()? stop
return function(input, ctx, callback)
  local is_over = false
  local function finish(result)
    if not is_over then
      is_over = true
      callback(result)
    end
  end
  local asked = { buffer = ctx.bufnr, folder = input.root }
  local begun = require("flemma.native").call("list", "files_to_pick", asked, function(paths, more, denied, is_partial)
    if is_over then
      return
    elseif not paths then
      return finish(tool_paths.failure(more))
    end
    local note = tool_paths.left_out(denied, "path")
    if #paths == 0 then
      return finish(tool_paths.failure(tool_paths.notes("There is no file to pick.", note)))
    end
    local asks = input.prompt and vim.trim((input.prompt:gsub("%c", " "))) or ""
    local prompt = ("pick_file: %s"):format(asks ~= "" and asks or "pick a file")
    local missing = tool_paths.notes(
      note,
      more > 0 and ("%d more files are not listed"):format(more) or nil,
      is_partial and "the folder is too large to be listed completely" or nil
    )
    local function show()
      if is_over then
        return
      end
      local function is_late()
        return is_over
      end
      pick(paths, missing and ("%s [%s]"):format(prompt, missing) or prompt, is_late, function(path)
        if is_over then
          local refused = require("flemma.tools.refused_answer")
          return path and refused.tell(vim.log.levels.WARN, "pick_file", ctx.call_id, refused.why(ctx.bufnr, ctx.call_id), path)
        elseif not path then
          finish(tool_paths.failure("The user picked nothing."))
        elseif not vim.list_contains(paths, path) then
          finish(tool_paths.failure("The picker returned something that is not in the list."))
        else
          finish({ path = path, note = note })
        end
      end)
    end
    -- Neovim's own list waits for the answer, and no function of the library may be on the stack then.
    vim.schedule(function()
      when_free(show)
    end)
  end)
  if not begun then
    return finish(tool_paths.failure("The conversation was closed."))
  end
  return function()
    is_over = true
  end
end
