//! Puts the folder of libtorch on the run path of this crate's tests.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_REYNOLDS_TORCH_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
