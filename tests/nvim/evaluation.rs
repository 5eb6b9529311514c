//! Lua that a model has written, in the editor's own Lua.

use serde_json::json;

use super::{
    anthropic::Stream,
    chat::{Chat, Setup, prose, reply, said},
};

const PAGES: &[(&str, &str)] = &[
    ("vault/Plan.md", "---\ntags: [work]\n---\n# Plan\n\n#urgent one\n"),
    ("vault/a/Über.md", "two\n"),
    ("vault/secret/key.md", "the key\n"),
    ("vault/large.md", "x"),
    ("outside.md", "outside\n"),
    ("link.lua", "vim.uv.fs_symlink('../outside.md', 'vault/way.md')"),
];

/// Evaluates all programs in one reply, and gives their results: what was returned, and whether that is an error.
fn evaluate(options: &str, programs: &[&str]) -> (Chat, Vec<(String, bool)>) {
    let mut stream = Stream::new();
    for (at, program) in programs.iter().enumerate() {
        stream = stream.tool_use(&format!("toolu_{at}"), "eval_lua", &[&json!({ "code": program }).to_string()]);
    }
    let options = format!(
        "tools = {{ notes = {{ enabled = true, root = 'vault' }}, require_approval = false, {options}
           auto_approve = {{ 'eval_lua', '!read(vault/secret/**)' }} }}"
    );
    let setup = Setup { files: PAGES, options: &options, ..Setup::default() };
    let mut chat = Chat::start(&setup, [reply(&stream.end("tool_use")), prose(&["fine"])]);
    chat.nvim.command("luafile link.lua");
    chat.nvim.input("<C-]>");
    let count = programs.len();
    chat.nvim.wait_for("the calls, which ask", |nvim| nvim.text().matches("status=pending").count() == count);
    chat.wait_until_idle();
    chat.nvim.command("%Flemma tool:approve");
    chat.nvim.wait_for("the end", |nvim| nvim.text().contains("@Assistant:\nfine"));
    chat.wait_until_idle();
    let results = chat.messages(1)[2]["content"].as_array().unwrap().clone();
    let results = results.iter().map(|result| {
        let text = result["content"].as_str().unwrap_or_else(|| result["content"][0]["text"].as_str().unwrap());
        (text.to_owned(), result["is_error"] == true)
    });
    let results: Vec<_> = results.collect();
    (chat, results)
}

/// Compares each result with what it must contain; an error begins with `!`, and `?` is any result.
fn check(options: &str, cases: &[(&str, &str)]) -> Chat {
    let programs: Vec<&str> = cases.iter().map(|(program, _)| *program).collect();
    let (mut chat, results) = evaluate(options, &programs);
    let mut wrong = Vec::new();
    for ((program, expected), (result, is_error)) in cases.iter().zip(&results) {
        // It ends, one way or the other.
        if *expected == "?" && !result.contains("did not answer") {
            continue;
        }
        let (words, is_error_expected) = expected.strip_prefix('!').map_or((*expected, false), |words| (words, true));
        if *is_error != is_error_expected || !result.contains(words) {
            wrong.push(format!(
                "{program}\n  gave {is_error} {}\n  not {expected}",
                &result.chars().take(300).collect::<String>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!said(&mut chat.nvim).contains("E5"), "{}", said(&mut chat.nvim));
    chat
}

#[test]
fn lua_is_evaluated_over_notes_and_always_asks() {
    check(
        "",
        &[
            ("1 + 1", "2"),
            ("", "(no value)"),
            ("return 1, nil, 'x'", "1: 1\n2: nil\n3: x"),
            ("{ 1, 2, { a = 'x' } }", "[1,2,{\"a\":\"x\"}]"),
            ("{ b = 1, a = { true }, [3] = 0.5 }", "{\"3\":0.5,\"a\":[true],\"b\":1}"),
            ("{}", "{}"),
            ("2^53, 0.1, 1/3, 1e300, 0/0, -1/0", "1: 9007199254740992\n2: 0.1\n3: 0.3333333333333333"),
            ("print, string", "<function>"),
            ("(function() local t = {} t.t = t return t end)()", "<itself>"),
            ("print('one', 2, { 3 }) return 'x'", "one\t2\t[3]\nx"),
            ("local n = 0 for page in each(space.listPages()) do n = n + #page.name end return n", "1"),
            ("space.readPage('Plan')", "# Plan\n\n#urgent one"),
            ("space.pageExists('a/Über'), space.pageExists('b')", "1: true\n2: false"),
            ("table.concat(space.getPageMeta('Plan').tags, ' ')", "urgent work"),
            ("space.readPage('Plam')", "!space.readPage: There is no page `Plam`. Did you mean `Plan`?"),
            ("space.readPage('../outside')", "!is not allowed"),
            ("space.readPage('way')", "!leads out of the folder of notes"),
            ("space.readPage('secret/key')", "!denies reading"),
            ("space.readPage(7)", "!must be a string, not a number"),
            ("pcall(space.readPage, 'secret/key')", "denies reading"),
            ("#space.listPages()", "3"),
            ("space.writePage('Plan', 'x')", "!cannot change notes"),
            ("('a,b'):split(',')", "[\"a\",\"b\"]"),
            (
                "(' a '):trim() .. string.trim('\\tb '), ('abc'):startsWith('ab'), string.endsWith('abc', 'x')",
                "1: ab\n2: true\n3: false",
            ),
            ("js.stringify({ a = { 1, 'ä\\n' } })", "{\"a\":[1,\"ä\\n\"]}"),
            ("js.stringify(print)", "!a function has no JSON"),
            ("os.date('!%Y', 0)", "1970"),
            ("('x'):gsub('x', function(c) return c:upper() end)", "1: X\n2: 1"),
            ("coroutine.wrap(function() coroutine.yield(7) end)()", "7"),
            ("print('before') error('no')", "!line 1: no.\n\nPrinted before:\n\nbefore"),
        ],
    );
}

#[test]
fn errors_name_the_lines_of_the_program() {
    let cases: &[(&str, &str)] = &[
        ("local a =\nb.c\nreturn a", "!line 2: attempt to index global 'b' (a nil value)."),
        ("\n\nx.y = 1", "!line 3: attempt to index global 'x' (a nil value)."),
        ("1 +", "!line 1: unexpected symbol near '<eof>'."),
        ("for", "!line 1: unexpected symbol near 'for'."),
        ("local a = 1\nlocal = 2", "!line 2: '<name>' expected near '='."),
        ("tostring()", "!line 1: bad argument #1 to 'tostring' (value expected)."),
        // A tail call leaves nothing behind.
        ("local function f() return 1 end\nreturn tostring()", "!bad argument #1 to '?' (value expected)."),
        ("local a = 1\nreturn nothing(a)", "!line 2: attempt to call global 'nothing' (a nil value)."),
        (
            "local function f()\n  local a = nil + 1\n  return a\nend\nlocal a = f()\nreturn a",
            "!line 2: attempt to perform arithmetic on a nil value.",
        ),
        ("local function f()\n  error('no', 2)\nend\n\nf()", "!line 5: no."),
        ("local function f()\n  error('no', 0)\nend\nf()", "!line 2: no."),
        ("local x = 1\nerror({ code = 7 })", "!line 2: error object: {\"code\":7}."),
        ("error()", "!line 1: error object: null."),
        ("error('one\\ntwo')", "!line 1: one\ntwo."),
        // In our own code.
        ("local t = { {}, 1 }\ntable.sort(t)\nreturn 1", "!line 2: attempt to compare number with table."),
        (
            "local t = { 1, 2 }\ntable.sort(t, function(a, b)\n  return a.x < b\nend)",
            "!line 3: attempt to index local 'a' (a number value).",
        ),
        ("local x\nlocal s = ('a'):rep(x)\nreturn s", "!line 2: bad argument #1 to 'rep' (number expected, got nil)."),
        (
            "local t = 1\nlocal s = string.find(nil, 'a')\nreturn s",
            "!line 2: bad argument #1 to 'find' (string expected, got nil).",
        ),
        ("('a'):gsub('a', function()\n  error('no')\nend)", "!line 2: no."),
        (
            "local t = 1\nlocal c = coroutine.wrap(t)\nreturn c",
            "!line 2: bad argument #1 to 'wrap' (function expected, got number).",
        ),
        ("local c = coroutine.wrap(function()\n  error('no')\nend)\nc()", "!line 4: line 2: no."),
        ("local t = 1\nxpcall(tostring)", "!line 2: bad argument #2 to 'xpcall' (function expected, got no value)."),
        // What a program catches.
        ("local ok, why = pcall(function()\n  error('no')\nend)\nreturn why", "line:2: no"),
        ("local ok, why = pcall(table.sort, { {}, 1 })\nreturn why", "attempt to compare number with table"),
        ("local ok, why = xpcall(function() error('no') end, function(why) return why end)\nreturn why", "line:1: no"),
        ("local ok, why = pcall(error, { code = 7 })\nreturn why.code", "7"),
        ("local ok, why = coroutine.resume(coroutine.create(function() error('no') end))\nreturn why", "line:1: no"),
    ];
    let (_, results) = evaluate("", &cases.iter().map(|(program, _)| *program).collect::<Vec<_>>());
    let expected: Vec<_> =
        cases.iter().map(|(_, words)| words.strip_prefix('!').map_or((*words, false), |words| (words, true))).collect();
    let found =
        cases.iter().zip(&results).map(|((program, _), (text, is_error))| (*program, (text.as_str(), *is_error)));
    let wrong: Vec<_> = found.zip(expected).filter(|((_, found), expected)| found != expected).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What leads out of a sandbox, or holds up or fills whoever evaluates it.
#[test]
fn programs_that_do_not_end_are_stopped() {
    let stopped = "!ran for more than";
    let cases: &[(&str, &str)] = &[
        ("while true do end", stopped),
        ("while true do pcall(function() while true do end end) end", stopped),
        ("while true do pcall(error) end", stopped),
        ("local function f() pcall(f) while true do end end f()", stopped),
        ("local function f() xpcall(f, function() while true do end end) f() end f()", "!"),
        ("xpcall(function() while true do end end, function() while true do end end)", stopped),
        ("xpcall(error, function() while true do end end)", stopped),
        ("xpcall(function() while true do end end, function() while true do end end) while true do end", stopped),
        (
            "coroutine.wrap(function() while true do pcall(coroutine.wrap(function() while true do end end)) end end)()",
            stopped,
        ),
        ("repeat until string.find(('a'):rep(2000), ('a*'):rep(20) .. 'b') == 1", stopped),
        ("while true do pcall(string.find, ('a'):rep(2000), ('a*'):rep(20) .. 'b') end", stopped),
        ("while true do ('x'):rep(15e6):find('y') end", stopped),
        ("while true do ('x'):rep(15e6):gsub('x', 'y') end", "!"),
        ("while true do ('x'):rep(15e6):lower():reverse():upper() end", stopped),
        (
            "local t = {} for i = 1, 1e6 do t[i] = i % 7 end while true do table.sort(t, function() return true end) end",
            "!",
        ),
        (
            "local t = {} for i = 1, 3e5 do t[i] = (i * 7919) % 1e6 end while true do table.sort(t) t[1] = math.random(9e5) end",
            stopped,
        ),
        ("while true do table.concat({}, ('x'):rep(1e6), 1, 1e15) end", stopped),
        ("table.insert({}, -2^31, 1)", "?"),
        ("table.remove({}, -2^31)", ""),
        ("unpack({}, 1, 1e9)", "!too many results"),
        ("string.byte(('x'):rep(1e6), 1, -1)", "!"),
        ("for page in space.listPages do end", "!"),
        ("while true do space.listPages() end", "!"),
        ("while true do pcall(space.readPage, 'Plan') end", stopped),
        ("setmetatable({}, { __index = function(t, k) return t[k] end }).x", "!stack overflow"),
        ("(function() local t = {} for i = 1, 500 do t = setmetatable({}, { __index = t }) end return t.x end)()", "!"),
        ("local function f() return 1 + f() end return f()", "!stack overflow"),
        ("local function f() return f() end return f()", stopped),
        ("local function f() return coroutine.wrap(f)() end return f()", "!"),
        (
            "local function f(n) return n == 0 and 'in' or coroutine.wrap(f)(n - 1) end return f(15), pcall(f, 30)",
            "1: in",
        ),
        ("local function f() return (string.gsub('a', 'a', f)) end return f()", "!"),
        ("local t = setmetatable({}, {}) getmetatable(t).__tostring = tostring return tostring(t)", "!"),
        ("local t = {} table.sort({ 3, 2, 1 }, function(a, b) table.sort({ 3, 2, 1 }, t.f) return a < b end)", ""),
        ("local function f(a, b) table.sort({ 3, 2, 1 }, f) return a < b end return f(1, 2)", "!"),
        // Where the stack is almost full, the hook is not called.
        ("local function f() pcall(f) pcall(f) end f()", stopped),
        ("local function f(...) pcall(f, 1, 2, 3, ...) pcall(f, ...) end f()", stopped),
        (
            "local t = setmetatable({}, { __index = function(t) for name, value in pairs(string) do pcall(value, t.x, t.y) end return t.z end }) return t.x",
            "?",
        ),
        ("while true do print(('x'):rep(1e6)) end", stopped),
    ];
    check("eval_lua = { timeout = 2 },", cases);
}

#[test]
fn hostile_programs_reach_nothing_and_have_little_memory() {
    let rows = "x".repeat(90_000);
    let nested = format!("return {}1{}", "(".repeat(5000), ")".repeat(5000));
    let deep = format!("return {}{}", "{".repeat(5000), "}".repeat(5000));
    let concat = format!("return {}'x'", "'a'..".repeat(5000));
    let functions = format!("return {}1{}", "function() return ".repeat(300), " end".repeat(300));
    let too_long = "-".repeat(100_001);
    let full = "!used more than 64 MB";
    let cases: &[(&str, &str)] = &[
        // What is not there.
        (
            "tostring(io) .. tostring(package) .. tostring(debug) .. tostring(ffi) .. tostring(jit) .. tostring(require)",
            "nilnilnilnilnilnil",
        ),
        (
            "tostring(load) .. tostring(loadstring) .. tostring(dofile) .. tostring(getfenv) .. tostring(setfenv) .. tostring(newproxy)",
            "nilnilnilnilnilnil",
        ),
        (
            "tostring(vim) .. tostring(collectgarbage) .. tostring(gcinfo) .. tostring(module) .. tostring(string.dump) .. tostring(loadfile)",
            "nilnilnilnilnilnil",
        ),
        (
            "(function() local names = {} for name in pairs(os) do names[#names + 1] = name end table.sort(names) return table.concat(names, ' ') end)()",
            "clock date difftime time",
        ),
        ("os.exit(1)", "!attempt to call field 'exit'"),
        ("os.execute('touch escaped')", "!attempt to call field 'execute'"),
        ("('').dump", "nil"),
        ("getmetatable('').__index", "!attempt to index"),
        ("getmetatable('')", "false"),
        ("setmetatable('', {})", "!bad argument #1"),
        ("setmetatable(_G, { __index = function(_, name) return name end }) return io .. nothing", "ionothing"),
        ("_G._G = nil string = nil table = nil return ('x'):rep(3)", "xxx"),
        (
            "string.format = nil tostring = nil error = nil return js.stringify({ 'x\\1' }), ('%d'):format(3)",
            "1: [\"x\\u0001\"]\n2: 3",
        ),
        ("string.rep = function() return 'mine' end return ('x'):rep(2), string.rep()", "1: xx\n2: mine"),
        ("\u{1b}Lua", "!"),
        ("assert(pcall(string.rep))", "!"),
        ("select('#', xpcall(error, function() return print end))", "2"),
        ("xpcall(error, error)", ""),
        (
            "setmetatable({}, { __tostring = function() error('x') end, __index = error, __len = error, __metatable = 7 })",
            "{}",
        ),
        ("error(setmetatable({}, { __tostring = function() while true do end end }))", "!error object: {}"),
        ("setmetatable({}, { __gc = function() while true do end end }) return 1", "1"),
        ("return tostring(setmetatable({}, { __tostring = function() return 7 end }))", "7"),
        // What fills the memory.
        ("('x'):rep(1e9)", full),
        ("local s = 'x' while true do s = s .. s end", full),
        ("local t = {} while true do t[#t + 1] = {} end", "!"),
        ("local t = {} while true do pcall(function() t[#t + 1] = ('x'):rep(1e6) .. #t end) end", full),
        (
            "pcall(function() local t = {} while true do t[#t + 1] = ('x'):rep(1e5) .. #t end end) return 'swallowed'",
            full,
        ),
        ("local t = {} for i = 1, 1e9 do t[i] = i end", "!"),
        ("local t = {} while true do t = { t } end", "!"),
        ("local t = {} while true do t[#t + 1] = coroutine.create(print) end", "!"),
        ("string.format(('%99.99f'):rep(1e5), unpack({}))", "!"),
        ("('x'):rep(1e6):gsub('', ('y'):rep(1e6))", "!"),
        ("local t = {} for i = 1, 100 do t[i] = ('x'):rep(1e6) end return table.concat(t)", "?"),
        // Results that are too much.
        ("('x'):rep(9e6)", "and was cut"),
        ("(function() local t = {} for i = 1, 1e5 do t[i] = i end return t end)()", "and was cut"),
        ("(function() local t = {} for i = 1, 1e5 do t = { t } end return t end)()", "…"),
        ("(function() local t = {} for i = 1, 1e5 do t[{}] = {} end return t end)()", "?"),
        ("(function() local t = { 'x' } for i = 1, 40 do t = { t, t } end return t end)()", "?"),
        ("js.stringify((function() local t = {} t[1] = t return t end)())", "!the table contains itself"),
        ("'\\255\\0\\27[31m'", ""),
        // Text that is hard to read.
        (&nested, "!"),
        (&deep, "!"),
        (&concat, "!"),
        (&functions, "!"),
        (&too_long, "!the program is too long"),
        (&rows, "nil"),
    ];
    let mut chat = check("eval_lua = { timeout = 60 },", cases);
    assert_eq!(chat.nvim.lua("return vim.fn.filereadable('escaped') + vim.fn.filereadable('vault/escaped')", &[]), 0);
    // The state of the editor is another one.
    assert_eq!(chat.nvim.lua("return ('x'):rep(3) .. type(io) .. type(string.format)", &[]), "xxxtablefunction");
}

#[test]
fn many_programs_at_once_take_turns() {
    let mut programs = vec!["local t = {} for i = 1, 2e4 do t[i] = { i } end return #t"; 60];
    programs.extend(["while true do end"; 4]);
    programs.extend(["local s = 'x' while true do s = s .. s end"; 30]);
    let (mut chat, results) = evaluate("eval_lua = { timeout = 5 },", &programs);
    for (at, (result, is_error)) in results.iter().enumerate() {
        let expected = match at {
            0..60 => "20000",
            60..64 => "The program ran for more than 5 seconds and was stopped. Let it do less.",
            _ => "used more than 64 MB of memory",
        };
        assert!(result.contains(expected) && *is_error == (at >= 60), "{at}: {result}");
    }
    let kilobytes = "return vim.fn.str2nr(vim.fn.matchstr(table.concat(vim.fn.readfile('/proc/self/status'), '\\n'), [[VmHWM:\\s*\\zs\\d\\+]]))";
    if cfg!(target_os = "linux") {
        let peak = chat.nvim.lua(kilobytes, &[]).as_u64().unwrap();
        assert!(peak < 800_000, "the editor had {peak} KB at most");
    }
}

/// A program of what makes trouble, nested at random.
fn random_program(random: &mut fastrand::Rng, depth: usize) -> String {
    let mut inner = || match depth {
        0 => "x = (x or 0) + 1".to_owned(),
        _ => random_program(random, depth - 1),
    };
    let (one, two) = (inner(), inner());
    match random.u8(0..16) {
        0 => format!("pcall(function() {one} end) {two}"),
        1 => format!("xpcall(function() {one} end, function() {two} end)"),
        2 => format!("for i = 1, 3 do {one} end {two}"),
        3 => format!("while (x or 0) < 1e6 do x = (x or 0) + 1e5 {one} end"),
        4 => format!("coroutine.wrap(function() {one} coroutine.yield() {two} end)()"),
        5 => format!("local c = coroutine.create(function() {one} end) coroutine.resume(c) coroutine.resume(c) {two}"),
        6 => format!(
            "setmetatable(_G, {{ __index = function() {one} end, __newindex = function(t, k, v) rawset(t, k, v) end }}) {two}"
        ),
        7 => format!(
            "local t = setmetatable({{}}, {{ __index = function() {one} return 1 end, __tostring = function() {two} return 'x' end }}) print(t, t.x, t[1])"
        ),
        8 => format!("string.gsub(('ab'):rep(20), 'a', function() {one} end)"),
        9 => format!("table.sort({{ 3, 1, 2, 5, 4 }}, function(a, b) {one} return a < b end)"),
        10 => format!("s = (s or 'x') .. (s or 'x') .. 'y' {one} {two}"),
        11 => format!("f = function() {one} return f() end pcall(f)"),
        12 => format!("t = {{ t, t, t }} {one} js.stringify(t)"),
        13 => format!("pcall(string.find, ('a'):rep(99), ('a*'):rep(9) .. 'b') {one}"),
        14 => format!("error(setmetatable({{}}, {{ __tostring = function() {one} end }}))"),
        _ => format!("for name, value in pairs(string) do pcall(value, s, x, t) end {one}"),
    }
}

#[test]
fn random_programs_end_and_leave_the_editor_alone() {
    let mut random = fastrand::Rng::with_seed(20_261_123);
    let programs: Vec<String> =
        (0..100).map(|_| format!("{} return x, s, t", random_program(&mut random, 3))).collect();
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let (mut chat, results) = evaluate("eval_lua = { timeout = 0.5 },", &programs);
    for (program, (result, _)) in programs.iter().zip(&results) {
        for words in ["bug in Flemma", "did not answer", "panic"] {
            assert!(!result.contains(words), "{program}\n{result}");
        }
    }
    assert_eq!(chat.nvim.lua("return type(io) .. (('x'):rep(3))", &[]), "tablexxx");
}

#[test]
fn a_program_that_runs_is_stopped_by_ctrl_c() {
    let input = json!({ "code": "while true do pcall(function() while true do end end) end" });
    let options = "tools = { notes = { enabled = true, root = 'vault' }, eval_lua = { timeout = 300 } }";
    let setup = Setup { files: PAGES, options, ..Setup::default() };
    let replies = [reply(&Stream::new().tool_use("toolu_1", "eval_lua", &[&input.to_string()]).end("tool_use"))];
    let mut chat = Chat::start(&setup, replies);
    chat.send_until("status=pending");
    chat.nvim.command("%Flemma tool:approve always");
    assert!(said(&mut chat.nvim).contains("asks for approval every time"), "{}", said(&mut chat.nvim));
    assert!(chat.nvim.text().contains("status=pending"));
    chat.nvim.command("%Flemma tool:approve");
    chat.nvim.wait_for("the start", |nvim| nvim.text().contains("status=running"));
    chat.nvim.interrupt_until("the end", |nvim| nvim.text().contains("The user cancelled this call"));
    // Its process ends as well.
    let processes = "return vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):any(function(id)
        local process = vim.api.nvim_get_proc(id)
        return process ~= nil and process.name == 'nvim'
      end)";
    chat.nvim.wait_for("the end of the process", |nvim| nvim.lua(processes, &[]) == false);
}

#[test]
fn printed_text_that_is_cut_says_where() {
    let (_chat, results) = evaluate(
        "",
        &[
            "for i = 1, 1e5 do print(i) end",
            "for i = 1, 1e5 do print(i) end return 'end'",
            "print(('\u{e9}'):rep(60000)) return 'end'",
            "print(('x\\n'):rep(6e4)) error('no')",
            "for i = 1, 18517 do print(i) end",
        ],
    );
    let cut = |line: usize| format!("What was printed is cut in line {line}, after 100000 bytes. Print less]");
    let (first, _) = &results[0];
    assert!(first.contains("2000\n\n[Showing lines 1-2000 of 18518 that were kept. They are in "), "{first:.200}");
    assert!(first.ends_with(&cut(18518)), "{first:.200}");
    let path = first.split("They are in ").nth(1).unwrap().split(". What").next().unwrap();
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept.ends_with("\n18517\n1851…"), "{}", &kept[kept.len() - 40..]);
    assert!(results[1].0.contains("lines 1-2000 of 18519 that were kept") && results[1].0.ends_with(&cut(18518)));
    assert!(results[2].0.ends_with(&cut(1)) && !results[2].0.contains('\u{fffd}'), "{:.200}", results[2].0);
    let (failed, is_error) = &results[3];
    assert!(
        *is_error && failed.starts_with("line 1: no.\n\nPrinted before, cut in line 50001, after 100000 bytes:\n\nx\n"),
        "{failed:.200}"
    );
    assert!(results[4].0.contains("[Showing lines 1-2000 of 18517. The full output is in "), "{:.200}", results[4].0);
}
