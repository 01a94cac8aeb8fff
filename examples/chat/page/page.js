// The page: the AI SDK's chat without a framework. It shows the newest answer, and resumes it until it is whole.

import { AbstractChat, DefaultChatTransport } from 'ai';

const RESUME_PAUSE_MS = 500;

const [form, answer, state] = ['form', '#answer', '#state'].map((name) => document.querySelector(name));

/** What the AI SDK keeps of a chat; the page is drawn whenever it changes. */
class ShownState {
  #messages = [];
  #status = 'ready';
  error = undefined;

  get messages() {
    return this.#messages;
  }
  set messages(messages) {
    this.#messages = messages;
    const last = messages.findLast(({ role }) => role === 'assistant');
    answer.textContent = (last?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
  }
  get status() {
    return this.#status;
  }
  set status(status) {
    this.#status = status;
    state.textContent = { ready: '', submitted: 'Asking …', streaming: 'Answering …', error: 'Reconnecting …' }[status];
  }
  pushMessage = (message) => {
    this.messages = [...this.#messages, message];
  };
  popMessage = () => {
    this.messages = this.#messages.slice(0, -1);
  };
  replaceMessage = (at, message) => {
    this.messages = this.#messages.with(at, this.snapshot(message));
  };
  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {
  constructor(id) {
    super({ id, state: new ShownState(), transport: new DefaultChatTransport({ api: '/api/chat' }) });
  }
}

/** Until the answer is whole: each time from its beginning, which replaces what is shown. */
async function untilWhole(chat, first) {
  await first;
  while (chat.status === 'error') {
    await new Promise((resolve) => setTimeout(resolve, RESUME_PAUSE_MS));
    await chat.resumeStream();
  }
  state.textContent = 'Done.';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const chat = new Chat(crypto.randomUUID());
  location.hash = chat.id;
  void untilWhole(chat, chat.sendMessage({ text: new FormData(form).get('question') }));
});

if (location.hash !== '') {
  const chat = new Chat(location.hash.slice(1));
  void untilWhole(chat, chat.resumeStream());
}
