//! The program `reynolds`, from outside.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod cli;
mod html;
