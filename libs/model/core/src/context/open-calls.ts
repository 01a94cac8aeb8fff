/**
 * Owns which of the calls with one id a result answers: models use ids again, and some give none. It is a call of the newest answer that has
 * unanswered ones; there one of the same tool, if there is any; and of these the first, since results come in the order of their calls.
 */

interface Waiting<Call> {
  readonly answer: number;
  readonly calls: { readonly tool: string | undefined; readonly call: Call }[];
}

export class OpenCalls<Call> {
  readonly #byId = new Map<string, Waiting<Call>[]>();

  /** Calls must be added in the order in which they were made. `answer` numbers the answer of the model that made it. */
  add(id: string, answer: number, tool: string | undefined, call: Call): void {
    const answers = this.#byId.get(id);
    const newest = answers?.at(-1);
    if (newest?.answer === answer) newest.calls.push({ tool, call });
    else if (answers !== undefined) answers.push({ answer, calls: [{ tool, call }] });
    else this.#byId.set(id, [{ answer, calls: [{ tool, call }] }]);
  }

  take(id: string, tool: string | undefined): Call | undefined {
    const answers = this.#byId.get(id);
    const newest = answers?.at(-1);
    if (answers === undefined || newest === undefined) return undefined;
    const at = newest.calls.findIndex((one) => one.tool === tool);
    const [taken] = newest.calls.splice(Math.max(at, 0), 1);
    if (newest.calls.length === 0) answers.pop();
    return taken?.call;
  }
}
