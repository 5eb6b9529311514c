//! Which pages a handler may read, write, delete and rename.

use serde_json::{Value, json};

use super::{VAULT, with_options};
use crate::{
    chat::Chat,
    codecompanion::{answered, results},
};

/// Tools that take two pages, and others that declare none. Each of the latter does one thing with `args.page`.
const TOOLS: &str = "
    local schema = { type = 'object', properties = { page = { type = 'string' }, other = { type = 'string' } } }
    local function define(name, more, run)
      more.description, more.parameters, more.handler = 'x', schema, function(args)
        ran = (ran or '') .. name .. ' '
        return run(args) or 'done'
      end
      ai.tools[name] = more
    end
    local function rename(args)
      return tostring(system.invokeFunction('index.renamePageCommand', { oldPage = args.page, page = args.other }))
    end
    define('reads', { readPathParam = { 'page', 'other' } }, function(args)
      return space.readPage(args.page) .. space.readPage(args.other)
    end)
    define('writes', { writePathParam = { 'page', 'other' } }, function(args)
      ai.writePage(args.page, 'one\\n')
      ai.writePage(args.other, 'two\\n')
    end)
    define('proposes', {}, function(args) ai.writePage(args.page, 'new\\n') end)
    define('puts', {}, function(args) space.writePage(args.page, 'new\\n') end)
    define('puts_asked', { requiresApproval = true }, function(args)
      return space.writePage(args.page, 'new\\n').name
    end)
    define('deletes', {}, function(args) space.deletePage(args.page) end)
    define('deletes_asked', { requiresApproval = true }, function(args) space.deletePage(args.page) end)
    define('renames', {}, rename)
    define('renames_asked', { requiresApproval = true }, rename)
    define('asks', {}, function(args)
      return js.stringify(system.invokeFunction('silverbullet-ai.requestWriteApproval', args.page, 'new\\n'))
    end)";

/// The options of an agent that reads `Projects` and `Index`, and writes `Projects`.
const AGENT: &str = "agents = { planner = { allowedReadPaths = { 'Projects', 'Index' },
    allowedWritePaths = { 'Projects' } } }, agent = 'planner',";

fn chat(options: &str, calls: &[(&str, Value)]) -> Chat {
    with_options(options, calls, TOOLS)
}

/// Approves whatever asks, until all calls have their results, and gives these.
fn approve_all(chat: &mut Chat) -> Vec<(String, bool)> {
    chat.nvim.input("<C-]>");
    chat.nvim.wait_for("the end", |nvim| {
        let is_locked = "return require('flemma.buffer.lock').is_locked(vim.api.nvim_get_current_buf())";
        let text = nvim.text();
        if text.contains("status=pending") && nvim.lua(is_locked, &[]) == false {
            nvim.command("silent! %Flemma tool:approve");
        }
        text.contains("@Assistant:\nfine")
    });
    answered(chat)
}

fn ran(chat: &mut Chat) -> String {
    let ran = chat.nvim.lua("return require('flemma.compat.silverbullet.environment').globals.ran or ''", &[]);
    ran.as_str().unwrap().to_owned()
}

#[test]
fn each_page_of_a_list_is_judged_before_a_call_runs() {
    let two = |page: &str, other: &str| json!({ "page": page, "other": other });
    let mut chat = chat(
        "",
        &[
            ("reads", two("Index", "Projects/Plan")),
            ("reads", two("Index", "secret/Key")),
            ("reads", two("secret/Key", "Index")),
            ("reads", two("Index", "../notes")),
        ],
    );
    let found = results(&mut chat);
    assert_eq!(found[0], (format!("{}{}", VAULT[0].1, VAULT[1].1).trim_end().to_owned(), false));
    for (text, is_error) in &found[1..] {
        assert!(*is_error && !text.contains("hunter2"), "{text}");
    }
    assert!(found[1].0.contains("denies") && found[2].0.contains("denies"), "{found:?}");
    // What is no name of a page is only refused when the page is read.
    assert_eq!(ran(&mut chat), "reads reads ", "{found:?}");
}

#[test]
fn an_agent_judges_each_page_of_a_list() {
    let two = |page: &str, other: &str| json!({ "page": page, "other": other });
    let mut chat = chat(
        AGENT,
        &[
            ("reads", two("Index", "Projects/Plan")),
            ("writes", two("Projects/Plan", "Index")),
            ("writes", two("Index", "Projects/Plan")),
            ("writes", two("Projects/One", "Projects/Two")),
            ("reads", two("Index", "Elsewhere")),
            ("reads", two("Index", "../notes")),
        ],
    );
    let found = approve_all(&mut chat);
    assert!(!found[0].1, "{found:?}");
    for at in [1, 2] {
        assert!(found[at].1 && found[at].0.contains("The agent `planner` does not allow"), "{found:?}");
        assert!(found[at].0.contains("to be written"), "{found:?}");
    }
    assert_eq!(found[3], ("done".to_owned(), false));
    assert!(found[4].1 && found[4].0.contains("to be read"), "{found:?}");
    assert!(found[5].1 && found[5].0.contains(".."), "{found:?}");
    assert_eq!(ran(&mut chat), "reads writes ", "a call that is not allowed does not run");
    assert_eq!(chat.nvim.file("vault/Projects/One.md") + &chat.nvim.file("vault/Projects/Two.md"), "one\ntwo\n");
    assert_eq!((chat.nvim.file("vault/Index.md"), chat.nvim.file("vault/Projects/Plan.md")), {
        (VAULT[0].1.to_owned(), VAULT[1].1.to_owned())
    });
}

#[test]
fn an_agent_lists_its_folders_and_goes_to_places_in_its_pages() {
    let code = "ai.tools.lists = { description = 'x', readPathParam = 'path',
          parameters = { type = 'object', properties = { path = { type = 'string' } } },
          handler = function(args)
            local names = {}
            for page in each(space.listPages()) do
              names[#names + 1] = page.name:startsWith(args.path) and page.name or nil
            end
            return table.concat(names, ' ')
          end }
        local function define(name, handler)
          ai.tools[name] = {
            description = 'x', readPathParam = 'path', parameters = ai.tools.lists.parameters, handler = handler,
          }
        end
        define('reads', function(args) return space.readPage(args.path) end)
        define('goes', function(args) editor.navigate(args.path) return 'shown' end)";
    let path = |path: &str| json!({ "path": path });
    for allowed in ["Projects/", "Projects"] {
        let agent = format!("agents = {{ one = {{ allowedReadPaths = {{ '{allowed}' }} }} }}, agent = 'one',");
        let calls =
            ["Projects", "Projects/", "Proj", "", "../vault/Projects/", "secret"].map(|name| ("lists", path(name)));
        let found = results(&mut with_options(&agent, &[&calls[..], &[("reads", path("Projects"))]].concat(), code));
        for (text, is_error) in &found[..2] {
            assert_eq!((text.as_str(), *is_error), ("Projects/Plan", false), "{allowed}");
        }
        for (text, is_error) in &found[2..] {
            assert!(*is_error && !text.contains("# Plan"), "{allowed}: {text}");
        }
    }
    let agent = "agents = { one = { allowedReadPaths = { 'Projects/Plan' } } }, agent = 'one',";
    let places = ["Projects/Plan", "Projects/Plan@L5", "Projects/Plan#Plan", "Index#Index", "Index@3"];
    let found = results(&mut with_options(agent, &places.map(|place| ("goes", path(place))), code));
    for (text, is_error) in &found[..3] {
        assert_eq!((text.as_str(), *is_error), ("shown", false));
    }
    for (text, is_error) in &found[3..] {
        assert!(*is_error && text.contains("The agent `one` does not allow `Index"), "{text}");
    }
}

#[test]
fn an_agent_judges_what_a_handler_writes() {
    let page = |name: &str| json!({ "page": name });
    let tools = ["proposes", "puts", "puts_asked", "deletes_asked"];
    let refused = tools.iter().map(|tool| (*tool, page("Index")));
    let others = [
        ("asks", page("Index")),
        ("renames_asked", json!({ "page": "Index", "other": "Projects/Index" })),
        ("renames_asked", json!({ "page": "Projects/Plan", "other": "Plan" })),
        ("proposes", page("Projects/A")),
        ("puts", page("Projects/B")),
        ("puts_asked", page("Projects/C")),
    ];
    let calls: Vec<_> = refused.chain(others).collect();
    let mut chat = chat(AGENT, &calls);
    let found = approve_all(&mut chat);
    for (call, (text, is_error)) in calls.iter().zip(&found).take(4) {
        assert!(is_error & text.contains("The agent `planner` does not allow"), "{call:?}: {text}");
        assert!(text.contains("to be written"), "{call:?}: {text}");
    }
    let outcome: Value = serde_json::from_str(&found[4].0).unwrap();
    assert_eq!(outcome["success"], false, "{outcome}");
    assert!(outcome["error"].as_str().unwrap().contains("The agent `planner` does not allow"), "{outcome}");
    for (text, is_error) in &found[5..7] {
        assert!(is_error & text.contains("The agent `planner` does not allow"), "{text}");
    }
    assert_eq!(
        found[7..],
        [("done", false), ("done", false), ("Projects/C", false)].map(|(text, is)| (text.to_owned(), is))
    );
    assert_eq!((chat.nvim.file("vault/Index.md"), chat.nvim.file("vault/Projects/Plan.md")), {
        (VAULT[0].1.to_owned(), VAULT[1].1.to_owned())
    });
    for name in ["A", "B", "C"] {
        assert_eq!(chat.nvim.file(format!("vault/Projects/{name}.md")), "new\n");
    }
    for name in ["vault/Projects/Index.md", "vault/Plan.md"] {
        assert!(!chat.nvim.work().join(name).exists(), "{name}");
    }
}

#[test]
fn pages_are_deleted_and_renamed_by_tools_that_ask() {
    let two = |page: &str, other: &str| json!({ "page": page, "other": other });
    let mut chat = chat(
        "",
        &[
            ("deletes", json!({ "page": "Index" })),
            ("renames", two("Index", "Home")),
            ("deletes_asked", json!({ "page": "Nowhere" })),
            ("deletes_asked", json!({ "page": "secret/Key" })),
            ("deletes_asked", json!({ "page": "../notes" })),
            ("renames_asked", two("Index", "Projects/Plan")),
            ("renames_asked", two("secret/Key", "Key")),
            ("renames_asked", two("Index", "../Index")),
            ("renames_asked", two("Projects/Plan", "Plans/One")),
        ],
    );
    let found = approve_all(&mut chat);
    for (at, words) in [
        (0, "has to declare `requiresApproval = true` to delete pages"),
        (1, "has to declare `requiresApproval = true` to rename pages"),
        (2, "There is no page `Nowhere`"),
        (3, "denies"),
        (4, "`..` is not allowed"),
        (5, "There is already a page `Projects/Plan`"),
        (6, "denies"),
        (7, "`..` is not allowed"),
    ] {
        assert!(found[at].1 && found[at].0.contains(words), "{at}: {:?}", found[at]);
    }
    assert_eq!(found[8], ("true".to_owned(), false));
    assert_eq!(chat.nvim.file("vault/Plans/One.md"), VAULT[1].1);
    assert_eq!(chat.nvim.file("vault/Index.md"), VAULT[0].1.replace("Projects/Plan", "Plans/One"));
    assert!(!chat.nvim.work().join("vault/Projects/Plan.md").exists());
    assert_eq!(chat.nvim.file("vault/secret/Key.md"), VAULT[2].1);
    // What they did can be taken back, like that of other tools.
    let mut chat = self::chat("", &[("deletes_asked", json!({ "page": "Projects/Plan" }))]);
    assert_eq!(approve_all(&mut chat), [("done".to_owned(), false)]);
    assert!(!chat.nvim.work().join("vault/Projects/Plan.md").exists());
    assert_eq!(chat.nvim.file("vault/Index.md"), VAULT[0].1, "links to it stay");
}
