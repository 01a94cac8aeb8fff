/** Owns the frontier as a table: what remains to be done, and what each task waits for. */

import { Chip, Words } from '../parts/words.tsx';
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
          <th>Blocked on</th>
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
              {task.why === null || task.state === 'frozen' ? (
                <span className="dim">{task.state === 'frozen' ? 'nothing: it is stopped' : 'a worker'}</span>
              ) : (
                <Words of={task.why} />
              )}{' '}
              {task.blocked_on.map((on, index) => (
                <Leads key={index} {...{ on, workflow, task: task.task }} />
              ))}
              {task.failure_count > 0 ? <Chip tone="warn">{task.failure_count} failed</Chip> : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Where its approvals are answered, and what runs for it. */
function Leads({ on, workflow, task }: { readonly on: Blocked; readonly workflow: string; readonly task: string }) {
  if (on.on === 'child') return <WorkflowLink of={on.child} className="body-link" />;
  if (on.on !== 'approval') return null;
  return (
    <Link to={addressOf(['inbox'], { workflow, task })} className="body-link">
      {plain(words(on.name))}
    </Link>
  );
}
