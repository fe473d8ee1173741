use super::single;

/// A set of unit vectors rounded to bytes, and the bounds of their cosines.
///
/// A word packs two bytes: one of the first half of a vector in its upper byte, and one of the
/// second half in its lower byte. A search multiplies whole words, eight per instruction, and
/// separates the lower bytes with one shift.
#[derive(Debug, Clone, Default)]
pub(super) struct Coarse {
    dimensions: usize,
    words: Vec<i16>,
    rounding: Vec<Rounding>,
}

/// The rounding of a vector.
#[derive(Debug, Clone, Copy, Default)]
struct Rounding {
    /// The size of one step; 0 for an empty slot.
    scale: f32,
    /// The length of the difference to the exact vector.
    error: f32,
}

/// The bounds of a cosine.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    slot: usize,
    lower: f64,
    upper: f64,
}

/// The vector of a query, in halves like the words.
#[derive(Debug)]
struct QueryHalves {
    upper: Vec<i16>,
    lower: Vec<i16>,
    /// The factor that its numbers are multiplied by.
    times: f64,
    /// The length of the rounding error.
    error: f64,
    /// Half of the greatest sum that truncating all products can lose.
    cut: f64,
}

/// The greatest number for which the steps are sized at least, as a multiple of the usual number.
/// It limits the length of a vector in steps.
const PEAK: f64 = 3.0;

/// The number of words that are added up before the sum needs more than a word.
const RUN: usize = 512;

impl Coarse {
    pub(super) fn put(&mut self, slot: usize, unit: &[f32]) {
        self.dimensions = unit.len();
        let width = self.width();
        if self.rounding.len() <= slot {
            self.rounding.resize(slot + 1, Rounding::default());
            self.words.resize((slot + 1) * width, 0);
        }
        let (words, rounding) = rounded(unit);
        if let (Some(to), Some(of_slot)) = (
            self.words.get_mut(slot * width..(slot + 1) * width),
            self.rounding.get_mut(slot),
        ) {
            to.copy_from_slice(&words);
            *of_slot = rounding;
        }
    }

    pub(super) fn holds(&self, slot: usize) -> bool {
        let rounding = self.rounding.get(slot);
        rounding.is_some_and(|rounding| rounding.scale != 0.0)
    }

    pub(super) fn remove(&mut self, slot: usize) {
        if let Some(rounding) = self.rounding.get_mut(slot) {
            rounding.scale = 0.0;
        }
    }

    /// Returns the slots whose exact cosine can be among the greatest of the accepted ones.
    pub(super) fn possible(
        &self,
        unit: &[f32],
        limit: usize,
        accept: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let sought = QueryHalves::new(unit);
        let mut possible: Vec<Bounds> = vec![];
        let mut least = f64::NEG_INFINITY;
        // Prunes only after as many candidates have been added as were left, so that the cost of
        // each stays small.
        let mut full = limit.saturating_mul(2).max(RUN);
        let rows = self.words.chunks_exact(self.width().max(1));
        for (slot, (words, rounding)) in rows.zip(&self.rounding).enumerate() {
            if rounding.scale == 0.0 {
                continue;
            }
            let bounds = sought.bounds(slot, words, *rounding);
            if bounds.upper < least || !accept(slot) {
                continue;
            }
            possible.push(bounds);
            if possible.len() >= full {
                least = prune(&mut possible, limit);
                full = full.max(possible.len().saturating_mul(2));
            }
        }
        prune(&mut possible, limit);
        possible.into_iter().map(|bounds| bounds.slot).collect()
    }

    fn width(&self) -> usize {
        self.dimensions.div_ceil(2)
    }
}

impl QueryHalves {
    /// Scales a unit vector as far as the sum of any run still fits into a word: by Cauchy and
    /// Schwarz the sum is at most the product of the lengths. Intermediate sums may wrap.
    fn new(unit: &[f32]) -> Self {
        let dimensions = float(unit.len());
        let length_of_rows = (127.0 / PEAK + 1.0) * dimensions.sqrt();
        let room = f64::from(i16::MAX) - float(2 * RUN);
        let times = (room * 256.0 / length_of_rows).min(f64::from(i16::MAX));
        // Truncated, not rounded, so that it gets no longer.
        let whole: Vec<i16> = unit.iter().map(|x| word(f64::from(*x) * times)).collect();
        let lost = unit.iter().zip(&whole).map(|(x, whole)| {
            let difference = f64::from(*x) - f64::from(*whole) / times;
            difference * difference
        });
        let error = lost.sum::<f64>().sqrt();
        let width = unit.len().div_ceil(2);
        let (upper, lower) = whole.split_at(width.min(whole.len()));
        let mut lower = lower.to_vec();
        lower.resize(width, 0);
        Self {
            upper: upper.to_vec(),
            lower,
            times,
            error,
            cut: dimensions / 2.0,
        }
    }

    fn bounds(&self, slot: usize, words: &[i16], of_row: Rounding) -> Bounds {
        let worth = 256.0 * f64::from(of_row.scale) / self.times;
        let about = (f64::from(self.product(words)) + self.cut) * worth;
        // The difference of the products is at most |q - q'||d'| + |q||d - d'|, where |q| is 1 and
        // |d'| is at most 1 + |d - d'|; and sums of floats are not quite exact.
        let error = f64::from(of_row.error);
        let off = self.cut * worth + self.error * (1.0 + error) + error + 1e-4;
        Bounds {
            slot,
            lower: about - off,
            upper: about + off,
        }
    }

    /// Returns the sum of the products, each truncated to a whole number of 65536ths.
    fn product(&self, words: &[i16]) -> i32 {
        let runs = self.upper.chunks(RUN).zip(self.lower.chunks(RUN));
        let sums = runs.zip(words.chunks(RUN)).map(|((upper, lower), words)| {
            let mut sum = 0_i16;
            for ((upper, lower), word) in upper.iter().zip(lower).zip(words) {
                sum = sum.wrapping_add(high(*upper, *word));
                sum = sum.wrapping_add(high(*lower, *word << 8));
            }
            i32::from(sum)
        });
        sums.sum()
    }
}

/// Removes the candidates that cannot be among the greatest, and returns the value that the upper
/// bound of a further one must reach.
fn prune(possible: &mut Vec<Bounds>, limit: usize) -> f64 {
    if possible.len() <= limit || limit == 0 {
        return f64::NEG_INFINITY;
    }
    let downwards = |a: &Bounds, b: &Bounds| b.lower.total_cmp(&a.lower);
    let (_, least, _) = possible.select_nth_unstable_by(limit - 1, downwards);
    let least = least.lower;
    possible.retain(|bounds| bounds.upper >= least);
    least
}

fn rounded(unit: &[f32]) -> (Vec<i16>, Rounding) {
    let most = unit.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let usual = float(unit.len()).sqrt().recip();
    let scale = single(f64::from(most).max(PEAK * usual) / 127.0);
    let (upper, lower) = unit.split_at(unit.len().div_ceil(2));
    let lower = lower.iter().copied().chain([0.0]);
    let mut squares = 0.0;
    let pair = |(upper, lower): (&f32, f32)| {
        let (upper, lower) = (f64::from(*upper), f64::from(lower));
        let steps = f64::from(scale);
        let low = word((lower / steps).round());
        // The lower byte adds to the upper one when the word is multiplied; this corrects for it.
        let high = word((upper / steps - f64::from(low) / 256.0).round());
        let both = (high << 8).saturating_add(low);
        let of_upper = upper - steps * f64::from(both) / 256.0;
        let of_lower = lower - steps * f64::from(both << 8) / 256.0;
        squares += of_upper * of_upper + of_lower * of_lower;
        both
    };
    let words = upper.iter().zip(lower).map(pair).collect();
    let error = single(squares.sqrt());
    (words, Rounding { scale, error })
}

/// Returns the upper word of a product, for which there is a vector instruction.
fn high(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is rounded is known to lie within the type"
)]
fn word(x: f64) -> i16 {
    x as i16
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no vector has so many dimensions"
)]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unit(vector: &[f64]) -> Vec<f32> {
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter().map(|x| single(x / length)).collect()
    }

    /// Returns the bounds of a cosine, and the cosine.
    fn compared(sought: &[f32], row: &[f32]) -> (Bounds, f64) {
        let (words, rounding) = rounded(row);
        let products = sought.iter().zip(row);
        let cosine = products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        (QueryHalves::new(sought).bounds(0, &words, rounding), cosine)
    }

    fn holds(sought: &[f32], row: &[f32]) -> bool {
        let (bounds, cosine) = compared(sought, row);
        (bounds.lower..=bounds.upper).contains(&cosine)
    }

    proptest! {
        #[test]
        fn a_cosine_lies_between_its_bounds(
            pairs in prop::collection::vec((-1.0f64..1.0, -1.0f64..1.0), 1..70), peak in 0..4,
        ) {
            let sharper = |x: f64| x.powi(2 * peak + 1);
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().map(|(a, b)| (sharper(*a), sharper(*b))).unzip();
            let (a, b) = (unit(&a), unit(&b));
            let away: Vec<f32> = b.iter().map(|x| -x).collect();
            prop_assert!(holds(&a, &b) && holds(&b, &b) && holds(&away, &b));
        }
    }

    #[test]
    fn no_sum_overflows_however_flat_or_peaked_or_long_a_vector_is() {
        for dimensions in [1, 2, 3, 384, 1023, 1024, 1025, 1537, 4001] {
            let flat = vec![1.0; dimensions];
            let mut peaked = vec![0.0; dimensions];
            peaked[dimensions / 2] = 1.0;
            let waves: Vec<f64> = (0..dimensions).map(|n| (float(n) + 0.5).sin()).collect();
            let vectors = [unit(&flat), unit(&peaked), unit(&waves)];
            for sought in &vectors {
                let away: Vec<f32> = sought.iter().map(|x| -x).collect();
                for row in &vectors {
                    assert!(holds(sought, row), "{:?}", compared(sought, row));
                    assert!(holds(&away, row), "{:?}", compared(&away, row));
                }
            }
        }
    }

    #[test]
    fn bounds_are_near_enough_to_tell_most_vectors_apart() {
        let waves = |by: f64| -> Vec<f64> { (0..384).map(|n| (float(n) * by).sin()).collect() };
        let (bounds, _) = compared(&unit(&waves(0.7)), &unit(&waves(1.1)));
        let apart = bounds.upper - bounds.lower;
        assert!(apart < 0.03, "{apart} is much");
    }
}
