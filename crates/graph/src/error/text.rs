//! The errors of runs in words.
use std::fmt;

use fugato_state::{iso_8601, say};
use fugato_store::StoreErrorKind;

use super::{RunErrorKind, list};

impl fmt::Display for RunErrorKind {
    #[expect(clippy::too_many_lines, reason = "a text for each kind")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { task } => f.write_str(&say!("task {task} failed", "步骤 {task} 失败了")),
            Self::Panicked { task } => {
                f.write_str(&say!("task {task} panicked", "步骤 {task} 崩溃了"))
            }
            Self::Router { node } => f.write_str(&say!(
                "the routing after node {node} failed",
                "节点 {node} 之后的选路失败了"
            )),
            Self::UndeclaredTarget {
                node,
                target,
                declared,
            } => {
                let declared = declared.join(", ");
                f.write_str(&say!(
                    "the branch of node {node} chose {target:?}; it declares {declared}",
                    "节点 {node} 的分支选了 {target:?}，而它只声明了 {declared}"
                ))
            }
            Self::HalfFilledJoin { join, arrived } => {
                let arrived = arrived.join(", ");
                f.write_str(&say!(
                    "the run ended while the join {join} had only arrivals from {arrived}",
                    "运行结束时，汇合点 {join} 只等到了 {arrived}"
                ))
            }
            Self::Timeout { task, after } => f.write_str(&say!(
                "task {task} took longer than {after:?}",
                "步骤 {task} 用时超过了 {after:?}"
            )),
            Self::Idle { task, after } => f.write_str(&say!(
                "task {task} was silent for {after:?}",
                "步骤 {task} 有 {after:?} 没有动静"
            )),
            Self::Cancelled { by, why } => f.write_str(&say!(
                "the run was cancelled by {by}: {why}",
                "运行被 {by} 取消：{why}"
            )),
            Self::HandedOver => f.write_str(&say!(
                "the run was handed over between two steps",
                "运行在两步之间移交了"
            )),
            Self::Budget { meter, limit } => f.write_str(&say!(
                "the run has used up its budget of {limit} {meter}",
                "运行用完了它的预算：{limit} {meter}"
            )),
            Self::FailedBefore { error } => f.write_str(&say!(
                "the same request was made before, and failed: {error}",
                "同样的请求以前提过，失败了：{error}"
            )),
            Self::RequestChanged { key } => f.write_str(&say!(
                "the request {key:?} was made before with another input",
                "请求 {key:?} 以前提过，内容不同"
            )),
            Self::InDoubt { effects } => {
                let effects = effects.join(", ");
                f.write_str(&say!(
                    "the run ended, and nobody knows whether {effects} happened",
                    "运行结束了，但不知道 {effects} 是否做成"
                ))
            }
            Self::NotInDoubt { key, in_doubt } => {
                let in_doubt = in_doubt.join(", ");
                f.write_str(&say!(
                    "the effect {key:?} is not in doubt; in doubt are: {in_doubt}",
                    "动作 {key:?} 的结果没有疑问；有疑问的是：{in_doubt}"
                ))
            }
            Self::NoSuchTask { task } => f.write_str(&say!(
                "the thread has no open task {task:?}",
                "线程没有未完成的步骤 {task:?}"
            )),
            Self::Stuck { tasks } => {
                let tasks = tasks.join(", ");
                f.write_str(&say!(
                    "no attempt is under way of {tasks}",
                    "没有在执行的步骤：{tasks}"
                ))
            }
            Self::Options(why) | Self::Store(StoreErrorKind::Invalid(why)) => f.write_str(why),
            Self::StepLimit { limit } => f.write_str(&say!(
                "the run reached its limit of {limit} steps",
                "运行达到了 {limit} 步的上限"
            )),
            Self::CrashLimit { task, attempts } => f.write_str(&say!(
                "task {task} was begun {attempts} times and never came to an end",
                "步骤 {task} 开始了 {attempts} 次，一次也没有结束"
            )),
            Self::OtherAgent { prefix } => f.write_str(&say!(
                "the thread is another agent's: the threads of this one have names that begin with \
                 {prefix:?}",
                "线程属于别的智能体：这个智能体的线程名以 {prefix:?} 开头"
            )),
            Self::Busy { owner, until } if fugato_store::is_move(owner) => {
                f.write_str(&fugato_store::busy_text(owner, *until))
            }
            Self::Busy { owner, until } => {
                let until = iso_8601(*until);
                f.write_str(&say!(
                    "the thread is run by {owner}, whose lease lasts until {until}",
                    "线程正由 {owner} 运行，租约到 {until} 为止"
                ))
            }
            Self::Waiting { open } => f.write_str(&say!(
                "the thread waits for answers to {}",
                "线程在等待回答：{}",
                list(open)
            )),
            Self::Unfinished => f.write_str(&say!(
                "the last run of the thread is unfinished",
                "线程的上一次运行还没有结束"
            )),
            Self::NothingToDo => f.write_str(&say!(
                "nothing in the thread can go on",
                "线程里没有可以继续的"
            )),
            Self::Answer(error) => error.fmt(f),
            Self::GraphChanged { gone } => {
                let gone = gone.join(", ");
                f.write_str(&say!(
                    "the graph no longer has what the thread refers to: {gone}",
                    "这个程序已经没有线程用到的部分：{gone}"
                ))
            }
            Self::Question { task, problem } => f.write_str(&say!(
                "task {task} asks badly: {problem}",
                "步骤 {task} 的问题不合要求：{problem}"
            )),
            Self::Store(StoreErrorKind::NotFound) => f.write_str(&say!(
                "there is no such thread or position",
                "没有这个线程或位置"
            )),
            Self::Store(_) => f.write_str(&say!("the log failed", "日志出错了")),
            Self::Format => f.write_str(&say!(
                "a value cannot be read or written as JSON",
                "有值无法作为 JSON 读写"
            )),
            Self::Migrate => {
                f.write_str(&say!("an older value cannot be read", "无法读取旧版本的值"))
            }
            Self::Unsupported(what) => f.write_str(&say!(
                "the runner was built without {what}",
                "这个程序没有：{what}"
            )),
        }
    }
}
