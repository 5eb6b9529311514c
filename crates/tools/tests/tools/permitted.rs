//! What an agent permits, and what gets around it: nothing.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use flemma_config::Config;
use flemma_tools::{Access, AgentBase, Agents, Executor, Permitted, Runner};
use serde_json::{Value, json};

use crate::workshop::{BUILTINS, Workshop};

use Access::{Read, Write};

/// What an agent with these options permits. Relative paths start at `notes`, and those with a dot at `folder`.
pub fn agent(options: Value, folder: &Path, notes: &Path) -> Permitted {
    let config = Config::from_layers(&[json!({ "agents": { "tester": options } })]).unwrap();
    let base = AgentBase { folder: folder.to_owned(), notes: notes.to_owned(), ..AgentBase::default() };
    Agents { all: config.agents.clone().into_iter().collect(), base }.permitted()
}

/// A vault, with a folder that is none of the agent's business, and the agent `tester`.
fn vault(options: Value) -> Workshop {
    let mut workshop = Workshop::new();
    for (name, content) in [
        ("Journal/today.md", "allowed: the day\n"),
        ("Journal/deep/er.md", "allowed: deeper\n"),
        ("Journal.md", "allowed: the page\n"),
        ("Journals/other.md", "SECRET word\n"),
        ("journal/other.md", "SECRET word\n"),
        ("Journal.md.md", "SECRET word\n"),
        ("Private/diary.md", "SECRET word\n"),
        ("Private/.hidden", "SECRET word\n"),
        ("Index.md", "SECRET [[Journal/today]] and [[Private/diary]]\n"),
        // `Ä` in one character, and in two.
        ("\u{c4}pfel/rot.md", "allowed: red\n"),
        ("A\u{308}pfel/rot.md", "SECRET word\n"),
    ] {
        workshop.put(name, content);
    }
    let at = |name: &str| workshop.path(name);
    symlink("../Private", at("Journal/door")).unwrap();
    symlink("../Private/diary.md", at("Journal/letter.md")).unwrap();
    symlink("/", at("Journal/root")).unwrap();
    symlink("../Private/new.md", at("Journal/dangling.md")).unwrap();
    symlink("Journal", at("shortcut")).unwrap();
    symlink("today.md", at("Journal/again.md")).unwrap();
    let folder = workshop.context.cwd.clone();
    workshop.context.notes_root = folder.clone();
    workshop.context.permitted = Arc::new(agent(options, &folder, &folder));
    workshop
}

fn journal() -> Value {
    json!({ "allowed_read_paths": ["Journal", "\u{c4}pfel"] })
}

/// The whole input of a call: parameters that are not given are null.
pub fn input(tool: &str, given: Value) -> Value {
    let schema = BUILTINS.get(tool).unwrap().input_schema.clone();
    let mut all = serde_json::Map::new();
    for name in schema["properties"].as_object().unwrap().keys() {
        all.insert(name.clone(), given.get(name).cloned().unwrap_or_default());
    }
    Value::Object(all)
}

/// Spellings of paths, and whether they lead to what the agent may read.
const SPELLINGS: [(&str, bool); 46] = [
    ("Journal", true),
    ("Journal/", true),
    ("Journal//today.md", true),
    ("./Journal/./today.md", true),
    ("Journal/deep/../today.md", true),
    ("Private/../Journal/today.md", true),
    ("shortcut/today.md", true),
    ("Journal/again.md", true),
    ("Journal.md", true),
    ("Journal/new/er/page.md", true),
    ("Journal/today.md ", true),
    ("Journal/ today.md", true),
    ("Journal/today.md.", true),
    ("Journal/%2e%2e/x", true),
    ("Journal/~", true),
    ("\u{c4}pfel/rot.md", true),
    ("Journals", false),
    ("Journals/other.md", false),
    ("journal/other.md", false),
    ("JOURNAL/today.md", false),
    ("Journal.md.md", false),
    ("Journal ", false),
    (" Journal", false),
    ("Journal.", false),
    ("Journal\u{200b}/today.md", false),
    ("A\u{308}pfel/rot.md", false),
    ("Private/diary.md", false),
    ("Journal/../Private/diary.md", false),
    ("Journal/deep/../../Private/diary.md", false),
    ("Journal/missing/../../Private/diary.md", false),
    ("Journal//..//Private/diary.md", false),
    ("./Journal/.././Private/./diary.md", false),
    ("Journal/door/diary.md", false),
    ("Journal/door/new.md", false),
    ("Journal/door/../Private/diary.md", false),
    ("Journal/letter.md", false),
    ("Journal/dangling.md", false),
    ("Journal/root/etc/passwd", false),
    ("Journal/root", false),
    ("shortcut/../Private/diary.md", false),
    ("shortcut/door/diary.md", false),
    ("/etc/passwd", false),
    ("~/.ssh/id_rsa", false),
    ("~", false),
    ("..", false),
    (".", false),
];

#[test]
fn no_spelling_of_a_path_gets_around_an_agent() {
    let workshop = vault(journal());
    let permitted = &workshop.context.permitted;
    for (spelling, expected) in SPELLINGS {
        let path = workshop.context.resolve(spelling);
        for access in [Read, Write] {
            assert_eq!(permitted.allows(access, &path), expected, "{spelling:?} {access:?}");
        }
        let absolute = workshop.path(spelling);
        if !spelling.starts_with(['~', '/']) {
            assert_eq!(permitted.allows(Read, &absolute), expected, "{absolute:?}");
        }
    }
}

#[test]
fn file_tools_refuse_what_an_agent_does_not_permit() {
    let mut workshop = vault(journal());
    // No parts of a path that a call leaves behind is taken for what was there.
    for (spelling, expected) in SPELLINGS {
        if spelling.contains("/root") || spelling.starts_with(['~', '/']) {
            continue;
        }
        for (tool, more) in [
            ("read", json!({})),
            ("ls", json!({})),
            ("find", json!({ "pattern": "*", "all": true })),
            ("grep", json!({ "pattern": ".", "all": true })),
            ("write", json!({ "content": "allowed: overwritten\n" })),
            ("edit", json!({ "old_text": "word", "new_text": "sword" })),
        ] {
            let mut given = more;
            given["path"] = spelling.into();
            let text = workshop.render(tool, input(tool, given)).text;
            let is_refused = text.contains("The agent `tester` does not allow");
            let shown = format!("{tool} {spelling:?}: {text}");
            let rest = text.replace(spelling, "");
            assert!(!rest.contains("SECRET") && !rest.contains("diary"), "{shown}");
            assert_eq!(is_refused, !expected, "{shown}");
            if !expected {
                assert!(text.contains("Only these paths may: `Journal`, `\u{c4}pfel`."), "{shown}");
            }
        }
        if expected {
            workshop = vault(journal());
        }
    }
    let secret = |name: &str| fs::read_to_string(workshop.path(name)).unwrap();
    for name in ["Journals/other.md", "journal/other.md", "Private/diary.md", "A\u{308}pfel/rot.md"] {
        assert_eq!(secret(name), "SECRET word\n", "{name}");
    }
    assert!(!workshop.path("Private/new.md").exists());
}

#[test]
fn an_agent_says_that_a_path_is_a_link() {
    let why = "it is a link, or a folder in it is, and what that leads to is not allowed";
    let workshop = vault(journal());
    for (spelling, is_link) in
        [("Journal/door/diary.md", true), ("Journal/letter.md", true), ("Private/diary.md", false)]
    {
        let text = workshop.err("read", input("read", json!({ "path": spelling })));
        assert_eq!(text.contains(why), is_link, "{text}");
        assert!(!text.replace(spelling, "").contains("Private"), "where it leads is not said: {text}");
    }
    // The folder itself becomes a link.
    let mut workshop = vault(journal());
    fs::rename(workshop.path("Journal"), workshop.path("Moved")).unwrap();
    symlink("Moved", workshop.path("Journal")).unwrap();
    let folder = workshop.path(".");
    workshop.context.permitted = Arc::new(agent(journal(), &folder, &folder));
    let text = workshop.err("read", input("read", json!({ "path": "Journal/today.md" })));
    let expected = format!(
        "The agent `tester` does not allow `Journal/today.md` to be read: {why}. Only these paths may: `Journal` (a link, \
         which allows nothing), `\u{c4}pfel`."
    );
    assert_eq!(text, expected);
}

#[test]
fn the_folder_counts_if_a_call_names_no_path() {
    let workshop = vault(journal());
    for (tool, more) in [("ls", json!({})), ("find", json!({ "pattern": "*" })), ("grep", json!({ "pattern": "." }))] {
        let text = workshop.err(tool, input(tool, more));
        assert!(text.starts_with("The agent `tester` does not allow `.` to be read."), "{tool}: {text}");
    }
}

#[test]
fn searches_leave_out_links_that_lead_outside() {
    let workshop = vault(journal());
    let listed = workshop.ok("ls", input("ls", json!({ "path": "Journal" })));
    assert!(listed.contains("again.md -> today.md") && listed.contains("deep/"), "{listed}");
    for hidden in ["door", "letter", "root", "dangling"] {
        assert!(!listed.contains(hidden), "{listed}");
    }
    assert!(listed.contains("4 paths were left out"), "{listed}");
    let found = workshop.ok("find", input("find", json!({ "pattern": "**", "path": "Journal", "all": true })));
    assert!(found.contains("Journal/deep/er.md") && !found.contains("door") && !found.contains("letter"), "{found}");
}

#[test]
fn a_missing_file_has_no_neighbours_that_may_not_be_read() {
    let workshop = vault(json!({ "allowed_read_paths": ["./Journals/othe.md", "./Journals/ote"] }));
    workshop.put("Journals/othr.md", "SECRET\n");
    for (tool, path, more) in [
        ("read", "Journals/othe.md", json!({})),
        ("edit", "Journals/othe.md", json!({ "old_text": "a", "new_text": "b" })),
        ("grep", "Journals/othe.md", json!({ "pattern": "." })),
        ("ls", "Journals/ote", json!({})),
        ("read_note", "Journals/othe", json!({})),
    ] {
        let mut given = more;
        let property = if tool == "read_note" { "page" } else { "path" };
        given[property] = path.into();
        let text = workshop.err(tool, input(tool, given));
        assert!(
            !text.contains("other") && !text.contains("othr") && !text.contains("does not allow"),
            "{tool}: {text}"
        );
    }
}

#[test]
fn writing_needs_reading_as_well() {
    for (read, write, may_read, may_write) in [
        (json!(["Journal"]), json!(["Private"]), true, false),
        (json!(["Journal"]), Value::Null, true, true),
        (Value::Null, json!(["Journal"]), true, true),
        (json!(["Journal"]), json!([]), true, false),
        (json!([]), Value::Null, false, false),
        (json!([]), json!(["Journal"]), false, false),
        (json!({}), json!(["."]), false, false),
        (json!("Journal"), json!("Journal/today"), true, true),
        (json!("Journal"), json!("Journal/deep"), true, false),
    ] {
        let workshop = vault(json!({ "allowed_read_paths": read, "allowed_write_paths": write }));
        let path = workshop.path("Journal/today.md");
        let permitted = &workshop.context.permitted;
        let found = (permitted.allows(Read, &path), permitted.allows(Write, &path));
        assert_eq!(found, (may_read, may_write), "{read} {write}");
        let written = workshop.render("write", input("write", json!({ "path": "Journal/today.md", "content": "x" })));
        assert_eq!(!written.is_error, may_write, "{}", written.text);
        if may_read && !may_write {
            assert!(written.text.contains("to be written."), "{}", written.text);
        }
    }
}

#[test]
fn entries_of_an_agent_mean_what_the_help_says() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().canonicalize().unwrap();
    for folder in ["chat/src", "notes/Journal", "notes/Private", "elsewhere/target"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    symlink(root.join("elsewhere"), root.join("chat/docs")).unwrap();
    symlink("src", root.join("chat/sources")).unwrap();
    symlink("../notes/Private", root.join("notes/door")).unwrap();
    let absolute = root.join("elsewhere/target").display().to_string();
    for (entry, path, expected) in [
        ("Journal", "notes/Journal/a.md", true),
        ("Journal", "notes/Journal.md", true),
        ("Journal", "notes/Journal.md.txt", false),
        ("Journal/", "notes/Journal.md", false),
        ("Journal/", "notes/Journal/a.md", true),
        ("Journal", "chat/Journal/a.md", false),
        ("./src", "chat/src/a.rs", true),
        ("./src", "chat/src.md", false),
        ("./src", "notes/src/a.rs", false),
        (".", "chat/x", true),
        (".", "chat.md", false),
        (".", "notes/x", false),
        ("../notes/Journal", "notes/Journal/a.md", true),
        ("../notes/Journal", "notes/Journal.md", false),
        ("Journal/..", "notes/Private/a.md", true),
        ("Journal/..", "notes.md", false),
        // A link that the content of the folder brings along.
        ("./docs", "elsewhere/target/a", false),
        ("./docs", "chat/docs/target/a", false),
        ("./docs/target", "elsewhere/target/a", false),
        ("./sources", "chat/src/a.rs", false),
        ("door", "notes/Private/a.md", false),
        (absolute.as_str(), "elsewhere/target/a", true),
        (absolute.as_str(), "elsewhere/target.md", false),
        (absolute.as_str(), "chat/docs/target/a", true),
        ("/", "chat/x", true),
    ] {
        let options = json!({ "allowed_read_paths": [entry] });
        let permitted = agent(options, &root.join("chat"), &root.join("notes"));
        assert_eq!(permitted.allows(Read, &root.join(path)), expected, "{entry:?} {path:?}");
    }
}

#[test]
fn several_agents_have_to_agree() {
    let workshop = vault(Value::Null);
    let folder = &workshop.context.cwd;
    let config = Config::from_layers(&[json!({ "agents": {
        "one": { "allowed_read_paths": ["Journal"], "unchecked_tools": ["bash", "lint"] },
        "two": { "allowedReadPaths": ["Journal/deep", "Private"], "allowedWritePaths": ["Private"], "unchecked_tools": ["bash"] },
        "free": { "unchecked_tools": [] },
    } })])
    .unwrap();
    let base = AgentBase { folder: folder.clone(), notes: folder.clone(), ..AgentBase::default() };
    let of = |names: &[&str]| {
        let chosen = config.agents.iter().filter(|(name, _)| names.contains(&name.as_str()));
        let all = chosen.map(|(name, options)| (name.clone(), options.clone())).collect();
        Agents { all, base: base.clone() }.permitted()
    };
    let both = of(&["one", "two", "free"]);
    for (path, read, write) in [
        ("Journal/deep/er.md", true, false),
        ("Journal/today.md", false, false),
        ("Private/diary.md", false, false),
        ("Index.md", false, false),
    ] {
        let path = folder.join(path);
        assert_eq!((both.allows(Read, &path), both.allows(Write, &path)), (read, write), "{path:?}");
        // Whatever both permit, each of them permits.
        assert!(!read || (of(&["one"]).allows(Read, &path) && of(&["two"]).allows(Read, &path)));
    }
    assert_eq!(both.check_undeclared("bash"), Ok(()));
    assert!(both.check_undeclared("lint").unwrap_err().to_string().contains("The agent `two`"));
    assert!(of(&["free"]).is_everything() && of(&[]).is_everything());
    assert_eq!(of(&["free"]).check_undeclared("anything"), Ok(()));
}

#[test]
fn notes_tools_refuse_what_an_agent_does_not_permit() {
    let workshop = vault(journal());
    for page in ["Private/diary", "Journals/other", "journal/other", "Journal/letter", "Journal/door/diary", "Index"] {
        for (tool, more) in [
            ("read_note", json!({})),
            ("get_page_info", json!({})),
            ("create_note", json!({ "content": "x" })),
            ("update_note", json!({ "content": "x", "mode": "append" })),
            ("search_replace", json!({ "search": "word", "replace": "sword" })),
            ("update_frontmatter", json!({ "set": { "a": 1 } })),
            ("rename_note", json!({ "new_page": "Journal/stolen" })),
        ] {
            let mut given = more;
            given["page"] = page.into();
            let text = workshop.err(tool, input(tool, given));
            if !text.contains("does not match its schema") {
                assert!(text.contains("The agent `tester` does not allow"), "{tool} {page}: {text}");
            }
            assert!(!text.contains("SECRET"), "{tool} {page}: {text}");
        }
    }
    let text =
        workshop.err("rename_note", input("rename_note", json!({ "page": "Journal/today", "new_page": "Private/x" })));
    assert!(text.contains("`Private/x` to be"), "{text}");
    assert_eq!(workshop.content("Private/diary.md"), "SECRET word\n");
}

#[test]
fn notes_outside_are_neither_listed_nor_found() {
    let workshop = vault(journal());
    let listed = workshop.ok("list_pages", input("list_pages", json!({ "path": "Journal" })));
    assert!(listed.starts_with("Journal/again\nJournal/deep/er\nJournal/today\n"), "{listed}");
    assert!(!listed.contains("letter") && !listed.contains("door"), "{listed}");
    let found =
        workshop.ok("search_notes", input("search_notes", json!({ "query": "SECRET allowed", "path": "Journal" })));
    assert!(found.contains("allowed: the day") && !found.contains("SECRET word"), "{found}");
    // The folder of notes is a folder like any other, whose pages are judged one by one.
    let info = workshop.ok("get_page_info", input("get_page_info", json!({ "page": "Journal" })));
    assert!(info.contains("Journal/today") && !info.contains("letter"), "{info}");
    let missing = workshop.err("read_note", input("read_note", json!({ "page": "Journal/diary" })));
    assert!(!missing.contains("Private"), "{missing}");
}

#[test]
fn renaming_leaves_links_alone_where_nothing_may_be_written() {
    let workshop = vault(json!({ "allowed_read_paths": ["."], "allowed_write_paths": ["Journal"] }));
    workshop.put("Journal/list.md", "see [[Journal/today]]\n");
    let done =
        workshop.ok("rename_note", input("rename_note", json!({ "page": "Journal/today", "new_page": "Journal/now" })));
    assert_eq!(workshop.content("Journal/list.md"), "see [[Journal/now]]\n");
    assert_eq!(workshop.content("Index.md"), "SECRET [[Journal/today]] and [[Private/diary]]\n");
    assert!(done.contains("Links there were not changed") && done.contains("Index"), "{done}");
    assert!(!workshop.path("Journal/today.md").exists() && workshop.path("Journal/now.md").exists());

    let workshop = vault(journal());
    let done =
        workshop.ok("rename_note", input("rename_note", json!({ "page": "Journal/today", "new_page": "Journal/now" })));
    assert_eq!(workshop.content("Index.md"), "SECRET [[Journal/today]] and [[Private/diary]]\n");
    assert!(!done.contains("Index") && done.contains("left out"), "{done}");
}

/// The contents that a call would replace and write, as text; `None` if it proposes nothing.
fn proposed(workshop: &Workshop, tool: &str, given: Value) -> Option<String> {
    let Executor::Server(Runner::Native(native)) = BUILTINS.get(tool).unwrap().executor.clone() else {
        panic!("{tool} is not native")
    };
    let proposal = native.propose(&input(tool, given), &workshop.context)?.ok()?;
    let contents = proposal.files.into_iter().flat_map(|file| [file.old, file.new]).flatten();
    let texts = contents.filter_map(|content| content.bytes).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Some(texts.collect())
}

#[test]
fn nothing_is_proposed_for_a_file_outside() {
    let workshop = vault(journal());
    let write = |path: &str| json!({ "path": path, "content": "allowed: written\n" });
    let edit = |path: &str, old: &str| json!({ "path": path, "old_text": old, "new_text": "changed" });
    for (path, old, expected) in [
        ("Journal/today.md", "the day", true),
        ("Private/diary.md", "word", false),
        ("Journal/letter.md", "word", false),
        ("Journals/other.md", "word", false),
    ] {
        assert_eq!(proposed(&workshop, "write", write(path)).is_some(), expected, "{path}");
        assert_eq!(proposed(&workshop, "edit", edit(path, old)).is_some(), expected, "{path}");
    }
}

/// Swaps what is at `path` with `other` until it is stopped.
#[cfg(target_os = "linux")]
struct Swapper {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

#[cfg(target_os = "linux")]
impl Swapper {
    fn new(path: PathBuf, other: PathBuf) -> Self {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                // A test that has failed has removed the folder.
                if renameat_with(CWD, &path, CWD, &other, RenameFlags::EXCHANGE).is_err() {
                    break;
                }
                thread::sleep(Duration::from_micros(20));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(thread::JoinHandle::join);
    }
}

/// What keeps `Private` from being read.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Border {
    Agent,
    Denial,
    /// The folder of notes is `Journal`.
    Notes,
}

/// What requests of tools in Lua for a page say, and what writing it as a stored proposal does.
#[cfg(target_os = "linux")]
fn lua_requests(workshop: &Workshop, page: &str) -> Vec<(&'static str, String)> {
    use flemma_journal::{Before, Proposed, ProposedContent};
    use flemma_model::Digest;
    use flemma_tools::builtin::{PageRequest, StoredWrite, answer_page_request};
    let (page, content) = (page.to_owned(), "allowed: from Lua\n");
    let said = |request: PageRequest| match answer_page_request(&request, &workshop.context) {
        Ok(value) => value.to_string(),
        Err(problem) => problem.to_string(),
    };
    let file = ProposedContent {
        name: page.clone(),
        is_page: true,
        content: Digest::of(content.as_bytes()).as_str().to_owned(),
        before: Before::Unknown,
        seen: Before::Unknown,
    };
    let kept = Arc::new(|_: &Digest| Some(content.as_bytes().to_vec()));
    let stored = StoredWrite { proposed: Proposed { files: vec![file] }, contents: kept };
    vec![
        ("Read", said(PageRequest::Read { page: page.clone() })),
        ("Meta", said(PageRequest::Meta { page: page.clone() })),
        ("List", said(PageRequest::List)),
        ("Write", said(PageRequest::Write { page, content: content.to_owned() })),
        ("StoredWrite", workshop.run(Arc::new(stored), Value::Null).render().text),
    ]
}

/// Runs all tools on a file while a part of its path is a link to what is beyond the border, every other moment.
#[cfg(target_os = "linux")]
fn nothing_crosses(border: Border) {
    use flemma_tools::{Policy, Presets, rules::PathBase};
    let rounds = if cfg!(debug_assertions) { 25 } else { 2000 };
    // Once the file is replaced by a link, once its folder.
    for (swapped, link) in [("Journal/today.md", "../Private/diary.md"), ("Journal/deep", "../Private")] {
        let mut workshop = vault(if border == Border::Agent { journal() } else { Value::Null });
        let root = workshop.context.cwd.clone();
        match border {
            Border::Agent => {}
            Border::Denial => {
                let rules = Policy::new(&["!read(Private/**)".to_owned()], &[], &Presets::builtin());
                let base = PathBase { folder: root, ..PathBase::default() };
                workshop.context.denied = Arc::new(Policy::denied([&rules], &base));
            }
            Border::Notes => workshop.context.notes_root = root.join("Journal"),
        }
        workshop.put("Journal/deep/diary.md", "allowed\n");
        symlink(link, workshop.path("Journal/spare")).unwrap();
        let swapper = Swapper::new(workshop.path(swapped), workshop.path("Journal/spare"));
        let file = if swapped.ends_with(".md") { swapped.to_owned() } else { format!("{swapped}/diary.md") };
        let folder = Path::new(&file).parent().unwrap().to_str().unwrap().to_owned();
        let in_notes = |name: &str| match border {
            Border::Notes => name.strip_prefix("Journal").unwrap().trim_start_matches('/').to_owned(),
            Border::Agent | Border::Denial => name.to_owned(),
        };
        let page = in_notes(file.strip_suffix(".md").unwrap());
        let mut calls = vec![
            ("read_note", json!({ "page": page })),
            ("get_page_info", json!({ "page": page })),
            ("list_pages", json!({ "path": in_notes(&folder) })),
            ("search_notes", json!({ "path": in_notes(&folder), "query": "word" })),
            ("update_note", json!({ "page": page, "content": "allowed: more", "mode": "append" })),
            ("search_replace", json!({ "page": page, "search": "word", "replace": "sword" })),
        ];
        if border != Border::Notes {
            calls.extend([
                ("read", json!({ "path": file })),
                ("grep", json!({ "path": folder, "pattern": ".", "all": true })),
                ("grep", json!({ "path": file, "pattern": "." })),
                ("find", json!({ "path": folder, "pattern": "**", "all": true })),
                ("ls", json!({ "path": folder })),
                ("edit", json!({ "path": file, "old_text": "word", "new_text": "sword" })),
            ]);
        }
        // A denial of reading leaves writing alone.
        if border == Border::Agent {
            calls.push(("write", json!({ "path": file, "content": "allowed: written\n" })));
        }
        for round in 0..rounds {
            let said =
                calls.iter().map(|(tool, given)| (*tool, workshop.render(tool, input(tool, given.clone())).text));
            let mut said: Vec<(&str, String)> = said.collect();
            said.extend(lua_requests(&workshop, &page));
            let given = json!({ "page": page, "content": "allowed: more", "mode": "append" });
            said.push(("a proposal", proposed(&workshop, "update_note", given).unwrap_or_default()));
            if border == Border::Agent {
                let given = json!({ "path": file, "content": "allowed: written\n" });
                said.push(("a proposal", proposed(&workshop, "write", given).unwrap_or_default()));
            }
            for (tool, text) in said {
                assert!(!text.contains("SECRET"), "{border:?} {tool} {swapped} {round}: {text}");
                assert!(!text.contains(".hidden"), "{border:?} {tool} {swapped} {round}: {text}");
            }
            assert_eq!(workshop.content("Private/diary.md"), "SECRET word\n", "{border:?} {swapped} {round}");
        }
        drop(swapper);
        let left: Vec<_> =
            fs::read_dir(workshop.path("Private")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "nothing is left behind there: {left:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow"]
fn a_link_that_is_swapped_in_does_not_get_around_an_agent() {
    nothing_crosses(Border::Agent);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow"]
fn a_link_that_is_swapped_in_does_not_get_around_a_denial() {
    nothing_crosses(Border::Denial);
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_that_is_swapped_in_does_not_lead_out_of_the_notes() {
    nothing_crosses(Border::Notes);
}
