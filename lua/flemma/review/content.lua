--- The content of a file as the lines of a buffer, and back, byte for byte.
local M = {}

local api = vim.api

M.BOM = "\239\187\191"

--- What two contents that are compared have in common, and their lines do not have.
---@class flemma.Form
---@field dos boolean every line break is CR LF
---@field bom boolean they begin with a byte order mark

--- Whether every line break is CR LF; nil if there is no line break.
---@param content string
---@return boolean?
local function is_dos(content)
  if not content:find("\n", 1, true) then
    return nil
  end
  local has_any = content:find("\r\n", 1, true) ~= nil
  return has_any and content:byte(1) ~= 10 and not content:find("[^\r]\n")
end

--- What two contents have in common. Where they differ in it, it stays in their lines, and is seen.
---@param old? string nil for no file
---@param new? string
---@return flemma.Form
function M.form(old, new)
  local dos, bom
  for _, content in pairs({ old = old, new = new }) do
    if content ~= "" then
      local has_bom = vim.startswith(content, M.BOM)
      local has_pairs = is_dos(content)
      bom = has_bom and bom ~= false
      if has_pairs ~= nil then
        dos = has_pairs and dos ~= false
      end
    end
  end
  return { dos = dos or false, bom = bom or false }
end

--- Fills a buffer. Its options have what its lines do not.
---@param buf integer
---@param content string
---@param form flemma.Form
function M.fill(buf, content, form)
  local has_bom = form.bom and vim.startswith(content, M.BOM)
  local text = has_bom and content:sub(#M.BOM + 1) or content
  local lines = vim.split(text, "\n", { plain = true })
  local has_end = #lines > 1 and lines[#lines] == ""
  if has_end then
    lines[#lines] = nil
  end
  if form.dos then
    for at = 1, has_end and #lines or #lines - 1 do
      lines[at] = lines[at]:sub(1, -2)
    end
  end
  local bo = vim.bo[buf]
  bo.fileformat = form.dos and "dos" or "unix"
  bo.bomb = has_bom
  bo.fixendofline = false
  -- An empty file has no end of line, but what is typed into it gets one.
  bo.endofline = has_end or text == ""
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
end

local breaks = { dos = "\r\n", mac = "\r", unix = "\n" }

--- What would be written of a buffer that was filled.
---@param buf integer
---@param is_line boolean whether a single empty line counts as a line
---@return string
function M.read(buf, is_line)
  local bo = vim.bo[buf]
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  local mark = bo.bomb and M.BOM or ""
  if #lines == 1 and lines[1] == "" and not is_line then
    return mark
  end
  local ending = breaks[bo.fileformat]
  return mark .. table.concat(lines, ending) .. (bo.endofline and ending or "")
end

--- Whether a content is one empty line and nothing else.
---@param content string
---@return boolean
function M.is_line(content)
  return content:gsub("^" .. M.BOM, ""):find("^\r?\n$") ~= nil
end

return M
