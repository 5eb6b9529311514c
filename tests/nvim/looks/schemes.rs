//! The groups in colour schemes.

use serde_json::{Value, json};

use super::{TEXT, open};

/// The colour schemes that come with Neovim and look most different.
const SCHEMES: [&str; 5] = ["default", "retrobox", "lunaperche", "zaibatsu", "habamax"];

const LOOK_UP: &str = "local found = {}
    for _, name in ipairs({ ... }) do
      local group = vim.api.nvim_get_hl(0, { name = name, link = false })
      found[#found + 1] = { group.fg or -1, group.bg or -1, group.bold or false, group.ctermfg or -1, group.ctermbg or -1 }
    end
    return found";

fn differ(found: &Value, part: usize, what: &str) {
    let values: Vec<(&Value, &Value)> =
        found.as_array().into_iter().flatten().map(|group| (&group[part], &group[2])).collect();
    for (index, value) in values.iter().enumerate() {
        assert!(!values[..index].contains(value), "{what}: {found}");
    }
}

#[test]
fn roles_and_states_differ_in_every_colour_scheme() {
    let mut nvim = open(TEXT, "", 80);
    for scheme in SCHEMES {
        for background in ["dark", "light"] {
            nvim.command(&format!("set background={background} | colorscheme {scheme}"));
            let what = format!("{scheme}, {background}");
            let look = |nvim: &mut super::Nvim, names: &[&str]| {
                nvim.lua(LOOK_UP, &names.iter().map(|name| json!(name)).collect::<Vec<_>>())
            };
            let roles = look(&mut nvim, &["FlemmaSystem", "FlemmaUser", "FlemmaAssistant"]);
            differ(&roles, 0, &what);
            differ(&roles, 3, &what);
            let lines = look(&mut nvim, &["FlemmaSystemLine", "FlemmaUserLine", "FlemmaAssistantLine", "Normal"]);
            differ(&lines, 1, &what);
            let states = look(&mut nvim, &["FlemmaToolDone", "FlemmaFailed", "FlemmaMeta"]);
            differ(&states, 0, &what);
        }
    }
}

#[test]
fn a_line_is_readable_in_every_colour_scheme() {
    let mut nvim = open(TEXT, "", 80);
    let luminance = |colour: i64| {
        let channel = |shift: u32| {
            let value = f64::from(u32::try_from((colour >> shift) & 255).unwrap()) / 255.0;
            if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
    };
    for scheme in SCHEMES {
        for background in ["dark", "light"] {
            nvim.command(&format!("set background={background} | colorscheme {scheme}"));
            let names = ["FlemmaUser", "FlemmaUserLine", "FlemmaAssistant", "FlemmaAssistantLine", "Normal"];
            let found = nvim.lua(LOOK_UP, &names.map(|name| json!(name)));
            let contrast = |text: usize, line: usize| {
                let (text, line) = (found[text][0].as_i64().unwrap(), found[line][1].as_i64().unwrap());
                let (text, line) = (luminance(text), luminance(line));
                (text.max(line) + 0.05) / (text.min(line) + 0.05)
            };
            for at in [0, 2] {
                let (line, own) = (contrast(at, at + 1), contrast(at, 4));
                assert!(line > 0.7 * own, "{scheme}, {background}: {line:.1} of {own:.1}, {found}");
            }
        }
    }
}

#[test]
fn backgrounds_follow_the_colour_scheme_and_the_user_wins() {
    let mut nvim = open(TEXT, "", 80);
    let line = |nvim: &mut super::Nvim| nvim.lua(LOOK_UP, &[json!("FlemmaUserLine")])[0][1].clone();
    let dark = line(&mut nvim);
    nvim.command("set background=light");
    let light = line(&mut nvim);
    assert_ne!(dark, light);
    nvim.command("colorscheme retrobox");
    assert_ne!(line(&mut nvim), light);
    nvim.command("highlight FlemmaUserLine guibg=#123456");
    nvim.lua("require('flemma.highlights').apply(nil)", &[]);
    assert_eq!(line(&mut nvim), 0x12_3456, "somebody has defined it");
    let own = "require('flemma').setup({ highlights = { line_user = { bg = '#654321' }, role_user = 'ErrorMsg' } })";
    let mut nvim = open(TEXT, own, 80);
    assert_eq!(line(&mut nvim), 0x65_4321);
    nvim.command("colorscheme habamax");
    assert_eq!(line(&mut nvim), 0x65_4321);
}

#[test]
fn groups_of_earlier_versions_still_count() {
    let mut nvim = open(TEXT, "vim.api.nvim_set_hl(0, 'FlemmaRoleUser', { fg = '#abcdef' })", 80);
    assert_eq!(nvim.lua(LOOK_UP, &[json!("FlemmaUser")])[0][0], 0xab_cdef);
}
