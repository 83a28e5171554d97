//! What can be wrong with a file, said so that a user can mend it.

use std::path::PathBuf;

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate: which file, which tensor, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A file whose structure is not what its format demands.
    #[error("{}: expected {expected}, found {found}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What the format demands.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A tensor, or a member of an archive, that is not what its format demands.
    #[error("{}: \"{tensor}\": expected {expected}, found {found}", file.display())]
    Tensor {
        /// The file.
        file: PathBuf,
        /// Name of the tensor or of the member.
        tensor: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Two tensors or members of one name.
    #[error("{}: expected every name once, found \"{name}\" twice", file.display())]
    Duplicate {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
    },
    /// Tensors whose bytes overlap in a format that has no shared storage.
    #[error("{}: expected disjoint tensors, found \"{first}\" and \"{second}\" overlapping", file.display())]
    Overlap {
        /// The file.
        file: PathBuf,
        /// The tensor, or member, that begins first.
        first: String,
        /// The tensor, or member, that begins before the first has ended.
        second: String,
    },
    /// A member of an archive whose name leads out of it.
    #[error("{}: expected member names inside the archive, found \"{member}\"", file.display())]
    PathEscape {
        /// The file.
        file: PathBuf,
        /// Name of the member.
        member: String,
    },
    /// A pickle that asks for more than tensors in dictionaries; nothing of it was executed.
    #[error("{}: refused: the pickle uses {what}, expected only tensors in plain containers ({hint})", file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// The class, function or opcode that is not on the allow-list.
        what: String,
        /// What the user can do.
        hint: &'static str,
    },
    /// An output that is the input itself.
    #[error("{}: expected an output other than the input, found the input itself", file.display())]
    OutputIsInput {
        /// The output as given.
        file: PathBuf,
    },
    /// An output whose extension belongs to another format.
    #[error("{}: expected an output in the model's format ({expected}), found the extension .{found}", file.display())]
    OutputFormat {
        /// The output as given.
        file: PathBuf,
        /// Extensions of the model's format.
        expected: &'static str,
        /// Extension of the output.
        found: String,
    },
    /// New values for a tensor that is not there.
    #[error("{}: expected a tensor of the file, found the name \"{tensor}\"", file.display())]
    UnknownTensor {
        /// The file.
        file: PathBuf,
        /// The name as given.
        tensor: String,
    },
    /// Tensors that share bytes cannot be given different values.
    #[error("{}: \"{tensor}\" shares storage with \"{other}\": expected {expected}, found {found}", file.display())]
    Tied {
        /// The file.
        file: PathBuf,
        /// The tensor that was changed.
        tensor: String,
        /// The tensor it shares bytes with.
        other: String,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: &'static str,
    },
}
