//! Places in pages that are shown, and files that results show.

use serde_json::{Value, json};

use super::OPTIONS;
use crate::codecompanion::{results, with_calls};

const TOOLS: &str = "
    local page = { type = 'object', properties = { ref = { type = 'string' } } }
    ai.tools.goes = { description = 'x', parameters = page, handler = function(args)
      editor.navigate(args.ref)
      for _, win in ipairs(vim.api.nvim_list_wins()) do
        local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), ':t:r')
        if name ~= 'notes' then
          local at = vim.api.nvim_win_get_cursor(win)
          return name .. ' ' .. at[1] .. ' ' .. at[2]
        end
      end
    end }
    ai.tools.shows = { description = 'x', readOnly = true, readPathParam = 'ref', parameters = page, handler = function(args)
      return { result = 'look', summary = 'shows', attachPaths = { args.ref } }
    end }";

/// The results of calls of a tool with these arguments.
fn run(tool: &str, refs: &[&str]) -> Vec<(String, bool)> {
    let calls: Vec<(&str, Value)> = refs.iter().map(|place| (tool, json!({ "ref": place }))).collect();
    let files = [
        ("vault/Page.md", "# Ti\u{ea}t\u{1f600}le\n\nline three\n\n## Head\n"),
        ("vault/me@home.md", "one\ntwo\n"),
        ("vault/shot.png", "P"),
        ("vault/secret/shot.png", "P"),
        ("outside.png", "P"),
        ("tools.lua", TOOLS),
    ];
    let lua = "local pixel = vim.base64.decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')
        for _, name in ipairs({ 'vault/shot.png', 'vault/secret/shot.png', 'outside.png' }) do
          local file = assert(io.open(name, 'wb'))
          file:write(pixel)
          file:close()
        end
        vim.uv.fs_symlink('../outside.png', 'vault/way.png')
        require('flemma.compat.silverbullet').load('tools.lua')";
    results(&mut with_calls(&calls, OPTIONS, lua, &files))
}

#[test]
fn a_reference_names_a_place_in_a_page() {
    let table = [
        ("Page", "Page 1 0"),
        ("Page@L3", "Page 3 0"),
        ("Page@L3C6", "Page 3 5"),
        ("Page@l3c6", "Page 3 5"),
        ("Page@0", "Page 1 0"),
        // Characters outside the first plane are two, as in JavaScript.
        ("Page@8", "Page 1 11"),
        ("Page@16", "Page 3 4"),
        ("Page@9999", "Page 5 0"),
        ("Page@L99", "Page 5 0"),
        ("Page#Head", "Page 5 0"),
        ("me@home", "me@home 1 0"),
        ("me@home@L2", "me@home 2 0"),
        ("me@home@5", "me@home 2 1"),
    ];
    let refs: Vec<&str> = table.iter().map(|(place, _)| *place).collect();
    let found = run("goes", &refs);
    for ((place, shown), found) in table.iter().zip(found) {
        assert_eq!(found, ((*shown).to_owned(), false), "{place}");
    }
    for (place, words) in [("me@Page", "There is no page `me@Page`"), ("Page#Nowhere", "The page has no section")] {
        let found = run("goes", &[place]);
        assert!(found[0].1 && found[0].0.contains(words), "{place}: {found:?}");
    }
}

#[test]
fn a_result_shows_files_of_the_notes_and_no_others() {
    let files = ["shot.png", "secret/shot.png", "../outside.png", "way.png", "/etc/hostname"];
    let found = run("shows", &files);
    assert!(!found[0].1 && found[0].0.contains("vault/shot.png: PNG image, 1x1 pixels"), "{found:?}");
    assert!(!found[0].0.contains("/vault"), "where the notes are is not said: {found:?}");
    assert!(found[1].0.contains("denies"), "{found:?}");
    for (text, _) in &found[1..] {
        assert!(!text.contains("PNG image"), "{text}");
    }
    for (text, _) in &found[2..] {
        assert!(text.contains("folder of notes"), "{text}");
    }
}
