//! The words of generated text, and their frequencies.

use std::sync::OnceLock;

/// Space for a word: the longest has one byte less.
pub const WORD: usize = 16;

/// The number of random bits per word.
pub const SLOT_BITS: u32 = 12;

const WORDS: usize = 1024;

/// The most frequent words in order; the others consist of syllables.
const COMMON: &str = "the to and of is for in this with on not be it from use if file by are as \
    version build make when that default install set add or package an patch option library \
    support path name directory config error test update system user value data type new \
    function return check list only remove source command all fix so can release may which \
    string output header target code read write flag now number module bin line size into \
    server client kernel memory buffer device driver network interface thread process signal \
    socket stream object class method index table key node tree cache block page inode mount \
    debug trace warning license copyright author maintainer description depend require provide \
    keywords stable unstable amd64 sparc mips alpha python perl gnome qt gtk alsa ncurses";

/// Words with Zipf frequencies: the frequency of the k-th is proportional to 1 / (k + 6).
#[derive(Debug)]
pub struct Vocabulary {
    letters: Vec<[u8; WORD]>,
    lengths: Vec<u8>,
    /// The word of each of the 4096 random values.
    slots: Vec<u16>,
}

impl Vocabulary {
    pub fn get() -> &'static Self {
        static VOCABULARY: OnceLock<Vocabulary> = OnceLock::new();
        VOCABULARY.get_or_init(Self::build)
    }

    /// The word for the low bits of a random number, in its slot, and its length.
    pub fn word(&self, bits: u64) -> (&[u8; WORD], usize) {
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let slot = bits as usize & ((1 << SLOT_BITS) - 1);
        let word = usize::from(self.slots[slot]);
        (&self.letters[word], usize::from(self.lengths[word]))
    }

    fn build() -> Self {
        let mut vocabulary = Self {
            letters: Vec::new(),
            lengths: Vec::new(),
            slots: Vec::new(),
        };
        for word in COMMON.split_whitespace() {
            vocabulary.push(word.as_bytes());
        }
        let mut index = 0;
        while vocabulary.letters.len() < WORDS {
            vocabulary.push(artificial_word(index).as_bytes());
            index += 1;
        }
        let weight = |rank: usize| 1_000_000_000 / (rank as u64 + 6);
        let total: u64 = (0..WORDS).map(weight).sum();
        let mut sum = 0;
        for rank in 0..WORDS {
            sum += weight(rank);
            let end = usize::try_from((sum << SLOT_BITS) / total).unwrap_or(0);
            let word = u16::try_from(rank).unwrap_or(0);
            vocabulary.slots.resize(end, word);
        }
        vocabulary
    }

    fn push(&mut self, word: &[u8]) {
        let mut letters = [b' '; WORD];
        letters[..word.len()].copy_from_slice(word);
        self.letters.push(letters);
        self.lengths.push(u8::try_from(word.len()).unwrap_or(0));
    }
}

/// An artificial word of two or three syllables.
fn artificial_word(index: usize) -> String {
    const ONSETS: [&str; 13] = [
        "b", "ch", "d", "f", "gr", "k", "l", "m", "p", "r", "st", "tr", "v",
    ];
    const RHYMES: [&str; 11] = [
        "an", "el", "ir", "os", "ut", "ay", "een", "ock", "im", "ore", "ap",
    ];
    let first = format!("{}{}", ONSETS[index % 13], RHYMES[index % 11]);
    let second = format!("{}{}", ONSETS[index / 13 % 13], RHYMES[index / 11 % 11]);
    match index % 3 {
        0 => format!("{first}{second}ing"),
        1 => format!("{first}_{second}"),
        _ => format!("{first}{second}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::KNOWN_WORD;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn words_are_all_different_and_not_the_known_one() {
        let vocabulary = Vocabulary::get();
        let words: HashSet<_> = vocabulary.letters.iter().collect();
        assert_eq!(words.len(), WORDS);
        for (letters, length) in vocabulary.letters.iter().zip(&vocabulary.lengths) {
            let word = std::str::from_utf8(&letters[..usize::from(*length)]).unwrap();
            assert!(word.len() < WORD && !word.is_empty());
            assert!(!word.contains(KNOWN_WORD) && !KNOWN_WORD.contains(word) || word.len() < 4);
        }
        assert_eq!(vocabulary.slots.len(), 1 << SLOT_BITS);
    }
}
