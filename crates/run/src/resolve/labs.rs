//! The lab of each contender: its own, or else the lab of the plan, or else the host. If the host
//! lacks a capability, all contenders without a lab move to guests.

use super::catalogue::Catalogue;
use super::config_error::ConfigError;
use super::place::Place;
use crate::resolve::options::RunOptions;
use fsdyno_model::typed::in_lab;
use fsdyno_model::{Contender, ContenderSpec, FilesystemKind, GuestSize, KernelChoice, LabChoice};
use fsdyno_recipes as recipes;
use std::path::Path;

/// A guest kernel; its path is relative to `base`.
pub fn kernel_from(kernel: KernelChoice, base: &Path) -> KernelChoice {
    match kernel {
        KernelChoice::File(path) => KernelChoice::File(base.join(path)),
        kernel => kernel,
    }
}

/// Assigns a lab to every contender, and returns the size of guests if there are any.
///
/// All contenders without a lab go to the same one, because figures of different kernels are not
/// compared.
pub fn assign(
    typed: Vec<ContenderSpec>,
    settings: &RunOptions,
    place: Option<&Place>,
    on_disks: bool,
    catalogue: &Catalogue,
) -> Result<(Vec<Contender>, Option<GuestSize>), ConfigError> {
    let named = settings.lab.clone();
    let others = named.or_else(|| on_disks.then_some(LabChoice::Uml));
    let others = others.unwrap_or_else(|| fitting(&typed, place, catalogue));
    let mut contenders = Vec::new();
    for ContenderSpec { mut contender, lab } in typed {
        let lab = lab.unwrap_or_else(|| others.clone());
        recipes::in_lab(&mut contender, &lab);
        let gives_up = recipes::gives_up(&contender);
        contenders.push(Contender {
            lab,
            gives_up,
            ..contender
        });
    }
    for contender in &contenders {
        check_device(contender, place)?;
    }
    one_machine(&contenders, place)?;
    once_in_each(&contenders)?;
    let guest = guest(&contenders, settings, catalogue)?;
    Ok((contenders, guest))
}

/// Refuses a contender if its lab does not support its device.
fn check_device(contender: &Contender, place: Option<&Place>) -> Result<(), ConfigError> {
    let Contender { lab, label, .. } = contender;
    if matches!(place, Some(Place::Ram(_))) && !lab.is_host() && recipes::on_blocks(contender) {
        return Err(ConfigError::wrong(
            format!("images in memory are for the lab host, and `{label}` runs in the lab {lab}"),
            "write loop:SIZE, or leave out the lab",
        ));
    }
    if *lab == LabChoice::Vm && matches!(place, Some(Place::Block(_))) {
        return Err(ConfigError::wrong(
            format!(
                "the lab vm gives its machine disks of its own, and for `{label}` a device is named"
            ),
            "leave out the device, or the lab",
        ));
    }
    if !lab.is_guest() {
        // Device names are those of the machine of the lab.
        return Ok(());
    }
    if matches!(place, Some(Place::Block(_))) {
        return Err(ConfigError::wrong(
            format!("a guest works on image files, and for `{label}` a device is named"),
            "leave out the device, or the lab",
        ));
    }
    if is_directory(contender) {
        return Err(ConfigError::wrong(
            format!("`{label}` is a directory of this machine, and a guest works on its own disks"),
            "leave out the directory, or the lab",
        ));
    }
    Ok(())
}

/// Refuses a device that two machines would use.
fn one_machine(contenders: &[Contender], place: Option<&Place>) -> Result<(), ConfigError> {
    if !matches!(place, Some(Place::Block(_))) {
        return Ok(());
    }
    let mut on_it = contenders.iter().filter(|one| recipes::on_blocks(one));
    let Some(first) = on_it.next() else {
        return Ok(());
    };
    match on_it.find(|other| other.lab != first.lab) {
        None => Ok(()),
        Some(other) => Err(ConfigError::wrong(
            format!(
                "a device is named, which is one of {} or of {}, and not of both",
                first.lab, other.lab
            ),
            "leave out the device, or the contenders of one of the two",
        )),
    }
}

/// Refuses a contender that occurs twice: once with the lab of the plan, and once with the same lab
/// by name.
fn once_in_each(contenders: &[Contender]) -> Result<(), ConfigError> {
    for one in contenders {
        let by_name = in_lab(&one.lab, &one.label);
        let mut others = contenders.iter();
        if others.any(|other| other.lab == one.lab && other.label == by_name) {
            let Contender { label, lab, .. } = one;
            return Err(ConfigError::wrong(
                format!("`{label}` runs in the lab {lab}, and `{by_name}` is the same contender"),
                format!(
                    "name its lab (`{}`), or leave one out",
                    in_lab(&LabChoice::Host, label)
                ),
            ));
        }
    }
    Ok(())
}

/// The size of guests, if there are any.
fn guest(
    contenders: &[Contender],
    settings: &RunOptions,
    catalogue: &Catalogue,
) -> Result<Option<GuestSize>, ConfigError> {
    let any = |test: fn(&LabChoice) -> bool| contenders.iter().any(|one| test(&one.lab));
    let (of_kernel, uml) = (any(LabChoice::is_guest), any(|lab| *lab == LabChoice::Uml));
    let vm = any(|lab| *lab == LabChoice::Vm);
    let guests = of_kernel || vm;
    let image = settings.image.clone();
    if vm && image.is_none() {
        return Err(ConfigError::wrong(
            "the lab vm boots an image, and none is named",
            "name a disk image of a system, as FreeBSD's virtual machine images: --image FILE",
        ));
    }
    if image.is_some() && !vm {
        return Err(ConfigError::wrong(
            "nothing of this plan runs in the lab vm, which boots an image",
            "leave the image out, or ask for it: --lab vm",
        ));
    }
    let (memory, processors) = (settings.guest_memory, settings.guest_processors);
    let kernel = settings.guest_kernel.clone();
    if memory.is_some() && !guests {
        return Err(ConfigError::wrong(
            "nothing of this plan runs in a guest, so that no memory can be given to one",
            "leave the memory out, or ask for guests: --lab uml",
        ));
    }
    if processors.is_some() && !guests {
        return Err(ConfigError::wrong(
            "nothing of this plan runs in a guest, so that no processors can be given to one",
            "leave the processors out, or ask for guests: --lab qemu",
        ));
    }
    if let Some(n) = processors.filter(|n| *n > 1 && uml) {
        return Err(ConfigError::wrong(
            format!("a guest of User-mode Linux has one processor, and not {n}"),
            "leave the processors out, or ask for guests that can have them: --lab qemu",
        ));
    }
    if kernel.is_some() && !uml {
        return Err(ConfigError::wrong(
            "nothing of this plan runs in a guest of User-mode Linux, so that no kernel can be given to one",
            "leave the kernel out, or ask for such guests: --lab uml",
        ));
    }
    if !guests {
        return Ok(None);
    }
    let default = if of_kernel {
        GuestSize::default().memory
    } else {
        GuestSize::OF_SYSTEM
    };
    Ok(Some(GuestSize {
        memory: memory.unwrap_or(default),
        kernel: kernel.or_else(|| catalogue.kernel.clone()).filter(|_| uml),
        processors,
        image,
    }))
}

/// The lab of contenders without one: the host, unless some of them need a guest and all of them
/// can run in one.
fn fitting(typed: &[ContenderSpec], place: Option<&Place>, catalogue: &Catalogue) -> LabChoice {
    let unsaid = typed.iter().filter(|typed| typed.lab.is_none());
    let mut unsaid = unsaid.map(|typed| &typed.contender);
    let lacking = |contender: &Contender| {
        let lacks = |name: &str| catalogue.lacking.iter().any(|one| one == name);
        let array = recipes::layouts::below(contender);
        recipes::on_blocks(contender)
            && (lacks(&contender.filesystem) || array.is_some_and(|array| lacks(array.name)))
    };
    let named = matches!(place, Some(Place::Block(_) | Place::Ram(_)));
    if catalogue.guests && !named && !unsaid.clone().any(is_directory) && unsaid.any(lacking) {
        LabChoice::Uml
    } else {
        LabChoice::Host
    }
}

fn is_directory(contender: &Contender) -> bool {
    recipes::kind_of(&contender.filesystem) == Some(FilesystemKind::Directory)
}
