/** Owns reading server-sent events off an answer's body. Pure but for the given stream. */

export interface ReadEvent {
  readonly name: string;
  readonly data: string;
  /** Undefined: the event has none. */
  readonly id: string | undefined;
}

/** Yields events as they come; drops one that is cut off at the end. */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ReadEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const event = eventIn(block);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    // A reader that stops closes the connection.
    await reader.cancel().catch(() => {});
  }
}

function eventIn(block: string): ReadEvent | undefined {
  let [name, id]: [string, string | undefined] = ['message', undefined];
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const text = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = text;
    else if (field === 'data') data.push(text);
    else if (field === 'id') id = text;
  }
  return data.length === 0 ? undefined : { name, id, data: data.join('\n') };
}
