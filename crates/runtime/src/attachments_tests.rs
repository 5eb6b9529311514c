#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;

/// A GIF of one pixel with `extra` bytes behind it.
fn gif(extra: usize) -> Vec<u8> {
    let mut gif = b"GIF89a\x01\0\x01\0\0\0\0".to_vec();
    gif.resize(gif.len() + extra, 0);
    gif
}

/// What is read of a file at a path.
fn read(attachments: &Attachments, path: &Path) -> (Arc<[u8]>, Option<Media>) {
    attachments.content(AttachedBy::Tool, File::open(path).unwrap(), path, 1000).unwrap()
}

#[test]
fn a_file_that_did_not_change_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gif");
    fs::write(&path, gif(10)).unwrap();
    let attachments = Attachments::default();
    let (first, media) = read(&attachments, &path);
    let media = media.unwrap();
    assert_eq!((media.kind, media.size), (MediaKind::Gif, Some((1, 1))));
    let (again, _) = read(&attachments, &path);
    assert!(Arc::ptr_eq(&first, &again));
    fs::write(&path, gif(11)).unwrap();
    assert_eq!(*read(&attachments, &path).0, *gif(11));
    assert_eq!(lock(&attachments.0).bytes, gif(11).len(), "what was is forgotten");
}

#[test]
fn what_is_kept_has_a_bound_and_the_oldest_goes_first() {
    let attachments = Attachments::default();
    let media = Some(Media { kind: MediaKind::Gif, size: Some((1, 1)) });
    let stamp = Stamp::of(Path::new("/")).unwrap().unwrap();
    let quarter: Arc<[u8]> = vec![0; MAX_KEPT / 4].into();
    let mut state = lock(&attachments.0);
    for name in ["a", "b", "c", "d"] {
        state.keep(Path::new(name), stamp, &quarter, media);
    }
    assert!(state.find(Path::new("a"), stamp).is_some());
    state.keep(Path::new("e"), stamp, &quarter, media);
    assert!(state.find(Path::new("b"), stamp).is_none());
    assert!(state.find(Path::new("a"), stamp).is_some());
    assert_eq!(state.bytes, MAX_KEPT);
}
