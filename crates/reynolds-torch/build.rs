//! Compiles graph.cpp; puts the folder of libtorch on the run path of this crate's tests, and tells it to the crates that depend on this one.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/graph.cpp");
    let folder = std::env::var("DEP_TCH_LIBTORCH_LIB");
    let mut graph = cc::Build::new();
    for headers in folder.iter().map(|folder| Path::new(folder).with_file_name("include")) {
        graph.flag("-isystem").flag(headers);
    }
    graph.cpp(true).std("c++17").file("src/graph.cpp").compile("reynolds_graph");
    if let Ok(folder) = folder {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo::metadata=libtorch_lib={folder}");
    }
}
