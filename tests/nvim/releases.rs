//! `scripts/install`: the library of a release, from a server that is good, lies, stops in the middle, or is not there.

use std::{env, fs, path::PathBuf, process::Command};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    chat::said,
    first_contact::{Installed, LAZY},
    http::{Reply, Server},
    support::{Nvim, Options},
};

/// A cargo whose build ends at once, and leaves a trace.
const BUILDS: &str = r#"touch "$HERE/built"; printf '{"reason":"compiler-artifact","filenames":["%s"]}\n' "$LIBRARY""#;

/// What the server has.
#[derive(Clone, Copy, PartialEq)]
enum Release {
    Good,
    WrongChecksum,
    NoChecksum,
    Truncated,
    Missing,
    /// A file with the right checksum that is no library.
    NoLibrary,
    /// The library as it is.
    NotPacked,
}

fn serve(release: Release) -> Server {
    let library = match release {
        Release::NoLibrary => "/bin/sh".to_owned(),
        _ => env::var("FLEMMA_NATIVE").unwrap(),
    };
    let library = match release {
        Release::NotPacked => fs::read(library).unwrap(),
        _ => Command::new("gzip").args(["-1", "-c", &library]).output().unwrap().stdout,
    };
    let digest: String = Sha256::digest(&library).iter().map(|byte| format!("{byte:02x}")).collect();
    Server::deciding(move |request| {
        let file = request.path.rsplit('/').next().unwrap();
        if release == Release::Missing || !request.path.starts_with("/v0.1.0/flemma-") {
            Reply::status(404)
        } else if file.ends_with(".sha256") {
            match release {
                Release::NoChecksum => Reply::status(404),
                Release::WrongChecksum => Reply::status(200).chunk(format!("{}  {file}\n", "0".repeat(64))),
                _ => Reply::status(200).chunk(format!("{digest}  {file}\n")),
            }
        } else if release == Release::Truncated {
            Reply::status(200).chunk(library[..library.len() / 2].to_vec()).cut()
        } else {
            Reply::status(200).chunk(library.clone())
        }
    })
}

/// A clone at the tag of a release.
fn tagged() -> Installed {
    let installed = Installed::new();
    let tagged = Command::new("git").args(["tag", "v0.1.0"]).current_dir(installed.plugin()).status().unwrap();
    assert!(tagged.success());
    installed
}

fn library(installed: &Installed) -> PathBuf {
    installed.plugin().join("build/flemma.so")
}

/// Installs as lazy.nvim does: whether it succeeded, why not, and what it said.
fn install(installed: &Installed, releases: &str) -> (Nvim, Value) {
    let init = format!("{}{}vim.g.flemma_releases = '{releases}'\n{LAZY}", installed.init(), this_neovim());
    let mut nvim =
        Nvim::start(&Options { init: &init, files: &[("notes.chat", "@You:\nHello\n")], ..Options::default() });
    let ended = nvim.lua("return build_as_lazy()", &[]);
    (nvim, ended)
}

/// Lua that names the Neovim under test, which may be a script around another program.
fn this_neovim() -> String {
    env::var("FLEMMA_NVIM").map(|path| format!("vim.env.FLEMMA_NVIM = '{path}'\n")).unwrap_or_default()
}

/// A folder with the programs that the script needs, and no other.
fn without_cargo(installed: &Installed) -> PathBuf {
    let folder = installed.home.path().join("tools");
    fs::create_dir(&folder).unwrap();
    let tools = "bash chmod curl cut dirname env git grep gzip ldd mkdir mktemp mv rm sed sha256sum sh uname wget";
    let find = "for tool in $1; do path=$(command -v $tool) && ln -s $path $2; done; true";
    let found = Command::new("sh").args(["-c", find, "sh", tools]).arg(&folder).status().unwrap();
    assert!(found.success());
    folder
}

fn leftovers(installed: &Installed) -> Vec<String> {
    let files = fs::read_dir(installed.plugin().join("build")).map(|files| files.map(|file| file.unwrap().file_name()));
    let names =
        files.map(|names| names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()).unwrap_or_default();
    names.into_iter().filter(|name| name != "flemma.so").collect()
}

#[test]
fn the_library_of_a_release_is_downloaded() {
    let (installed, server) = (tagged(), serve(Release::Good));
    installed.cargo(BUILDS);
    let (mut nvim, ended) = install(&installed, &server.base_url());
    assert_eq!(ended[0], true, "{ended}");
    let words = ended[2].as_str().unwrap();
    assert!(words.contains("downloading the library of v0.1.0 for ") && words.contains(&server.host()), "{words}");
    assert!(!installed.home.path().join("built").exists(), "nothing is compiled");
    assert_eq!(leftovers(&installed), Vec::<String>::new());
    nvim.command("edit notes.chat");
    nvim.input("<C-]>");
    nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:"));
    assert_eq!(said(&mut nvim), "");
}

#[test]
fn a_release_that_is_not_as_it_should_be_is_not_used() {
    let cases = [
        (Release::WrongChecksum, "and not 0000"),
        (Release::NoChecksum, ".sha256 cannot be downloaded"),
        (Release::Truncated, "cannot be downloaded"),
        (Release::Missing, "cannot be downloaded"),
        (Release::NoLibrary, "cannot be loaded by "),
        (Release::NotPacked, "cannot be unpacked"),
    ];
    for (release, reason) in cases {
        let (installed, server) = (tagged(), serve(release));
        // Without cargo, one message says what is wrong and what to do.
        let path = format!("{}vim.env.PATH = '{}'", this_neovim(), without_cargo(&installed).display());
        let init = format!("{}vim.g.flemma_releases = '{}'\n{path}\n{LAZY}", installed.init(), server.base_url());
        let mut nvim = Nvim::start(&Options { init: &init, ..Options::default() });
        let ended = nvim.lua("return build_as_lazy()", &[]);
        let problem = ended[1].as_str().unwrap();
        assert!(problem.contains(reason) && problem.contains("install Rust first"), "{problem}");
        drop(nvim);
        assert!(!library(&installed).exists(), "{reason}");
        // With cargo, the library is built, and it is said why.
        installed.cargo(BUILDS);
        let (_, ended) = install(&installed, &server.base_url());
        assert_eq!(ended[0], true, "{ended}");
        assert!(installed.home.path().join("built").exists() && library(&installed).exists(), "{reason}");
        assert_eq!(leftovers(&installed), Vec::<String>::new(), "{reason}");
    }
}

#[test]
fn a_server_that_is_not_there_is_no_obstacle() {
    let installed = tagged();
    installed.cargo(BUILDS);
    let (_, ended) = install(&installed, "http://127.0.0.1:9");
    assert_eq!(ended[0], true, "{ended}");
    assert!(installed.home.path().join("built").exists());
}

#[test]
fn only_a_clean_clone_at_a_tag_has_a_release() {
    for is_tagged in [false, true] {
        let server = serve(Release::Good);
        let installed = if is_tagged { tagged() } else { Installed::new() };
        if is_tagged {
            fs::write(installed.plugin().join("README.md"), "changed").unwrap();
        }
        installed.cargo(BUILDS);
        let (_, ended) = install(&installed, &server.base_url());
        assert_eq!(ended[0], true, "{ended}");
        assert!(installed.home.path().join("built").exists());
        assert_eq!(server.requests().len(), 0);
    }
}

#[test]
fn a_library_that_pip_or_npm_installed_is_found() {
    for place in ["share/nvim/site/pack/flemma/start/flemma/build", "build"] {
        let installed = Installed::new();
        let folder = installed.home.path().join(place);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(env::var("FLEMMA_NATIVE").unwrap(), folder.join("flemma.so")).unwrap();
        installed.cargo("exit 1");
        fs::rename(installed.home.path().join("bin/cargo"), installed.home.path().join("bin/flemma")).unwrap();
        let init = installed.init() + "vim.opt.runtimepath:prepend(plugin)\nrequire('flemma').setup({})";
        let files = &[("notes.chat", "@You:\nHello\n")];
        let mut nvim = Nvim::start(&Options { init: &init, files, arguments: &["notes.chat"], ..Options::default() });
        let path = nvim.lua("return require('flemma.native').path()", &[]);
        let expected = fs::canonicalize(folder.join("flemma.so")).unwrap();
        assert_eq!(path, json!(expected.to_str()), "{place}");
        nvim.input("<C-]>");
        nvim.wait_for("the answer", |nvim| nvim.text().contains("@Assistant:"));
    }
}
