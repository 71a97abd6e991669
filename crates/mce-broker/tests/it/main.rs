//! The broker as its users see it: calls go in, requests arrive at a fake API, answers come back.

#![cfg(test)]

mod answers;
mod api_logins;
mod audit;
mod bench;
mod cases;
mod catalog;
mod compare;
mod credentials;
mod fetch;
mod pace;
mod requests;
