/** Owns the frontier as a table: what is left to do, and what each task waits for. */

import { Ago } from '../parts/words.tsx';
import { plain } from '../text/format.ts';
import type { WorkflowView } from './page.tsx';

type Task = WorkflowView['frontier'][number];
type Blocked = Task['blocked_on'][number];

/** `before`: tasks that were there at the other checkpoint; those that weren't are marked. */
export function Frontier({
  tasks,
  before,
}: {
  readonly tasks: readonly Task[];
  readonly before?: readonly string[] | undefined;
}) {
  if (tasks.length === 0) return <p className="dim">Nothing is left to do.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th>Task</th>
          <th>Step</th>
          <th>Waits for</th>
        </tr>
      </thead>
      <tbody>
        {tasks.map((task) => (
          <tr key={task.task}>
            <td className="mono">
              {task.task}
              {before !== undefined && !before.includes(task.task) ? (
                <span className="chip" data-tone="good">
                  new
                </span>
              ) : null}
            </td>
            <td>{plain(task.step)}</td>
            <td>
              {task.blocked_on.length === 0 ? (
                <span className="dim">{task.state === 'frozen' ? 'nothing: it stands still' : 'a worker'}</span>
              ) : (
                task.blocked_on.map((blocked, index) => <Waits key={index} on={blocked} />)
              )}
              {task.failure_count > 0 ? (
                <span className="chip" data-tone="warn">
                  {task.failure_count} failed
                </span>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Waits({ on }: { readonly on: Blocked }) {
  switch (on.on) {
    case 'tasks':
      return <div>tasks {on.tasks.join(', ')}</div>;
    case 'all_earlier':
      return <div>all earlier tasks ({on.remaining_count} left)</div>;
    case 'signal':
      return <div>signal {on.names.map(plain).join(' or ')}</div>;
    case 'timer':
      return (
        <div>
          timer, <Ago at={on.due_at} />
        </div>
      );
    case 'retry':
      return (
        <div>
          another try, <Ago at={on.due_at} />
        </div>
      );
    case 'confirmation':
      return <div>confirmation of {plain(on.token)}</div>;
    default:
      return <div>{plain(String((on as { readonly on: string }).on))}</div>;
  }
}
