use serde::{Deserialize, Serialize};

use crate::say;

/// A counter with a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The amount spent so far.
    #[serde(default)]
    pub used: u64,
    /// The amount that may be spent.
    pub limit: u64,
}

/// The error of spending more than a budget has left.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", say!("the budget of {limit} is used up", "额度 {limit} 已用完"))]
pub struct BudgetExhausted {
    /// The limit that was reached.
    pub limit: u64,
}

impl Budget {
    /// Creates a budget with nothing spent.
    pub fn new(limit: u64) -> Self {
        Self { used: 0, limit }
    }

    /// Spends `amount`; if less is left, returns an error and spends nothing.
    pub fn spend(&mut self, amount: u64) -> Result<(), BudgetExhausted> {
        match self.used.checked_add(amount) {
            Some(used) if used <= self.limit => {
                self.used = used;
                Ok(())
            }
            _ => Err(BudgetExhausted { limit: self.limit }),
        }
    }

    /// Returns the amount left.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spending_more_than_is_left_spends_nothing() {
        let mut budget = Budget::new(3);
        assert_eq!(budget.spend(2), Ok(()));
        assert_eq!(budget.spend(2), Err(BudgetExhausted { limit: 3 }));
        assert_eq!(budget.spend(u64::MAX), Err(BudgetExhausted { limit: 3 }));
        assert_eq!(budget.left(), 1);
    }
}
