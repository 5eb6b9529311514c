---@meta

--- What `require("flemma").setup()` takes. Everything may be left out. See `:help flemma-configuration`.
---@class flemma.Options
---@field provider? "rehearsal"|"anthropic"|"openai"|"openai_compatible"|"vertex" whom conversations talk to
---@field model? string the model, by the provider's own name; the provider's default when it is not set
---@field parameters? flemma.Parameters how models are asked
---@field presets? table<string, string|flemma.SwitchPreset> what `:Flemma switch` knows by names that begin with `$`
---@field tools? flemma.Tools tools and their approval
---@field keymaps? flemma.Keymaps the keys of a conversation's buffer
---@field highlights? table<flemma.Highlight, string|vim.api.keyset.highlight> a group to link to, or a definition
---@field notify? flemma.Notify messages on the screen
---@field pricing? table<string, flemma.Price> what models cost, by their names
---@field logging? flemma.Logging the log
---@field editing? flemma.Editing the buffer as a file

---@class flemma.SwitchPreset
---@field provider? "rehearsal"|"anthropic"|"openai"|"openai_compatible"|"vertex"
---@field model? string
---@field parameters? flemma.Parameters

---@class flemma.Parameters
---@field max_tokens? integer the most tokens that a reply may have
---@field temperature? number from 0 to 2
---@field timeout? number seconds that a provider may be silent
---@field connect_timeout? number seconds that a connection may take
---@field max_reply_bytes? integer the most bytes that a reply may bring
---@field thinking? false|integer|"minimal"|"low"|"medium"|"high"|"max" how much the model may think
---@field cache_retention? "none"|"short"|"long" for how long the provider keeps what it has read
---@field anthropic? flemma.Anthropic what holds for Anthropic alone
---@field openai? flemma.OpenAi what holds for OpenAI alone
---@field openai_compatible? flemma.OpenAiCompatible what holds for other servers of OpenAI's Chat Completions
---@field vertex? flemma.Vertex what holds for Vertex AI alone
---@field rehearsal? flemma.Rehearsal what holds for the embedded script alone

--- General parameters that a provider may have for itself; each beats the one in `parameters`.
---@class flemma.OwnParameters
---@field max_tokens? integer the most tokens that a reply may have
---@field temperature? number from 0 to 2
---@field timeout? number seconds that the provider may be silent
---@field connect_timeout? number seconds that a connection may take
---@field max_reply_bytes? integer the largest reply, in bytes
---@field thinking? false|integer|"minimal"|"low"|"medium"|"high"|"max" how much the model may think
---@field cache_retention? "none"|"short"|"long" for how long the provider keeps what it has read

---@class flemma.Anthropic: flemma.OwnParameters
---@field base_url? string scheme and host in place of the vendor's; `/v1/messages` is added to it
---@field thinking_budget? integer tokens from 1024 up, or 0 for no thinking
---@field headers? table<string, string> headers that are added to every request
---@field api_key_command? string|string[] what prints the key: a line for the shell, or a program and its arguments

---@class flemma.OpenAi: flemma.OwnParameters
---@field base_url? string the address in place of the vendor's, `/v1` at its end; `/responses` is added to it
---@field reasoning? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max" how hard the model thinks; beats `parameters.thinking`
---@field headers? table<string, string> headers that are added to every request
---@field api_key_command? string|string[] what prints the key: a line for the shell, or a program and its arguments

---@class flemma.OpenAiCompatible: flemma.OwnParameters
---@field base_url? string the server's address, `/v1` at its end; `/chat/completions` is added to it
---@field headers? table<string, string> headers that are added to every request
---@field api_key_command? string|string[] what prints the key: a line for the shell, or a program and its arguments

---@class flemma.Vertex: flemma.OwnParameters
---@field base_url? string scheme and host in place of the location's own; `/v1/projects/…` is added to it
---@field project_id? string the project that pays
---@field location? string `"global"`, a region, `"us"` or `"eu"`
---@field thinking_budget? integer tokens to think with; 0 for as few as the model can do with
---@field headers? table<string, string> headers that are added to every request

---@class flemma.Rehearsal: flemma.OwnParameters
---@field pace? number from 0 to 100: what the script's pauses are multiplied by

--- Any other key is the name of a tool, and its value that tool's own table.
---@class flemma.Tools
---@field require_approval? boolean whether a call that no policy decides waits for the user
---@field auto_approve? string[]|string|fun(tool_name: string, input: table, ctx: { bufnr: integer, tool_id: string }): boolean|"deny"|nil tools and `$presets` that run without asking, modules that decide, or a function that does
---@field presets? table<string, flemma.Preset> the user's presets; names begin with `$`
---@field write_outside? "ask"|"auto" what `$default` means for files that are no ordinary ones of the project
---@field default_timeout? number seconds that a tool may run
---@field show_spinner? boolean whether a spinner shows what goes on
---@field cursor_after_result? "result"|"stay"|"next" where the cursor goes when a result has landed
---@field max_concurrent? integer how many tools of a conversation run at the same time
---@field autopilot? flemma.Autopilot how far a conversation goes on by itself
---@field bash? flemma.Bash the table of the tool `bash`
---@field web_search? flemma.WebSearch the table of the tool `web_search`
---@field [string] table

---@class flemma.Preset
---@field approve? string[] tools that run without asking
---@field deny? string[] tools that never run

---@class flemma.Autopilot
---@field enabled? boolean whether a conversation goes on by itself after a reply
---@field max_turns? integer how many requests one key may lead to

---@class flemma.Bash
---@field shell? string the program that runs commands
---@field cwd? string where commands run
---@field timeout? number seconds that a command may run
---@field keep_env? string[] variables with a provider's key that commands inherit all the same

--- Limits of the searches that the provider makes.
---@class flemma.WebSearch
---@field max_uses? integer the most searches that one request may lead to
---@field allowed_domains? string[] the only domains that are searched
---@field blocked_domains? string[] domains that are not searched
---@field enabled? boolean whether the tool is offered to models

---@class flemma.Keymaps
---@field enabled? boolean whether any key is mapped
---@field normal? flemma.NormalKeys
---@field insert? flemma.InsertKeys

---@class flemma.NormalKeys
---@field send? string|false
---@field cancel? string|false
---@field tool_execute? string|false
---@field next_message? string|false
---@field prev_message? string|false

---@class flemma.InsertKeys
---@field send? string|false

---@alias flemma.Highlight
---| "role_system"
---| "role_user"
---| "role_assistant"
---| "thinking"
---| "tool_use"
---| "tool_result"
---| "tool_error"
---| "tool_status"
---| "attachment"
---| "reference"
---| "tool_preview"
---| "tool_progress"
---| "frontmatter"
---| "stray"
---| "aborted"
---| "spinner"
---| "usage"

---@class flemma.Notify
---@field level? flemma.Level messages below this level are not shown
---@field usage? boolean whether each reply is followed by a look at what it used
---@field usage_timeout? number seconds for which that is shown

--- US dollars for a million tokens.
---@class flemma.Price
---@field input number tokens that are read
---@field output number tokens that are written, those of thinking included
---@field cache_read? number tokens read from the cache; `input` when it is not set
---@field cache_write? number tokens written to the cache; `input` when it is not set

--- Tokens of one request or of several.
---@class flemma.Tokens
---@field input integer tokens read, without those of the cache
---@field output integer tokens written, those of thinking included
---@field reasoning integer tokens among `output` that were thinking, where the provider tells them apart
---@field cache_read integer tokens read from the cache
---@field cache_write integer tokens written to the cache

--- What one request has used.
---@class flemma.Usage: flemma.Tokens
---@field buf integer the conversation's buffer
---@field provider string the provider's name in the options
---@field model string the model, by the provider's own name
---@field cost? number US dollars; nil when the model has no known price
---@field complete boolean whether the reply is complete
---@field time integer when it ended, in seconds since 1970

--- What several requests add up to.
---@class flemma.Totals: flemma.Tokens
---@field requests integer how many they are
---@field cost number US dollars, of those with a known price
---@field unpriced integer how many have no known price

---@class flemma.Logging
---@field enabled? boolean whether a log is written
---@field level? flemma.Level entries below this level are not written
---@field path? string the log's file

---@alias flemma.Level "debug"|"info"|"warn"|"error"

---@class flemma.Editing
---@field auto_write? boolean whether a conversation is written whenever it is the user's again
