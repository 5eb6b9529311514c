//! The pickers of other plugins, which stand-ins play here. Each has the functions that the plugin documents, and checks what
//! it is given.
//!
//! telescope.nvim: `developers.md`. snacks.nvim: `docs/picker.md`. fzf-lua: the page "Advanced" of its wiki, on `fzf_exec`.

use serde_json::json;

use super::{
    super::{
        chat::said,
        support::{Nvim, Options},
    },
    FILES, current, put, state_folder,
};

/// `pick(how)` takes the second item, by Enter or by the key for a layout.
const TELESCOPE: &str = "
  local actions = setmetatable({}, { __index = function(all, name)
    local action = { name = name }
    function action:replace(run) self.run = run end
    all[name] = action
    return action
  end })
  local closed
  rawset(actions, 'close', function(prompt) assert(prompt == 7) closed = true end)
  package.preload['telescope.actions'] = function() return actions end
  package.preload['telescope.actions.state'] = function()
    return { get_selected_entry = function() return _G.entry end }
  end
  package.preload['telescope.finders'] = function()
    return { new_table = function(opts)
      assert(type(opts.results) == 'table' and type(opts.entry_maker) == 'function')
      return vim.tbl_map(opts.entry_maker, opts.results)
    end }
  end
  package.preload['telescope.config'] = function()
    return { values = { generic_sorter = function() return 'sorter' end, file_previewer = function() return 'previewer' end } }
  end
  package.preload['telescope.pickers'] = function()
    return { new = function(opts, defaults)
      assert(type(opts) == 'table' and defaults.sorter == 'sorter' and defaults.previewer == 'previewer')
      for _, entry in ipairs(defaults.finder) do
        assert(entry.value and type(entry.display) == 'string' and type(entry.ordinal) == 'string' and entry.path)
      end
      return { find = function()
        assert(defaults.attach_mappings(7, function() end) == true)
        _G.shown = vim.tbl_map(function(entry) return entry.display end, defaults.finder)
        _G.pick = function(how)
          _G.entry = defaults.finder[2]
          actions['select_' .. (how or 'default')].run()
          assert(closed)
        end
      end }
    end }
  end
  package.preload['telescope'] = function()
    return { register_extension = function(mod) return mod.exports end }
  end";

const SNACKS: &str = "
  package.preload['snacks'] = function()
    return { picker = { pick = function(opts)
      assert(opts.title and opts.preview == 'file' and type(opts.confirm) == 'function')
      _G.shown = vim.tbl_map(function(item)
        assert(type(item.text) == 'string' and item.file:find('^/'))
        local line = ''
        for _, part in ipairs(opts.format(item, {})) do
          assert(type(part[1]) == 'string' and (part[2] == nil or type(part[2]) == 'string'))
          line = line .. part[1]
        end
        return line
      end, opts.items)
      _G.pick = function(how)
        local keys = { vertical = 'edit_vsplit', horizontal = 'edit_split', tab = 'tab' }
        local closed
        local run = how and opts.actions[keys[how]] or opts.confirm
        run({ close = function() closed = true end }, opts.items[2])
        assert(closed)
      end
    end } }
  end";

const FZF: &str = "
  package.preload['fzf-lua'] = function()
    return { fzf_exec = function(lines, opts)
      assert(opts.prompt and opts.fzf_opts['--with-nth'] == '2..' and opts.fzf_opts['--delimiter'] == '\\t')
      _G.shown = vim.tbl_map(function(line)
        assert(not line:find('\\n'))
        return (line:gsub('^[^\\t]*\\t', ''))
      end, lines)
      _G.pick = function(how)
        local keys = { vertical = 'ctrl-v', horizontal = 'ctrl-s', tab = 'ctrl-t' }
        opts.actions[how and keys[how] or 'default']({ lines[2] })
      end
    end }
  end";

fn start(picker: &str, stand_in: &str) -> Nvim {
    let init = format!("require('flemma').setup({{ conversations = {{ picker = '{picker}' }} }})\n{stand_in}");
    let mut nvim =
        Nvim::start(&Options { files: &FILES, arguments: &["code/src/main.rs"], init: &init, ..Options::default() });
    let folder = state_folder(&nvim, "code");
    put(&folder, "a.chat", "@You:\nFirst\twords\n", 10);
    put(&folder, "b.chat", "@You:\nSecond words\n", 20);
    nvim.command("cd code");
    nvim
}

fn wait_until_shown(nvim: &mut Nvim) {
    nvim.wait_for("the picker", |nvim| nvim.lua("return _G.shown ~= nil", &[]) == true);
    let shown = nvim.lua("return _G.shown", &[]);
    assert_eq!(shown.as_array().unwrap().len(), 2, "{shown}");
    assert!(shown[0].as_str().unwrap().contains("First words"), "{shown}");
    assert!(shown[1].as_str().unwrap().contains("Second words"), "{shown}");
}

#[test]
fn each_picker_is_driven_as_its_plugin_documents() {
    for (picker, stand_in, by_itself) in [
        ("telescope", TELESCOPE, "lua require('telescope._extensions.flemma').flemma({ previewer = false })"),
        ("snacks", SNACKS, "lua require('flemma.integrations.snacks').open()"),
        ("fzf-lua", FZF, "lua require('flemma.integrations.fzf_lua').open({ winopts = { height = 0.5 } })"),
    ] {
        let mut nvim = start(picker, stand_in);
        nvim.input(":Flemma open<CR>");
        wait_until_shown(&mut nvim);
        nvim.lua("_G.pick()", &[]);
        nvim.wait_for(picker, |nvim| current(nvim) == "b.chat");
        assert_eq!(nvim.lua("return vim.w.flemma_layout", &[]), "vertical", "{picker}");
        nvim.input(":Flemma toggle<CR>");
        nvim.wait_for("the code", |nvim| current(nvim) == "main.rs");
        nvim.lua("_G.shown = nil", &[]);
        nvim.command(by_itself);
        wait_until_shown(&mut nvim);
        nvim.lua("_G.pick('horizontal')", &[]);
        nvim.wait_for(picker, |nvim| current(nvim) == "b.chat");
        assert_eq!(nvim.lua("return vim.w.flemma_layout", &[]), "horizontal", "{picker}");
        assert_eq!(nvim.messages(), "", "{picker}");
    }
}

#[test]
fn a_picker_that_is_not_installed_is_named() {
    for picker in ["telescope", "snacks", "fzf-lua"] {
        let mut nvim = start(picker, "vim.ui.select = function(items, _, choose) choose(items[1]) end");
        nvim.input(":Flemma open<CR>");
        nvim.wait_for("the conversation", |nvim| current(nvim) == "a.chat");
        nvim.wait_for("the message", |nvim| {
            said(nvim).contains(&format!("`conversations.picker` is `{picker}`, which is not installed"))
        });
        assert_eq!(nvim.lua("return vim.v.errmsg", &[]), json!(""));
    }
}
