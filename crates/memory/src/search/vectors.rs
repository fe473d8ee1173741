mod coarse;

use thiserror::Error;

use self::coarse::Coarse;

/// A set of vectors with an exact search for the nearest.
///
/// Each vector is kept twice: as it is, and rounded to bytes. A search reads the bytes of all, a
/// quarter of the memory, with a bound on the error of each rounded cosine. Only those that can be
/// among the nearest are compared exactly.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    dimensions: usize,
    exact: Vec<f32>,
    coarse: Coarse,
    held: usize,
}

/// A vector that cannot be stored or searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VectorError {
    /// It has another number of dimensions than the stored vectors.
    #[error("a vector has {found} dimensions where the others have {expected}")]
    Dimensions {
        /// The number of its dimensions.
        found: usize,
        /// The number of dimensions of the stored vectors.
        expected: usize,
    },
    /// It has no direction: all numbers are zero, or one is not finite.
    #[error("a vector has no direction")]
    NoDirection,
}

impl Vectors {
    /// Puts a vector into a slot, and replaces the one that is there. The first vector sets the
    /// number of dimensions until the last one is removed.
    pub fn put(&mut self, slot: usize, vector: &[f32]) -> Result<(), VectorError> {
        // The only vector may be replaced by one with other dimensions.
        self.check_all(usize::from(self.holds(slot)), [vector])?;
        self.remove(slot);
        let unit = unit(vector, self.dimensions)?;
        self.dimensions = unit.len();
        let range = slot * unit.len()..(slot + 1) * unit.len();
        if self.exact.len() < range.end {
            self.exact.resize(range.end, 0.0);
        }
        if let Some(to) = self.exact.get_mut(range) {
            to.copy_from_slice(&unit);
            self.coarse.put(slot, &unit);
            self.held += 1;
        }
        Ok(())
    }

    /// Returns true if there is a vector in a slot.
    pub fn holds(&self, slot: usize) -> bool {
        self.coarse.holds(slot)
    }

    /// Empties a slot.
    pub fn remove(&mut self, slot: usize) {
        if self.holds(slot) {
            self.coarse.remove(slot);
            self.held -= 1;
        }
        if self.held == 0 {
            *self = Self::default();
        }
    }

    /// Checks that all these vectors could be put in, one after the other, after `leaving` vectors
    /// are removed.
    pub fn check_all<'a>(
        &self,
        leaving: usize,
        vectors: impl IntoIterator<Item = &'a [f32]>,
    ) -> Result<(), VectorError> {
        let stays = self.held > leaving;
        let mut dimensions = if stays { self.dimensions } else { 0 };
        for vector in vectors {
            dimensions = unit(vector, dimensions)?.len();
        }
        Ok(())
    }

    /// Returns the slots of the nearest accepted vectors with their cosines, nearest first: `limit`
    /// of them, and those as near as the last of them.
    pub fn nearest(
        &self,
        query: &[f32],
        limit: usize,
        accept: impl Fn(usize) -> bool,
    ) -> Result<Vec<(usize, f64)>, VectorError> {
        if self.dimensions == 0 || limit == 0 {
            return Ok(vec![]);
        }
        let query = unit(query, self.dimensions)?;
        let possible = self.coarse.possible(&query, limit, accept);
        let mut nearest: Vec<(usize, f64)> = possible
            .into_iter()
            .filter_map(|slot| Some((slot, dot(&query, self.row(slot)?))))
            .collect();
        nearest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        if let Some(&(_, last)) = nearest.get(limit - 1) {
            nearest.retain(|(_, cosine)| *cosine >= last);
        }
        Ok(nearest)
    }

    fn row(&self, slot: usize) -> Option<&[f32]> {
        self.exact
            .get(slot * self.dimensions..(slot + 1) * self.dimensions)
    }
}

/// Returns the vector scaled to length 1. Its number of dimensions must match unless `dimensions`
/// is 0.
fn unit(vector: &[f32], dimensions: usize) -> Result<Vec<f32>, VectorError> {
    if dimensions != 0 && vector.len() != dimensions {
        return Err(VectorError::Dimensions {
            found: vector.len(),
            expected: dimensions,
        });
    }
    let squares: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let length = squares.sqrt();
    if !length.is_finite() || length <= f64::from(f32::MIN_POSITIVE) {
        return Err(VectorError::NoDirection);
    }
    let scaled = vector.iter().map(|&x| single(f64::from(x) / length));
    Ok(scaled.collect())
}

/// Returns the dot product, in lanes so that the compiler can vectorise it.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let (whole_a, rest_a) = a.as_chunks::<16>();
    let (whole_b, rest_b) = b.as_chunks::<16>();
    let mut lanes = [0.0_f32; 16];
    for (a, b) in whole_a.iter().zip(whole_b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    f64::from(lanes.iter().sum::<f32>() + rest)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "losing digits is what single precision is for"
)]
fn single(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first_and_emptied_slots_do_not_come() -> Result<(), VectorError> {
        let mut vectors = Vectors::default();
        vectors.put(0, &[1.0, 0.0])?;
        vectors.put(2, &[3.0, 4.0])?;
        vectors.put(3, &[0.0, 9.0])?;
        vectors.remove(3);
        let slots: Vec<_> = vectors.nearest(&[0.0, 2.0], 5, |_| true)?;
        assert_eq!(
            slots.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(),
            [2, 0]
        );
        assert!((slots[0].1 - 0.8).abs() < 1e-6);
        assert_eq!(vectors.nearest(&[0.0, 2.0], 5, |slot| slot == 1)?, []);
        Ok(())
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let mut vectors = Vectors::default();
        assert_eq!(vectors.put(0, &[0.0, 0.0]), Err(VectorError::NoDirection));
        assert_eq!(vectors.put(0, &[f32::NAN]), Err(VectorError::NoDirection));
        assert_eq!(vectors.put(0, &[1.0, 0.0]), Ok(()));
        let wrong = VectorError::Dimensions {
            found: 1,
            expected: 2,
        };
        assert_eq!(vectors.put(1, &[1.0]), Err(wrong));
        assert_eq!(vectors.nearest(&[1.0], 1, |_| true), Err(wrong));
    }
}
