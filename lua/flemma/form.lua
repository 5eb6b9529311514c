--- Forms: asks the user what a call of a tool asks them, field by field, with |vim.ui.select()| and |vim.ui.input()|.
---
--- The library knows what is asked and checks what is typed (`crates/tools/src/form.rs`). A prompt may answer at once or much later,
--- twice, or never. A form ends when it is answered, when a prompt is cancelled, or when the call was answered elsewhere. A
--- prompt is never closed from here: the user may be typing in it, and the rest of the keys would be commands. What they
--- answer too late is refused with the reason, and their text is kept.
local M = {}

local api = vim.api

local native = require("flemma.native").call

---@class flemma.FormField
---@field label string what is asked; empty if the question says it all
---@field choices? string[] the entries to choose from; nil for text
---@field other? integer the entry that asks for text
---@field default? string the text to start with
---@field required boolean

---@class flemma.Form
---@field tool string
---@field question string
---@field fields flemma.FormField[]

--- A form on the screen.
---@class flemma.OpenForm
---@field buf integer the conversation
---@field call string the call's id
---@field spec flemma.Form what was asked when it was opened
---@field given any[] for each field that was asked: the number of an entry, a text, or vim.NIL
---@field answer fun(result: any, done: fun(ok?: boolean, problem?: string)) passes the answer on
---@field typed table<integer, string> what was typed last, by field
---@field is_asking? boolean whether a prompt waits
---@field is_over? boolean
---@field is_replaced? boolean whether the user opened the form again

---@type table<string, flemma.OpenForm> by buffer and call
local open = {}

local function key_of(buf, call)
  return buf .. " " .. call
end

---@param form flemma.OpenForm
---@param level integer
---@param message string
local function say(form, level, message)
  require("flemma.notify").say(level, ("%s (%s): %s"):format(form.spec.tool, form.call, message))
end

--- What the call asks now; nil if it no longer waits for an answer.
---@param form flemma.OpenForm
---@return flemma.Form?
local function asked_now(form)
  return api.nvim_buf_is_loaded(form.buf) and native("form", form.buf, form.call) or nil
end

--- Ends a form. An answer that still comes from its prompt is refused.
---@param form flemma.OpenForm
local function finish(form)
  form.is_over = true
  local key = key_of(form.buf, form.call)
  if open[key] == form then
    open[key] = nil
  end
end

--- Why the call takes no answer of its form.
---@param form flemma.OpenForm
---@return string
local function why_ended(form)
  return require("flemma.tools.refused_answer").why(form.buf, form.call)
end

--- What the user has typed.
---@param form flemma.OpenForm
---@return string
local function typed_text(form)
  local texts = {}
  for at = 1, #form.spec.fields do
    if form.typed[at] and form.typed[at]:find("%S") then
      texts[#texts + 1] = form.typed[at]
    end
  end
  return table.concat(texts, "\n")
end

--- Ends a form whose answer is not taken, and keeps what the user has typed.
---@param form flemma.OpenForm
---@param level integer
---@param why? string how the call has ended by default
local function refuse(form, level, why)
  finish(form)
  require("flemma.tools.refused_answer").tell(level, form.spec.tool, form.call, why or why_ended(form), typed_text(form))
end

api.nvim_create_autocmd("User", {
  group = api.nvim_create_augroup("flemma.form", { clear = true }),
  pattern = "FlemmaToolFinished",
  desc = "Flemma: end the form of a call that has its result",
  callback = function(args)
    local data = args.data or {}
    local form = open[key_of(data.buf or 0, data.id or "")]
    if not form then
      return
    end
    finish(form)
    -- A prompt that uses the command line leaves no room for a message.
    if form.is_asking and not api.nvim_get_mode().mode:find("^[cr]") then
      local words = "%s; an answer in the open form is not sent any more"
      say(form, vim.log.levels.WARN, words:format(why_ended(form)))
    end
  end,
})

local ask

--- The answer is complete: passes it on, unless the question has changed.
---@param form flemma.OpenForm
---@param answer any
local function submit(form, answer)
  local spec = asked_now(form)
  if not spec then
    return refuse(form, vim.log.levels.WARN)
  elseif not vim.deep_equal(spec, form.spec) then
    return refuse(form, vim.log.levels.WARN, "the question has changed; open the form again")
  end
  finish(form)
  if answer == nil then
    answer = vim.NIL
  end
  local function done(ok, problem)
    if not ok and problem == "stale" then
      refuse(form, vim.log.levels.WARN)
    elseif not ok then
      refuse(form, vim.log.levels.ERROR, problem or "it is not known why")
    end
  end
  local ok, thrown = pcall(form.answer, answer, done)
  if not ok then
    done(nil, tostring(thrown):match("[^\n]*"))
  end
end

--- The user has done something with a field: goes on with the next one, or asks again and says why.
---@param form flemma.OpenForm
---@param at integer the field
---@param value any the number of an entry, a text, or vim.NIL
local function take(form, at, value)
  form.given[at] = value
  form.typed[at] = type(value) == "string" and value or nil
  if form.is_over or not asked_now(form) then
    return refuse(form, vim.log.levels.WARN)
  end
  local ok, answer, field = native("form", form.buf, form.call, form.given)
  if ok == nil then
    return refuse(form, vim.log.levels.WARN)
  elseif ok == false and field and field <= at then
    form.given[at] = nil
    ask(form, at, answer)
  elseif form.spec.fields[at + 1] then
    ask(form, at + 1)
  elseif ok == false then
    -- The fields do not go together.
    form.given = {}
    ask(form, 1, answer)
  else
    submit(form, answer)
  end
end

--- The text above a prompt.
---@param form flemma.OpenForm
---@param field flemma.FormField
---@param problem? string
---@return string
local function prompt_of(form, field, problem)
  local parts = { ("%s: %s"):format(form.spec.tool, form.spec.question) }
  if field.label ~= "" then
    parts[#parts + 1] = field.label .. (field.required and "" or " (optional)")
  end
  if problem then
    parts[#parts + 1] = ("[%s]"):format(problem:gsub("%c", " "))
  end
  return table.concat(parts, "  ")
end

--- Shows a prompt, and calls back once with what the user did; nil if they cancelled it.
---@param form flemma.OpenForm
---@param show fun(callback: function)
---@param on_answer fun(value: any)
local function prompt(form, show, on_answer)
  local is_answered = false
  form.is_asking = true
  local ok, problem = pcall(show, function(...)
    local given = (...)
    if form.is_replaced then
      -- What was typed into the prompt before is kept.
      if given and not is_answered then
        local why = "the form of this call was opened again"
        require("flemma.tools.refused_answer").tell(vim.log.levels.WARN, form.spec.tool, form.call, why, tostring(given))
      end
    elseif not is_answered then
      form.is_asking = false
      on_answer(...)
    end
    is_answered = true
  end)
  if not ok then
    finish(form)
    say(form, vim.log.levels.ERROR, ("the prompt failed: %s"):format(tostring(problem):match("[^\n]*")))
  end
end

--- The user has cancelled a prompt: what they have answered before is not sent, and what they have typed is kept.
---@param form flemma.OpenForm
local function leave(form)
  if next(form.given) then
    refuse(form, vim.log.levels.WARN, "you left its form, which begins anew when it is opened again")
  end
  finish(form)
end

--- Asks for a text.
---@param form flemma.OpenForm
---@param at integer the field
---@param problem? string what was wrong with the last answer
local function ask_text(form, at, problem)
  local field = form.spec.fields[at]
  prompt(form, function(callback)
    require("flemma.ask").input({
      prompt = prompt_of(form, field, problem) .. " ",
      default = form.typed[at] or field.default,
    }, callback)
  end, function(typed)
    if typed == nil then
      leave(form)
    else
      take(form, at, typed)
    end
  end)
end

--- Asks for a field.
---@param form flemma.OpenForm
---@param at integer the field
---@param problem? string what was wrong with the last answer
ask = function(form, at, problem)
  local field = form.spec.fields[at]
  if not field.choices then
    return ask_text(form, at, problem)
  end
  prompt(form, function(callback)
    require("flemma.ask").select(field.choices, { prompt = prompt_of(form, field, problem), kind = "flemma.form" }, callback)
  end, function(item, index)
    index = index or item and vim.fn.index(field.choices, item) + 1
    if not index or index < 1 then
      leave(form)
    elseif index == field.other and not form.is_over then
      ask_text(form, at)
    else
      take(form, at, index)
    end
  end)
end

--- Opens the form of a call that waits for the user's answer. The prompt of one that is open already has no effect any more.
---@param buf integer the conversation; 0 for the current buffer
---@param call string the call's id
---@param answer? fun(result: string, done: fun(ok?: boolean, problem?: string)) passes the answer on; resolves the call by default
function M.open(buf, call, answer)
  buf = buf == 0 and api.nvim_get_current_buf() or buf
  local key = key_of(buf, call)
  local before = open[key]
  if before then
    before.is_replaced = true
    finish(before)
  end
  local spec = native("form", buf, call)
  if not spec then
    require("flemma.notify").say(vim.log.levels.WARN, ("the call %s does not wait for an answer"):format(call))
    return
  end
  local form = {
    buf = buf,
    call = call,
    spec = spec,
    given = {},
    typed = {},
    answer = answer or function(result, done)
      native("resolve_call", buf, call, { answer_json = result }, "user", done)
    end,
  }
  open[key] = form
  ask(form, 1)
end

return M
