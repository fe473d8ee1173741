//! The claim index: markers of the threads that can go on at a time.
use fugato_store::{Claim, Lease, StoreErrorKind};
use futures::TryStreamExt as _;
use object_store::path::Path;

use crate::{
    chain::{Chain, Turn},
    error::Fault,
    layout::{DUE, Marker, ThreadKey},
    options::millis,
    state::Verdict,
};

/// The result of a look at a thread that a marker names.
enum Look {
    Granted(Box<Lease>),
    /// It is held or another agent's, or the commit of the marker has not come yet.
    Later,
    /// A later commit does not count on the marker.
    Stale,
}

impl Chain {
    /// Grants leases on up to `n` threads that can go on and whose names begin with a prefix, those
    /// first that could the longest.
    ///
    /// A marker does not name its thread, so that those of other agents cost a look each.
    pub(crate) async fn claim(&self, claim: &Claim) -> Result<Vec<Lease>, Fault> {
        let mut leases = vec![];
        if claim.n == 0 {
            return Ok(leases);
        }
        for (marker, key) in self.due_markers().await? {
            let look = match self.claim_one((&key, marker), claim).await {
                Ok(look) => look,
                // One unreadable thread must not keep the others from being claimed.
                Err(fault) if matches!(fault.kind, StoreErrorKind::Corrupt(_)) => {
                    tracing::warn!(thread = %key, kind = ?fault.kind, "a thread cannot be claimed");
                    continue;
                }
                // Those that are granted already are not lost.
                Err(_) if !leases.is_empty() => break,
                Err(fault) => return Err(fault),
            };
            match look {
                Look::Granted(lease) => leases.push(*lease),
                Look::Later => {}
                Look::Stale => self.delete_quietly(&marker.path(&key)).await,
            }
            if leases.len() == claim.n {
                break;
            }
        }
        Ok(leases)
    }

    async fn claim_one(
        &self,
        (key, marker): (&ThreadKey, Marker),
        claim: &Claim,
    ) -> Result<Look, Fault> {
        let skew = millis(self.options.max_skew);
        let decide = |turn: Turn<'_>| {
            // Only who has read an object at its ordinal knows that it is stale: before that, its
            // commit may still come.
            if turn.state.marker != Some(marker) {
                let is_stale = turn.next > marker.at;
                return Ok(Verdict::Keep(if is_stale {
                    Look::Stale
                } else {
                    Look::Later
                }));
            }
            let (Some(thread), true) = (turn.thread, marker.time <= turn.now) else {
                return Ok(Verdict::Keep(Look::Later));
            };
            if !claim.wants(thread) {
                return Ok(Verdict::Keep(Look::Later));
            }
            let (head, now) = (turn.state.head, turn.now);
            match turn.state.acquire(&claim.owner, claim.ttl, skew, now) {
                Err(StoreErrorKind::Busy { .. }) => Ok(Verdict::Keep(Look::Later)),
                acquired => Ok(acquired?.map(|(fence, until)| {
                    Look::Granted(Box::new(Lease {
                        thread: thread.clone(),
                        fence,
                        head,
                        until,
                        now,
                    }))
                })),
            }
        };
        self.change(key, None, decide).await
    }

    /// Returns the markers whose time has come, in the order of their times.
    async fn due_markers(&self) -> Result<Vec<(Marker, ThreadKey)>, Fault> {
        let now = self.now();
        let folders = self
            .store
            .list_with_delimiter(Some(&Path::from(DUE)))
            .await?;
        let due = folders.common_prefixes.into_iter();
        let mut markers = vec![];
        for folder in due.filter(|folder| Marker::is_due_bucket(folder, now)) {
            let mut listed = self.store.list(Some(&folder));
            while let Some(meta) = listed.try_next().await? {
                markers.extend(Marker::of_path(&meta.location));
            }
        }
        markers.retain(|(marker, _)| marker.time <= now);
        markers.sort_by_key(|(marker, _)| *marker);
        Ok(markers)
    }
}
