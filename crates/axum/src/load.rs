//! The load of each tenant.
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fugato_state::{Lang, say};
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
    /// The times at which the runs of the last minute, or of the last day, began.
    begun: VecDeque<Instant>,
}

/// A permit for a run or a stream, given back on drop.
#[derive(Debug)]
pub(crate) struct LoadPermit {
    loads: Arc<Loads>,
    tenant: Tenant,
    limits: Limits,
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
const DAY: Duration = Duration::from_secs(86_400);

impl Loads {
    /// Takes a permit for a run, or refuses at a limit.
    pub(crate) fn run(self: &Arc<Self>, tenant: &Tenant, limits: &Limits) -> ApiResult<LoadPermit> {
        let mut tenants = self.lock();
        let load = tenants.entry(tenant.clone()).or_default();
        let now = Instant::now();
        load.forget(now, limits);
        if let Some(limit) = limits.concurrent_runs.filter(|limit| load.runs >= *limit) {
            let message = say!(
                "{limit} runs may be under way at a time",
                "同时最多进行 {limit} 次运行"
            );
            return Err(too_many("concurrent_runs", message, SOON));
        }
        let a_minute = (
            limits.runs_per_minute,
            MINUTE,
            "runs_per_minute",
            ["a minute", "一分钟内"],
        );
        let a_day = (
            limits.runs_per_day,
            DAY,
            "runs_per_day",
            ["24 hours", "24 小时内"],
        );
        for (limit, time, kind, [en, zh]) in [a_minute, a_day] {
            let Some(limit) = limit else { continue };
            let within = Lang::current().pick(en, zh);
            if let Some(wait) = load.wait(now, limit, time) {
                let message = say!(
                    "{limit} runs may begin in {within}",
                    "{within}最多开始 {limit} 次运行"
                );
                return Err(too_many(kind, message, wait));
            }
        }
        if limits.runs_per_minute.or(limits.runs_per_day).is_some() {
            load.begun.push_back(now);
        }
        load.runs += 1;
        Ok(self.permit(tenant, limits, Place::Run))
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
        Ok(self.permit(tenant, limits, Place::Stream))
    }

    fn permit(self: &Arc<Self>, tenant: &Tenant, limits: &Limits, place: Place) -> LoadPermit {
        LoadPermit {
            loads: self.clone(),
            tenant: tenant.clone(),
            limits: limits.clone(),
            place,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, Load>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Load {
    /// Returns the time until one of so many runs within this time is over; none if there are fewer.
    fn wait(&self, now: Instant, limit: usize, time: Duration) -> Option<Duration> {
        let within = self.begun.iter().rev();
        let within = within.take_while(|begun| now - **begun < time);
        if within.count() < limit {
            return None;
        }
        let oldest = self.begun.iter().rev().nth(limit.saturating_sub(1));
        Some(time.saturating_sub(now - oldest.copied().unwrap_or(now)))
    }

    fn forget(&mut self, now: Instant, limits: &Limits) {
        let kept = limits.runs_per_day.map_or(MINUTE, |_| DAY);
        while self.begun.front().is_some_and(|begun| now - *begun >= kept) {
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
        load.forget(Instant::now(), &self.limits);
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
