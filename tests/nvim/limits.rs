//! The limits of frontmatter code: it computes as Lua does, ends soon, and uses little memory.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::support::{Nvim, Options};

/// An editor with the matcher and the bounded functions at hand.
fn editor() -> Nvim {
    let mut nvim = Nvim::start(&Options { screen: None, ..Options::default() });
    nvim.lua("require('flemma').setup({})", &[]);
    nvim
}

/// Text of these pieces.
fn text(random: &mut fastrand::Rng, pieces: &[&str], most: usize) -> String {
    (0..random.usize(..=most)).map(|_| pieces[random.usize(..pieces.len())]).collect()
}

#[test]
fn patterns_find_what_lua_finds() {
    let mut random = fastrand::Rng::with_seed(20_260_101);
    let letters = ["a", "b", "ab", " ", "(", ")", "%", "1", "\0", "ä", "]", "^", "-", "X", "\n", "_"];
    let items = [
        "a", "b", ".", "%a", "%d", "%s", "%S", "%w", "%W", "%p", "%u", "%l", "%x", "%c", "%g", "%z", "%%", "%(",
        "[ab]", "[^ab]", "[a-z]", "[%d_]", "[]]", "[^]a]", "[a-]", "[%a-z]", "*", "+", "-", "?", "(", ")", "()", "(a)",
        "^", "$", "%b()", "%bab", "%f[%a]", "%f[^%a]", "%1", "%2", "%9", "%", "[", "]", "%b", "%f", "\0", "ä", "(.-)",
        "(.*)", ".-",
    ];
    let replacements = ["", "x", "%0", "%1", "%2", "<%0%%>", "%x", "[%1|%0]"];
    let cases: Vec<Value> = (0..6000)
        .map(|_| {
            json!([
                text(&mut random, &letters, 12),
                text(&mut random, &items, 5),
                replacements[random.usize(..replacements.len())],
                random.i32(-14..=14),
            ])
        })
        .collect();
    let mut nvim = editor();
    let different = nvim.lua(
        "local bounded = require('flemma.bounded').string
         local function run(fn, ...)
           local result = vim.F.pack_len(pcall(fn, ...))
           -- Errors have a place in front of them, and name their function.
           if not result[1] then result[2] = result[2]:gsub('^%S*%s?%S-:%d+: ', '') end
           return result
         end
         -- Lua says so only when the capture is asked for.
         local function same(was, is)
           return vim.deep_equal(was, is) or (not is[1] and is[2] == 'unfinished capture')
         end
         local function all(fn, ...)
           local found = {}
           for a, b, c in fn(...) do
             found[#found + 1] = { a, b or false, c or false }
             if #found > 50 then break end
           end
           return found
         end
         local different, matched = {}, 0
         for _, case in ipairs((...)) do
           local text, pattern, replacement, init = unpack(case)
           local table_ = setmetatable({}, { __index = function(_, key) return key ~= 'a' and '<' .. key .. '>' end })
           local fn = function(...) return select('#', ...) > 1 and (...) or nil end
           local calls = {
             find = { text, pattern }, match = { text, pattern },
             gsub = { text, pattern, replacement },
           }
           for name, arguments in pairs(calls) do
             local was, is = run(string[name], unpack(arguments)), run(bounded[name], unpack(arguments))
             if was[1] and was[2] then matched = matched + 1 end
             if not same(was, is) then different[#different + 1] = { name, case, was, is } end
           end
           for name, arguments in pairs({
             find = { text, pattern, init }, match = { text, pattern, init },
             gsub = { text, pattern, replacement, math.abs(init) % 3 },
           }) do
             local was, is = run(string[name], unpack(arguments)), run(bounded[name], unpack(arguments))
             if not same(was, is) then different[#different + 1] = { name, 'init', case, was, is } end
           end
           for _, by in ipairs({ table_, fn }) do
             local was, is = run(string.gsub, text, pattern, by), run(bounded.gsub, text, pattern, by)
             if not same(was, is) then different[#different + 1] = { 'gsub by ' .. type(by), case, was, is } end
           end
           local was, is = run(string.find, text, pattern, init, true), run(bounded.find, text, pattern, init, true)
           if not same(was, is) then different[#different + 1] = { 'plain', case, was, is } end
           local was, is = run(all, string.gmatch, text, pattern), run(all, bounded.gmatch, text, pattern)
           if not same(was, is) then different[#different + 1] = { 'gmatch', case, was, is } end
         end
         return { #different, matched, vim.inspect(vim.list_slice(different, 1, 6)) }",
        &[json!(cases)],
    );
    assert_eq!(different[0], 0, "{}", different[2].as_str().unwrap_or_default());
    assert!(different[1].as_u64().unwrap() > 3000, "too few patterns matched: {different}");
}

#[test]
fn the_other_functions_give_what_they_give_outside() {
    let mut nvim = editor();
    let different = nvim.lua(
        "local bounded = require('flemma.bounded')
         local L, N = { 'b', 'a', 3, 'c' }, { a = 1, b = { c = { 1, 2 } } }
         local calls = {
           { 'string', 'rep', 'ab', 3 }, { 'string', 'rep', 'ab', 3, ', ' }, { 'string', 'rep', 'a', -1 },
           { 'string', 'rep', 7, 2 }, { 'string', 'format', '%s %5.2f %q %%', 'x', 1.5, 'a\\n' },
           { 'string', 'format', '%d', 'x' }, { 'string', 'lower', 'ÄA' }, { 'string', 'sub', 'hello', -3, -2 },
           { 'string', 'byte', 'abc', 1, -1 }, { 'string', 'char', 97, 98 }, { 'string', 'rep' },
           { 'table', 'concat', { 'a', 1, 'b' }, ', ' }, { 'table', 'concat', { 'a', 'b', 'c' }, '-', 2, 3 },
           { 'table', 'concat', { 'a', {}, 'c' } }, { 'table', 'concat', {}, 'x' }, { 'table', 'maxn', { 1, [9] = 2 } },
           { 'vim', 'deepcopy', N }, { 'vim', 'tbl_extend', 'force', N, { a = 2 } },
           { 'vim', 'tbl_deep_extend', 'keep', N, { b = { d = 1 } } }, { 'vim', 'tbl_keys', { x = 1 } },
           { 'vim', 'list_extend', { 1 }, { 2, 3, 4 }, 2 }, { 'vim', 'list_extend', { 1 }, { 2, 3 }, 1, 1 },
           { 'vim', 'list_slice', L, 2, 3 }, { 'vim', 'list_slice', L }, { 'vim', 'list_slice', L, 3, 99 },
           { 'vim', 'split', 'a,b,,c', ',', { plain = true } }, { 'vim', 'split', 'a1b22c', '%d+' },
           { 'vim', 'trim', '  x y  ' }, { 'vim', 'startswith', 'abc', 'ab' }, { 'vim', 'inspect', N },
           { 'vim', 'tbl_contains', L, 3 }, { 'vim', 'list_contains', L, 'x' }, { 'vim', 'tbl_isempty', {} },
           { 'vim', 'tbl_map', function(x) return tostring(x) end, L }, { 'vim', 'tbl_count', N },
         }
         local different = {}
         for _, call in ipairs(calls) do
           local lib, name = call[1], call[2]
           local outside = lib == 'vim' and vim or _G[lib]
           local function run(fn)
             local arguments = vim.list_slice(call, 3)
             for i, value in ipairs(arguments) do arguments[i] = type(value) == 'table' and vim.deepcopy(value) or value end
             local result = vim.F.pack_len(pcall(fn, unpack(arguments)))
             return result[1] and result or 'an error'
           end
           local was, is = run(outside[name]), run(bounded[lib][name])
           if not vim.deep_equal(was, is) then different[#different + 1] = { call, was, is } end
         end
         local list = { 3, 1, 2 }
         bounded.table.sort(list)
         bounded.table.insert(list, 4)
         bounded.table.insert(list, 1, 0)
         assert(vim.deep_equal(list, { 0, 1, 2, 3, 4 }))
         bounded.table.sort(list, function(a, b) return a > b end)
         assert(vim.deep_equal(list, { 4, 3, 2, 1, 0 }))
         return { #different, vim.inspect(different) }",
        &[],
    );
    assert_eq!(different[0], 0, "{}", different[1].as_str().unwrap_or_default());
}

/// The most memory that a process has had, in MB.
fn peak(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

/// Code that would take for ever, or all of the memory.
fn excesses() -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    // Patterns that try every combination, by every function that takes one.
    let patterns = [
        "a?".repeat(30) + &"a".repeat(30),
        ".-.-.-.-b".into(),
        "(.*)(.*)(.*)(.*)b".into(),
        "[ab]*[ab]*[ab]*c".into(),
        "%b()%b()%b()".repeat(3),
        "a-a-a-a-a-b".into(),
        "(a*)*%1b".into(),
        "%f[b]".into(),
    ];
    let texts = ["('a'):rep(30)", "('a'):rep(1e5)", "('('):rep(1e5)", "('a'):rep(9e5)"];
    let uses = [
        "s:find(p)",
        "s:match(p)",
        "s:gsub(p, 'x')",
        "for _ in s:gmatch(p) do end",
        "vim.split(s, p)",
        "s:gsub(p, function() return 'x' end)",
    ];
    for (n, pattern) in patterns.iter().enumerate() {
        for (m, text) in texts.iter().enumerate() {
            let each = uses[(n + m) % uses.len()];
            codes.push(format!("local s, p = {text}, '{pattern}' for i = 1, 1e9 do {each} end"));
        }
    }
    codes.push("local s, p = ('a'):rep(1e6), ('a'):rep(5e5) .. 'b' for i = 1, 1e9 do s:find(p, 1, true) end".into());
    // Growth, by every function that makes something longer.
    let seeds = ["local s = 'x'", "local s = ('x'):rep(1e6)", "local s = ('%%'):rep(3e5)"];
    let grows = [
        "s = s .. s",
        "s = s .. s .. s .. s .. s .. s .. s .. s",
        "s = s:rep(2)",
        "s = ('').rep(s, 2, s)",
        "s = s:format() .. s",
        "s = ('%s%s'):format(s, s)",
        "s = ('%q'):format(s)",
        "s = s:gsub('.', '%0%0')",
        "s = s:gsub('', s)",
        "s = s:gsub('.', function() return s end)",
        "s = table.concat({ s, s })",
        "s = table.concat({ s, s, s }, s)",
        "s = s:upper():lower():reverse()",
        "s = vim.inspect(s)",
        "s = vim.inspect({ s, s })",
        "s = tostring(s) .. s",
    ];
    for seed in seeds {
        codes.extend(grows.iter().map(|grow| format!("{seed} while true do {grow} end")));
    }
    // Tables.
    codes.extend(
        [
            "local t = {} while true do t[#t + 1] = {} end",
            "local t = { 1 } while true do vim.list_extend(t, t) end",
            "local t = { 1 } for i = 1, 1e9 do vim.list_extend(t, { 1 }, 1, 2e9) end",
            "for i = 1, 1e9 do vim.list_slice({ 1 }, -2e9, 2e9) end",
            "table.insert({}, -2e9, 'x')",
            "table.insert({}, 2e9, 'x')",
            "local t = {} for i = 1, 5e4 do t[i] = i end while true do t = vim.deepcopy(t) end",
            "local t = {} for i = 1, 40 do t = { a = t, b = t } end vim.tbl_deep_extend('force', t, t)",
            "local t = {} for i = 1, 40 do t = { t, t } end vim.deepcopy(t) vim.inspect(t)",
            "local t = {} t.t = t vim.tbl_deep_extend('force', t, t)",
            "local t = {} for i = 1, 1e5 do t[i] = 1e5 - i end while true do table.sort(t, function(a, b) return a < b end) end",
            "local a = ('x'):rep(4e5) local t = {} for i = 1, 2e4 do t[i] = a .. (i % 2) end while true do table.sort(t) end",
            "local t = {} for i = 1, 1e9 do t[i] = i end",
            "local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
            "local function f() return f() end f()",
            "local function f() return 1 + f() end while true do pcall(f) end",
            "while true do pcall(error, ('x'):rep(1e5)) end",
            "while true do pcall(function() while true do end end) end",
            "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end",
            "os.date(('%c'):rep(1e5))",
            "for i = 1, 1e9 do math.random() end",
            "repeat until false",
            "::a:: goto a",
        ]
        .map(str::to_owned),
    );
    codes
}

#[test]
fn whatever_the_code_does_it_ends_soon_and_takes_little_memory() {
    let mut nvim = editor();
    nvim.command("edit notes.chat");
    let pid = nvim.lua("return vim.uv.os_getpid()", &[]).as_u64().unwrap();
    let codes = excesses();
    assert!(codes.len() > 90, "{}", codes.len());
    for code in codes {
        let before = peak(pid);
        let began = Instant::now();
        let answer = nvim.lua(
            "local code = ...
             local ok, problem = require('flemma.frontmatter').run(code, {})
             local strings = getmetatable('').__index == string
             return { ok, problem or '', strings and debug.gethook() == nil }",
            &[json!(code)],
        );
        let (took, grew) = (began.elapsed(), peak(pid).saturating_sub(before));
        assert_eq!(answer[0], false, "{code}");
        let problem = answer[1].as_str().unwrap();
        assert!(!problem.is_empty() && !problem.contains("bounded.lua"), "{code}: {problem}");
        assert_eq!(answer[2], true, "what was lent is given back: {code}");
        // A quarter of a second, and what one step may take beyond; a machine that is busy takes its time.
        assert!(took < Duration::from_secs(20), "{code}: {took:?} ({problem})");
        assert!(grew < 200, "{code}: {grew} MB ({problem})");
        nvim.lua("collectgarbage()", &[]);
    }
}

#[test]
fn ordinary_frontmatter_stays_far_below_the_limits() {
    let mut nvim = editor();
    nvim.command("edit notes.chat");
    for code in [
        "local t = {} for i = 1, 2000 do t[i] = ('line %d'):format(i) end local s = table.concat(t, '\\n')
         assert(#vim.split(s, '\\n') == 2000) assert(s:find('line 1999', 1, true))",
        "local s = '' for i = 1, 2000 do s = s .. 'line ' .. i .. '\\n' end assert(select(2, s:gsub('%d+', '<%0>')) == 2000)",
        "local s = ('word '):rep(20000) assert(not s:match('rm %-rf')) assert(#vim.trim(s) == 99999)",
        "local t = {} for w in ('the quick brown fox'):gmatch('%a+') do t[#t + 1] = w:upper() end
         table.sort(t) assert(table.concat(t, ' ') == 'BROWN FOX QUICK THE')",
    ] {
        let answer = nvim.lua("return { require('flemma.frontmatter').run((...), {}) }", &[json!(code)]);
        assert_eq!(answer[0], true, "{code}: {answer}");
    }
}
