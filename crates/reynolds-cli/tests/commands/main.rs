//! The program `reynolds`, from outside.

mod cli;
mod html;
