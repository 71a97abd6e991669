//! The program from outside: started as a process, judged by exit code, output and what an API receives.

#![cfg(test)]

mod approval;
mod asking;
mod asking_over_http;
mod at_terminal;
mod audit;
mod auth;
mod before_start;
mod canaries;
mod client;
mod commands;
mod compile;
mod control;
mod direct;
mod errors;
mod everything;
mod fetch;
mod guides;
mod http;
mod installations;
mod large_document;
mod large_results;
mod machines;
mod mcp_servers;
mod node_server;
mod pace;
mod paging;
mod parked;
mod person;
mod policy;
mod private_networks;
mod project;
mod real_servers;
mod recipe_inputs;
mod recipes;
mod rule_faults;
mod secrets;
mod serve;
mod setup;
mod surfaces;
mod type_check;
