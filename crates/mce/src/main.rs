//! mce
fn main() {}
