//! The tools for notes, on a vault on the disk.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::Arc,
};

use flemma_model::{CallId, ModelError};
use flemma_tools::{
    Decision, FileClass, Policy, Presets, Registry,
    approval::{self, ApprovalCall, Chain},
    builtin::NOTES_TOOLS,
    rules::{PathBase, ReadTarget, Target},
};
use serde_json::{Value, json};

use crate::{vault::Vault, workshop::Workshop};

/// A workshop with a folder of notes.
fn shop() -> Workshop {
    let mut shop = Workshop::new();
    fs::create_dir(shop.path("vault")).unwrap();
    shop.context.notes_root = shop.path("vault");
    shop
}

/// One with a few hundred pages, empty ones and symbolic links among them.
fn large(seed: u64) -> (Workshop, Vault) {
    let (shop, vault) = (shop(), Vault::new(seed, 300));
    for (name, content) in vault.contents() {
        shop.put(&format!("vault/{name}.md"), content);
    }
    shop.put("vault/picture.png", "x");
    shop.put("vault/.hidden/page.md", "[[Page 0]]");
    shop.put("outside.md", "secret");
    symlink(shop.path("outside.md"), shop.path("vault/leads out.md")).unwrap();
    symlink(shop.path("vault/Page 0.md"), shop.path("vault/alias.md")).unwrap();
    symlink("nowhere.md", shop.path("vault/broken.md")).unwrap();
    symlink("/", shop.path("vault/folder")).unwrap();
    (shop, vault)
}

/// The pages on the disk.
fn pages(root: &Path) -> BTreeMap<String, String> {
    let (mut open, mut found) = (vec![root.to_owned()], BTreeMap::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if entry.file_type().unwrap().is_dir() && !name.starts_with('.') {
                open.push(entry.path());
            } else if entry.file_type().unwrap().is_file()
                && let Some(name) = name.strip_suffix(".md")
            {
                found.insert(name.to_owned(), fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_page_is_read_whole_or_by_sections() {
    let shop = shop();
    shop.put("vault/a/b c.md", "---\nx: 1\n---\n# A\none\n## B\ntwo\n# A\nthree\n");
    shop.put("vault/empty.md", "");
    let read =
        |section: Value, occurrence: Value| json!({ "page": "a/b c", "section": section, "occurrence": occurrence });
    assert_eq!(shop.ok("read_note", json!({ "page": "a/b c.md" })), "---\nx: 1\n---\n# A\none\n## B\ntwo\n# A\nthree");
    assert_eq!(shop.ok("read_note", read("## B".into(), json!(null))), "## B\ntwo");
    assert_eq!(shop.ok("read_note", read("a".into(), 2.into())), "# A\nthree");
    let first = shop.ok("read_note", read("A".into(), json!(null)));
    assert_eq!(
        first,
        "# A\none\n## B\ntwo\n\n[This is section 1 of 2 with this heading, at line 4. Choose with `occurrence`]"
    );
    let list = shop.ok("read_note", json!({ "page": "a/b c", "list_sections": true }));
    assert_eq!(list, "# A  (line 4)\n## B  (line 6)\n# A  (line 8)");
    assert_eq!(shop.ok("read_note", json!({ "page": "empty" })), "(empty page)");
    assert!(shop.err("read_note", read("C".into(), json!(null))).starts_with("The page has no section \"C\"."));
    assert!(shop.err("read_note", read("A".into(), 3.into())).contains("2 sections with the heading"));
    assert!(shop.err("read_note", read(json!(null), 1.into())).contains("only goes with `section`"));
    assert!(shop.err("read_note", read("A".into(), 0.into())).contains("at least 1"));
    assert_eq!(shop.err("read_note", json!({ "page": "x/B C" })), "There is no page `x/B C`. Did you mean `a/b c`?");
    fs::create_dir(shop.path("vault/folder.md")).unwrap();
    assert!(shop.err("read_note", json!({ "page": "folder" })).contains("is a directory"));
}

#[test]
fn pages_are_listed_by_folder() {
    let (shop, vault) = large(1);
    let all = shop.ok("list_pages", json!({ "limit": 1000 }));
    let listed: Vec<&str> = all.lines().collect();
    let mut expected: Vec<&str> = vault.names.iter().map(String::as_str).chain(["alias"]).collect();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    let top = shop.ok("list_pages", json!({ "recursive": false, "limit": 1000 }));
    assert!(top.contains("\nProjects/\n") && top.contains("\nalias\n"), "{top}");
    assert!(!top.contains("Projects/Old"));
    let one = shop.ok("list_pages", json!({ "path": "Projects/", "recursive": false, "limit": 2 }));
    assert!(one.starts_with("Projects/Bob's 100% 109\nProjects/Bob's 100% 139\n\n[2 of "), "{one}");
    assert!(shop.ok("list_pages", json!({ "path": "Projects", "recursive": false })).contains("Projects/Old ones/\n"));
    assert!(shop.err("list_pages", json!({ "path": "Projekts" })).contains("There is no folder `Projekts`"));
    assert!(shop.err("list_pages", json!({ "limit": 0 })).contains("at least 1"));
    fs::create_dir(shop.path("vault/none")).unwrap();
    assert_eq!(shop.ok("list_pages", json!({ "path": "none" })), "(no pages)");
}

#[test]
fn the_info_of_a_page_has_no_text_of_it() {
    let shop = shop();
    shop.put("vault/P.md", "---\ntags: [b, a]\nstatus: x\n---\n# H\n\nSome #c and #a.\n");
    shop.put("vault/P/one.md", "");
    shop.put("vault/P/deep/two.md", "---\na: [\n---\n");
    let info: Value = serde_json::from_str(&shop.ok("get_page_info", json!({ "page": "P" }))).unwrap();
    assert_eq!(info["tags"], json!(["a", "b", "c"]));
    assert_eq!((&info["size"], &info["lines"]), (&json!(52), &json!(7)));
    assert_eq!(info["frontmatter"], json!(["tags", "status"]));
    assert_eq!(info["sections"], json!(["# H"]));
    assert_eq!(info["subpages"], json!(["P/deep/two", "P/one"]));
    assert!(info["modified"].as_str().unwrap().ends_with('Z'), "{info}");
    let info: Value = serde_json::from_str(&shop.ok("get_page_info", json!({ "page": "P/deep/two" }))).unwrap();
    assert!(info["note"].as_str().unwrap().contains("cannot be read as YAML"), "{info}");
    assert!(shop.err("get_page_info", json!({ "page": "Q" })).starts_with("There is no page `Q`."));
}

#[test]
fn search_ranks_pages_and_shows_lines() {
    let shop = shop();
    shop.put("vault/Tomato.md", "Red.\n");
    shop.put("vault/soup.md", "# Soup\n\nOne tomato.\n");
    shop.put("vault/other/x.md", "Nothing.\n");
    assert_eq!(shop.ok("search_notes", json!({ "query": "tomato" })), "Tomato\nsoup\n  3: One tomato.");
    assert!(shop.ok("search_notes", json!({ "query": "tomato", "limit": 1 })).contains("[1 of 2 pages are shown."));
    let none = shop.ok("search_notes", json!({ "query": "tomato", "path": "other" }));
    assert_eq!(none, "[No page of 1 has any of these words]");
    assert!(shop.err("search_notes", json!({ "query": "" })).contains("no words"));
    assert!(shop.err("search_notes", json!({ "query": "x", "path": "../" })).contains("`..` is not allowed"));
}

#[test]
fn a_page_is_created_once() {
    let shop = shop();
    let create = |page: &str| json!({ "page": page, "content": "# New\ntext" });
    assert_eq!(shop.ok("create_note", create("a/b/Ü n")), "Created `a/b/Ü n`: 11 bytes, 2 lines.");
    assert_eq!(shop.content("vault/a/b/Ü n.md"), "# New\ntext\n");
    assert!(shop.err("create_note", create("a/b/Ü n")).starts_with("There is already a page `a/b/Ü n`."));
    assert!(shop.err("create_note", create("a|b")).contains("no link could contain its `|`"));
    symlink("x.md", shop.path("vault/dangling.md")).unwrap();
    assert!(shop.err("create_note", create("dangling")).contains("already a page"));
    assert!(!shop.path("vault/x.md").exists());
}

#[test]
fn a_note_is_updated_and_the_result_shows_the_change() {
    let shop = shop();
    shop.put("vault/a.md", "# T\n\n- one\n\n# U\ntext\n# U\nmore\n");
    let update = |section: Value, mode: &str, content: &str| json!({ "page": "a", "section": section, "mode": mode, "content": content });
    let done = shop.ok("update_note", update("T".into(), "append", "- two"));
    assert_eq!(
        done,
        "Appended to the section \"T\" of `a`.\n\n@@ -1,6 +1,7 @@\n # T\n \n - one\n+- two\n \n # U\n text"
    );
    assert_eq!(shop.content("vault/a.md"), "# T\n\n- one\n- two\n\n# U\ntext\n# U\nmore\n");
    assert!(shop.err("update_note", update("U".into(), "replace", "x")).contains("has 2 sections \"U\""));
    shop.ok("update_note", json!({ "page": "a", "section": "U", "occurrence": 2, "content": "x" }));
    assert_eq!(shop.content("vault/a.md"), "# T\n\n- one\n- two\n\n# U\ntext\n# U\nx\n");
    shop.ok("update_note", update(json!(null), "prepend", "first"));
    assert!(shop.content("vault/a.md").starts_with("first\n# T"));
    shop.ok("update_note", update(json!(null), "replace", "all"));
    assert_eq!(shop.content("vault/a.md"), "all\n");
    assert!(shop.err("update_note", update(json!(null), "replace", "all\n")).starts_with("This would not change `a`"));
    assert!(shop.err("update_note", update(json!(null), "append", "")).contains("nothing to add"));
    assert!(shop.err("update_note", update("V".into(), "append", "x")).contains("The page has no sections."));
    assert!(shop.err("update_note", json!({ "page": "b", "content": "x" })).starts_with("There is no page `b`."));
    assert!(
        shop.err("update_note", json!({ "page": "a", "content": "x", "mode": "add" }))
            .contains("does not match its schema")
    );
}

#[test]
fn text_is_replaced_once_or_everywhere() {
    let shop = shop();
    let run = |more: Value| {
        shop.put("vault/a.md", "x\r\ny x\r\nx\r\n");
        let mut input = json!({ "page": "a", "search": "x", "replace": "ü" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let rendered = shop.render("search_replace", input);
        (rendered.text.lines().next().unwrap().to_owned(), shop.content("vault/a.md"))
    };
    assert_eq!(
        run(json!({})),
        ("Replaced the first of 3 occurrences in `a`, at line 1.".into(), "ü\r\ny x\r\nx\r\n".into())
    );
    assert_eq!(
        run(json!({ "mode": "all" })),
        ("Replaced all 3 occurrences in `a`, at lines 1, 2, 3.".into(), "ü\r\ny ü\r\nü\r\n".into())
    );
    assert_eq!(
        run(json!({ "mode": "nth", "occurrence": 2 })),
        ("Replaced occurrence 2 of 3 in `a`, at line 2.".into(), "x\r\ny ü\r\nx\r\n".into())
    );
    for (more, error) in [
        (json!({ "mode": "nth" }), "`mode` is nth: give `occurrence`"),
        (json!({ "mode": "all", "occurrence": 2 }), "`occurrence` does not go with the mode all"),
        (json!({ "mode": "nth", "occurrence": 4 }), "`occurrence` is 4, but `search` occurs 3 times."),
        (json!({ "search": "z" }), "`search` does not occur in the page."),
        (json!({ "search": "" }), "`search` is empty"),
        (json!({ "replace": "x" }), "`search` and `replace` are the same"),
        (json!({ "page": "b" }), "There is no page `b`."),
    ] {
        let (text, content) = run(more);
        assert!(text.starts_with(error), "{text}");
        assert_eq!(content, "x\r\ny x\r\nx\r\n");
    }
}

#[test]
fn frontmatter_is_updated_however_the_call_is_written() {
    let shop = shop();
    for input in [
        json!({ "page": "a", "set": { "status": "done" }, "delete": ["old"] }),
        json!({ "page": "a", "set": { "status": "done" }, "delete": "old" }),
        json!({ "page": "a", "set": "{\"status\": \"done\"}", "delete": "[\"old\"]" }),
        json!({ "page": "a", "label": "x", "status": "done", "delete": ["old"] }),
        json!({ "page": "a", "set.status": "done", "delete": ["old"], "set": null }),
        json!({ "page": "a", "key": "status", "value": "done", "delete": ["old"] }),
    ] {
        shop.put("vault/a.md", "---\n# c\nstatus: open # s\nold: 1\n---\ntext\n");
        let done = shop.ok("update_frontmatter", input.clone());
        assert!(done.starts_with("Frontmatter of `a`: set `status`, deleted `old`.\n\n@@"), "{done}");
        assert_eq!(shop.content("vault/a.md"), "---\n# c\nstatus: done # s\n---\ntext\n", "{input}");
    }
    let err = |input: Value| shop.err("update_frontmatter", input);
    assert!(err(json!({ "page": "a" })).starts_with("There is nothing to change"));
    assert!(err(json!({ "page": "a", "set": [1] })).contains("does not match its schema"));
    assert!(err(json!({ "page": "a", "set": "[1]" })).starts_with("`set` must be an object"));
    assert!(err(json!({ "page": "a", "delete": ["x"] })).contains("has no key `x`. The keys are `status`."));
    assert!(err(json!({ "page": "a", "set": { "": 1 } })).contains("cannot be a key"));
    assert!(err(json!({ "page": "b", "set": { "a": 1 } })).starts_with("There is no page `b`."));
    assert!(err(json!({ "page": "a", "set": { "status": "done" } })).starts_with("This would not change"));
}

#[test]
fn names_that_look_the_same_are_told_apart() {
    let shop = shop();
    let (decomposed, composed) = ("Cafe\u{301}", "Caf\u{e9}");
    shop.put(&format!("vault/{decomposed}.md"), format!("## {decomposed}\n\ntext\n"));
    let differ = "look the same: it has";
    let error = shop.err("read_note", json!({ "page": composed }));
    assert_eq!(
        error,
        format!(
            "There is no page `{composed}`. Did you mean `{decomposed}`? The two names only {differ} `e<U+0301>` where you wrote \
             `<U+00E9>`."
        )
    );
    let error = shop.err("read_note", json!({ "page": decomposed, "section": composed }));
    assert!(
        error
            .contains(&format!("Did you mean \"{decomposed}\"? The two headings {differ} `e<U+0301>` where you wrote")),
        "{error}"
    );
    let error = shop.err("read_note", json!({ "page": "Cafes" }));
    assert!(error.ends_with(&format!("Did you mean `{decomposed}`?")), "{error}");
}

#[test]
fn a_renamed_page_takes_its_links_along() {
    let (shop, vault) = large(3);
    let (at, new) = (7, "日記/new name (x)");
    fs::set_permissions(shop.path(&format!("vault/{}.md", vault.names[at])), Permissions::from_mode(0o640)).unwrap();
    let done = shop.ok("rename_note", json!({ "page": vault.names[at], "new_page": new }));
    assert!(done.starts_with(&format!("Renamed `{}` to `{new}`, and changed ", vault.names[at])), "{done}");
    let mut found = pages(&shop.path("vault"));
    let hidden = found.remove(".hidden/page");
    assert_eq!(hidden, None);
    assert_eq!(found, vault.renamed(at, new));
    let mode = fs::metadata(shop.path(&format!("vault/{new}.md"))).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(shop.path("vault/alias.md").is_symlink());
    assert_eq!(shop.content("outside.md"), "secret");
}

#[test]
fn a_rename_counts_links_of_its_own_page_apart() {
    let renamed = |own: &str, other: &str| {
        let shop = shop();
        shop.put("vault/note.md", own);
        shop.put("vault/x.md", other);
        shop.ok("rename_note", json!({ "page": "note", "new_page": "new" }))
    };
    let of = |links: &str| format!("Renamed `note` to `new`, and changed {links}.");
    let both = "3 links in the page itself and 1 link in 1 other page: `x`";
    assert_eq!(renamed("[[note]] [[note]] [[note]]", "[[note]]"), of(both));
    assert_eq!(renamed("[[note]]", ""), of("1 link in the page itself"));
    assert_eq!(renamed("", "[[note]]"), of("1 link in 1 other page: `x`"));
    assert_eq!(renamed("", ""), of("0 links"));
}

#[test]
fn a_rename_says_which_links_it_could_not_change() {
    let shop = shop();
    shop.put("vault/A.md", "");
    shop.put("vault/B.md", "---\nx: [[A]]\n---\n");
    shop.put("vault/C.md", "---\nx: '[[A]]'\n---\n[[A]]");
    let done = shop.ok("rename_note", json!({ "page": "A", "new_page": "a, b" }));
    assert_eq!(
        done,
        "Renamed `A` to `a, b`, and changed 2 links in 1 other page: `C`.\n\n\
         [Links in the frontmatter were not changed in `B`: the new name cannot stand there without quotes]"
    );
    assert_eq!(shop.content("vault/B.md"), "---\nx: [[A]]\n---\n");
    assert_eq!(shop.content("vault/C.md"), "---\nx: '[[a, b]]'\n---\n[[a, b]]");
}

#[test]
fn a_rename_that_cannot_be_done_changes_nothing() {
    let mut shop = shop();
    shop.put("vault/A.md", "text");
    shop.put("vault/B.md", "[[A]]");
    shop.put("vault/C.md", "[[A]] too");
    symlink("A.md", shop.path("vault/L.md")).unwrap();
    let before = pages(&shop.path("vault"));
    let err = |shop: &Workshop, page: &str, new: &str| {
        let error = shop.err("rename_note", json!({ "page": page, "new_page": new }));
        assert_eq!(pages(&shop.path("vault")), before);
        error
    };
    assert_eq!(err(&shop, "A", "B"), "There is already a page `B`. Nothing was changed.");
    assert_eq!(err(&shop, "A", "A"), "`A` has this name already.");
    assert_eq!(err(&shop, "X", "Y"), "There is no page `X`.");
    assert!(err(&shop, "L", "M").contains("is a symbolic link"));
    assert!(err(&shop, "A", "a#b").contains("no link could contain its `#`"));
    assert!(err(&shop, "A", "../A").contains("`..` is not allowed"));
    let protected = shop.path("vault/C.md").canonicalize().unwrap();
    shop.context.protected = Arc::new(move |path: &Path| match path == protected {
        true => FileClass::Refused(ModelError::new("it is open.")),
        false => FileClass::Ordinary,
    });
    assert_eq!(err(&shop, "A", "N"), "C cannot be written: it is open.");
    shop.context.protected = Arc::new(|_| FileClass::Ordinary);
    shop.context.cancel.cancel();
    assert_eq!(err(&shop, "A", "N"), "Cancelled by the user.");
}

#[test]
fn parallel_calls_lose_nothing() {
    let shop = shop();
    shop.put("vault/log.md", "");
    std::thread::scope(|scope| {
        for at in 0..8 {
            let shop = &shop;
            scope.spawn(move || {
                let input = json!({ "page": "log", "mode": "append", "content": format!("- {at}") });
                // A file that keeps changing is an error, and then the call is repeated.
                while shop.render("update_note", input.clone()).is_error {}
            });
        }
    });
    let mut lines: Vec<String> = shop.content("vault/log.md").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, (0..8).map(|at| format!("- {at}")).collect::<Vec<_>>());
}

/// The input of a call of each tool on a page.
fn on_page(tool: &str, page: &str) -> Value {
    match tool {
        "list_pages" => json!({ "path": page }),
        "search_notes" => json!({ "path": page, "query": "secret" }),
        "create_note" => json!({ "page": page, "content": "secret" }),
        "update_note" => json!({ "page": page, "content": "secret" }),
        "search_replace" => json!({ "page": page, "search": "secret", "replace": "x" }),
        "update_frontmatter" => json!({ "page": page, "set": { "a": 1 } }),
        "rename_note" => json!({ "page": "inside", "new_page": page }),
        _ => json!({ "page": page }),
    }
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let shop = shop();
    shop.put("outside.md", "secret");
    shop.put("elsewhere/x.md", "secret");
    shop.put("vault/inside.md", "inside");
    symlink(shop.path("outside.md"), shop.path("vault/link.md")).unwrap();
    symlink("../outside.md", shop.path("vault/relative.md")).unwrap();
    symlink("link.md", shop.path("vault/chain.md")).unwrap();
    symlink(shop.path("elsewhere"), shop.path("vault/folder")).unwrap();
    symlink("../new.md", shop.path("vault/dangling.md")).unwrap();
    symlink("loop.md", shop.path("vault/loop.md")).unwrap();
    let absolute = shop.path("outside").to_str().unwrap().to_owned();
    let attacks = [
        "../outside",
        "x/../../outside",
        "./../outside",
        "..",
        "../",
        "/etc/passwd",
        &absolute,
        "~/x",
        "~root/x",
        "link",
        "relative",
        "chain",
        "folder/x",
        "folder/new",
        "folder",
        "dangling",
        "loop",
        "inside/../../outside",
        "..\u{0}/outside",
        "inside\0",
        ".hidden",
        "a/.git/config",
        "",
        "//etc/passwd",
        "file:///etc/passwd",
        "inside\n",
        "．．/outside",
        "‥/outside",
        "LINK",
        "%2e%2e/outside",
        "..%2foutside",
        "..\\outside",
    ];
    for tool in NOTES_TOOLS.into_iter().filter(|tool| !["navigate", "eval_lua"].contains(tool)) {
        for attack in attacks {
            // `null` or an empty path is the whole folder for the tools that take a folder.
            let is_folder = matches!(tool, "list_pages" | "search_notes");
            if is_folder && attack.is_empty() {
                continue;
            }
            let rendered = shop.render(tool, on_page(tool, attack));
            assert!(!rendered.text.contains("secret") || tool == "create_note", "{tool} {attack:?}: {}", rendered.text);
            // Odd names that lead nowhere else may be given to new pages.
            let is_new = matches!(tool, "create_note" | "rename_note");
            assert!(rendered.is_error || is_new, "{tool} {attack:?}: {}", rendered.text);
            if tool == "rename_note" && !rendered.is_error {
                shop.ok("rename_note", json!({ "page": attack, "new_page": "inside" }));
            }
            if tool == "create_note" && !rendered.is_error {
                fs::remove_file(shop.path(&format!("vault/{attack}.md"))).unwrap();
            }
            assert_eq!(shop.content("outside.md"), "secret");
            assert_eq!(shop.content("elsewhere/x.md"), "secret");
            assert!(!shop.path("new.md").exists() && !shop.path("elsewhere/new.md").exists(), "{tool} {attack:?}");
        }
    }
}

fn base(shop: &Workshop) -> PathBase {
    PathBase { folder: shop.path(""), ..PathBase::default() }
}

#[test]
fn pages_that_may_not_be_read_are_left_out() {
    let mut shop = shop();
    shop.put("vault/open.md", "[[secret/plan]] and [[plan]]");
    shop.put("vault/secret/plan.md", "word");
    shop.put("vault/other.md", "word");
    symlink("secret/plan.md", shop.path("vault/alias.md")).unwrap();
    let policy = Policy::new(&["!read(vault/secret/**)".to_owned()], &[], &Presets::builtin());
    shop.context.denied = Arc::new(Policy::denied([&policy], &base(&shop)));
    let list = shop.ok("list_pages", json!({}));
    assert!(list.starts_with("open\nother\n\n[") && list.contains("left out"), "{list}");
    assert!(!shop.ok("search_notes", json!({ "query": "word" })).contains("plan"));
    for tool in ["read_note", "get_page_info", "update_note", "search_replace", "update_frontmatter"] {
        for page in ["secret/plan", "alias"] {
            assert!(shop.err(tool, on_page(tool, page)).contains("The user's policy denies reading"), "{tool}");
        }
    }
    assert!(shop.err("rename_note", json!({ "page": "other", "new_page": "secret/x" })).contains("denies reading"));
    assert!(!shop.err("read_note", json!({ "page": "plan" })).contains("secret"));
}

#[test]
fn rules_see_the_file_of_a_page() {
    let shop = shop();
    let registry = Registry::with_builtins();
    let (base, root) = (base(&shop), PathBase { folder: shop.path("vault"), ..PathBase::default() });
    let decide = |tool: &str, list: &[&str], input: Value| {
        let definition = registry.get(tool).unwrap();
        let (target, reading) = (Target::of(definition, &input, &root), Target::of_reading(definition, &input, &root));
        let list: Vec<String> = list.iter().map(|&entry| entry.to_owned()).collect();
        let policy = Policy::new(&list, &[], &Presets::builtin());
        let mut chain = Chain::default();
        chain.register(approval::config(policy.clone()));
        chain.register(approval::declared(policy, std::rc::Rc::new(|_, _| Ok(None))));
        let id = CallId("1".into());
        let call = ApprovalCall {
            declared: definition.approval,
            subject: target.subject(),
            reading: reading.as_ref().map(|reading| ReadTarget {
                subject: reading.subject(),
                leaves_out_denied: definition.leaves_out_denied,
            }),
            path_base: &base,
            ..ApprovalCall::new(tool, &input, &id, 1)
        };
        chain.decide(&call).decision
    };
    for tool in NOTES_TOOLS {
        let definition = registry.get(tool).unwrap();
        let writes = definition.write_path_param.is_some();
        let asks = writes || definition.always_asks;
        let expected = if asks { Decision::RequireApproval } else { Decision::Approve };
        assert_eq!(decide(tool, &["$readonly"], on_page(tool, "inside")), expected, "{tool}");
        assert_eq!(decide(tool, &["$default"], on_page(tool, "inside")), expected, "{tool}");
        assert_eq!(decide(tool, &[], on_page(tool, "inside")), Decision::RequireApproval, "{tool}");
    }
    let page = |name: &str| json!({ "page": name, "content": "x" });
    assert_eq!(decide("update_note", &["update_note(vault/Journal/**)"], page("Journal/x")), Decision::Approve);
    assert_eq!(
        decide("update_note", &["update_note(vault/Journal/**)"], page("Journals/x")),
        Decision::RequireApproval
    );
    assert_eq!(
        decide("update_note", &["update_note(vault/Journal/**)"], page("Journal/../x")),
        Decision::RequireApproval
    );
    assert_eq!(decide("update_note", &["update_note", "!read(vault/x.md)"], page("x")), Decision::Deny);
    assert_eq!(decide("read_note", &["$default", "!read(vault/secret/**)"], page("secret/x")), Decision::Deny);
    assert_eq!(decide("navigate", &["$default", "!read(vault/secret/**)"], page("secret/x.md")), Decision::Deny);
}

#[test]
fn a_folder_of_notes_that_is_missing_is_an_error() {
    let mut shop = shop();
    shop.context.notes_root = shop.path("none");
    for tool in NOTES_TOOLS.into_iter().filter(|tool| !["navigate", "eval_lua"].contains(tool)) {
        let error = shop.err(tool, on_page(tool, "inside"));
        assert!(error.contains("does not exist. The user sets it with `tools.notes.root`."), "{tool}: {error}");
    }
}
