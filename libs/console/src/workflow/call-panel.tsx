/** Owns a model call as it is read: which model, what it used and cost, and what it answered. */

import { useQuery } from '@tanstack/react-query';
import { Answer } from '../parts/answers.tsx';
import { Lines } from '../parts/json-tree.tsx';
import { Fact } from '../parts/words.tsx';
import { api } from '../shell/client.ts';
import { count, duration, plain } from '../text/format.ts';

interface Answered {
  readonly text?: string;
  readonly finishReason?: string;
  readonly latencyMs?: number;
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly cachedInputTokens?: number;
  };
}

export function CallPanel(props: { readonly workflow: string; readonly effectKey: string; readonly task: string }) {
  const { workflow, effectKey, task } = props;
  const effects = useQuery({
    queryKey: ['workflow', workflow, 'effects', task, 'model'],
    queryFn: ({ signal }) =>
      api.ask(
        'GET /v1/workflows/{workflow}/effects',
        { params: { workflow }, query: { task, limit: 500 } },
        { signal },
      ),
  });
  return (
    <Answer query={effects}>
      {(data) => {
        const found = data.effects.find(({ idempotency_key: key }) => key === effectKey);
        const answer = found?.response as Answered | undefined;
        if (answer === undefined || answer === null) return null;
        const { usage, text = '', finishReason, latencyMs } = answer;
        return (
          <>
            <dl className="facts">
              {finishReason === undefined ? null : <Fact name="Finished by">{plain(String(finishReason))}</Fact>}
              {latencyMs === undefined ? null : <Fact name="Model took">{duration(latencyMs)}</Fact>}
              <Fact name="Tokens in">{count(usage?.inputTokens ?? 0)}</Fact>
              <Fact name="Tokens out">{count(usage?.outputTokens ?? 0)}</Fact>
            </dl>
            {text === '' ? null : (
              <section>
                <h3>Answer</h3>
                <div className="message" data-role="assistant">
                  <Lines text={text} />
                </div>
              </section>
            )}
          </>
        );
      }}
    </Answer>
  );
}
