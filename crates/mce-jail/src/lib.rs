//! Linux namespaces, Landlock, seccomp and limits. The only crate with `unsafe`.
