use async_trait::async_trait;
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    AppendResult, Claim, Commit, Expect, Fence, Head, Lease, LeaseOutcome, LeaseRequest, Record,
    Status, StoreError, StoreErrorKind, ThreadLog,
};

use super::{BrokenLog, Flaw};

#[async_trait]
impl ThreadLog for BrokenLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let name = self.name(thread);
        let commit = self.spoil(commit.clone());
        let idle = commit.status == Status::Idle;
        if self.has(Flaw::SwallowsLarge)
            && let Err(StoreErrorKind::TooLarge { .. }) = commit.check_size()
        {
            let head = commit.expect.head + commit.records.len() as Seq;
            return Ok(AppendResult {
                head,
                now: self.clock.now(),
                signals: vec![],
            });
        }
        let last = self.inner.head(&name).await?;
        let repeats = last.as_ref().is_some_and(|last| last.nonce == commit.nonce);
        let mut appended = match last {
            Some(last) if repeats => self.repeat(&name, commit, &last).await?,
            _ => self.compare(&name, &commit).await?,
        };
        if self.has(Flaw::KeepsLease) && idle {
            self.ask_for(&name, "ghost", Millis::MAX / 2).await?;
        }
        self.tamper(&mut appended, repeats);
        Ok(appended)
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let name = self.name(thread);
        let limit = limit.saturating_add(self.has(Flaw::ReadsPastLimit).into());
        let mut records = self.inner.read(&name, from, limit).await?;
        if self.has(Flaw::LeavesGap) {
            records
                .iter_mut()
                .filter(|(seq, _)| *seq > 1)
                .for_each(|(seq, _)| *seq += 1);
        }
        if self.has(Flaw::Lags) {
            let head = self.inner.head(&name).await?.map_or(0, |head| head.seq);
            records.retain(|(seq, _)| *seq < head);
        }
        Ok(records)
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        let mut head = self.inner.head(&self.name(thread)).await?;
        if let Some(head) = &mut head
            && self.has(Flaw::FollowsClock)
        {
            head.now = self.clock.now();
        }
        Ok(head)
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        match request {
            LeaseRequest::Acquire { thread, owner, ttl } => {
                self.acquire(&self.name(&thread), &owner, ttl).await
            }
            LeaseRequest::Claim(claim) => self.claim(claim).await,
            LeaseRequest::Renew { thread, fence, ttl } => {
                let thread = self.name(&thread);
                let renewed = self
                    .inner
                    .lease(LeaseRequest::Renew { thread, fence, ttl })
                    .await;
                match renewed {
                    Err(error)
                        if self.has(Flaw::RenewsLost)
                            && error.kind == StoreErrorKind::LeaseLost =>
                    {
                        let until = self.clock.now() + ttl;
                        Ok(LeaseOutcome::Renewed {
                            until,
                            signals: vec![],
                        })
                    }
                    other => other,
                }
            }
            LeaseRequest::Release { thread, fence } => {
                let thread = self.name(&thread);
                let others = self.has(Flaw::ReleasesOthers);
                let fence = if others {
                    self.fence_of(&thread).await
                } else {
                    fence
                };
                self.inner
                    .lease(LeaseRequest::Release { thread, fence })
                    .await
            }
            LeaseRequest::Signal { thread, signal } => {
                let thread = self.name(&thread);
                self.inner
                    .lease(LeaseRequest::Signal { thread, signal })
                    .await
            }
        }
    }
}

impl BrokenLog {
    fn spoil(&self, mut commit: Commit) -> Commit {
        match self.flaw {
            Flaw::LosesRecord if commit.records.len() > 1 => {
                commit.records.pop();
            }
            Flaw::SwapsOrder => commit.records.reverse(),
            Flaw::DropsBase => commit.base = None,
            _ => {}
        }
        commit
    }

    async fn repeat(
        &self,
        name: &ThreadId,
        mut commit: Commit,
        last: &Head,
    ) -> Result<AppendResult, StoreError> {
        if self.has(Flaw::ForgetsNonce) {
            let kind = StoreErrorKind::Conflict {
                head: last.seq,
                fence: last.fence,
            };
            return Err(StoreError::new(kind, "append").on(name));
        }
        if self.has(Flaw::AppendsTwice) {
            commit.nonce = !commit.nonce;
            commit.expect = Expect {
                head: last.seq,
                fence: last.fence,
            };
        }
        self.inner.append(name, &commit).await
    }

    async fn compare(&self, name: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        if self.has(Flaw::ComparesTooEarly) {
            let head = self.inner.head(name).await?.map_or(0, |head| head.seq);
            if head == commit.expect.head {
                tokio::task::yield_now().await;
                return self.force(name, commit).await;
            }
        }
        match self.inner.append(name, commit).await {
            Err(error) if error.is_conflict() => {
                let (head, fence) = (self.has(Flaw::IgnoresHead), self.has(Flaw::IgnoresFence));
                if head || fence {
                    self.force(name, commit).await
                } else {
                    Err(error)
                }
            }
            other => other,
        }
    }

    /// Appends at the present head, for a flaw that does not compare.
    async fn force(&self, name: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let mut commit = commit.clone();
        loop {
            let error = match self.inner.append(name, &commit).await {
                Err(error) => error,
                appended => return appended,
            };
            let StoreErrorKind::Conflict { head, fence } = error.kind else {
                return Err(error);
            };
            let before = commit.expect;
            match self.flaw {
                Flaw::IgnoresFence => commit.expect.fence = fence,
                _ => commit.expect.head = head,
            }
            if commit.expect == before {
                return Err(error);
            }
        }
    }

    fn tamper(&self, appended: &mut AppendResult, repeats: bool) {
        match self.flaw {
            Flaw::FollowsClock => appended.now = self.clock.now(),
            Flaw::LosesSignal => appended.signals.clear(),
            Flaw::ForgetsDelivery if repeats => appended.signals.clear(),
            Flaw::RepeatsSignal => self.remember(|memory| {
                memory.signals.append(&mut appended.signals);
                appended.signals.clone_from(&memory.signals);
            }),
            _ => {}
        }
    }

    async fn ask_for(
        &self,
        name: &ThreadId,
        owner: &str,
        ttl: Millis,
    ) -> Result<LeaseOutcome, StoreError> {
        let (thread, owner) = (name.clone(), owner.to_owned());
        self.inner
            .lease(LeaseRequest::Acquire { thread, owner, ttl })
            .await
    }

    async fn acquire(
        &self,
        name: &ThreadId,
        owner: &str,
        ttl: Millis,
    ) -> Result<LeaseOutcome, StoreError> {
        let ttl = ttl + Millis::from(self.has(Flaw::OverstaysLease));
        let busy = match self.ask_for(name, owner, ttl).await {
            Ok(LeaseOutcome::Granted(leases)) => {
                return Ok(LeaseOutcome::Granted(self.note(leases)));
            }
            Ok(other) => return Ok(other),
            Err(busy) => busy,
        };
        match self.flaw {
            Flaw::StealsLease => {
                self.give_back(name).await?;
                self.ask_for(name, owner, ttl).await
            }
            Flaw::SharesLease => Ok(LeaseOutcome::Granted(
                self.remember(|memory| memory.claimed.clone()),
            )),
            _ => Err(busy),
        }
    }

    async fn claim(&self, claim: Claim) -> Result<LeaseOutcome, StoreError> {
        let (prefix, n) = (claim.prefix.clone(), claim.n);
        let mut asked = claim;
        match self.flaw {
            Flaw::ClaimsYoungest => asked.n = usize::MAX,
            Flaw::ClaimsOfAll | Flaw::FiltersTooLate => asked.prefix.clear(),
            Flaw::ClaimsOwn => asked.except.clear(),
            _ => {}
        }
        let claimed = self.inner.lease(LeaseRequest::Claim(asked)).await?;
        let LeaseOutcome::Granted(mut leases) = claimed else {
            return Ok(claimed);
        };
        match self.flaw {
            Flaw::ClaimsYoungest => {
                leases.reverse();
                for lease in leases.drain(n.min(leases.len())..).collect::<Vec<_>>() {
                    self.give_back(&lease.thread).await?;
                }
            }
            Flaw::ClaimsTwice => {
                let before = self.remember(|memory| memory.claimed.clone());
                leases = self.note(leases);
                leases.extend(before);
            }
            Flaw::FiltersTooLate => {
                for lease in &leases {
                    if !lease.thread.as_str().starts_with(&prefix) {
                        self.give_back(&lease.thread).await?;
                    }
                }
                leases.retain(|lease| lease.thread.as_str().starts_with(&prefix));
            }
            Flaw::SharesClaims => {
                for lease in &leases {
                    self.give_back(&lease.thread).await?;
                }
            }
            _ => {}
        }
        Ok(LeaseOutcome::Granted(leases))
    }

    fn note(&self, leases: Vec<Lease>) -> Vec<Lease> {
        self.remember(|memory| memory.claimed.clone_from(&leases));
        let (follows, now) = (self.has(Flaw::FollowsClock), self.clock.now());
        let follow = |lease: Lease| {
            if follows {
                Lease { now, ..lease }
            } else {
                lease
            }
        };
        leases.into_iter().map(follow).collect()
    }

    async fn give_back(&self, name: &ThreadId) -> Result<(), StoreError> {
        let fence = self.fence_of(name).await;
        self.inner
            .lease(LeaseRequest::Release {
                thread: name.clone(),
                fence,
            })
            .await
            .map(|_| ())
    }

    /// Returns the newest fence, taken from the conflict of a commit with a wrong expectation.
    async fn fence_of(&self, name: &ThreadId) -> Fence {
        let nonsense = Commit {
            expect: Expect {
                head: Seq::MAX,
                fence: Fence::MAX,
            },
            nonce: u128::MAX,
            records: vec![Record(vec![])],
            status: Status::Idle,
            base: None,
        };
        match self.inner.append(name, &nonsense).await {
            Err(StoreError {
                kind: StoreErrorKind::Conflict { fence, .. },
                ..
            }) => fence,
            _ => 0,
        }
    }
}
