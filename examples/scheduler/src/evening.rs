//! The look back in the evening: a durable job that asks about what was planned and not done.
//!
//! Its run lies in a thread of its own, makes repairs, and waits for the person; nothing changes
//! before they agree. A question that nobody has answered by the next evening gives way to the new
//! one.
use std::sync::Arc;

use fugato::{
    command::Command,
    cron::{CatchUp, Job, JobClock, JobError, JobRunner, JobSpec, Jobs, TimeZone},
    state::{Interrupt, Millis},
    store::DocStore,
    stream::CardText,
};
use jiff::{Timestamp, civil::Time};
use serde::Deserialize as _;

use crate::{
    agent::{AgentState, Request},
    calendar::Lang,
    clock,
    service::Service,
    understand::Trouble,
};

/// The name beside which the threads of the evenings lie.
pub const EVENING: &str = "evening";

/// The longest delay of a look, in seconds; later it is left to the next evening.
const DELAY: u32 = 2 * 60 * 60;

/// The look back of a calendar.
#[derive(Debug, Clone)]
pub struct EveningReview {
    /// The time of the day; none for no look.
    pub at: Option<Time>,
    /// The zone of the schedule.
    pub zone: TimeZone,
    /// The language of the question.
    pub lang: Lang,
    /// The command that tells the person of a question, with a place `{text}`; none for none.
    pub tell: Option<Command>,
}

impl EveningReview {
    /// Stores the job of the look in place of an earlier one, and returns the driver of jobs by the
    /// clock of this machine.
    ///
    /// # Errors
    /// Fails if the jobs cannot be read or stored.
    pub async fn begin(
        &self,
        service: &Service,
        docs: Arc<dyn DocStore>,
    ) -> Result<JobRunner<AgentState>, JobError> {
        let now = || clock::now().as_millisecond();
        let clock = JobClock::new(self.zone.clone(), now);
        self.begin_by(service, docs, clock).await
    }

    /// Begins by another clock.
    ///
    /// # Errors
    /// Fails as [`begin`](Self::begin) does.
    pub async fn begin_by(
        &self,
        service: &Service,
        docs: Arc<dyn DocStore>,
        clock: JobClock,
    ) -> Result<JobRunner<AgentState>, JobError> {
        let jobs = Jobs::new(docs, clock);
        let wanted = self.at.map(|at| self.job(at));
        let mut stands = false;
        for job in jobs.list(EVENING).await? {
            let same = wanted.as_ref() == Some(&job.wish) && job.zone == jobs.clock().zone_name();
            if same && !stands {
                stands = true;
            } else {
                jobs.cancel(EVENING, &job.id).await?;
            }
        }
        if let Some(wish) = wanted.filter(|_| !stands) {
            let key = format!("{} {}", wish.schedule, self.lang);
            jobs.create(&key, EVENING, wish).await?;
        }
        let (service, zone) = (service.clone(), self.zone.clone());
        let runner = service.runner().clone();
        let jobs = JobRunner::new(runner, jobs, move |job, time| {
            vec![service.input(asked(job, time, &zone))]
        });
        let (tell, lang) = (self.tell.clone(), self.lang);
        Ok(jobs.on_question(move |_, questions| told(tell.clone(), questions, lang)))
    }

    fn job(&self, at: Time) -> JobSpec {
        let (hour, minute, second) = (at.hour(), at.minute(), at.second());
        let schedule = format!("{second} {minute} {hour} * * *");
        JobSpec::new(schedule, Trouble::asked(self.lang))
            .standing(true)
            .catch_up(CatchUp::Within { seconds: DELAY })
            .extra(serde_json::json!({ "lang": self.lang }))
    }
}

/// Tells the person of the questions of an evening, by a command of the operator.
fn told(
    tell: Option<Command>,
    questions: &[Interrupt],
    lang: Lang,
) -> impl Future<Output = ()> + use<> {
    let card = |asked: &Interrupt| {
        let card = CardText::of(asked).chinese(lang == Lang::Zh);
        format!("{}\n{}", card.heading(), card.body())
    };
    let texts: Vec<_> = questions.iter().map(card).collect();
    async move {
        let Some(tell) = tell else { return };
        for text in texts {
            if let Err(error) = tell.run(&[("text", text.trim())]).await {
                tracing::warn!(%error, "the person was not told of a question");
            }
        }
    }
}

/// Returns the request of a job at one of its times.
fn asked(job: &Job, time: Millis, zone: &TimeZone) -> Request {
    let lang = job.wish.extra.get("lang").map(Lang::deserialize);
    let time = Timestamp::from_millisecond(time).ok();
    Request {
        lang: lang.and_then(Result::ok),
        now: time.map(|time| zone.to_datetime(time)),
        ..Request::new(&job.wish.task)
    }
}
