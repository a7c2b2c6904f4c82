//! Sets of positions in a kernel's body, as bit sets: joining and comparing them takes a 64th of the steps of a tree of numbers.

use std::rc::Rc;

/// A set of positions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Positions {
    /// One bit for each position, 64 positions a word, lowest first; the last word is not 0.
    words: Vec<u64>,
}

impl Positions {
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether the set contains `position`.
    pub fn contains(&self, position: usize) -> bool {
        let word = self.words.get(position / 64).copied().unwrap_or(0);
        word >> (position % 64) & 1 == 1
    }

    /// Adds `position`.
    pub fn insert(&mut self, position: usize) {
        let word = position / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (position % 64);
    }

    /// Removes `position`, if the set contains it.
    pub fn remove(&mut self, position: usize) {
        if let Some(word) = self.words.get_mut(position / 64) {
            *word &= !(1 << (position % 64));
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Adds all of `other`.
    pub fn join(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Whether `other` contains all positions of this set.
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        self.words.len() <= other.words.len() && words.all(|(word, other)| word & !other == 0)
    }

    /// The intersection with `other`, in order.
    pub fn shared<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = usize> + 's {
        let words = self.words.iter().zip(&other.words);
        bits(words.map(|(word, other)| word & other))
    }

    /// The difference to `other`, in order.
    pub fn without<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = usize> + 's {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        bits(self.words.iter().zip(others).map(|(word, other)| word & !other))
    }

    /// All positions, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        bits(self.words.iter().copied())
    }
}

/// Adds `other` to a set, which shares the storage of `other` if that contains the set already.
pub fn join(set: &mut Rc<Positions>, other: &Rc<Positions>) {
    if Rc::ptr_eq(set, other) || other.is_subset(set) {
        return;
    }
    if set.is_subset(other) {
        *set = other.clone();
    } else {
        Rc::make_mut(set).join(other);
    }
}

/// The positions of the bits that are set.
fn bits(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(index, word)| {
        let left = |word: &u64| Some(word & (word - 1)).filter(|word| *word != 0);
        let words = std::iter::successors(Some(word).filter(|word| *word != 0), left);
        words.map(move |word| 64 * index + word.trailing_zeros() as usize)
    })
}

impl FromIterator<usize> for Positions {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        let mut set = Self::default();
        for position in positions {
            set.insert(position);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::Positions;

    fn set(positions: &[usize]) -> Positions {
        positions.iter().copied().collect()
    }

    #[test]
    fn a_set_holds_what_was_put_in_once_and_in_order() {
        assert_eq!(set(&[200, 3, 64, 3]).iter().collect::<Vec<_>>(), [3, 64, 200]);
        assert!(set(&[63, 64]).contains(63) && !set(&[63, 64]).contains(65));
        assert!(set(&[]).is_empty() && !set(&[0]).is_empty());
    }

    #[test]
    fn what_is_taken_out_leaves_an_equal_set() {
        let mut positions = set(&[1, 130]);
        positions.remove(130);
        positions.remove(7);
        assert_eq!(positions, set(&[1]));
    }

    #[test]
    fn sets_are_compared_and_joined_element_by_element() {
        let mut joined = set(&[1, 2]);
        joined.join(&set(&[2, 100]));
        assert_eq!(joined, set(&[1, 2, 100]));
        assert!(set(&[1, 100]).is_subset(&joined) && !joined.is_subset(&set(&[1, 2])));
        assert_eq!(joined.shared(&set(&[2, 100, 300])).collect::<Vec<_>>(), [2, 100]);
        assert_eq!(joined.without(&set(&[2])).collect::<Vec<_>>(), [1, 100]);
        assert_eq!(set(&[300]).without(&joined).collect::<Vec<_>>(), [300]);
    }
}
