//! The boundary between Rust and Lua: what one side calls, the other side defines, and nothing else.
//!
//! The sources are read as text, so that this needs no editor. A name that is not written as a string where it is used
//! would escape the comparison, and fails the test.

use std::{collections::BTreeSet, fs, path::Path};

/// The files below a folder with this extension, each with its text.
pub fn sources(folder: &str, extension: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut open, mut found) = (vec![root.join(folder)], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|other| other == extension) {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The strings that stand as the first argument behind `call`, which is a function's name and a bracket. What else stands
/// there goes to `others`.
fn first_arguments(text: &str, call: &str, others: &mut Vec<String>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices(call) {
        let argument = text[at + call.len()..].trim_start();
        match argument.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((name, _)) => drop(names.insert(name.to_owned())),
            None => others.push(argument.lines().next().unwrap_or_default().to_owned()),
        }
    }
    names
}

/// The names that Rust exports. Those in `faults.rs` are for tests.
fn exported(is_fault: bool) -> BTreeSet<String> {
    let mut others = Vec::new();
    let files =
        sources("src/nvim/exports", "rs").into_iter().filter(|(name, _)| name.ends_with("faults.rs") == is_fault);
    let names = files.flat_map(|(_, text)| first_arguments(&text, "exports.add(", &mut others)).collect();
    assert_eq!(others, [""; 0], "an export is named where it is added");
    names
}

/// The names that Lua calls.
fn called() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (file, text) in sources("lua", "lua") {
        let mut others = Vec::new();
        names.extend(first_arguments(&text, "native(", &mut others));
        names.extend(first_arguments(&text, "native.call(", &mut others));
        names.extend(first_arguments(&text, "require(\"flemma.native\").call(", &mut others));
        if file.ends_with("flemma/native.lua") {
            names.extend(first_arguments(&text, "M.call(", &mut others));
        }
        for (at, _) in text.match_indices(").load().") {
            let rest = &text[at + ").load().".len()..];
            names.insert(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned());
        }
        others.retain(|other| !matches!(other.as_str(), "...)" | "name, ...)"));
        assert_eq!(others, [""; 0], "{file}: the name of an export is written where it is called");
    }
    names
}

#[test]
fn rust_exports_what_lua_calls_and_nothing_else() {
    assert_eq!(exported(false), called());
}

/// The functions of a file whose questions are the variants of an enum.
fn asked(text: &str) -> BTreeSet<String> {
    let added = text.split("exports.add(").skip(1).filter(|rest| rest.contains("convert::variant("));
    added.map(|rest| rest.split('"').nth(1).unwrap().to_owned()).collect()
}

/// The names that Lua has for the variants of a file's enums.
fn variants(text: &str) -> BTreeSet<String> {
    let enums = text.split("#[serde(rename_all = \"snake_case\"").skip(1);
    let lines = enums.flat_map(|rest| {
        rest.lines().skip_while(|line| !line.contains("enum ")).skip(1).take_while(|line| *line != "}")
    });
    let names = lines.filter_map(|line| line.strip_prefix("    ").filter(|rest| rest.starts_with(char::is_uppercase)));
    let snake = |name: &str| {
        name.char_indices().fold(String::new(), |mut name, (at, c)| {
            if c.is_uppercase() && at > 0 {
                name.push('_');
            }
            name.push(c.to_ascii_lowercase());
            name
        })
    };
    names.map(|rest| snake(rest.split(|c: char| !c.is_alphanumeric()).next().unwrap())).collect()
}

#[test]
fn lua_asks_what_rust_answers_and_nothing_else() {
    let lua: String = sources("lua", "lua").into_iter().map(|(_, text)| text).collect();
    for (file, text) in sources("src/nvim/exports", "rs") {
        let (functions, variants) = (asked(&text), variants(&text));
        assert_eq!(functions.is_empty(), variants.is_empty(), "{file}");
        for function in functions.iter().filter(|_| !file.ends_with("faults.rs")) {
            let call = format!("(\"{function}\", ");
            let is_call = |at: usize| lua[..at].ends_with("native") || lua[..at].ends_with(".call");
            for (at, _) in lua.match_indices(&call).filter(|(at, _)| is_call(*at)) {
                let line = lua[at + call.len()..].lines().next().unwrap();
                let name = line
                    .split('"')
                    .nth(1)
                    .unwrap_or_else(|| panic!("{function}({line}: what is asked is written there"));
                assert!(variants.contains(name), "{file} has no `{name}` for {function}");
            }
        }
        if !file.ends_with("faults.rs") {
            let unused: Vec<_> = variants.iter().filter(|name| !lua.contains(&format!("\"{name}\""))).collect();
            assert_eq!(unused, [""; 0], "{file}");
        }
    }
}

#[test]
fn tests_use_every_export_for_faults() {
    let tests: String = sources("tests/nvim", "rs").into_iter().map(|(_, text)| text).collect();
    let unused: Vec<_> = exported(true).into_iter().filter(|name| !tests.contains(&format!("call('{name}'"))).collect();
    assert_eq!(unused, [""; 0]);
}

/// The text of one file.
fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// What a file of Lua defines in this table.
fn defined(text: &str, table: &str) -> BTreeSet<String> {
    let (function, field) = (format!("function {table}."), format!("{table}."));
    text.lines()
        .filter_map(|line| line.strip_prefix(&function).or_else(|| line.strip_prefix(&field)))
        // What another module of Lua sets.
        .filter(|rest| !rest.ends_with("= nil"))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned())
        .collect()
}

#[test]
fn lua_defines_what_rust_calls_and_nothing_else() {
    let defined = defined(&read("lua/flemma/host.lua"), "M");
    let shim = read("src/nvim/shim.rs");
    let mut others = Vec::new();
    let mut called = first_arguments(&shim, "table.get(", &mut others);
    for (_, text) in sources("src/nvim", "rs") {
        for call in [".ask(", ".guarded("] {
            called.extend(first_arguments(&text, call, &mut others));
        }
    }
    // The function that calls by name.
    others.retain(|other| !other.starts_with("name, args)"));
    assert_eq!(others, [""; 0], "a function of the shim is named where it is called");
    assert_eq!(called, defined);
    let listed = shim.split("const NAMES").nth(1).and_then(|rest| rest.split("];").next()).unwrap();
    let listed: BTreeSet<_> = listed.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(listed, defined, "`NAMES` is checked when the library is loaded");
}

#[test]
fn every_effect_has_one_handler_in_lua() {
    let effects = read("crates/workspace/src/ports.rs");
    let body = effects.split("pub enum HostEffect").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
    let variants =
        body.lines().filter_map(|line| line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase)));
    let kinds: BTreeSet<_> = variants
        .map(|line| {
            let name = line.chars().take_while(char::is_ascii_alphanumeric);
            let snake: String = name.flat_map(|c| [c.is_uppercase().then_some('_'), Some(c)]).flatten().collect();
            snake.trim_start_matches('_').to_lowercase()
        })
        .collect();
    assert_eq!(defined(&read("lua/flemma/host.lua"), "effects"), kinds);
    let mut others = Vec::new();
    let mut told = BTreeSet::new();
    for (file, call) in [("src/nvim/host.rs", "self.tell("), ("src/nvim/waker.rs", "perform.call::<()>(")] {
        told.extend(first_arguments(&read(file), call, &mut others));
    }
    assert_eq!(others, [""; 0], "the kind of an effect is written where it is told");
    assert_eq!(told, kinds);
}
