// A chat of the AI SDK without a user interface.
import { AbstractChat, DefaultChatTransport } from "ai";

// The least that a chat needs beside the SDK's own: a place for its messages.
class Messages {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, message);
  };
  snapshot = (value) => structuredClone(value);
}

export class Chat extends AbstractChat {
  constructor(id, api, options = {}) {
    const transport = new DefaultChatTransport({ api });
    super({ id, transport, state: new Messages(), ...options });
  }

  get parts() {
    return this.messages.at(-1).parts;
  }

  // Every part of a kind, reduced to one of its fields.
  of(type, field) {
    return this.parts.filter((part) => part.type === type).map((part) => part[field]);
  }
}
