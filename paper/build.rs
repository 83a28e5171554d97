//! Puts the folder of libtorch on the run path of the program, where it is built with training.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_REYNOLDS_TORCH_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
