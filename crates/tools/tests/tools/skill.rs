//! The tool `skill`.

use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc, time::Duration};

use flemma_model::Digest;
use flemma_tools::{Context, Executor, Outcome, Output, Runner, builtin};
use serde_json::json;

/// What loading a skill of the project at `root` gives, if the user has trusted this text in that file.
fn load(root: &Path, name: &str, trusted: Option<(&Path, &str)>) -> Result<String, String> {
    let tool = builtin::all().into_iter().find(|tool| tool.name == "skill").unwrap();
    let mut context = Context::new(root.to_owned(), Duration::from_secs(10), root.join("overflow"));
    context.chat_dir = Some(root.to_owned());
    let digest = |(path, text): (&Path, &str)| {
        (path.canonicalize().unwrap().to_string_lossy().into_owned(), Digest::of(text.as_bytes()).to_string())
    };
    context.instructions = Arc::new(trusted.map(digest).into_iter().collect());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Executor::Server(Runner::Native(native)) = tool.executor else { panic!("it runs here") };
    match runtime.block_on(native.run(json!({ "name": name }), context)) {
        Outcome::Success(Output::Text(text)) => Ok(text),
        Outcome::Failure { error, .. } => Err(error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_projects_skill_is_loaded_as_the_user_has_trusted_it() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("code");
    let folder = root.join(".agents/skills/release");
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let text = "---\nname: release\ndescription: Publish\n---\nTag it.\n";
    let file = folder.join("SKILL.md");
    fs::write(&file, text).unwrap();
    fs::write(folder.join("scripts/tag.sh"), "").unwrap();
    let untrusted = load(&root, "release", None).unwrap_err();
    assert!(untrusted.contains("has not trusted the skill `release`"), "{untrusted}");
    let loaded = load(&root, "release", Some((&file, text))).unwrap();
    assert!(loaded.ends_with("\n\nTag it.") && loaded.contains("Its files: scripts/tag.sh"), "{loaded}");
    // What something else has made of it since is not what was trusted.
    fs::write(&file, text.replace("Tag", "Delete")).unwrap();
    assert!(load(&root, "release", Some((&file, text))).is_err());
    fs::write(base.path().join("secret"), "sesame").unwrap();
    fs::remove_file(&file).unwrap();
    symlink(base.path().join("secret"), &file).unwrap();
    assert!(load(&root, "release", Some((&root.join(".git/HEAD"), text))).is_err());
    // Some are for the user alone, and names are no paths.
    fs::remove_file(&file).unwrap();
    let manual = text.replace("---\nTag", "disable-model-invocation: true\n---\nTag");
    fs::write(&file, &manual).unwrap();
    assert!(load(&root, "release", Some((&file, &manual))).unwrap_err().contains("Only the user"));
    assert!(load(&root, "../release", None).unwrap_err().contains("There is no skill"));
}
