---@meta

--- The options of `require("flemma").setup()`. All of them are optional. See `:help flemma-configuration`.
---@class flemma.Options
---@field provider? "rehearsal"|"anthropic"|"openai"|"openai_compatible"|"vertex" the provider that conversations use
---@field model? string the model, by the name that the provider uses; the provider's default when it is not set
---@field agent? string the agent of all conversations: a name in `agents`
---@field system? false|string|string[] the system prompt of conversations that begin: texts, and `$coding`
---@field rules? boolean whether conversations of a project begin with rules for agents, such as `AGENTS.md`
---@field skills? boolean whether they begin with the names of skills
---@field agents? table<string, flemma.Agent> which files tools may use
---@field parameters? flemma.Parameters parameters of requests
---@field presets? table<string, string|flemma.SwitchPreset> presets for `:Flemma switch`; names begin with `$`
---@field tools? flemma.Tools tools and their approval
---@field keymaps? flemma.Keymaps the keys of a conversation's buffer
---@field looks? flemma.Looks how conversations are drawn
---@field highlights? table<flemma.Highlight, string|vim.api.keyset.highlight> a group to link to, or a definition
---@field notify? flemma.Notify messages on the screen
---@field pricing? table<string, flemma.Price> prices of models, by their names
---@field budget? flemma.Budget limits on what models cost
---@field logging? flemma.Logging the log
---@field editing? flemma.Editing the buffer as a file
---@field conversations? flemma.Conversations the conversations of projects

--- Limits in US dollars. See `:help flemma-budget`.
---@class flemma.Budget
---@field turn? number for what follows from one key press
---@field conversation? number for a conversation, since Neovim was started
---@field day? number for a day, in all Neovims

--- Which files the tools of a conversation may use. See `:help flemma-agents`.
---@class flemma.Agent
---@field allowed_read_paths? string[] what may be read; everything if it is not set
---@field allowed_write_paths? string[] what may be written, if it may be read too
---@field allowedReadPaths? string[] another name of `allowed_read_paths`
---@field allowedWritePaths? string[] another name of `allowed_write_paths`
---@field unchecked_tools? string[] tools that may run although they do not declare which files they use

---@class flemma.SwitchPreset
---@field provider? "rehearsal"|"anthropic"|"openai"|"openai_compatible"|"vertex"
---@field model? string
---@field parameters? flemma.Parameters

---@class flemma.Parameters
---@field max_tokens? integer the maximum number of tokens in a reply
---@field temperature? number from 0 to 2
---@field timeout? number seconds that a provider may send nothing
---@field connect_timeout? number seconds that connecting may take
---@field max_reply_bytes? integer the maximum size of a reply, in bytes
---@field thinking? false|integer|"minimal"|"low"|"medium"|"high"|"max" how much the model may think
---@field cache_retention? "none"|"short"|"long" how long the provider caches what it has read
---@field tool_protocol? "native"|"xml"|string[] how models call tools; a list has the models that use XML
---@field anthropic? flemma.Anthropic options for Anthropic only
---@field openai? flemma.OpenAi options for OpenAI only
---@field openai_compatible? flemma.OpenAiCompatible options for other servers with OpenAI's Chat Completions
---@field vertex? flemma.Vertex options for Vertex AI only
---@field rehearsal? flemma.Rehearsal options for the embedded script only

--- General parameters that can be set for a single provider. Each takes precedence over the one in `parameters`.
---@class flemma.OwnParameters
---@field max_tokens? integer the maximum number of tokens in a reply
---@field temperature? number from 0 to 2
---@field timeout? number seconds that the provider may send nothing
---@field connect_timeout? number seconds that connecting may take
---@field max_reply_bytes? integer the maximum size of a reply, in bytes
---@field thinking? false|integer|"minimal"|"low"|"medium"|"high"|"max" how much the model may think
---@field cache_retention? "none"|"short"|"long" how long the provider caches what it has read
---@field tool_protocol? "native"|"xml"|string[] how models call tools; a list has the models that use XML

---@class flemma.Anthropic: flemma.OwnParameters
---@field base_url? string scheme and host instead of the vendor's; `/v1/messages` is appended
---@field thinking_budget? integer at least 1024 tokens, or 0 to turn thinking off
---@field headers? table<string, string> headers that are added to every request
---@field api_key_command? string|string[] a command that prints the key: a shell command line, or a program and its arguments

---@class flemma.OpenAi: flemma.OwnParameters
---@field base_url? string the address instead of the vendor's, ending in `/v1`; `/responses` is appended
---@field reasoning? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" how much the model thinks; takes precedence over `parameters.thinking`
---@field headers? table<string, string> headers that are added to every request
---@field api_key_command? string|string[] a command that prints the key: a shell command line, or a program and its arguments

---@class flemma.OpenAiCompatible: flemma.OwnParameters
---@field base_url? string the server's address, ending in `/v1`; `/chat/completions` is appended
---@field headers? table<string, string> headers that are added to every request
---@field api_key_command? string|string[] a command that prints the key: a shell command line, or a program and its arguments
---@field think_tags? boolean whether `<think>` at the beginning of a reply is thinking
---@field dialect? flemma.Dialect what this server takes of the protocol

---@class flemma.Dialect
---@field limit? "max_tokens"|"max_completion_tokens" the field with the most tokens of a reply
---@field system_role? "system"|"developer"|"user" the role of the instructions
---@field call_ids? "any"|"plain"|"nine" the ids of calls: any, up to 40 letters, digits, `_` and `-`, or nine letters and digits
---@field user_first? boolean whether the conversation has to begin with the user
---@field user_last? boolean whether the conversation must not end with a reply
---@field reply_after_results? boolean whether a reply has to stand between results and what the user says next
---@field thinking_with_calls? boolean whether calls are only taken with thinking
---@field null_content? boolean whether content may be null where there are calls
---@field files? boolean whether images and PDFs are taken
---@field without? string[] fields of the request that are not sent

---@class flemma.Vertex: flemma.OwnParameters
---@field base_url? string scheme and host instead of the location's; `/v1/projects/…` is appended
---@field project_id? string the project that is billed
---@field location? string `"global"`, a region, `"us"` or `"eu"`
---@field thinking_budget? integer tokens for thinking; 0 for the minimum that the model supports
---@field headers? table<string, string> headers that are added to every request

---@class flemma.Rehearsal: flemma.OwnParameters
---@field pace? number from 0 to 100: a factor for the pauses in the script

--- Any other key is the name of a tool, and its value is a table of options for that tool.
---@class flemma.Tools
---@field require_approval? boolean whether a call that no policy decides needs the user's approval
---@field auto_approve? string[]|string|fun(tool_name: string, input: table, ctx: { bufnr: integer, tool_id: string }): boolean|"deny"|nil tools and `$presets` that run without asking, modules that decide, or a function that does
---@field presets? table<string, flemma.Preset> the user's presets; names begin with `$`
---@field write_outside? "ask"|"auto" whether `$default` also approves files other than ordinary files of the project
---@field default_timeout? number seconds that a tool may run
---@field show_spinner? boolean whether a spinner shows progress
---@field cursor_after_result? "result"|"stay"|"next" where the cursor moves when a result arrives
---@field max_concurrent? integer how many tools of a conversation can run at the same time
---@field autopilot? flemma.Autopilot how far a conversation continues automatically
---@field retention? flemma.Retention which results of tools stay in requests
---@field deadlines? flemma.Deadlines how long calls wait before they get an error result
---@field backups? flemma.Backups what is kept of the files that tools change
---@field review? flemma.Review how changes of files are shown before they are made
---@field bash? flemma.Bash options for the tool `bash`
---@field notes? flemma.Notes options for the tools for notes
---@field web_search? flemma.WebSearch options for the tool `web_search`
---@field ask_user? flemma.ToolSwitch options for the tool `ask_user`
---@field open_location? flemma.ToolSwitch options for the tool `open_location`
---@field pick_file? flemma.ToolSwitch options for the tool `pick_file`
---@field get_selection? flemma.ToolSwitch options for the tool `get_selection`
---@field get_diagnostics? flemma.ToolSwitch options for the tool `get_diagnostics`
---@field open_buffers? flemma.ToolSwitch options for the tool `open_buffers`
---@field [string] table

--- The lists that a file can set. See `:help flemma-opt-lists`.
---@class flemma.FileLists
---@field tools? string[] the tools that are offered; `$name` stands for the tools of a group
---@field auto_approve? string[]|fun(tool_name: string, input: table, ctx: { bufnr: integer, tool_id: string }): boolean|"deny"|nil tools, rules and `$presets` that run without asking, or a function that decides

---@class flemma.ToolSwitch
---@field enabled? boolean whether the tool is offered to models

---@class flemma.Notes
---@field enabled? boolean whether the tools for notes are offered to models
---@field root? string the folder of notes

---@class flemma.Preset
---@field approve? string[] tools that run without asking
---@field deny? string[] tools that never run

---@class flemma.Autopilot
---@field enabled? boolean whether a conversation continues automatically after a reply
---@field max_turns? integer the maximum number of requests after a single key

--- `mode` and `value` are set together.
---@class flemma.Retention
---@field mode? "age"|"count" whether `value` counts turns or results
---@field value? integer how many turns, or how many results of each tool, are kept at least
---@field never_evict? boolean whether all results are kept

--- Seconds, or `false` for no limit.
---@class flemma.Deadlines
---@field approval? number|false how long a call waits for approval
---@field elicitation? number|false how long a question waits for the user's answer
---@field client? number|false how long a call waits for the editor's user interface
---@field headless? number|false the same while no user interface is attached

--- How conversations are drawn. See `:help flemma-looks`.
---@class flemma.Looks
---@field enabled? boolean whether lines are drawn over markers and headers, and inputs and fences are hidden
---@field icons? "auto"|"nerd"|"ascii" the signs before calls

--- What files were before tools changed them.
---@class flemma.Backups
---@field enabled? boolean whether the old content of a file is kept when a tool changes it
---@field max_bytes? integer the maximum size of all contents together
---@field max_age? number|false seconds that a content is kept, or `false` for no limit

--- What the editor shows for a reference in a conversation. See `:help flemma-editor-reference`.
---@class flemma.EditorView
---@field problem? string why there is nothing; then nothing else is set
---@field name? string the path of the file, or the name of the buffer
---@field is_modified? boolean whether the buffer has changes that are not saved
---@field first? integer the number of the first line, from 1
---@field lines? string[] lines of the buffer
---@field total? integer the number of lines of the buffer or of the symbol
---@field symbol? string the name of the symbol
---@field items? flemma.EditorItem[] diagnostics, or entries of the quickfix list
---@field more? integer how many items there are beyond those

--- A place in a file, and what is said about it.
---@class flemma.EditorItem
---@field name string the path of the file, or the name of the buffer
---@field line integer from 1; 0 for none
---@field column integer from 1; 0 for none
---@field kind string
---@field text string

--- How changes of files are shown before they are made. See `:help flemma-review`.
---@class flemma.Review
---@field lines? integer how many lines of the diff are shown below a call that waits; 0 for none
---@field view? "tab"|"inline" where the whole change is shown

---@class flemma.Bash
---@field shell? string the program that runs commands
---@field cwd? string the directory in which commands run
---@field timeout? number seconds that a command may run
---@field retention? flemma.Retention which results of `bash` stay in requests
---@field keep_env? string[] variables with a provider's key that commands still inherit
---@field enabled? boolean whether the tool is offered to models

--- Limits for the provider's searches.
---@class flemma.WebSearch
---@field max_uses? integer the maximum number of searches per request
---@field allowed_domains? string[] the only domains that are searched
---@field blocked_domains? string[] domains that are not searched
---@field enabled? boolean whether the tool is offered to models

---@class flemma.Keymaps
---@field enabled? boolean whether keys are mapped
---@field queue? boolean whether the keys that begin an edit open the input window while a conversation is locked
---@field normal? flemma.NormalKeys
---@field insert? flemma.InsertKeys
---@field objects? flemma.ObjectKeys

---@class flemma.NormalKeys
---@field send? string|false
---@field cancel? string|false
---@field tool_execute? string|false
---@field tool_review? string|false
---@field tool_approve? string|false
---@field tool_approve_always? string|false
---@field tool_reject? string|false
---@field next_message? string|false
---@field prev_message? string|false
---@field next_waiting? string|false
---@field prev_waiting? string|false

---@class flemma.InsertKeys
---@field send? string|false

--- Text objects, in Visual mode and after an operator.
---@class flemma.ObjectKeys
---@field inner_message? string|false
---@field around_message? string|false
---@field inner_tool? string|false
---@field around_tool? string|false

---@alias flemma.Highlight
---| "role"
---| "line_system"
---| "line_user"
---| "line_assistant"
---| "meta"
---| "tool"
---| "tool_summary"
---| "tool_output"
---| "tool_waiting"
---| "tool_running"
---| "tool_failed"
---| "tool_rejected"
---| "role_system"
---| "role_user"
---| "role_assistant"
---| "thinking"
---| "tool_use"
---| "tool_result"
---| "tool_error"
---| "tool_done"
---| "tool_status"
---| "attachment"
---| "reference"
---| "tool_preview"
---| "tool_progress"
---| "queued"
---| "queue_note"
---| "diff_add"
---| "diff_delete"
---| "diff_context"
---| "diff_hunk"
---| "diff_note"
---| "review_add"
---| "review_delete"
---| "review_left"
---| "review_note"
---| "frontmatter"
---| "fold"
---| "fold_size"
---| "stray"
---| "aborted"
---| "spinner"

---@class flemma.Notify
---@field level? flemma.Level messages below this level are not shown
---@field stops? boolean whether a message says that a conversation which is out of sight has stopped, and why
---@field progress? boolean whether progress messages say what goes on, in Neovim 0.12

--- US dollars per million tokens.
---@class flemma.Price
---@field input number input tokens
---@field output number output tokens, including thinking
---@field cache_read? number tokens read from the cache; `input` when it is not set
---@field cache_write? number tokens written to the cache; `input` when it is not set

--- Tokens of one request or of several.
---@class flemma.Tokens
---@field input integer input tokens, not including the cache
---@field output integer output tokens, including thinking
---@field reasoning integer the thinking tokens in `output`, if the provider reports them
---@field cache_read integer tokens read from the cache
---@field cache_write integer tokens written to the cache

--- The usage of a request.
---@class flemma.Usage: flemma.Tokens
---@field buf integer the conversation's buffer
---@field provider string the provider's name in the options
---@field model string the model, by the name that the provider uses
---@field cost? number US dollars; nil when the model has no known price
---@field complete boolean whether the reply is complete
---@field time integer when it ended, in seconds since 1970

--- The totals of several requests.
---@class flemma.Totals: flemma.Tokens
---@field requests integer the number of requests
---@field cost number US dollars of the requests with a known price
---@field unpriced integer the number of requests without a known price

---@class flemma.Logging
---@field enabled? boolean whether a log is written
---@field level? flemma.Level entries below this level are not written
---@field path? string the path of the log file

---@alias flemma.Level "debug"|"info"|"warn"|"error"

---@class flemma.Editing
---@field auto_write? boolean whether a conversation is written when it is sent, when a tool starts, and at every pause; `true` by default
---@field foldlevel? integer|false which folds are closed at first: 0 all, 1 those in messages, 2 none; false for no folds; `1` by default
---@field symbols? "unicode"|"ascii" the symbols in the lines of closed folds; `"unicode"` by default

--- The conversations of projects. See `:help flemma-conversations`.
---@class flemma.Conversations
---@field folder? string the folder below a project's root that has its conversations; a folder of your own when it is not set
---@field markers? string[] the files and folders that mark the root of a project
---@field layout? flemma.Layout the window in which a conversation is shown
---@field width? number the width of the window: up to 1 a part of the screen, else columns
---@field height? number the height of the window: up to 1 a part of the screen, else lines

---@alias flemma.Layout "vertical"|"horizontal"|"tab"

--- A call that waits. See `:help flemma.tools.pending()`.
---@class flemma.PendingCall
---@field buf integer the buffer of its conversation
---@field file? string the file of its conversation
---@field id string
---@field tool string
---@field kind "approval"|"elicitation"|"client_exec" what it waits for
---@field executor "server"|"client"|"human"
---@field expires? number seconds since 1970; nil if it waits without a limit
---@field question? string what its status block asks, on one line
---@field input? table nil if it is not valid JSON
---@field line integer the line of its status block, from 0

--- Who let a call run.
---@class flemma.ResolvedBy
---@field role "policy"|"user"|"script"|"command-line" a rule, a key or a command, `resolve()` from Lua, the command line
---@field process integer the number of the process
---@field host string the name of the machine
---@field here boolean whether it was this editor

--- The call that a function of a definition is asked about.
---@class flemma.CallContext
---@field bufnr integer the buffer of the conversation
---@field call_id string the id of the call; empty if nobody has made it

---@class flemma.RejectionContext: flemma.CallContext
---@field reason? string the reason that the user gave

--- The result of a call, as `execute` returns it or passes it to its callback. Any other value is a result as well: see
--- `:help flemma-execute`.
---@class flemma.ToolResult
---@field success boolean
---@field output? any the text, or a table that becomes JSON
---@field error? string what went wrong
---@field attachments? (string|{ data: string })[] images and PDFs that are shown to the model with a success: paths, or bytes

--- The conversation that a tool may be offered to.
---@class flemma.OfferContext
---@field bufnr integer the buffer of the conversation
---@field named boolean whether the user asks for the tool by its name

--- Several tools with one name. See `:help flemma.tools.register_group()`.
---@class flemma.ToolGroup
---@field name? string in what `get_groups` returns
---@field tools string[] the names of the tools
---@field description? string what the group is for
---@field system_prompt? string what is added to the system prompt of a turn that names the group

--- A tool. See `:help flemma-definition`.
---@class flemma.Definition
---@field name? string 1 to 64 letters, digits, `_` and `-`; needed where it is not given beside the definition
---@field description string what the tool does, for the model
---@field input_schema table JSON Schema of an object
---@field execute? fun(input: table, ctx: flemma.ExecutionContext, callback: fun(result: flemma.ToolResult|any)): any required for the executor `"server"`
---@field async? boolean whether the tool answers through its callback
---@field strict? boolean whether the schema follows strict mode
---@field enabled? boolean|fun(ctx: flemma.OfferContext): boolean whether the tool is offered to models; `true` by default
---@field approval? "auto"|"requires_approval"|fun(input: table, ctx: flemma.CallContext): "auto"|"requires_approval"|nil only used if no list of the user names the tool
---@field timeout? number seconds until a call that may run is answered
---@field approval_timeout? number seconds that a call waits for approval
---@field streaming? boolean whether `ctx.progress` is shown
---@field format_preview? fun(input: table, max_length: integer, ctx: flemma.CallContext): string the text of the preview, without the tool's name
---@field format_rejection? fun(input: table, ctx: flemma.RejectionContext): string? the text of the result when the user rejects a call
---@field idempotent? boolean whether calling the tool twice does no harm
---@field read_path_param? string|string[] the parameters with paths that the tool reads
---@field write_path_param? string|string[] the parameters with paths that the tool writes
---@field path_kind? "file"|"page"|"page_folder" what these paths are; `"file"` by default
---@field system_prompt? string how the tool is described to models that call tools in XML
---@field executor? "server"|"human"|"client" who answers a call; `"server"` by default
---@field result_schema? table JSON Schema of the answer, for the executors `"human"` and `"client"`
---@field retention? flemma.Retention which results stay in requests

--- How tools that were written for CodeCompanion are registered. See `:help flemma-codecompanion`.
---@class flemma.codecompanion.Options
---@field shape? "a"|"b"|"c" how the functions of the definition are called, where it cannot be told
---@field offer? "always"|"named" `"named"`: the tool is offered only when the user's message names it

--- A tool that was written for SilverBullet. See `:help flemma-silverbullet`.
---@class flemma.silverbullet.Tool
---@field description string what the tool does, for the model
---@field parameters? table JSON Schema of an object
---@field handler fun(args: table): string|{ result?: any, summary?: string, attachPaths?: string[] }
---@field requiresApproval? boolean whether the user is asked before a call runs
---@field readOnly? boolean whether the tool changes nothing
---@field readPathParam? string|string[] the parameters with pages that the tool reads
---@field writePathParam? string|string[] the parameters with pages that the tool writes

--- An extension in CodeCompanion's configuration.
---@class flemma.codecompanion.ExtensionEntry: flemma.codecompanion.Options
---@field callback? string|table|fun(): table what is loaded in place of the module `codecompanion._extensions.<name>`
---@field enabled? boolean|fun(): boolean whether it is loaded
---@field opts? table the argument of its `setup`
