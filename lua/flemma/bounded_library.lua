--- Functions for strings, tables and the time, with limits on their cost. It needs nothing but Lua itself: `flemma.bounded` is built on
--- it, and so is the Lua of models (`flemma.evaluation`), which runs without an editor.

if jit then
  -- JIT-compiled code never calls the hook, so nothing here is compiled.
  jit.off(true, true)
end

--- Creates the functions.
---@param match fun(text: string, pattern: string, from: integer, anchors: boolean?): ... the matcher: nil, or the positions and captures
---@param longest integer the longest string that a function creates, in bytes
---@return { string: table, table: table, os: table }
return function(match, longest)
  local M = {}

  --- The longest text of a number.
  local NUMBER = 512

  --- Whether `string.find("", "", 3)` finds nothing, as in Lua 5.2.
  local PAST_THE_END_IS_NOTHING = string.find("", "", 3) == nil

  ---@param name string
  ---@param size number
  local function measure(name, size)
    if size > longest then
      error(string.format("%s would create %d MB; the limit is %d MB", name, math.ceil(size / 1e6), longest / 1e6), 0)
    end
  end

  --- Converts numbers to strings, like Lua.
  local function text_of(value, name, place)
    if type(value) == "number" then
      return tostring(value)
    elseif type(value) ~= "string" then
      error(string.format("bad argument #%d to '%s' (string expected, got %s)", place, name, value == nil and "no value" or type(value)), 0)
    end
    return value
  end

  --- The functions for strings. While the code of a file runs, they are also the methods of strings.
  M.string = {
    byte = string.byte,
    char = string.char,
    len = string.len,
    lower = string.lower,
    upper = string.upper,
    reverse = string.reverse,
    sub = string.sub,
  }

  function M.string.rep(s, n, separator)
    s = text_of(s, "rep", 1)
    local size = #s + (separator ~= nil and #text_of(separator, "rep", 3) or 0)
    measure("string.rep", type(n) == "number" and size * n or 0)
    return string.rep(s, n, separator)
  end

  function M.string.format(format, ...)
    local size = #text_of(format, "format", 1)
    for i = 1, select("#", ...) do
      local value = select(i, ...)
      -- `%q` may write four characters for one.
      size = size + (type(value) == "string" and #value * 4 or NUMBER)
    end
    measure("string.format", size)
    return string.format(format, ...)
  end

  --- The start position of a search, from 1; nil if it is past the end and nothing can be found there.
  local function start_of(text, init)
    init = init or 1
    if type(init) ~= "number" then
      init = tonumber(init) or error("the start position must be a number", 0)
    end
    init = init < 0 and math.ceil(init) or math.floor(init)
    if init < 0 then
      init = math.max(#text + init + 1, 1)
    end
    if init > #text + 1 then
      return not PAST_THE_END_IS_NOTHING and #text + 1 or nil
    end
    return math.max(init, 1)
  end

  --- Returns what the matcher has found, or throws its error about the pattern.
  local function found(first, ...)
    if first == false then
      error((...), 0)
    end
    return first, ...
  end

  function M.string.find(text, pattern, init, plain)
    text, pattern = text_of(text, "find", 1), text_of(pattern, "find", 2)
    local from = start_of(text, init)
    if not from then
      return nil
    end
    -- A pattern without special characters is plain text.
    if plain or not string.find(pattern, "[%^%$%*%+%?%.%(%[%%%-]") then
      return found(match(text, pattern, from, nil))
    end
    return found(match(text, pattern, from, true))
  end

  --- The results of a match: its captures, or the whole match.
  local function results(text, first, last, ...)
    if not first then
      return nil
    elseif select("#", ...) == 0 then
      return string.sub(text, first, last)
    end
    return ...
  end

  function M.string.match(text, pattern, init)
    text, pattern = text_of(text, "match", 1), text_of(pattern, "match", 2)
    local from = start_of(text, init)
    if not from then
      return nil
    end
    return results(text, found(match(text, pattern, from, true)))
  end

  function M.string.gmatch(text, pattern)
    text, pattern = text_of(text, "gmatch", 1), text_of(pattern, "gmatch", 2)
    local from = 1
    local function step(first, last, ...)
      if not first then
        from = #text + 2
        return nil
      end
      -- An empty match is not found again.
      from = math.max(last, first) + 1
      return results(text, first, last, ...)
    end
    return function()
      if from > #text + 1 then
        return nil
      end
      return step(found(match(text, pattern, from, false)))
    end
  end

  --- The replacement of a match.
  local function replaced(replacement, whole, ...)
    local captures = select("#", ...) > 0 and { ... } or { whole }
    local kind = type(replacement)
    local value
    if kind == "function" then
      value = replacement(unpack(captures))
    elseif kind == "table" then
      value = replacement[captures[1]]
    else
      local parts, at = {}, 1
      replacement = tostring(replacement)
      while true do
        local percent = string.find(replacement, "%", at, true)
        parts[#parts + 1] = string.sub(replacement, at, (percent or 0) - 1)
        if not percent then
          return table.concat(parts)
        end
        local letter = string.sub(replacement, percent + 1, percent + 1)
        local digit = tonumber(letter)
        if digit == nil then
          parts[#parts + 1] = letter
        elseif digit == 0 then
          parts[#parts + 1] = whole
        else
          parts[#parts + 1] = captures[digit] or error("invalid capture index", 0)
        end
        at = percent + 2
      end
    end
    if value == nil or value == false then
      return whole
    elseif type(value) ~= "string" and type(value) ~= "number" then
      error(string.format("invalid replacement value (a %s)", type(value)), 0)
    end
    return tostring(value)
  end

  function M.string.gsub(text, pattern, replacement, most)
    text, pattern = text_of(text, "gsub", 1), text_of(pattern, "gsub", 2)
    local kind = type(replacement)
    if kind ~= "string" and kind ~= "number" and kind ~= "table" and kind ~= "function" then
      error(string.format("bad argument #3 to 'gsub' (string/function/table expected, got %s)", kind), 0)
    end
    local is_anchored = string.sub(pattern, 1, 1) == "^"
    local parts, size, count, at = {}, 0, 0, 1
    local function add(part)
      size = size + #part
      measure("string.gsub", size)
      parts[#parts + 1] = part
    end
    local function step(first, last, ...)
      if not first then
        return false
      end
      count = count + 1
      add(string.sub(text, at, first - 1))
      add(replaced(replacement, string.sub(text, first, last), ...))
      if last >= first then
        at = last + 1
      else
        add(string.sub(text, first, first))
        at = first + 1
      end
      return true
    end
    while (most == nil or count < most) and at <= #text + 1 do
      if not step(found(match(text, pattern, at, true))) or is_anchored then
        break
      end
    end
    if at <= #text then
      add(string.sub(text, at))
    end
    return table.concat(parts), count
  end

  M.table = {
    maxn = table.maxn,
    remove = table.remove,
  }

  function M.table.insert(list, ...)
    if type(list) == "table" and select("#", ...) == 2 then
      local place = ...
      -- Lua itself would fill all positions in between.
      if type(place) == "number" and (place < 1 or place > #list + 1) then
        error(string.format("bad argument #2 to 'insert' (position %s is not in the list)", tostring(place)), 0)
      end
    end
    return table.insert(list, ...)
  end

  function M.table.concat(list, separator, first, last)
    if type(list) == "table" then
      local size = 0
      local each = separator ~= nil and #text_of(separator, "concat", 2) or 0
      for i = first or 1, last or #list do
        local value = list[i]
        if type(value) ~= "string" and type(value) ~= "number" then
          break
        end
        size = size + each + (type(value) == "string" and #value or NUMBER / 16)
        measure("table.concat", size)
      end
    end
    return table.concat(list, separator, first, last)
  end

  --- Compares with a Lua function, so that the clock is checked between comparisons.
  function M.table.sort(list, is_before)
    return table.sort(list, is_before or function(a, b)
      return a < b
    end)
  end

  M.os = { clock = os.clock, difftime = os.difftime, time = os.time }

  function M.os.date(format, time)
    if type(format) == "string" and #format > 1000 then
      error("os.date: the format is longer than 1000 characters", 0)
    end
    return os.date(format, time)
  end

  return M
end
