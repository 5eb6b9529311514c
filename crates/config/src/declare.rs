//! How a table of options is declared: each option once, with its type, its default and the values that it takes.

use serde::Serialize;

use flemma_model::options::{Kind, Table};

/// Declares structs of options. What stands behind the `=` of a field reads it from the table, by the name of the field.
macro_rules! options {
    ($($(#[$about:meta])* $visibility:vis struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty = $read:expr;)*
    })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        $visibility struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            pub(super) fn read(table: &mut flemma_model::options::Table<'_>) -> Self {
                Self { $($field: $read(table, stringify!($field)),)* }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                flemma_model::options::defaults(Self::read)
            }
        }
    )*};
}
pub(super) use options;

/// An option that has a default.
pub(super) fn or<T>(default: T, kind: &Kind<T>) -> impl FnOnce(&mut Table<'_>, &str) -> T {
    move |table, key| table.get(key, default, kind)
}

/// An option that is nothing unless it is set.
pub(super) fn some<T>(kind: &Kind<T>) -> impl FnOnce(&mut Table<'_>, &str) -> Option<T> {
    move |table, key| table.some(key, kind)
}

/// An option that is one of a few words.
pub(super) fn one_of<T: Copy + Default + Serialize>(choices: &[T]) -> impl FnOnce(&mut Table<'_>, &str) -> T {
    move |table, key| table.choose(key, choices).unwrap_or_default()
}

/// The same, for one that is nothing unless it is set.
pub(super) fn some_of<T: Copy + Serialize>(choices: &[T]) -> impl FnOnce(&mut Table<'_>, &str) -> Option<T> {
    move |table, key| table.choose(key, choices)
}

/// A table in the table.
pub(super) fn inner<T>(read: impl FnOnce(&mut Table<'_>) -> T) -> impl FnOnce(&mut Table<'_>, &str) -> T {
    move |table, key| table.table(key, read)
}
