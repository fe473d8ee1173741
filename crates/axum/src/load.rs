//! The load of each tenant.
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fugato_state::say;
use tokio::time::Instant;

use crate::{
    Limits, Tenant,
    error::{ApiError, ApiResult},
};

/// The loads of all tenants.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    tenants: Mutex<HashMap<Tenant, Load>>,
}

#[derive(Debug, Default)]
struct Load {
    runs: usize,
    streams: usize,
    /// The times at which the runs of the last minute began.
    begun: VecDeque<Instant>,
}

/// A permit for a run or a stream, given back on drop.
#[derive(Debug)]
pub(crate) struct LoadPermit {
    loads: Arc<Loads>,
    tenant: Tenant,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Run,
    Stream,
}

/// The time after which a place may be free again.
const SOON: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

impl Loads {
    /// Takes a permit for a run, or refuses at a limit.
    pub(crate) fn run(self: &Arc<Self>, tenant: &Tenant, limits: &Limits) -> ApiResult<LoadPermit> {
        let mut tenants = self.lock();
        let load = tenants.entry(tenant.clone()).or_default();
        let now = Instant::now();
        load.forget(now);
        if let Some(limit) = limits.concurrent_runs.filter(|limit| load.runs >= *limit) {
            let message = say!(
                "{limit} runs may be under way at a time",
                "同时最多进行 {limit} 次运行"
            );
            return Err(too_many("concurrent_runs", message, SOON));
        }
        if let Some(limit) = limits.runs_per_minute {
            if let Some(wait) = load.wait(now, limit) {
                let message = say!(
                    "{limit} runs may begin in a minute",
                    "一分钟内最多开始 {limit} 次运行"
                );
                return Err(too_many("runs_per_minute", message, wait));
            }
            load.begun.push_back(now);
        }
        load.runs += 1;
        Ok(self.permit(tenant, Place::Run))
    }

    /// Takes a permit for a stream or a socket, or refuses at the limit.
    pub(crate) fn stream(
        self: &Arc<Self>,
        tenant: &Tenant,
        limits: &Limits,
    ) -> ApiResult<LoadPermit> {
        let mut tenants = self.lock();
        let load = tenants.entry(tenant.clone()).or_default();
        if load.streams >= limits.streams {
            let message = say!(
                "{} streams may be open at a time",
                "同时最多打开 {} 个流",
                limits.streams
            );
            return Err(too_many("streams", message, SOON));
        }
        load.streams += 1;
        Ok(self.permit(tenant, Place::Stream))
    }

    fn permit(self: &Arc<Self>, tenant: &Tenant, place: Place) -> LoadPermit {
        LoadPermit {
            loads: self.clone(),
            tenant: tenant.clone(),
            place,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, Load>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Load {
    /// Returns the time until fewer than so many runs began within a minute; none if there are fewer.
    fn wait(&self, now: Instant, limit: usize) -> Option<Duration> {
        if self.begun.len() < limit {
            return None;
        }
        let oldest = self.begun.iter().rev().nth(limit.saturating_sub(1));
        Some(MINUTE.saturating_sub(now - oldest.copied().unwrap_or(now)))
    }

    fn forget(&mut self, now: Instant) {
        while self
            .begun
            .front()
            .is_some_and(|begun| now - *begun >= MINUTE)
        {
            self.begun.pop_front();
        }
    }
}

impl Drop for LoadPermit {
    fn drop(&mut self) {
        let mut tenants = self.loads.lock();
        let Some(load) = tenants.get_mut(&self.tenant) else {
            return;
        };
        match self.place {
            Place::Run => load.runs = load.runs.saturating_sub(1),
            Place::Stream => load.streams = load.streams.saturating_sub(1),
        }
        load.forget(Instant::now());
        if load.runs == 0 && load.streams == 0 && load.begun.is_empty() {
            tenants.remove(&self.tenant);
        }
    }
}

fn too_many(kind: &'static str, message: String, wait: Duration) -> ApiError {
    ApiError::too_many(kind, message, Some(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tenant_gets_its_places_back() {
        let loads = Arc::new(Loads::default());
        let limits = Limits::default().runs_per_minute(3).concurrent_runs(2);
        let (one, other) = (Tenant::new("one").unwrap(), Tenant::new("other").unwrap());
        let kind = |permit: ApiResult<LoadPermit>| permit.map_err(|error| error.kind).err();

        let first = loads.run(&one, &limits).unwrap();
        let second = loads.run(&one, &limits).unwrap();
        assert_eq!(kind(loads.run(&one, &limits)), Some("concurrent_runs"));
        assert_eq!(kind(loads.run(&other, &limits)), None);
        drop(first);
        let third = loads.run(&one, &limits).unwrap();
        drop((second, third));
        assert_eq!(kind(loads.run(&one, &limits)), Some("runs_per_minute"));
        tokio::time::advance(MINUTE).await;
        assert_eq!(kind(loads.run(&one, &limits)), None);
        tokio::time::advance(MINUTE).await;
        drop(loads.run(&one, &Limits::default()));
        drop(loads.run(&other, &Limits::default()));
        assert!(loads.lock().is_empty());
    }
}
