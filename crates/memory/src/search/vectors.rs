use thiserror::Error;

/// Vectors side by side, and an exact search for the nearest.
///
/// Each is kept twice: as it is, and rounded to bytes. A search reads the bytes of all, a quarter of
/// the memory, and knows how far each rounded cosine can be off; only those that can be among the
/// nearest are compared exactly.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    dimensions: usize,
    exact: Vec<f32>,
    coarse: Vec<i8>,
    rounding: Vec<Rounding>,
    held: usize,
}

/// What was lost when a vector was rounded.
#[derive(Debug, Clone, Copy, Default)]
struct Rounding {
    /// The worth of one; 0 for no vector.
    scale: f32,
    /// The length of the difference.
    error: f32,
}

/// A vector cannot be searched, or searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VectorError {
    /// It has another number of dimensions than those that are there.
    #[error("a vector has {found} dimensions where the others have {expected}")]
    Dimensions {
        /// How many it has.
        found: usize,
        /// How many the others have.
        expected: usize,
    },
    /// It has no direction: all zero, or with something in it that is no number.
    #[error("a vector has no direction")]
    NoDirection,
}

impl Vectors {
    /// Puts a vector into a slot, in the place of what is there. The first decides how many
    /// dimensions all have, until none is left.
    pub fn put(&mut self, slot: usize, vector: &[f32]) -> Result<(), VectorError> {
        // The only one may be replaced by one of another shape.
        self.check_all(usize::from(self.holds(slot)), [vector])?;
        self.remove(slot);
        let unit = unit(vector, self.dimensions)?;
        self.dimensions = unit.len();
        if self.rounding.len() <= slot {
            self.rounding.resize(slot + 1, Rounding::default());
            self.exact.resize((slot + 1) * unit.len(), 0.0);
            self.coarse.resize((slot + 1) * unit.len(), 0);
        }
        let (coarse, rounding) = rounded(&unit);
        let range = slot * unit.len()..(slot + 1) * unit.len();
        if let (Some(to), Some(rough), Some(lost)) = (
            self.exact.get_mut(range.clone()),
            self.coarse.get_mut(range),
            self.rounding.get_mut(slot),
        ) {
            to.copy_from_slice(&unit);
            rough.copy_from_slice(&coarse);
            *lost = rounding;
            self.held += 1;
        }
        Ok(())
    }

    /// Whether there is a vector in a slot.
    pub fn holds(&self, slot: usize) -> bool {
        let rounding = self.rounding.get(slot);
        rounding.is_some_and(|rounding| rounding.scale != 0.0)
    }

    /// Empties a slot.
    pub fn remove(&mut self, slot: usize) {
        if self.holds(slot)
            && let Some(rounding) = self.rounding.get_mut(slot)
        {
            rounding.scale = 0.0;
            self.held -= 1;
        }
        if self.held == 0 {
            *self = Self::default();
        }
    }

    /// Whether all of these could be put in, one after the other, once so many have left.
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

    /// The slots of the nearest vectors that are accepted, with their cosines, nearest first: as
    /// many as asked for, and those that are as near as the last of them.
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
        let possible = self.possible(&query, limit, accept);
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

    /// The slots whose exact cosine can be among the greatest.
    fn possible(&self, query: &[f32], limit: usize, accept: impl Fn(usize) -> bool) -> Vec<usize> {
        let (rough, lost) = rounded(query);
        let scale = f64::from(lost.scale);
        let mut bounds = vec![];
        let rows = self.coarse.chunks_exact(self.dimensions);
        for (slot, (row, of_row)) in rows.zip(&self.rounding).enumerate() {
            if of_row.scale == 0.0 || !accept(slot) {
                continue;
            }
            let about = scale * f64::from(of_row.scale) * f64::from(rough_dot(&rough, row));
            // The difference of the products is at most |q - q'||d'| + |q||d - d'|, where |q| is 1
            // and |d'| is at most 1 + |d - d'|; and sums of floats are not quite exact.
            let (of_query, of_row) = (f64::from(lost.error), f64::from(of_row.error));
            let off = of_query * (1.0 + of_row) + of_row + 1e-4;
            bounds.push((slot, about - off, about + off));
        }
        let least = if bounds.len() > limit {
            let mut lower: Vec<f64> = bounds.iter().map(|(_, lower, _)| *lower).collect();
            let (_, least, _) = lower.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a));
            *least
        } else {
            f64::NEG_INFINITY
        };
        let can_be = bounds.into_iter().filter(|(_, _, upper)| *upper >= least);
        can_be.map(|(slot, ..)| slot).collect()
    }
}

/// The same with the length 1; of so many dimensions, or of any if there are none yet.
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

fn rounded(unit: &[f32]) -> (Vec<i8>, Rounding) {
    let most = unit.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let scale = most / 127.0;
    let coarse: Vec<i8> = unit.iter().map(|x| byte(x / scale)).collect();
    let lost = |(x, rough): (&f32, &i8)| {
        let difference = f64::from(*x) - f64::from(scale) * f64::from(*rough);
        difference * difference
    };
    let squares: f64 = unit.iter().zip(&coarse).map(lost).sum();
    let error = single(squares.sqrt());
    (coarse, Rounding { scale, error })
}

/// In lanes, so that the compiler can add several at once.
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

fn rough_dot(a: &[i8], b: &[i8]) -> i32 {
    let product = |(a, b): (&i8, &i8)| i32::from(*a) * i32::from(*b);
    a.iter().zip(b).map(product).sum()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is rounded is known to lie within the type"
)]
fn byte(x: f32) -> i8 {
    x.round() as i8
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
