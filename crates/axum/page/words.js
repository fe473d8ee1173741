// What the page says, in the languages that it speaks.
const WORDS = {
  en: {
    conversations: 'Conversations', new: 'New', message: 'Your message', hint: 'Say what you want',
    send: 'Send', stop: 'Stop', skip: 'To the message', details: 'Details', key: 'Key', go: 'Go on',
    untitled: 'New conversation', remove: 'Remove', removing: 'Remove this conversation and all that belongs to it?',
    thought: 'Thought', thinking: 'Thinking…', seconds: (n) => `${n} s`,
    created: 'being written', proposed: 'next', called: 'running', completed: 'done', blocked: 'refused', failed: 'failed',
    accepted: 'accepted', rejected: 'rejected', instead: 'changed by hand instead', answered: 'answered', asked: 'Asked', expired: 'expired', withdrawn: 'withdrawn', arguments: 'Arguments', result: 'Result',
    accept: 'Accept', reject: 'Reject', because: 'Reject, because…', reason: 'Why not, and what instead?', answer: 'Answer', back: 'Back',
    yes: 'Yes', no: 'No', close: 'Close', fold: 'Fold', unfold: 'Show all', waits: 'Waits for your answer', conversation: 'Conversation', hint_card: 'Yes, no because…, or ask', hint_choice: 'Press a choice, or say which one', hint_answer: 'Your answer', hint_running: 'At work: wait until it is done, or stop it',
    dismiss: 'Not now', waiting: 'waiting for your answer', running: 'at work', idle: '',
    sleeping: 'waiting for its time', unfinished: 'left unfinished', failed_thread: 'stopped by an error', cut: 'connection lost, coming back…',
    recover: 'Go on', retry: 'Try again', inspector: 'At work', graph: 'Graph', log: 'Log', state: 'State', changes: 'Changes', more: 'More',
    fork: 'Begin another conversation here', at: (seq) => `position ${seq}`, nothing: 'Nothing changed.', empty: 'Nothing has happened yet.',
    theme: 'Light or dark', language: '中文', attempt: (n) => `attempt ${n}`, choose: 'Select a line to see the state there.', search: 'Search the log', shown: (n, all) => `${n} of ${all}`, fact: 'What happened', here: (node) => `Only ${node}`, all_steps: 'All', work: (n) => (n === 1 ? '1 step of work' : `${n} steps of work`), 
    folded: (chars, lines) => `… ${chars} more characters, ${lines} more lines`, says: 'The tool says of itself',
    card: 'Result', model: 'Model', prompt: 'Prompt', schedule_completed: 'what was placed', correction: 'Corrected', cancelled: 'Stopped', error: 'Error',
    planning: 'Plan', plan: 'Plan', plan_generated: 'Plan', plan_adjustment: 'Plan changed', replan: 'Plan changed', step: 'Step', step_start: 'Step', step_complete: 'Step not done', planner_failed: 'No plan',
    respond: 'Answer', ask_user: 'Question', question: 'A question for you', task_analysis: 'Understood', rag_query: 'Searched for', rag_result: 'Remembered',
    remembered: 'Noted', context_compaction: 'Summed up', decided_by_rule: 'Decided by rule',
  },
  zh: {
    conversations: '会话', new: '新建', message: '消息', hint: '说说你想做什么',
    send: '发送', stop: '停止', skip: '跳到输入框', details: '详情', key: '密钥', go: '继续',
    untitled: '新会话', remove: '删除', removing: '删除这个会话和它的全部内容？',
    thought: '思考', thinking: '思考中…', seconds: (n) => `${n} 秒`,
    created: '正在生成', proposed: '待执行', called: '进行中', completed: '完成', blocked: '被拒绝', failed: '失败',
    accepted: '已同意', rejected: '已拒绝', instead: '改为手动调整', answered: '已回答', asked: '提问', expired: '已过期', withdrawn: '已撤回', arguments: '参数', result: '结果',
    accept: '同意', reject: '拒绝', because: '拒绝并说明…', reason: '为什么不行？应该怎样？', answer: '回答', back: '返回',
    yes: '是', no: '否', close: '关闭', fold: '收起', unfold: '展开', waits: '等待你的回答', conversation: '对话', hint_card: '是、否并说明原因，或就此提问', hint_choice: '点一个选项，或说出是哪个', hint_answer: '你的回答', hint_running: '正在工作：请等待完成，或先停止',
    dismiss: '稍后', waiting: '等待你的回答', running: '工作中', idle: '',
    sleeping: '等待时间到', unfinished: '尚未完成', failed_thread: '因错误停止', cut: '连接中断，正在恢复…',
    recover: '继续', retry: '重试', inspector: '工作过程', graph: '流程图', log: '日志', state: '状态', changes: '变化', more: '更多',
    fork: '从这里开始新会话', at: (seq) => `位置 ${seq}`, nothing: '没有变化。', empty: '还没有发生任何事。',
    theme: '浅色或深色', language: 'English', attempt: (n) => `第 ${n} 次`, choose: '选择一行，查看当时的状态。', search: '搜索日志', shown: (n, all) => `${n} / ${all}`, fact: '发生了什么', here: (node) => `只看 ${node}`, all_steps: '全部', work: (n) => `${n} 步工作`, 
    folded: (chars, lines) => `… 还有 ${chars} 个字符、${lines} 行`, says: '工具自述',
    card: '结果', model: '模型', prompt: '提示', schedule_completed: '已安排的内容', correction: '已纠正', cancelled: '已停止', error: '错误',
    planning: '计划', plan: '计划', plan_generated: '计划', plan_adjustment: '计划调整', replan: '计划调整', step: '步骤', step_start: '步骤', step_complete: '步骤未完成', planner_failed: '没有计划',
    respond: '回答', ask_user: '提问', question: '请你回答', task_analysis: '理解', rag_query: '检索', rag_result: '检索结果',
    remembered: '已记下', context_compaction: '已压缩', decided_by_rule: '按规则决定',
  },
};

// Outside of a browser, as in tests, there is neither.
const own = () => globalThis.localStorage?.getItem('language') ?? (globalThis.navigator?.language.startsWith('zh') ? 'zh' : 'en');
let language = own();

export const lang = () => language;

const isChinese = (text) => /\p{Script=Han}/u.test(text);

// The language that words are in; null if they are in none, such as a number or a name.
export const languageOf = (text) => (isChinese(text) ? 'zh' : /[a-z]{2}/.test(text) ? 'en' : null);

// Of a text in both languages the half that is spoken.
export function half(text) {
  const parts = String(text).split(' · ');
  const both = parts.length === 2 && isChinese(parts[0]) !== isChinese(parts[1]);
  return both ? parts.find((it) => isChinese(it) === (language === 'zh')) : text;
}

export function word(name, ...values) {
  const found = WORDS[language][name] ?? WORDS.en[name] ?? name;
  return typeof found === 'function' ? found(...values) : found;
}

// What the person chooses is kept for the next time.
export function choose(other) {
  localStorage.setItem('language', other);
  language = other;
}

// A conversation is in its own language, and without one the page is in that of the person. Says
// whether it is another one now.
export function follow(other) {
  const before = language;
  language = other ?? own();
  return language !== before;
}

// Fills in what the markup only names.
export function label(root) {
  document.documentElement.lang = language;
  for (const it of root.querySelectorAll('[data-word]')) it.textContent = word(it.dataset.word);
  for (const it of root.querySelectorAll('[data-hint]')) it.placeholder = word(it.dataset.hint);
  for (const it of root.querySelectorAll('[data-label]')) it.setAttribute('aria-label', word(it.dataset.label));
}
