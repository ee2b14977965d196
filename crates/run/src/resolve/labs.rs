//! Where contenders run: as asked for, else on the host, else, where only another kernel or another
//! user could, in a guest.

use super::catalogue::Catalogue;
use super::complaint::Complaint;
use super::place::Place;
use fsdyno_model::{Bytes, Contender, FilesystemKind, GuestSize, LabChoice};
use fsdyno_recipes as recipes;

/// What was said of labs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The lab.
    pub lab: Option<LabChoice>,
    /// The memory of a guest.
    pub memory: Option<Bytes>,
}

/// The lab of that name.
pub fn lab(name: &str) -> Result<LabChoice, Complaint> {
    name.parse()
        .map_err(|_| Complaint::unknown("lab", name, LabChoice::FORMS.into_iter()))
}

/// The memory of a guest, where a kernel starts in it.
pub fn memory(size: Bytes) -> Result<Bytes, Complaint> {
    if size >= GuestSize::LEAST {
        return Ok(size);
    }
    Err(Complaint::wrong(
        format!("a guest does not start in {size}"),
        format!("the least is {}", GuestSize::LEAST),
    ))
}

/// Puts all contenders into one lab; the size of its guests, where there are any.
///
/// All into one, because figures of two kernels are not compared.
pub fn assign(
    contenders: &mut [Contender],
    said: Said,
    place: Option<&Place>,
    catalogue: &Catalogue,
) -> Result<Option<GuestSize>, Complaint> {
    let lab = said
        .lab
        .unwrap_or_else(|| fitting(contenders, place, catalogue));
    if lab == LabChoice::Host {
        return match said.memory {
            None => Ok(None),
            Some(_) => Err(Complaint::wrong(
                "nothing of this plan runs in a guest, so that no memory can be given to one",
                "leave the memory out, or ask for guests: --lab uml",
            )),
        };
    }
    if matches!(place, Some(Place::Block(_))) {
        return Err(Complaint::wrong(
            "a guest works on image files, and a device is named",
            "leave out the device, or the lab",
        ));
    }
    for contender in contenders {
        if is_directory(contender) {
            let message = format!(
                "`{}` is a directory of this machine, and a guest works on its own disks",
                contender.label
            );
            return Err(Complaint::wrong(
                message,
                "leave out the directory, or the lab",
            ));
        }
        contender.lab = lab.clone();
    }
    let default = GuestSize::default();
    Ok(Some(GuestSize {
        memory: said.memory.unwrap_or(default.memory),
    }))
}

/// The lab where nobody says: the host, unless some contenders can only run in a guest.
fn fitting(contenders: &[Contender], place: Option<&Place>, catalogue: &Catalogue) -> LabChoice {
    let movable = |contender: &Contender| !is_directory(contender);
    let lacking = |contender: &Contender| {
        let lacks = |name: &String| catalogue.lacking.contains(name);
        recipes::on_blocks(contender)
            && (lacks(&contender.filesystem) || lacks(&contender.layout.name))
    };
    let named = matches!(place, Some(Place::Block(_)));
    if catalogue.guests
        && !named
        && contenders.iter().all(movable)
        && contenders.iter().any(lacking)
    {
        LabChoice::Uml
    } else {
        LabChoice::Host
    }
}

fn is_directory(contender: &Contender) -> bool {
    recipes::kind_of(&contender.filesystem) == Some(FilesystemKind::Directory)
}
