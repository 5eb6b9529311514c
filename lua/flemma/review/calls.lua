--- Looking at what a call would write, and approving it.
local M = {}

---@class flemma.ReviewedFile
---@field path string
---@field name string its name in the call
---@field old? string what it has; nil if there is no such file, or with a note
---@field new? string what it would get; nil if it would be deleted, or with a note
---@field moved_to? string the name that it would get
---@field note? "binary"|"too large" why its contents are not here
---@field after? string which call above has to write it first; nil if it is shown as it is
---@field old_size? integer its bytes; nil if there is no such file
---@field new_size? integer the bytes that it would have; nil if it would be deleted
---@field hunks? integer[] where the contents differ, as in `flemma.Hunk`; nil with a note
---@field is_read_only boolean whether its permissions let nobody write it
---@field line_breaks? string what is said about a change of the line breaks of the whole file
---@field is_left boolean whether the user has left it out before
---@field draft? { text: string, base: string } what the user has made of it before, for an approval that did not count, and of which content

---@class flemma.ReviewedChange
---@field call_id string
---@field tool string
---@field revision string what an approval is for
---@field change integer which of the changes it is that the call makes one after the other
---@field files flemma.ReviewedFile[]

--- Finds out what a call that waits would write.
---@param buf integer
---@param call string the call's id
---@param callback fun(review?: flemma.ReviewedChange, problem?: string)
function M.get(buf, call, callback)
  require("flemma.native").call("review", buf, call, callback)
end

--- Approves a call.
---@param buf integer
---@param call string
---@param revision string the revision that the user has looked at
---@param contents (string|boolean)[] for each file its content, true (as proposed) or false (left as it is)
---@param callback fun(problem?: string)
function M.accept(buf, call, revision, contents, callback)
  require("flemma.native").call("dispatch", buf, "accept", { call = call, revision = revision, contents = contents }, callback)
end

return M
