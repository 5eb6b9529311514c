//! No text is nested so deeply that a parser ends the process.

use std::{rc::Rc, thread};

use flemma_chat as chat;
use flemma_chat::Document;
use flemma_config::buffer::{BufferOptions, Defaults};
use flemma_notes::Outline;
use flemma_text::bounds;
use flemma_text::xml;
use flemma_tools::{
    check_answer,
    rules::{PathBase, Rule, Subject, decide},
};
use serde_json::{Value, json};

use crate::workshop::Workshop;

/// What begins something that may be inside another one, and what ends it.
#[rustfmt::skip]
const OPENERS: [(&str, &str); 48] = [
    ("{a,", "}"), ("{", "}"), ("{a,\\}", "}"), ("{a,[}]", "}"), ("[", "]"), ("[[", "]]"), ("[a", "]"), ("(", ")"),
    ("((", "))"), ("(?:a|", ")"), ("$(", ")"), ("\"$(", ")\""), ("<(", ")"), ("${a:-", "}"), ("$((", "))"),
    ("`", "`"), ("\"", "\""), ("'", "'"), ("<a>", "</a>"), ("<a b=\"", "\"/>"), ("<![CDATA[", "]]>"), ("> ", ""),
    ("- ", ""), ("\n> - 1. ", ""), ("![", "](a)"), ("[^", "]"), ("*a_", ""), ("{\"a\":", "}"), ("[{\"a\":", "}]"),
    ("a: ", ""), ("? ", ""), ("&a ", ""), ("{? ", "}"), ("*", ""), ("**/", ""), ("! ", ""), ("-", ""), ("sqrt(", ")"),
    ("if true; then ", "; fi"), ("while a; do ", "; done"), ("case a in a) ", ";; esac"), ("f() ", ""),
    ("[[ ! ", " ]]"), ("a && ", ""), ("env ", ""), ("time ", ""), ("\\", ""), ("<thinking>\n", "</thinking>\n"),
];

/// How often.
const DEPTHS: [usize; 3] = [1, 200, 20_000];

type Parser = fn(&Workshop, &str);

/// Everything that reads foreign text. Tools run on threads of their own.
const PARSERS: [(&str, Parser); 14] = [
    ("glob of find", |shop, text| drop(shop.render("find", json!({ "pattern": text })))),
    ("glob of grep", |shop, text| drop(shop.render("grep", json!({ "pattern": "x", "glob": text })))),
    ("expression of grep", |shop, text| drop(shop.render("grep", json!({ "pattern": text })))),
    ("ignore file", |shop, text| {
        shop.put(".gitignore", format!("*.log\n{text}\n*.log\n"));
        shop.put("a.log", "");
        let found = shop.ok("find", json!({ "pattern": "*.log" }));
        assert!(!found.contains("a.log"), "{found} {}", &text[..text.len().min(80)]);
    }),
    ("arithmetic", |shop, text| drop(shop.render("calculator", json!({ "expression": text })))),
    ("rule", |_, text| {
        for rule in [format!("read({text})"), format!("!read({text})"), format!("bash({text})")] {
            let _ = Rule::parse(&rule);
        }
    }),
    ("command", |_, text| {
        let rules = ["bash(a *)", "bash(env *)", "bash(echo *)", "!bash(rm *)"].map(|rule| Rule::parse(rule).unwrap());
        for command in
            [text.to_owned(), format!("echo \"{text}\""), format!("[[ {text} a ]]"), format!("a <<E\n{text}\nE\n")]
        {
            let _ = decide(&rules, "bash", &Subject::Command(&command), &PathBase::default());
        }
    }),
    ("option", |_, text| {
        let mut options = BufferOptions::new(Defaults::default(), "", Rc::new(|_, _| Ok(())));
        let _ = options.set("tool_protocol", &json!([text]));
        let _ = options.set(text, &json!(1));
    }),
    ("JSON", |_, text| drop(serde_json::from_str::<Value>(text))),
    ("YAML", |_, text| drop(Outline::new(format!("---\n{text}\n---\n").as_bytes()))),
    ("Markdown", |_, text| drop(Outline::new(text.as_bytes()))),
    ("XML", |_, text| {
        for element in xml::parse(text).unwrap_or_default() {
            let _ = xml::write_element(&element);
        }
    }),
    ("schema", |_, text| {
        let deep = serde_json::from_str(text).unwrap_or_default();
        let _ = check_answer(&json!({ "items": { "$ref": "#" }, "additionalProperties": { "$ref": "#" } }), &deep);
        let _ = check_answer(&deep, &deep);
        let _ = check_answer(&json!({ "pattern": text }), &json!("a"));
    }),
    ("conversation", |_, text| {
        let text = format!("@You:\n{text}\n\n@Assistant:\n{text}");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let document = Document::parse(&lines);
        let _ = (flemma_chat::diagnostics(&document, &lines), flemma_chat::unsent(document.messages(), &lines));
        let _ = chat::read(&text);
    }),
];

#[test]
#[ignore = "slow"]
fn no_parser_overflows_a_small_stack() {
    for (name, parse) in PARSERS {
        // A stack that overflows ends the process, and says the thread's name. The main thread has four times as much.
        let work = move || {
            let shop = Workshop::new();
            for (depth, (open, close)) in
                DEPTHS.iter().flat_map(|depth| OPENERS.iter().map(move |opener| (*depth, opener)))
            {
                for text in [open.repeat(depth), open.repeat(depth) + "a" + &close.repeat(depth)] {
                    parse(&shop, &text);
                }
            }
        };
        thread::Builder::new().name(name.to_owned()).stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
    }
}

#[test]
fn what_is_written_by_people_is_within_the_bounds() {
    let alternatives = vec!["{a,b}"; 64].join("");
    assert_eq!(bounds::glob(&alternatives), Ok(()));
    assert_eq!(bounds::glob("src/**/*.{rs,toml}"), Ok(()));
    for (glob, words) in [("{".repeat(65), "more than 64 `{`"), ("*".repeat(4097), "longer than 4096 bytes")] {
        let problem = Rule::parse(&format!("read({glob})")).unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
        let shop = Workshop::new();
        assert!(shop.err("find", json!({ "pattern": glob })).contains(words));
        assert!(shop.err("grep", json!({ "pattern": "x", "glob": glob })).contains(words));
    }
    let long = Workshop::new().err("grep", json!({ "pattern": "a?".repeat(9_000) }));
    assert!(long.contains("`pattern` cannot be searched for: it is longer than 16384 bytes"), "{long}");
}
