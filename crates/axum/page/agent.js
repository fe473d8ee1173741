// An agent may have panels of its own beside the conversation. This is the agent that has none.
export default { panels: [] };
