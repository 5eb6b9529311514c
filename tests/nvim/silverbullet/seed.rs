//! The examples of that plugin's own page about tools, as they stand there.

use serde_json::json;

use super::with_tools;

const ENABLING: &str = r#"config.set("ai", {
  chat = {
    enableTools = true
  }
})
"#;

const MY_TOOL: &str = r#"ai.tools.my_tool = {
  description = "What this tool does (shown to the LLM)",
  parameters = {
    type = "object",
    properties = {
      name = {type = "string", description = "A required parameter"},
      count = {type = "number", description = "An optional number"}
    },
    required = {"name"}
  },
  handler = function(args)
    return "Result: " .. args.name
  end
}
"#;

const UPDATE_NOTE: &str = r#"ai.tools.update_note = {
  description = "Update the content of a note",
  requiresApproval = true,
  parameters = {
    type = "object",
    properties = {
      page = {type = "string", description = "The page name"},
      content = {type = "string", description = "New content"}
    },
    required = {"page", "content"}
  },
  handler = function(args)
    space.writePage(args.page, args.content)
    return "Updated: " .. args.page
  end
}
"#;

const MY_EDITOR: &str = r#"ai.tools.my_editor = {
  description = "Edit a page",
  requiresApproval = true,
  parameters = { ... },
  handler = function(args)
    local newContent = transform(space.readPage(args.page))
    ai.writePage(args.page, newContent)
    return "Updated: " .. args.page
  end
}
"#;

const PATHS: &str = r#"ai.tools.my_reader = {
  description = "Read data from a page",
  readPathParam = "page",  -- This param will be validated against allowedReadPaths
  parameters = {
    type = "object",
    properties = {
      page = {type = "string", description = "The page to read"}
    },
    required = {"page"}
  },
  handler = function(args)
    return space.readPage(args.page)
  end
}

ai.tools.my_writer = {
  description = "Write data to a page",
  writePathParam = "page",  -- This param will be validated against allowedWritePaths
  requiresApproval = true,
  parameters = {
    type = "object",
    properties = {
      page = {type = "string", description = "The page to write"}
    },
    required = {"page"}
  },
  handler = function(args)
    ai.writePage(args.page, "content")
    return "Written"
  end
}
"#;

#[test]
fn the_examples_run_as_they_stand() {
    let code = [ENABLING, MY_TOOL, UPDATE_NOTE, PATHS].concat();
    let calls = [
        ("my_tool", json!({ "name": "milk" })),
        ("my_reader", json!({ "page": "Index" })),
        ("update_note", json!({ "page": "New", "content": "text\n" })),
    ];
    let mut chat = with_tools(&calls, &code);
    assert_eq!(chat.nvim.lua("return loaded", &[]), true);
    chat.send_until("Result: milk");
    assert!(!chat.nvim.work().join("vault/New.md").exists(), "nothing is written before it is approved");
    chat.go_to("**Tool Result:** `toolu_3`");
    chat.nvim.command("Flemma tool:approve");
    let found = crate::codecompanion::answered(&mut chat);
    assert_eq!(found[0], ("Result: milk".to_owned(), false));
    assert_eq!(found[1].0, super::VAULT[0].1.trim_end());
    assert_eq!(found[2], ("Updated: New".to_owned(), false));
    assert_eq!(chat.nvim.file("vault/New.md"), "text\n");
}

#[test]
fn a_page_is_written_when_its_change_is_approved() {
    // What the example leaves to its reader.
    let transform = "transform = function(text) return text:gsub('Index', 'Home') .. 'Bye.\\n' end\n";
    let code = [transform, MY_EDITOR, PATHS].concat();
    let calls = [("my_editor", json!({ "page": "Index" })), ("my_writer", json!({ "page": "Projects/New" }))];
    let mut chat = with_tools(&calls, &code);
    assert_eq!(chat.nvim.lua("return loaded", &[]), true, "{}", crate::chat::said(&mut chat.nvim));
    chat.nvim.input("<C-]>");
    for call in ["toolu_1", "toolu_2"] {
        chat.nvim.wait_for("the call", |nvim| nvim.text().contains("status=pending"));
        chat.wait_until_idle();
        chat.go_to(&format!("**Tool Result:** `{call}`"));
        chat.nvim.command("Flemma tool:approve");
    }
    // They run now, and ask about what they write.
    chat.nvim.wait_for("the changes", |nvim| nvim.text().matches("question=").count() == 2);
    chat.wait_until_idle();
    let text = chat.nvim.text();
    assert!(text.contains("question=\"Write Index?\"") && text.contains("question=\"Write Projects/New?\""), "{text}");
    assert_eq!(chat.nvim.file("vault/Index.md"), super::VAULT[0].1, "nothing is written before it is approved");
    chat.go_to("**Tool Result:** `toolu_1`");
    chat.nvim.wait_for_screen("+Bye.");
    chat.nvim.command("Flemma tool:approve");
    chat.nvim.wait_for("the first", |nvim| nvim.text().contains("Updated: Index"));
    chat.wait_until_idle();
    assert_eq!(chat.nvim.file("vault/Index.md"), "# Home\n\nSee [[Projects/Plan]] #hub\nBye.\n");
    chat.go_to("**Tool Result:** `toolu_2`");
    chat.nvim.command("Flemma tool:reject not there");
    let found = crate::codecompanion::answered(&mut chat);
    assert_eq!(found[0], ("Updated: Index".to_owned(), false));
    let words = "Error: The user rejected the change, and nothing of it was written: not there";
    assert_eq!(found[1], (words.to_owned(), true));
    assert!(!chat.nvim.work().join("vault/Projects/New.md").exists());
}
