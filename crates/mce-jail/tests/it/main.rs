//! Real jails: one test for each property, with all layers and with only those that must keep it alone.
#![cfg(test)]

mod files;
mod harness;
mod kernel;
mod life;
mod limits;
mod machines;
mod network;
mod processes;
mod python;
