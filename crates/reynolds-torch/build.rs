//! Puts the folder of libtorch on the run path of this crate's tests, and tells it to the crates that depend on this one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo::metadata=libtorch_lib={folder}");
    }
}
