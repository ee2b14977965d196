//! Assembles eBPF instructions (kernel: Documentation/bpf/standardization/instruction-set.rst).
//!
//! The programs are some hundred instructions. So no compiler for eBPF is needed to build fsdyno.

/// A register. R10 is the frame pointer; R6 to R9 survive calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}

/// A place that branches lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// A condition of a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum If {
    Equal = 0x15,
    /// Not equal.
    Differs = 0x55,
    /// Greater, unsigned.
    Above = 0x25,
    /// Less than, unsigned.
    Below = 0xa5,
    /// Less than, signed.
    Less = 0xc5,
}

/// Kernel functions (`enum bpf_func_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    KtimeGetNs = 5,
    GetCurrentPidTgid = 14,
    GetCurrentTask = 35,
    ProbeReadUser = 112,
    ProbeReadKernel = 113,
    ProbeReadUserStr = 114,
    RingbufOutput = 130,
}

/// A program under construction.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u64>,
    /// Position of each label.
    labels: Vec<Option<usize>>,
    /// Branches whose offset is not known yet.
    branches: Vec<(usize, Label)>,
}

impl Assembler {
    fn put(&mut self, op: u8, dst: Reg, src: u8, offset: i16, immediate: i32) {
        let registers = (dst as u8) | (src << 4);
        let offset = u64::from(offset.cast_unsigned());
        let immediate = u64::from(immediate.cast_unsigned());
        let word = u64::from(op) | u64::from(registers) << 8 | offset << 16 | immediate << 32;
        self.code.push(word);
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub fn here(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// `dst = src`.
    pub fn copy(&mut self, dst: Reg, src: Reg) {
        self.put(0xbf, dst, src as u8, 0, 0);
    }

    /// `dst = number`.
    pub fn set(&mut self, dst: Reg, number: i32) {
        self.put(0xb7, dst, 0, 0, number);
    }

    /// `dst += number`.
    pub fn add(&mut self, dst: Reg, number: i32) {
        self.put(0x07, dst, 0, 0, number);
    }

    /// `dst += src`.
    pub fn add_register(&mut self, dst: Reg, src: Reg) {
        self.put(0x0f, dst, src as u8, 0, 0);
    }

    /// `dst *= number`.
    pub fn multiply(&mut self, dst: Reg, number: i32) {
        self.put(0x27, dst, 0, 0, number);
    }

    /// `dst -= src`.
    pub fn sub_register(&mut self, dst: Reg, src: Reg) {
        self.put(0x1f, dst, src as u8, 0, 0);
    }

    /// `dst |= src`.
    pub fn or_register(&mut self, dst: Reg, src: Reg) {
        self.put(0x4f, dst, src as u8, 0, 0);
    }

    /// `dst &= src`.
    pub fn and_register(&mut self, dst: Reg, src: Reg) {
        self.put(0x5f, dst, src as u8, 0, 0);
    }

    /// `dst &= number`.
    pub fn and(&mut self, dst: Reg, number: i32) {
        self.put(0x57, dst, 0, 0, number);
    }

    /// `dst <<= number`.
    pub fn shift_left(&mut self, dst: Reg, number: i32) {
        self.put(0x67, dst, 0, 0, number);
    }

    /// `dst >>= number`, unsigned.
    pub fn shift_right(&mut self, dst: Reg, number: i32) {
        self.put(0x77, dst, 0, 0, number);
    }

    /// `dst = *(u64 *)(src + offset)`.
    pub fn load(&mut self, dst: Reg, src: Reg, offset: i16) {
        self.put(0x79, dst, src as u8, offset, 0);
    }

    /// `dst = *(u32 *)(src + offset)`.
    pub fn load32(&mut self, dst: Reg, src: Reg, offset: i16) {
        self.put(0x61, dst, src as u8, offset, 0);
    }

    /// `*(u64 *)(dst + offset) = src`.
    pub fn store(&mut self, dst: Reg, offset: i16, src: Reg) {
        self.put(0x7b, dst, src as u8, offset, 0);
    }

    /// `*(u32 *)(dst + offset) = src`.
    pub fn store32(&mut self, dst: Reg, offset: i16, src: Reg) {
        self.put(0x63, dst, src as u8, offset, 0);
    }

    /// `*(u64 *)(dst + offset) = number`.
    pub fn store_number(&mut self, dst: Reg, offset: i16, number: i32) {
        self.put(0x7a, dst, 0, offset, number);
    }

    /// `*(u32 *)(dst + offset) = number`.
    pub fn store_number32(&mut self, dst: Reg, offset: i16, number: i32) {
        self.put(0x62, dst, 0, offset, number);
    }

    /// `*(u64 *)(dst + offset) += src`, atomically.
    pub fn atomic_add(&mut self, dst: Reg, offset: i16, src: Reg) {
        self.put(0xdb, dst, src as u8, offset, 0);
    }

    /// `dst = number`, of 64 bits.
    pub fn set64(&mut self, dst: Reg, number: u64) {
        let half = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap_or(0);
        self.put(0x18, dst, 0, 0, half(number).cast_signed());
        self.code.push(u64::from(half(number >> 32)) << 32);
    }

    /// `dst = ` the map of a descriptor.
    pub fn map(&mut self, dst: Reg, descriptor: i32) {
        self.put(0x18, dst, 1, 0, descriptor);
        self.code.push(0);
    }

    /// Calls a function of the kernel with R1 to R5. The result is in R0; R1 to R5 are lost.
    pub fn call(&mut self, helper: Helper) {
        self.put(0x85, Reg::R0, 0, 0, helper as i32);
    }

    /// Branches.
    pub fn jump(&mut self, to: Label) {
        self.branches.push((self.code.len(), to));
        self.put(0x05, Reg::R0, 0, 0, 0);
    }

    /// Branches if a register compares so with a number.
    pub fn jump_if(&mut self, register: Reg, condition: If, number: i32, to: Label) {
        self.branches.push((self.code.len(), to));
        self.put(condition as u8, register, 0, 0, number);
    }

    /// Branches if a register compares so with another.
    pub fn jump_if_register(&mut self, register: Reg, condition: If, other: Reg, to: Label) {
        self.branches.push((self.code.len(), to));
        self.put(condition as u8 | 0x08, register, other as u8, 0, 0);
    }

    /// Ends the program with R0.
    pub fn exit(&mut self) {
        self.put(0x95, Reg::R0, 0, 0, 0);
    }

    /// The instructions. Every label that is jumped to has a place.
    pub fn finish(mut self) -> Vec<u64> {
        for (at, label) in self.branches {
            let place = self.labels[label.0].expect("a label without a place");
            let distance = place.cast_signed() - (at + 1).cast_signed();
            let offset = i16::try_from(distance).expect("a short program");
            self.code[at] |= u64::from(offset.cast_unsigned()) << 16;
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_encoded_as_the_standard_has_them() {
        let mut code = Assembler::default();
        let end = code.label();
        code.copy(Reg::R6, Reg::R1);
        code.load(Reg::R2, Reg::R10, -8);
        code.jump_if(Reg::R2, If::Equal, 5, end);
        code.map(Reg::R1, 7);
        code.call(Helper::RingbufOutput);
        code.here(end);
        code.exit();
        let expected = [
            0x0000_0000_0000_16bf,
            0x0000_0000_fff8_a279,
            0x0000_0005_0003_0215,
            0x0000_0007_0000_1118,
            0,
            0x0000_0082_0000_0085,
            0x95,
        ];
        assert_eq!(code.finish(), expected);
    }
}
