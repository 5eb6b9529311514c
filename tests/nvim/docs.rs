//! The documentation and the plugin agree: everything documented exists, and everything that exists is documented.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use flemma_config::Config;
use flemma_tools::{Registry, builtin::NOTES_TOOLS, declare};
use serde_json::{Value, json};

use super::{
    chat::{Chat, Setup, call, decision_keys, prose},
    support::{Nvim, Options},
};

const OPTION: &str = "flemma-option-";
const TOOL: &str = "flemma-tool-";

/// A file of the repository.
pub(super) fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The help file.
pub(super) fn help() -> String {
    file("doc/flemma.txt")
}

/// The Markdown files in a folder of the repository and in those below it: the path of each, and its text.
fn markdown(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap().map(Result::unwrap) {
        let path = format!("{folder}/{}", entry.file_name().display());
        if entry.file_type().unwrap().is_dir() {
            found.extend(markdown(&path));
        } else if path.ends_with(".md") {
            found.push((path.clone(), file(&path)));
        }
    }
    found.sort();
    found
}

/// The pages for users whose code has no test of its own, each with its path.
fn pages() -> Vec<(String, String)> {
    let mut pages = markdown("doc/guide");
    assert_eq!(pages.len(), 11, "the guide and its index");
    for path in ["README.md", "doc/security.md", "doc/performance.md"] {
        pages.push((path.to_owned(), file(path)));
    }
    pages
}

/// The tags that begin with `prefix`, without it.
fn tags(help: &str, prefix: &str) -> BTreeSet<String> {
    let stars: Vec<&str> = help.lines().flat_map(|line| line.split('*').skip(1).step_by(2)).collect();
    let tags = stars.into_iter().filter(|tag| !tag.is_empty() && !tag.contains(char::is_whitespace));
    tags.filter_map(|tag| tag.strip_prefix(prefix)).map(str::to_owned).collect()
}

/// What stands between a tag and the next one of its kind, or the end of its chapter.
fn section<'a>(help: &'a str, prefix: &str, name: &str) -> &'a str {
    let tag = format!("*{prefix}{name}*");
    let rest = &help[help.find(&tag).unwrap_or_else(|| panic!("no {tag}")) + tag.len()..];
    let ends = [format!("*{prefix}"), "\n====".to_owned()];
    let end = ends.iter().filter_map(|end| rest.find(end.as_str())).min();
    &rest[..end.unwrap_or(rest.len())]
}

/// The names in a Lua list of strings.
fn names(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// A value as Lua writes it.
fn lua(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Array(list) => format!("{{ {} }}", list.iter().map(lua).collect::<Vec<_>>().join(", ")),
        Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

/// An editor with the plugin and no screen.
fn editor() -> Nvim {
    Nvim::start(&Options { screen: None, ..Options::default() })
}

#[test]
fn help_tags_are_generated_and_every_link_resolves() {
    let help = help();
    let mut nvim = Nvim::start(&Options { files: &[("doc/flemma.txt", &help)], screen: None, ..Options::default() });
    nvim.command("helptags doc");
    assert_eq!(nvim.messages(), "");
    let made = nvim.file("doc/tags").lines().count();
    assert!(made > 100, "{made} tags");
    // Text that is not code.
    let prose = help.lines().flat_map(|line| line.split('`').step_by(2));
    let links: BTreeSet<&str> = prose
        .flat_map(|text| text.split('|').skip(1).step_by(2))
        .filter(|link| !link.is_empty() && !link.contains(char::is_whitespace))
        .collect();
    let known = nvim.lua(
        "local known, missing = {}, {}
         local files = vim.api.nvim_get_runtime_file('doc/tags', true)
         files[#files + 1] = 'doc/tags'
         for _, file in ipairs(files) do
           for line in io.lines(file) do known[line:match('^[^\\t]+')] = true end
         end
         for _, link in ipairs((...)) do
           if not known[link] then missing[#missing + 1] = link end
         end
         return missing",
        &[json!(links)],
    );
    // An empty Lua table may be a list or a map.
    assert_eq!(names(&known), BTreeSet::new());
    assert!(links.len() > 20, "{links:?}");
    let columns = |line: &str| line.chars().fold(0, |at, c| if c == '\t' { (at / 8 + 1) * 8 } else { at + 1 });
    let wide: Vec<_> = help.lines().filter(|line| columns(line) > 78).collect();
    assert_eq!(wide, [""; 0], "lines wider than 78 columns");
}

#[test]
fn the_documented_options_and_defaults_are_the_real_ones() {
    let help = help();
    let documented = tags(&help, OPTION);
    let paths = Config::paths();
    assert_eq!(documented, paths.iter().cloned().collect());
    let defaults = serde_json::to_value(Config::default()).unwrap();
    for path in &paths {
        let section = section(&help, OPTION, path);
        let pointer = format!("/{}", path.replace('.', "/"));
        let is_table = paths.iter().any(|other| other.starts_with(&format!("{path}.")));
        match defaults.pointer(&pointer) {
            _ if is_table => {}
            Some(default) if !default.is_null() => {
                let sentence = format!("Default: `{}`", lua(default));
                assert!(section.contains(&sentence), "{path} has no `{sentence}` in\n{section}");
            }
            _ => assert!(section.contains("Default: "), "{path} has no default in\n{section}"),
        }
    }
}

#[test]
fn every_option_is_annotated_for_the_language_server() {
    let types = file("lua/flemma/types.lua");
    for path in Config::paths() {
        let name = path.rsplit('.').next().unwrap();
        assert!(types.contains(&format!("---@field {name}? ")), "{path} is not in types.lua");
    }
    let options: BTreeSet<String> = highlights(&help()).into_iter().map(|(_, option, _)| option).collect();
    let alias = types.split("---@alias flemma.Highlight\n").nth(1).unwrap();
    let annotated = alias.lines().map_while(|line| line.strip_prefix("---| "));
    assert_eq!(annotated.map(|name| name.trim_matches('"').to_owned()).collect::<BTreeSet<_>>(), options);
}

#[test]
fn the_documented_tools_and_parameters_are_the_real_ones() {
    let help = help();
    let registry = Registry::with_builtins();
    let tools: BTreeSet<String> = registry.all().map(|tool| tool.name.clone()).collect();
    // Two chapters of the format have such names as well.
    let mut documented = tags(&help, TOOL);
    documented.retain(|name| name != "use" && name != "result");
    assert_eq!(documented, tools);
    for tool in registry.all() {
        let section = section(&help, TOOL, &tool.name);
        for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
            let nullable = property["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
            let row = format!("\n\t`{name}`{}\t", if nullable { "?" } else { "" });
            assert!(name == "label" || section.contains(&row), "{} has no {row:?} in\n{section}", tool.name);
        }
    }
}

/// A schema without its descriptions.
fn undescribed(schema: &Value) -> Value {
    match schema {
        Value::Object(entries) => {
            let entries = entries.iter().filter(|(key, value)| *key != "description" || !value.is_string());
            entries.map(|(key, value)| (key.clone(), undescribed(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn the_documented_schemas_of_notes_are_the_real_ones() {
    let (help, registry) = (help(), Registry::with_builtins());
    for tool in NOTES_TOOLS {
        let section = section(&help, "flemma-schema-", tool);
        let json = section.split("\n>json\n").nth(1).and_then(|rest| rest.split("\n<").next()).unwrap();
        let documented: Value = serde_json::from_str(json).unwrap();
        assert_eq!(documented, undescribed(&registry.get(tool).unwrap().input_schema), "{tool}");
    }
}

#[test]
fn every_command_is_documented_and_nothing_else_is() {
    let commands = editor().lua("return vim.fn.getcompletion('Flemma ', 'cmdline')", &[]);
    assert_eq!(tags(&help(), ":Flemma-"), names(&commands));
}

#[test]
fn every_plug_map_is_documented_and_nothing_else_is() {
    let mut nvim = editor();
    for mode in ["n", "i", "x", "o"] {
        let maps = nvim.lua(
            "local found = {}
             for _, map in ipairs(vim.api.nvim_get_keymap((...))) do
               found[#found + 1] = map.lhs:match('^<Plug>%((flemma%-.*)%)$')
             end
             return found",
            &[mode.into()],
        );
        let documented: BTreeSet<String> =
            tags(&help(), "<Plug>(").iter().map(|tag| tag.trim_end_matches(')').to_owned()).collect();
        let is_for = |name: &String| {
            let is_object = name.starts_with("flemma-inner-") || name.starts_with("flemma-around-");
            let is_motion = name.starts_with("flemma-next-") || name.starts_with("flemma-prev-");
            match name.as_str() {
                "flemma-ask" => matches!(mode, "n" | "x"),
                "flemma-ask-operator" => mode == "n",
                _ if matches!(mode, "n" | "i") => !is_object,
                _ => is_object || is_motion,
            }
        };
        assert_eq!(documented.into_iter().filter(is_for).collect::<BTreeSet<_>>(), names(&maps), "in mode {mode}");
    }
}

/// The rows of the table of highlights: group, option, default link.
fn highlights(help: &str) -> Vec<(String, String, String)> {
    let rows = help.lines().filter_map(|line| line.strip_prefix("*hl-"));
    rows.map(|row| {
        let (group, rest) = row.split_once('*').unwrap();
        let mut cells = rest.split('`').skip(1).step_by(2).map(str::to_owned);
        (group.to_owned(), cells.next().unwrap(), cells.next().unwrap())
    })
    .collect()
}

#[test]
fn the_documented_highlights_are_the_real_ones() {
    let mut nvim = editor();
    nvim.lua("require('flemma').setup({})", &[]);
    let documented = highlights(&help());
    let groups = nvim.lua("return vim.fn.getcompletion('Flemma', 'highlight')", &[]);
    let mut groups = names(&groups);
    // The names of earlier versions are described below the table.
    groups.retain(|group| !group.starts_with("FlemmaRole") || group == "FlemmaRole");
    assert_eq!(documented.iter().map(|(group, ..)| group.clone()).collect::<BTreeSet<_>>(), groups);
    for (group, option, link) in documented {
        let look = nvim.lua("return vim.api.nvim_get_hl(0, { name = (...) }).link", &[json!(group)]);
        match link.as_str() {
            "computed" => assert_eq!(look, Value::Null, "{group}"),
            "chosen" => assert!(look.is_string(), "{group}: {look}"),
            _ => assert_eq!(look, json!(link), "{group}"),
        }
        let look = nvim.lua(
            "local group, option = ...
             require('flemma').setup({ highlights = { [option] = 'Underlined' } })
             return vim.api.nvim_get_hl(0, { name = group }).link",
            &[json!(group), json!(option)],
        );
        assert_eq!(look, "Underlined", "{option} is not the option of {group}");
    }
}

#[test]
fn every_function_is_documented_and_nothing_else_is() {
    let mut nvim = editor();
    let help = help();
    for module in [
        "flemma",
        "flemma.core",
        "flemma.session",
        "flemma.statusline",
        "flemma.tools",
        "flemma.tools.truncate",
        "flemma.tools.approval",
        "flemma.codeblock.parsers",
    ] {
        let prefix = format!("{module}.");
        let functions = nvim.lua(
            "local found = {}
             for name, value in pairs(require((...))) do
               if type(value) == 'function' then found[#found + 1] = name end
             end
             return found",
            &[module.into()],
        );
        let documented: BTreeSet<String> = tags(&help, &prefix)
            .iter()
            .filter_map(|tag| tag.strip_suffix("()"))
            .filter(|name| !name.contains('.'))
            .map(str::to_owned)
            .collect();
        assert_eq!(documented, names(&functions), "{module}");
    }
}

/// The fields of a class that is annotated for the language server.
pub(super) fn annotated(source: &str, class: &str) -> BTreeSet<String> {
    let class = source.split(&format!("---@class {class}\n")).nth(1).unwrap_or_else(|| panic!("no class {class}"));
    let fields = class.lines().map_while(|line| line.strip_prefix("---@field "));
    fields.map(|line| line.split([' ', '?']).next().unwrap().to_owned()).collect()
}

#[test]
fn the_documented_fields_of_tools_are_the_real_ones() {
    let help = help();
    // The first words of a table's rows.
    let rows = |section: &str| -> BTreeSet<String> {
        let rows = section.lines().filter_map(|line| line.strip_prefix("\t`"));
        rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
    };
    let definition = section(&help, "flemma-", "definition").split("*flemma-execute*").next().unwrap();
    assert_eq!(rows(definition), declare::FIELDS.map(str::to_owned).into());
    let types = file("lua/flemma/types.lua");
    assert_eq!(annotated(&types, "flemma.Definition"), declare::FIELDS.map(str::to_owned).into());
    let fields = annotated(&file("lua/flemma/tools/context.lua"), "flemma.ExecutionContext");
    let fields = fields.into_iter().map(|field| format!("ctx.{field}"));
    let context = section(&help, "flemma-", "context").split("*flemma.tools").next().unwrap();
    assert_eq!(rows(context), fields.collect());
}

#[test]
fn every_event_is_documented_with_its_data_and_nothing_else_is() {
    let command = json!({"label": null, "command": "true", "timeout": null});
    let mut chat = Chat::start(&Setup::default(), [call("toolu_1", "bash", &command), prose(&["done"])]);
    chat.nvim.lua(
        "_G.seen = {}
         vim.api.nvim_create_autocmd('User', { pattern = 'Flemma*', callback = function(event)
           _G.seen[event.match] = vim.tbl_keys(event.data)
         end })",
        &[],
    );
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the preview", |nvim| !decision_keys(nvim).is_empty());
    chat.wait_until_idle();
    chat.nvim.input("<M-CR>");
    chat.nvim.wait_for("the last reply", |nvim| nvim.text().contains("done"));
    chat.wait_until_idle();
    let seen = chat.nvim.lua("return _G.seen", &[]);
    let help = help();
    let events: BTreeSet<String> = seen.as_object().unwrap().keys().cloned().collect();
    let documented: BTreeSet<String> = tags(&help, "Flemma").iter().map(|name| format!("Flemma{name}")).collect();
    assert_eq!(documented, events);
    for event in events {
        let section = section(&help, "Flemma", event.trim_start_matches("Flemma"));
        for key in names(&seen[&event]).iter().filter(|key| *key != "buf") {
            assert!(section.contains(&format!("`{key}`")), "{event} has no `{key}` in\n{section}");
        }
    }
}

/// The Lua in the fences of the pages.
fn markdown_snippets() -> Vec<String> {
    let pages = pages();
    let snippets = pages.iter().flat_map(|(_, text)| text.split("\n```lua\n").skip(1));
    snippets.map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

/// The code of a Markdown text: each line of a block, and what stands between backticks.
fn code(text: &str) -> Vec<String> {
    let (mut code, mut prose, mut fence) = (Vec::new(), String::new(), None);
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(length) if ticks >= length => fence = None,
            Some(_) => code.push(line.to_owned()),
            None if ticks >= 3 => fence = Some(ticks),
            None => prose = prose + line + "\n",
        }
    }
    let spans = prose.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    code.extend(spans.map(|span| span.replace('\n', " ")));
    code
}

/// The Lua in a help file's code blocks.
fn help_snippets(text: &str) -> Vec<String> {
    let blocks = text.split(">lua\n").skip(1);
    blocks.map(|rest| rest.lines().take_while(|line| *line != "<").map(|line| format!("{line}\n")).collect()).collect()
}

/// The frontmatter in a help file's code blocks, with its fences.
fn help_frontmatter(text: &str) -> Vec<String> {
    let blocks = text.split("\n\t```").skip(1).step_by(2);
    let is_frontmatter = |block: &String| block.contains("flemma.opt") || block.contains("auto_approve");
    blocks.map(|block| format!("```{}\n```", block.replace("\n\t", "\n"))).filter(is_frontmatter).collect()
}

#[test]
fn every_frontmatter_of_the_documents_counts() {
    let markdown = markdown_snippets();
    let typed = markdown.iter().filter(|snippet| snippet.contains("flemma.opt"));
    let mut blocks: Vec<String> = typed.map(|snippet| format!("```lua\n{snippet}\n```")).collect();
    blocks.extend(help_frontmatter(&help()));
    assert!(blocks.len() >= 4, "{blocks:?}");
    for block in blocks {
        let mut nvim = editor();
        nvim.command("edit notes.chat");
        let lines: Vec<&str> = block.lines().collect();
        nvim.request("nvim_buf_set_lines", &[json!(0), json!(0), json!(0), json!(false), json!(lines)]);
        let status = nvim.lua("return require('flemma.status').lines(vim.api.nvim_get_current_buf())", &[]).to_string();
        assert!(!status.contains("has no effect"), "{block}\n{status}");
        assert!(status.contains("frontmatter"), "{block}\n{status}");
    }
}

#[test]
fn the_answer_of_the_guide_is_sent_with_one_key() {
    let page = file("doc/guide/approving-and-reviewing.md");
    let answered = page.split("````markdown\n").find(|text| text.contains("kind=elicitation")).unwrap();
    let answered = answered.split("````").next().unwrap();
    let text = answered.replace("\n9090\n", "\n");
    let mut chat = Chat::start(&Setup { text: Some(&text), ..Setup::default() }, [prose(&["started"])]);
    chat.go_to("status=pending");
    chat.nvim.input("o9090<Esc>");
    chat.wait_for_text(answered);
    chat.send_until("started");
    let sent = chat.messages(0).to_string();
    assert!(sent.contains(r#""tool_use_id":"toolu_03""#) && sent.matches("9090").count() == 2, "{sent}");
}

#[test]
fn every_lua_snippet_runs_without_complaint() {
    let snippets = [markdown_snippets(), help_snippets(&help())].concat();
    assert!(snippets.len() >= 6, "{snippets:?}");
    for snippet in snippets.into_iter().filter(|snippet| !snippet.contains("flemma.opt")) {
        let mut nvim = editor();
        // A snippet that is a table is what lazy.nvim takes.
        let ran = nvim.try_lua(
            "local source = ...
             local spec = source:match('^%s*{') and assert(loadstring('return ' .. source))()
             if spec then
               assert(spec.url and spec.cmd == 'Flemma' and spec.ft == 'chat' and spec.main == 'flemma')
               return require('flemma').setup(spec.opts)
             end
             -- What snippets use that is not here: a package manager of Neovim 0.12, and plugins.
             if vim.fn.exists('##PackChanged') == 0 then source = source:gsub('PackChanged', 'User') end
             vim.pack = { add = function(specs) assert(specs[1]:match('^file://')) end }
             for _, name in ipairs({ 'blink.cmp', 'cmp', 'telescope' }) do
               package.preload[name] = function()
                 local take = function() end
                 local setup = setmetatable({ filetype = take }, { __call = take })
                 return { setup = setup, register_source = take, load_extension = take }
               end
             end
             assert(loadstring(source))()
             return true",
            &[json!(snippet)],
        );
        assert_eq!(ran, Ok(json!(true)), "{snippet}");
        assert_eq!(nvim.messages(), "", "{snippet}");
    }
}

/// What `flemma` says of itself.
fn usage(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_flemma")).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a line of a shell names a command of `flemma` that exists, with options that it has.
fn is_known_to_the_command_line(words: &[&str], help: &mut BTreeMap<String, String>) -> bool {
    let all = help.entry(String::new()).or_insert_with(|| usage(&["--help"])).clone();
    let command = words.first().copied().filter(|word| !word.starts_with('-')).unwrap_or_default();
    let exists = command.is_empty() || all.lines().any(|line| line.trim_start().split(' ').next() == Some(command));
    let its = help.entry(command.to_owned()).or_insert_with(|| usage(&[command, "--help"]));
    exists && words.iter().filter(|word| word.starts_with("--")).all(|option| its.contains(option))
}

#[test]
fn every_command_and_option_on_the_pages_exists() {
    let commands = names(&editor().lua("return vim.fn.getcompletion('Flemma ', 'cmdline')", &[]));
    let (help, makefile, options) = (help(), file("Makefile"), Config::paths());
    let roots: BTreeSet<&str> = options.iter().map(|path| path.split('.').next().unwrap()).collect();
    let (mut asked, mut checked) = (BTreeMap::new(), 0);
    for (path, text) in pages() {
        for code in code(&text) {
            let words: Vec<&str> = code.split_whitespace().collect();
            let first = words.first().copied().unwrap_or_default();
            let exists = if first == ":help" {
                help.contains(&format!("*{}*", words[1]))
            } else if first.starts_with(':') && first.trim_end_matches('!').ends_with("Flemma") {
                words.get(1).is_none_or(|name| commands.contains(*name))
            } else if let Some(at) = words.iter().position(|word| *word == "flemma").filter(|_| !code.contains('"')) {
                is_known_to_the_command_line(&words[at + 1..], &mut asked)
            } else if first == "make" && words.len() > 1 {
                makefile.contains(&format!("\n{}:", words[1]))
            } else if first.contains('.') && roots.contains(first.split('.').next().unwrap()) {
                options.iter().any(|option| option == first)
            } else {
                continue;
            };
            assert!(exists, "{path}: there is no `{code}`");
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} were found");
}

#[test]
fn every_link_of_the_pages_leads_to_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = markdown("doc");
    all.extend(["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|path| (path.to_owned(), file(path))));
    let mut checked = 0;
    for (path, text) in all {
        let folder = root.join(&path).parent().unwrap().to_owned();
        let ends = [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"')];
        let links = ends.iter().flat_map(|(begin, end)| {
            text.split(begin).skip(1).map(|rest| rest.split(*end).next().unwrap().split('#').next().unwrap())
        });
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            assert!(folder.join(link).exists(), "{path} links to {link}");
            checked += 1;
        }
        let named = code(&text).into_iter().filter(|code| code.starts_with("crates/") || code.starts_with("tests/"));
        for file in named.filter(|_| path.starts_with("doc/")) {
            assert!(root.join(&file).exists(), "{path} names {file}");
        }
    }
    assert!(checked > 40, "only {checked} were found");
}

#[test]
fn the_filetype_is_known_before_the_plugin_is_loaded() {
    let mut nvim = editor();
    nvim.lua("vim.filetype.add({ extension = { chat = 'other' } })", &[]);
    nvim.command(&format!("source {}/ftdetect/flemma.lua", env!("CARGO_MANIFEST_DIR")));
    assert_eq!(nvim.lua("return vim.filetype.match({ filename = 'notes.chat' })", &[]), "chat");
}
