//! The program finds libtorch where it was linked.

fn main() {
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", std::env::var("DEP_REYNOLDS_TRAIN_LIBTORCH_LIB").unwrap());
}
