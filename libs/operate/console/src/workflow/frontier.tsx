/** Owns the frontier as a table: what remains to be done, and what each task waits for. */

import { Ago, Chip } from '../parts/words.tsx';
import { Link, WorkflowLink } from '../shell/link.tsx';
import { addressOf } from '../shell/router.ts';
import { plain, words } from '../text/format.ts';
import type { WorkflowView } from './workflow-view.ts';

type Task = WorkflowView['frontier'][number];
type Blocked = Task['blocked_on'][number];

/** `before`: tasks of the other checkpoint; new ones are marked. */
export function Frontier({
  workflow,
  tasks,
  before,
}: {
  readonly workflow: string;
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
              {task.task} {before !== undefined && !before.includes(task.task) ? <Chip tone="good">new</Chip> : null}
            </td>
            <td>{plain(task.step)}</td>
            <td>
              {task.blocked_on.length === 0 ? (
                <span className="dim">{task.state === 'frozen' ? 'nothing: it is stopped' : 'a worker'}</span>
              ) : (
                task.blocked_on.map((blocked, index) => (
                  <Waits key={index} on={blocked} {...{ workflow, task: task.task }} />
                ))
              )}
              {task.failure_count > 0 ? <Chip tone="warn">{task.failure_count} failed</Chip> : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Waits({ on, workflow, task }: { readonly on: Blocked; readonly workflow: string; readonly task: string }) {
  switch (on.on) {
    case 'tasks':
      return <div>tasks {on.tasks.join(', ')}</div>;
    case 'all_earlier':
      return <div>all earlier tasks ({on.remaining_count} to go)</div>;
    case 'signal':
      return <div>signal {on.names.map(plain).join(' or ')}</div>;
    case 'child':
      return (
        <div>
          the end of <WorkflowLink of={on.child} className="body-link" />
        </div>
      );
    case 'approval':
      return (
        <div>
          <Link to={addressOf(['inbox'], { workflow, task })} className="body-link">
            {plain(words(on.name))}
          </Link>{' '}
          of {on.assignee === null ? 'anyone who may decide' : plain(on.assignee)}, asked <Ago at={on.asked_at} />
        </div>
      );
    case 'timer':
      return (
        <div>
          timer, <Ago at={on.due_at} />
        </div>
      );
    case 'retry':
      return (
        <div>
          {on.outage === undefined ? 'retry' : `waits for ${plain(on.outage.of)}: ${plain(on.outage.why)}, next try`},{' '}
          <Ago at={on.due_at} />
        </div>
      );
    case 'confirmation':
      return <div>confirmation{on.token === undefined ? ' from outside' : ` of ${plain(on.token)}`}</div>;
    default:
      return <div>{plain(String((on as { readonly on: string }).on))}</div>;
  }
}
