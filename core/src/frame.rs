//! Test frames as bytes: the signature at their end, tables of frames that were made in advance, and views of their fronts.

pub mod signature;
pub mod table;
pub mod view;
