//! Colour schemes: the colours of what is drawn, in those that come with Neovim and in one as plugins have them. The schemes in
//! `colors` of the folder that the environment variable `FLEMMA_SCHEMES` names are tried as well.

use std::{env, fs};

use serde_json::{Value, json};

use super::{
    super::support::{Nvim, Options},
    OPEN, TEXT, cell, open, rows,
    screens::CONVERSATION,
};

/// The colour schemes that come with Neovim and look most different.
const SCHEMES: [&str; 5] = ["default", "retrobox", "lunaperche", "zaibatsu", "habamax"];

const LOOK_UP: &str = "local found = {}
    for _, name in ipairs({ ... }) do
      local group = vim.api.nvim_get_hl(0, { name = name, link = false })
      found[#found + 1] = { group.fg or -1, group.bg or -1, group.bold or false, group.ctermfg or -1, group.ctermbg or -1 }
    end
    return found";

/// The text of [`super::screens::CONVERSATION`] that shows each role, each state, and plain text.
const ROLES: [&str; 3] = [" System", " You", " Assistant"];
const STATES: [&str; 5] = ["\u{2713}", "\u{2717} failed", "waits", "denied", "no result"];
const PLAIN: &str = "Be brief.";

/// A colour by its parts from 0 to 1, without the correction for screens.
fn linear(colour: i64) -> [f64; 3] {
    [16, 8, 0].map(|shift| {
        let value = f64::from(u32::try_from((colour >> shift) & 255).unwrap()) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn luminance(colour: i64) -> f64 {
    let [red, green, blue] = linear(colour);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The contrast of a text, as WCAG computes it.
fn contrast(one: i64, other: i64) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// How different two colours look (CIE76): 2 is hardly seen, 100 is black and white.
fn difference(one: i64, other: i64) -> f64 {
    let lab = |colour: i64| {
        let [red, green, blue] = linear(colour);
        let curve = |value: f64| if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 };
        let x = curve((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505);
        let y = curve(0.2126 * red + 0.7152 * green + 0.0722 * blue);
        let z = curve((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    };
    lab(one).iter().zip(lab(other)).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
}

/// The colours of the screen where each of some texts is first shown: text and background.
fn colours(nvim: &mut Nvim, texts: &[&str]) -> Vec<(i64, i64)> {
    let shown = rows(nvim);
    let normal = nvim.lua("return vim.api.nvim_get_hl(0, { name = 'Normal' })", &[]);
    let is_light = nvim.lua("return vim.o.background", &[]) == "light";
    let default =
        |part: &str, light: i64, dark: i64| normal[part].as_i64().unwrap_or(if is_light { light } else { dark });
    let (text, ground) = (default("fg", 0, 0xff_ffff), default("bg", 0xff_ffff, 0));
    let mut of = |wanted: &&str| {
        let found = shown.iter().enumerate().find_map(|(row, line)| Some((row, line.find(*wanted)?)));
        let (row, start) = found.unwrap_or_else(|| nvim.fail(&format!("`{wanted}` is not on the screen")));
        let column = shown[row][..start].chars().count() + wanted.chars().take_while(|sign| *sign == ' ').count();
        let cell = cell(nvim, row, column);
        let (fore, back) = (cell["foreground"].as_i64().unwrap_or(text), cell["background"].as_i64().unwrap_or(ground));
        if cell["reverse"] == true { (back, fore) } else { (fore, back) }
    };
    texts.iter().map(&mut of).collect()
}

/// That roles and states differ from each other and from plain text, and can be read.
fn assert_distinct(nvim: &mut Nvim, what: &str) {
    let plain = colours(nvim, &[PLAIN])[0];
    for texts in [&ROLES[..], &STATES[..]] {
        let found = colours(nvim, texts);
        for (index, (text, back)) in found.iter().enumerate() {
            let (name, others) = (texts[index], found[..index].iter().chain([&plain]));
            for other in others {
                let apart = difference(*text, other.0);
                assert!(
                    apart > 12.0,
                    "{what}: `{name}` is only {apart:.1} from another colour: {found:x?}, {plain:x?}"
                );
            }
            assert!(contrast(*text, *back) > 2.3, "{what}: `{name}` can hardly be read: {found:x?}");
            if texts == ROLES {
                assert!(difference(*back, plain.1) > 4.0, "{what}: the line of `{name}` looks like others: {found:x?}");
            }
        }
    }
}

#[test]
fn roles_and_states_differ_in_every_colour_scheme() {
    let lua = "vim.opt.runtimepath:append(vim.fn.getcwd() .. '/plugin')";
    let folder = env::var("FLEMMA_SCHEMES").unwrap_or_default();
    let init = format!(
        "vim.o.termguicolors = true {lua} vim.opt.runtimepath:append('{folder}')
        require('flemma').setup({{ {OPEN} }})"
    );
    let mut nvim = Nvim::start(&Options {
        files: &[("notes.chat", CONVERSATION), ("plugin/colors/pastel.lua", include_str!("colors/pastel.lua"))],
        init: &init,
        screen: Some((80, 140)),
        ..Options::default()
    });
    nvim.command("edit notes.chat");
    nvim.wait_for_screen(" Assistant");
    nvim.input("6G");
    let mut schemes = SCHEMES.map(str::to_owned).to_vec();
    schemes.push("pastel".into());
    let own = fs::read_dir(format!("{folder}/colors")).into_iter().flatten().flatten();
    schemes.extend(own.map(|file| file.path().file_stem().unwrap().to_str().unwrap().to_owned()));
    for scheme in schemes {
        for background in ["dark", "light"] {
            nvim.command(&format!("set background={background} | colorscheme {scheme}"));
            assert_distinct(&mut nvim, &format!("{scheme}, {background}"));
        }
    }
    // Many users let the background of the terminal through.
    nvim.command("let g:pastel_transparent = v:true | set background=dark | colorscheme pastel");
    assert_distinct(&mut nvim, "a transparent background");
}

#[test]
fn notes_and_statuses_can_be_read_in_every_colour_scheme() {
    let mut nvim = open(TEXT, "vim.o.termguicolors = true", 80);
    // In some of them, the groups of diagnostics are for a dark background only.
    for scheme in SCHEMES.iter().chain(&["morning", "peachpuff", "shine", "delek"]) {
        for background in ["dark", "light"] {
            nvim.command(&format!("set background={background} | colorscheme {scheme}"));
            let names =
                ["Normal", "FlemmaToolStatus", "FlemmaReviewNote", "FlemmaAborted", "FlemmaSpinner", "FlemmaQueueNote"];
            let found = nvim.lua(LOOK_UP, &names.map(Value::from));
            let ground = found[0][1].as_i64().filter(|ground| *ground >= 0);
            let ground = ground.unwrap_or(if background == "light" { 0xff_ffff } else { 0 });
            for (name, group) in names.iter().zip(found.as_array().unwrap()).skip(1) {
                let text = group[0].as_i64().filter(|text| *text >= 0).unwrap_or_default();
                let contrast = contrast(text, ground);
                assert!(contrast > 2.9, "{scheme}, {background}: `{name}` can hardly be read: {contrast:.1}");
            }
        }
    }
}

#[test]
fn groups_of_the_terminal_differ_as_well() {
    let mut nvim = open(TEXT, "vim.o.termguicolors = false", 80);
    for scheme in SCHEMES {
        nvim.command(&format!("colorscheme {scheme}"));
        for names in [&["FlemmaSystem", "FlemmaUser", "FlemmaAssistant"][..], &["FlemmaToolDone", "FlemmaFailed"]] {
            let found = nvim.lua(LOOK_UP, &names.iter().map(|name| json!(name)).collect::<Vec<_>>());
            let colours: Vec<&Value> = found.as_array().unwrap().iter().map(|group| &group[3]).collect();
            for (index, colour) in colours.iter().enumerate() {
                assert!(!colours[..index].contains(colour), "{scheme}: {names:?} are {found}");
            }
        }
    }
}

#[test]
fn backgrounds_follow_the_colour_scheme_and_the_user_wins() {
    let mut nvim = open(TEXT, "", 80);
    let line = |nvim: &mut Nvim| nvim.lua(LOOK_UP, &[json!("FlemmaUserLine")])[0][1].clone();
    let dark = line(&mut nvim);
    nvim.command("set background=light");
    let light = line(&mut nvim);
    assert_ne!(dark, light);
    nvim.command("colorscheme retrobox");
    assert_ne!(line(&mut nvim), light);
    nvim.command("highlight FlemmaUserLine guibg=#123456");
    nvim.lua("require('flemma.view.highlights').apply(nil)", &[]);
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
