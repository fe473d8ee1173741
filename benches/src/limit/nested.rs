//! Items that each go through several nodes, and nodes that run beside each other.
use std::sync::Arc;

use fugato_state::State;
use futures::future::{BoxFuture, join};

use super::steps::Node;
use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::{Campaign, CampaignUpdate, Number, Slogan, Tally, TallyUpdate, Ticket},
    workload::Workload,
};

/// How many items one task of the runtime looks after.
const CHUNK: usize = 16;

type Work<I, U> = Arc<dyn Fn(I) -> BoxFuture<'static, U> + Send + Sync>;

pub(super) fn squares(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let nodes: Arc<[Node<Number>; 2]> = Arc::new([
        node(|number: &Number| Number(number.0 * number.0)),
        node(|number: &Number| *number),
    ]);
    let work: Work<u64, TallyUpdate> = Arc::new(move |item| {
        let nodes = nodes.clone();
        Box::pin(async move {
            let mut number = Number(item);
            for node in &*nodes {
                let update = node(&number).await;
                number.apply(update);
            }
            TallyUpdate::Square(number.0)
        })
    });
    rounds(setting, size, || {
        let mut tally = Tally {
            items: size,
            ..Tally::default()
        };
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                for update in share_out(0..tally.items, &work).await? {
                    tally.apply(update);
                }
                tally.apply(TallyUpdate::Sum(tally.squares.iter().sum()));
                Ok::<_, BoxError>(())
            })
        });
        done?;
        assert_eq!(
            tally.squares.len() as u64,
            size,
            "each item leaves one square"
        );
        Ok(spent)
    })
}

pub(super) fn campaign(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let nodes: Arc<[Node<Slogan>; 3]> = Arc::new([
        node(Slogan::edit),
        node(Slogan::generate),
        node(Slogan::bump),
    ]);
    let work: Work<String, CampaignUpdate> = Arc::new(move |subject| {
        let nodes = nodes.clone();
        Box::pin(async move {
            let [edit, generate, bump] = &*nodes;
            let mut slogan = Slogan::of(subject);
            for node in [edit, generate] {
                let update = node(&slogan).await;
                slogan.apply(update);
            }
            while !slogan.is_over() {
                let update = bump(&slogan).await;
                slogan.apply(update);
            }
            CampaignUpdate::Slogan(slogan.text)
        })
    });
    rounds(setting, Workload::FanOutSubgraph.units(size), || {
        let mut campaign = Campaign::of_subjects(size);
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                for update in share_out(campaign.subjects.clone(), &work).await? {
                    campaign.apply(update);
                }
                let length = campaign.slogans.iter().map(String::len).sum();
                campaign.apply(CampaignUpdate::Length(length));
                Ok::<_, BoxError>(())
            })
        });
        done?;
        assert!(campaign.is_over(), "all is written");
        Ok(spent)
    })
}

pub(super) fn ticket(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let [one, two, three, four, five, six] = [
        Ticket::one,
        Ticket::two,
        Ticket::three,
        Ticket::four,
        Ticket::five,
        Ticket::six,
    ]
    .map(node::<Ticket>);
    rounds(setting, Workload::WideState.units(size), || {
        let mut ticket = Ticket::until(size);
        let ((), spent) = timed(|| {
            runtime.block_on(async {
                while !ticket.is_over() {
                    for node in [&one, &two] {
                        let update = node(&ticket).await;
                        ticket.apply(update);
                    }
                    let (third, fourth) = join(three(&ticket), four(&ticket)).await;
                    ticket.apply(third);
                    ticket.apply(fourth);
                    for node in [&five, &six] {
                        let update = node(&ticket).await;
                        ticket.apply(update);
                    }
                }
            });
        });
        let Ticket {
            messages,
            responses,
            ..
        } = &ticket;
        assert_eq!((messages.len(), responses.len()), Ticket::expected(size));
        Ok(spent)
    })
}

/// A node that needs not wait for anything.
fn node<S: State>(change: impl Fn(&S) -> S::Update + Send + Sync + 'static) -> Node<S> {
    Box::new(move |state| {
        let update = change(state);
        Box::pin(async move { update })
    })
}

/// Does the work of all items, some of them at the same time.
async fn share_out<I, U>(
    items: impl IntoIterator<Item = I>,
    work: &Work<I, U>,
) -> Result<Vec<U>, BoxError>
where
    I: Send + 'static,
    U: Send + 'static,
{
    let (mut items, mut tasks) = (items.into_iter(), vec![]);
    loop {
        let chunk: Vec<I> = items.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            break;
        }
        let work = work.clone();
        tasks.push(tokio::spawn(async move {
            let mut updates = Vec::with_capacity(chunk.len());
            for item in chunk {
                updates.push(work(item).await);
            }
            updates
        }));
    }
    let mut updates = vec![];
    for task in tasks {
        updates.extend(task.await?);
    }
    Ok(updates)
}
