// An agent may have panels of its own beside the conversation. This is the agent that has none.
//
// - `title`: its name, by language: `{ en, zh }`.
// - `start`: by language, `{ text, examples }`: what it is, and what one may ask of it.
// - `fields`: by language, names of arguments that its cards do not name themselves; `implied` are
//   those of which the words beside a call say everything.
// - `work`: `'open'` if its steps are shown unless a person folds them.
// - `panels`: each `{ title, mount(root, desk) }`; `mount` returns `{ thread(name), changed(),
//   card(block, body), question(asked, text) }`, all of them optional. `question` resolves to what is
//   shown in the place of a card's text, or to null.
export default { panels: [] };
