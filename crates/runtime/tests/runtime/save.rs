//! Writing a conversation's file: whole or not at all, and only if it is still the one that is known.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use flemma_runtime::{
    Owner, Taken,
    save::{self, SaveError, Stamp},
};

/// Writes a conversation that this process holds.
fn save(path: &Path, bytes: &[u8], known: Option<Stamp>) -> Result<Stamp, SaveError> {
    save::save(path, bytes, known, || Ok(()))
}

fn folder_with(text: &str) -> (tempfile::TempDir, PathBuf, Option<Stamp>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.chat");
    fs::write(&path, text).unwrap();
    let stamp = Stamp::of(&path).unwrap();
    (folder, path, stamp)
}

fn files_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_known_file_is_replaced_whole_and_its_new_stamp_is_known() {
    let (folder, path, stamp) = folder_with("old");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let new = save(&path, b"new text", stamp).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new text");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640, "the mode stays");
    assert_eq!(Stamp::of(&path).unwrap(), Some(new));
    assert_eq!(files_in(folder.path()), ["a.chat"], "nothing is left behind");
    save(&path, b"and again", Some(new)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"and again");
}

#[test]
fn a_file_that_was_changed_is_left_alone() {
    let (folder, path, stamp) = folder_with("old");
    // Same size: only the time or the inode tells.
    fs::write(folder.path().join("b"), "odl").unwrap();
    fs::rename(folder.path().join("b"), &path).unwrap();
    assert_eq!(save(&path, b"new", stamp), Err(SaveError::Changed));
    assert_eq!(fs::read(&path).unwrap(), b"odl");
    assert_eq!(files_in(folder.path()), ["a.chat"]);
}

#[test]
fn what_is_in_the_way_is_named_and_stays() {
    let (folder, path, stamp) = folder_with("old");
    assert_eq!(save(&path, b"new", None), Err(SaveError::Appeared));
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    assert_eq!(save(&path, b"new", stamp), Err(SaveError::ReadOnly));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    fs::remove_file(&path).unwrap();
    assert_eq!(save(&path, b"new", stamp), Err(SaveError::Gone));
    fs::create_dir(&path).unwrap();
    assert_eq!(save(&path, b"new", stamp), Err(SaveError::NotAFile));
    let gone = folder.path().join("nowhere/a.chat");
    assert_eq!(save(&gone, b"new", stamp), Err(SaveError::NoFolder));
    assert_eq!(save(&gone, b"new", None), Err(SaveError::NoFolder));
    symlink("nothing", folder.path().join("dangling.chat")).unwrap();
    assert_eq!(save(&folder.path().join("dangling.chat"), b"new", None), Err(SaveError::NotAFile));
    assert!(!folder.path().join("nothing").exists());
}

#[test]
fn a_new_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.chat");
    assert_eq!(Stamp::of(&path).unwrap(), None);
    let stamp = save(&path, b"text", None).unwrap();
    assert_eq!((fs::read(&path).unwrap(), Stamp::of(&path).unwrap()), (b"text".to_vec(), Some(stamp)));
}

#[test]
fn links_stay_links() {
    let (folder, path, stamp) = folder_with("old");
    let link = folder.path().join("link.chat");
    symlink(&path, &link).unwrap();
    assert_eq!(Stamp::of(&link).unwrap(), stamp);
    let stamp = save(&link, b"through a link", stamp).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"through a link");

    // A hard link is another name of the same file, before and after.
    let other = folder.path().join("other.chat");
    fs::hard_link(&path, &other).unwrap();
    for text in ["a longer text than before", "short"] {
        let known = Stamp::of(&path).unwrap();
        save(&path, text.as_bytes(), known).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), text);
        assert_eq!(fs::metadata(&path).unwrap().ino(), fs::metadata(&other).unwrap().ino());
    }
    assert!(Stamp::of(&path).unwrap() != Some(stamp));
    assert_eq!(files_in(folder.path()), ["a.chat", "link.chat", "other.chat"]);
}

#[test]
fn a_full_disk_leaves_the_old_file_whole() {
    // A process of its own has a limit of its own; without it a write past the limit would end the test.
    const TEST: &str = "FLEMMA_TEST_SAVE_UNDER_A_LIMIT";
    let new = vec![b'n'; 100_000];
    if let Some(folder) = std::env::var_os(TEST) {
        for name in ["plain.chat", "linked.chat"] {
            let path = Path::new(&folder).join(name);
            let stamp = Stamp::of(&path).unwrap();
            let trouble = save(&path, &new, stamp).unwrap_err();
            assert!(matches!(trouble, SaveError::Failed(_)), "{trouble:?}");
        }
        assert!(matches!(save(&Path::new(&folder).join("new.chat"), &new, None), Err(SaveError::Failed(_))));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let old = vec![b'o'; 20_000];
    for name in ["plain.chat", "linked.chat"] {
        fs::write(folder.path().join(name), &old).unwrap();
    }
    fs::hard_link(folder.path().join("linked.chat"), folder.path().join("second name")).unwrap();
    let own = std::env::current_exe().unwrap();
    // 64 blocks of 512 bytes. The signal for a file that is too large is ignored, as by Python and Go.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact \"$1\"";
    let module = module_path!().split_once("::").unwrap().1;
    let name = format!("{module}::a_full_disk_leaves_the_old_file_whole");
    let output =
        std::process::Command::new("sh").args(["-c", script]).arg(own).arg(name).env(TEST, folder.path()).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    for name in ["plain.chat", "linked.chat"] {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), old, "{name}");
    }
    assert_eq!(files_in(folder.path()), ["linked.chat", "plain.chat", "second name"]);
}

#[test]
fn a_write_that_was_overtaken_does_not_land() {
    let (folder, path, stamp) = folder_with("old");
    let taken = Taken(Some(Owner::this()));
    // The one who takes over comes right after the last look.
    let looks = std::cell::Cell::new(0);
    let check = || {
        looks.set(looks.get() + 1);
        if looks.get() > 1 {
            return Err(taken.clone());
        }
        save::fence(&path).unwrap();
        Ok(())
    };
    assert_eq!(save::save(&path, b"new", stamp, check), Err(SaveError::Taken(taken.clone())));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(files_in(folder.path()), ["a.chat"]);
    // And before it, where the file is overwritten or new.
    fs::hard_link(&path, folder.path().join("b.chat")).unwrap();
    let stamp = Stamp::of(&path).unwrap();
    assert_eq!(save::save(&path, b"new", stamp, || Err(taken.clone())), Err(SaveError::Taken(taken.clone())));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn only_the_temporary_files_of_a_conversation_are_deleted() {
    let (folder, path, _) = folder_with("old");
    let long = "n".repeat(240) + ".chat";
    let others =
        [".a.chat.flemma-lock", ".a.chat.flemma-new-", ".a.chat.flemma-new-1234567", ".b.chat.flemma-new-abcdef"];
    for name in others.iter().chain(&[".a.chat.flemma-new-abcDE0", long.as_str()]) {
        fs::write(folder.path().join(name), "").unwrap();
    }
    save::remove_temporary(&path).unwrap();
    let mut left: Vec<_> =
        others.iter().map(|name| (*name).to_owned()).chain(["a.chat".to_owned(), long.clone()]).collect();
    left.sort();
    assert_eq!(files_in(folder.path()), left);
    // A name that leaves no room for another one can be written.
    let long = folder.path().join(long);
    save(&long, b"new", Stamp::of(&long).unwrap()).unwrap();
    assert_eq!(fs::read_to_string(&long).unwrap(), "new");
}
