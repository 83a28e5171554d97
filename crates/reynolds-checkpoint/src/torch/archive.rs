//! The zip format.

use super::super::{Contents, Input, Storage, zip};
use crate::error::Result;
use std::collections::HashMap;

/// Bytes of a pickle, which names tensors but does not hold them.
const PICKLE_LIMIT: usize = 1 << 28;
/// So many times as long as its compressed form a pickle may be; names of tensors compress about tenfold.
const RATIO_LIMIT: usize = 100;

/// The member with the pickle, if the archive is a PyTorch file.
pub(in super::super) fn pickle_of(archive: &zip::Archive) -> Option<usize> {
    let is_pickle = |name: &str| name == "data.pkl" || (name.ends_with("/data.pkl") && name.matches('/').count() == 1);
    archive.members.iter().position(|member| is_pickle(&member.name))
}

/// Reads the pickle, finds its tensors and checks each against its storage.
pub(in super::super) fn parse(
    input: Input<'_>,
    mut archive: zip::Archive,
    member_of_pickle: usize,
) -> Result<Contents> {
    let folder = archive.members[member_of_pickle].name.strip_suffix("data.pkl").unwrap_or_default().to_owned();
    let members: HashMap<String, usize> =
        archive.members.iter().enumerate().map(|(number, member)| (member.name.clone(), number)).collect();
    let member = |name: &str| members.get(&format!("{folder}{name}")).copied();
    // PyTorch reads without checking, and can be told not to compute checksums.
    archive.members.iter_mut().for_each(|member| member.verify = false);
    if let Some(order) = member("byteorder") {
        let order = archive.members[order].beginning(input, 16)?;
        if order.trim_ascii() != b"little" {
            let found = format!("{:?} (save again on a little-endian machine)", order.escape_ascii().to_string());
            return Err(input.malformed("byte order \"little\"", found));
        }
    }
    if member("constants.pkl").is_some() {
        return Err(
            input.malformed("a saved state_dict", "a TorchScript archive (save torch.jit.load(file).state_dict())")
        );
    }
    let packed = &archive.members[member_of_pickle];
    let most = PICKLE_LIMIT.min((1 << 20) + RATIO_LIMIT * packed.data().len());
    if packed.size > most {
        return Err(input.bad_tensor(
            &packed.name,
            format!("a pickle of at most {most} bytes"),
            packed.size.to_string(),
        ));
    }
    let bytes = packed.contents(input)?;
    let pickle = super::read(input, &packed.name, &bytes)?;
    let (entries, storages) = super::contents(input, (&pickle, bytes.len()), |name, storage| {
        let missing = || input.bad_tensor(name, format!("its storage {folder}data/{}", storage.key), "no such member");
        let number = member(&format!("data/{}", storage.key)).ok_or_else(missing)?;
        Ok((Storage::Member(number), archive.members[number].size))
    })?;
    drop(pickle);
    drop(bytes);
    Ok(Contents { entries, storages, archive, ..Contents::default() })
}
