//! Approvals that are written into a file's own frontmatter.

use flemma_chat::{Document, TextEdit, approve_always, restore_frontmatter};
use flemma_model::UserError;

use super::notation::Page;

fn approve(text: &str, entries: &[&str]) -> Result<String, UserError> {
    let mut page = Page::new(text);
    let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
    let edits: Vec<TextEdit> = approve_always(&Document::parse(&page.text), &page.text, &entries)?;
    page.apply(edits);
    Ok(page.text.join("\n"))
}

#[test]
fn a_file_without_frontmatter_gets_some() {
    assert_eq!(
        approve("@You:\nHello", &["bash(git status)"]).unwrap(),
        "```lua\nflemma.opt.tools.auto_approve:append(\"bash(git status)\")\n```\n\n@You:\nHello"
    );
}

#[test]
fn lua_is_added_to_at_its_end_and_strings_are_quoted() {
    assert_eq!(
        approve("```lua\nlocal x = 1\n```\n@You:\nHello", &["a", "b(\"c\\d\")"]).unwrap(),
        "```lua\nlocal x = 1\nflemma.opt.tools.auto_approve:append(\"a\")\n\
         flemma.opt.tools.auto_approve:append(\"b(\\\"c\\\\d\\\")\")\n```\n@You:\nHello"
    );
}

#[test]
fn json_keeps_what_it_says_and_appends() {
    for (before, after) in [
        ("{}", r#"{"tools":{"auto_approve":{"append":["a"]}}}"#),
        (
            r#"{"model":"m","tools":["read"]}"#,
            r#"{"model":"m","tools":{"set":["read"],"auto_approve":{"append":["a"]}}}"#,
        ),
        (r#"{"tools":{"auto_approve":["x"]}}"#, r#"{"tools":{"auto_approve":["x","a"]}}"#),
        (
            r#"{"tools":{"auto_approve":{"append":"x","remove":"y"}}}"#,
            r#"{"tools":{"auto_approve":{"remove":"y","append":["x","a"]}}}"#,
        ),
    ] {
        let edited = approve(&format!("```json\n{before}\n```\n\n@You:\nHello"), &["a"]).unwrap();
        let code = edited.strip_prefix("```json\n").unwrap().strip_suffix("\n```\n\n@You:\nHello").unwrap();
        let value: serde_json::Value = serde_json::from_str(code).unwrap();
        assert_eq!(value.to_string(), after, "{before}");
    }
}

#[test]
fn what_cannot_be_added_to_says_why_and_stays() {
    for (text, why) in [
        ("```yaml\na: 1\n```\n@You:\nx", "its frontmatter is in `yaml`; add a to auto_approve there"),
        ("```lua\nx = 1\n@You:\nx", "the frontmatter is not closed"),
        ("```json\n{,}\n```\n@You:\nx", "its JSON is not valid"),
        ("```json\n{\"tools\":3}\n```\n@You:\nx", "its JSON has 3 in place of an object"),
    ] {
        let problem = approve(text, &["a"]).unwrap_err();
        assert!(problem.to_string().contains(why), "{text}: {problem}");
    }
}

#[test]
fn an_amendment_can_be_taken_back() {
    for text in ["@You:\nHello", "```lua\nlocal x = 1\n```\n\n@You:\nHello", "```json\n{}\n```\n\n@You:\nHello"] {
        let mut page = Page::new(text);
        let document = Document::parse(&page.text);
        let code = document.frontmatter().map(|matter| format!("{}\n", page.text[1..matter.lines - 1].join("\n")));
        page.apply(approve_always(&document, &page.text, &["a".to_owned()]).unwrap());
        let lines = Document::parse(&page.text).frontmatter().unwrap().lines;
        page.apply(restore_frontmatter(&page.text, lines, code.as_deref()));
        assert_eq!(page.text.join("\n"), text);
    }
}
