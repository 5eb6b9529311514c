//! The stand-ins never shadow the plugin itself: whenever somebody loads one of its modules, they get the real one if it is there,
//! and a stand-in only while it is absent.

use serde_json::{Value, json};

use crate::{
    chat::{Chat, Setup, said},
    support::{Nvim, Options},
};

const REAL: &str = "return { is_real = true, interactions = { chat = { tools = {} } } }";

/// The plugin itself, for the runtime path and as a package. It has no helpers.
const FILES: &[(&str, &str)] = &[
    ("real/lua/codecompanion/init.lua", REAL),
    ("real/lua/codecompanion/config.lua", REAL),
    ("whole/lua/codecompanion/init.lua", "return { is_real = true, config = require('codecompanion.config') }"),
    ("whole/lua/codecompanion/config.lua", REAL),
    ("pack/x/opt/real/lua/codecompanion/init.lua", REAL),
    ("pack/x/opt/real/lua/codecompanion/config.lua", REAL),
    ("pack/x/opt/real/plugin/codecompanion.lua", "_G.at_start = which()"),
    ("pack/x/opt/bare/lua/codecompanion/init.lua", REAL),
    ("pack/x/opt/bare/lua/codecompanion/config.lua", REAL),
    ("ext/lua/codecompanion/_extensions/writes.lua", include_str!("extensions/counter.lua")),
];

const LUA: &str = "
    vim.opt.packpath:append(vim.fn.getcwd())
    function _G.which()
      local found = {}
      for i, name in ipairs({ '', '.config', '.interactions.chat.tools.builtin.helpers' }) do
        local ok, module = pcall(require, 'codecompanion' .. name)
        found[i] = not ok and 'none' or module.is_real == true and 'real' or 'stand-in'
      end
      return table.concat(found, ' ')
    end
    function _G.add(name) vim.opt.rtp:append(vim.fn.getcwd() .. '/' .. name) end
";

const OURS: &str = "stand-in stand-in stand-in";
const THEIRS: &str = "real real none";

/// What each of these pieces of Lua returns, in an editor of its own.
fn run(init: &str, steps: &[&str]) -> Vec<Value> {
    let init = format!("{LUA}\n{init}");
    let mut nvim = Nvim::start(&Options { files: FILES, init: &init, ..Options::default() });
    steps.iter().map(|step| nvim.lua(step, &[])).collect()
}

const USE: &str = "require('flemma.compat.codecompanion')";

#[test]
fn a_stand_in_makes_way_whenever_the_plugin_appears() {
    let same = |how: &str| format!("local before = which() {how} return {{ before, which() }}");
    for how in ["add('real')", "vim.cmd.packadd('real')", "vim.cmd.packadd('bare')"] {
        // In a later tick, and in the same one.
        assert_eq!(run(USE, &["return which()", how, "return which()"])[2], THEIRS, "{how}");
        assert_eq!(run(USE, &[&same(how)])[0], json!([OURS, THEIRS]), "{how}");
        // Before.
        assert_eq!(run(&format!("{how} {USE}"), &["return which()"])[0], THEIRS, "{how}");
    }
}

#[test]
fn a_stand_in_makes_way_during_startup() {
    // Options announce nothing during startup. What is sourced does, and Flemma leaves nothing behind itself.
    let with_setup = format!(
        "{USE}.extension('x', {{ callback = {{ setup = function() _G.inside = which() end }} }}) add('real') _G.found = which()"
    );
    assert_eq!(run(&with_setup, &["return { inside, found }"])[0], json!([OURS, THEIRS]));
    // The plugin itself loads its other modules.
    let partly = format!(
        "{USE} _G.before = require('codecompanion.config') add('whole') _G.found = require('codecompanion').config.is_real"
    );
    assert_eq!(run(&partly, &["return { before.is_real == nil, found }"])[0], json!([true, true]));
    let packed = format!("{USE} _G.before = which() vim.cmd.packadd('real') _G.found = which()");
    assert_eq!(run(&packed, &["return { before, at_start, found }"])[0], json!([OURS, THEIRS, THEIRS]));
}

#[test]
fn stand_ins_are_made_on_use_and_keep_their_identity() {
    let mut nvim = Nvim::start(&Options {
        files: FILES,
        init: &format!("require('flemma').setup({{}})\n{LUA}"),
        ..Options::default()
    });
    assert_eq!(nvim.lua("return { which(), #package.loaders }", &[])[0], "none none none");
    nvim.lua(
        "local count = #package.loaders
         require('flemma.compat.codecompanion')
         assert(#package.loaders == count + 2)
         _G.first, _G.log = require('codecompanion.config'), require('codecompanion.utils.log')
         assert(first.strategies == first.interactions and first.strategies.chat.tools.groups)
         assert(vim.deep_equal(first.constants, { USER_ROLE = 'user', LLM_ROLE = 'llm', SYSTEM_ROLE = 'system' }))
         assert(require('codecompanion').has({ 'chat', 'extensions' }) and not require('codecompanion').has('acp'))",
        &[],
    );
    nvim.wait_for("the next tick", |nvim| {
        nvim.lua("return package.loaded['codecompanion.config'] == nil", &[]) == true
    });
    let same = "return require('codecompanion.config') == first and require('codecompanion.utils.log') == log";
    assert_eq!(nvim.lua(same, &[]), true);
    // Also where almost nothing is allowed.
    nvim.lua(
        "local timer = vim.uv.new_timer()
         timer:start(0, 0, function()
           timer:close()
           local log = require('codecompanion.utils.log')
           log:error('from %s', 'a timer', 3)
           log.info({ 1 })
           _G.fast = { require('codecompanion.config').constants.USER_ROLE, select(2, pcall(require('codecompanion.schema').get_default)) }
         end)",
        &[],
    );
    nvim.wait_for("the timer", |nvim| nvim.lua("return fast ~= nil", &[]) == true);
    let why = "`codecompanion.schema.get_default()` is out of reach here: it is the schema of CodeCompanion's adapters, which Flemma has not \
               (:help flemma-codecompanion)";
    assert_eq!(nvim.lua("return fast", &[]), json!(["user", why]));
    // Other modules are simply not there.
    let other = nvim.lua("return { pcall(require, 'codecompanion.workflows') }", &[]);
    assert!(other[1].as_str().unwrap().starts_with("module 'codecompanion.workflows' not found:"), "{other}");
    assert_eq!(said(&mut nvim), "");
}

#[test]
fn a_loader_that_was_added_later_is_asked_first() {
    let loader = "table.insert(package.loaders, function(name)
        if name == 'codecompanion' or name == 'codecompanion.config' then return function() return { is_real = true } end end
      end)";
    assert_eq!(run(USE, &["return which()", loader, "return which()"])[2], THEIRS);
}

#[test]
fn with_the_plugin_itself_extensions_bring_their_tools() {
    let init =
        format!("add('real') add('ext') _G.is_ok = {USE}.extension('writes', {{ opts = {{ name = 'counts' }} }})");
    let lua = format!("package.preload['codecompanion.utils.log'] = function() return {{}} end {LUA} {init}");
    let mut chat = Chat::start(&Setup { files: FILES, lua: &lua, ..Setup::default() }, []);
    let found = chat.nvim.lua(
        "return { is_ok, require('flemma.tools').get('counts') ~= nil, require('codecompanion.config').is_real }",
        &[],
    );
    assert_eq!(found, json!([true, true, true]));
    let health = |nvim: &mut Nvim| {
        nvim.command("checkhealth flemma");
        nvim.text()
    };
    let text = health(&mut chat.nvim);
    assert!(
        text.contains(
            "1 tools and 1 extensions made for CodeCompanion; they load the modules of CodeCompanion itself: "
        )
    );
    assert!(text.contains("real/lua/codecompanion/init.lua"), "{text}");
    let mut alone =
        Nvim::start(&Options { init: &format!("require('flemma').setup({{}}) {USE}"), ..Options::default() });
    let text = health(&mut alone);
    assert!(
        text.contains("they load Flemma's stand-ins for modules of CodeCompanion, which is not installed"),
        "{text}"
    );
}
