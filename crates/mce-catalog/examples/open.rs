//! What it costs to open a catalog and to look one function up: `open STATE_DB`, a file that `mce compile` made. Prints
//! times in microseconds and how much resident memory grew.
#![expect(clippy::print_stdout, clippy::disallowed_types, reason = "a program for measurements")]

use std::{path::PathBuf, sync::Arc, time::Instant};

use mce_catalog::{
    catalog::{Catalog, ServerView},
    store::Store,
};

/// Resident memory of this process, in kibibytes; 0 where the system does not tell.
fn resident_kib() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: open STATE_DB")?;
    let names: Vec<String> = Store::open(&path)?
        .documents()?
        .into_iter()
        .map(|document| document.location)
        .collect();
    let (before, start) = (resident_kib(), Instant::now());
    let views = names.iter().enumerate().map(|(number, location)| ServerView {
        name: format!("s{number}"),
        location: location.clone(),
        ..ServerView::default()
    });
    let catalog = Catalog::new(Arc::new(Store::open(&path)?), views.collect());
    let servers = catalog.servers()?;
    let functions: u32 = servers.iter().map(|server| server.functions).sum();
    println!(
        "{} servers, {functions} functions: {} us",
        servers.len(),
        start.elapsed().as_micros()
    );
    let largest = servers.iter().max_by_key(|server| server.functions).ok_or("the catalog is empty")?;
    let rows = catalog.functions(&largest.name)?;
    let name = rows.last().map(|row| row.function.python.clone()).ok_or("there are no functions")?;
    drop(rows);
    let start = Instant::now();
    let function = catalog.function(&largest.name, &name)?;
    println!("one function, {}: {} us", function.operation, start.elapsed().as_micros());
    println!("resident memory grew by {} KiB", resident_kib().saturating_sub(before));
    Ok(())
}
