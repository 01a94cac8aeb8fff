/** Owns a form as it is filled in: each field with its name, its description and its mistakes. Everything in it is text. */

import { useId } from 'react';
import { Lines } from '../parts/json-tree.tsx';
import { plain, words } from '../text/format.ts';
import {
  type ChoiceField,
  type Draft,
  draftOf,
  type Field,
  isLong,
  type ListField,
  type NumberField,
  OPTIONS_SHOWN_COUNT,
  type Problems,
  placeIn,
  type TextField,
} from './fields.ts';

interface FieldProps<F extends Field = Field> {
  readonly field: F;
  readonly name: string;
  readonly isNeeded: boolean;
  /** A JSON pointer. */
  readonly place: string;
  readonly draft: Draft;
  readonly problems: Problems;
  readonly onChange: (draft: Draft) => void;
}

export function FormField(props: FieldProps) {
  const { field, name, draft, place, problems } = props;
  if (field.kind === 'fixed') return null;
  if (field.kind === 'list') return <ListOf {...props} field={field} />;
  if (field.kind !== 'group') return <OneField {...props} field={field} />;
  const of = draft as Readonly<Record<string, Draft>>;
  const members = field.members.map(({ name: member, isNeeded, field: inner }) => (
    <FormField
      key={member}
      field={inner}
      name={member}
      isNeeded={isNeeded}
      place={placeIn(place, member)}
      draft={of[member] ?? ''}
      problems={problems}
      onChange={(next) => props.onChange({ ...of, [member]: next })}
    />
  ));
  // The outermost needs no frame of its own.
  if (place === '') {
    return (
      <>
        {members}
        <Wrong id={undefined} problem={problems.get(place)} />
      </>
    );
  }
  return (
    <fieldset className="group">
      <legend>{plain(field.title ?? words(name))}</legend>
      {field.hint === undefined ? null : <small>{plain(field.hint)}</small>}
      {members}
    </fieldset>
  );
}

function ListOf({ field, name, draft, place, problems, onChange }: FieldProps<ListField>) {
  const items = draft as readonly Draft[];
  const title = plain(field.title ?? words(name));
  return (
    <fieldset className="group" data-place={place}>
      <legend>{title}</legend>
      {field.hint === undefined ? null : <small>{plain(field.hint)}</small>}
      {items.map((item, at) => (
        <div key={at} className="list-item">
          <FormField
            {...{ field: field.item, problems, isNeeded: true, draft: item }}
            name={`${title} ${at + 1}`}
            place={placeIn(place, at)}
            onChange={(next) => onChange(items.with(at, next))}
          />
          <button
            type="button"
            className="quiet"
            aria-label={`Take ${title} ${at + 1} away`}
            onClick={() => onChange(items.toSpliced(at, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      <Wrong id={undefined} problem={problems.get(place)} />
      <button
        type="button"
        disabled={items.length >= field.maxCount}
        onClick={() => onChange([...items, draftOf(field.item)])}
      >
        Add
      </button>
    </fieldset>
  );
}

function OneField(props: FieldProps<Exclude<Field, { readonly kind: 'group' | 'list' | 'fixed' }>>) {
  const { field, name, isNeeded, place, draft, problems, onChange } = props;
  const id = useId();
  const problem = problems.get(place);
  const hint = hintOf(field);
  const isChoice = field.kind === 'flag' || (field.kind === 'choice' && field.options.length <= OPTIONS_SHOWN_COUNT);
  const common = {
    id,
    'data-place': place,
    'aria-invalid': problem !== undefined,
    'aria-required': isNeeded,
    'aria-describedby': `${id}-hint ${id}-wrong`,
  } as const;
  const label = (
    <>
      {plain(field.title ?? (name === '' ? 'Answer' : words(name)))}
      {isNeeded && !field.isNullable ? null : <span className="dim"> (may be left empty)</span>}
    </>
  );
  const rest = (
    <>
      {hint === '' ? null : <small id={`${id}-hint`}>{hint}</small>}
      <Wrong id={`${id}-wrong`} problem={problem} />
    </>
  );
  if (isChoice) {
    return (
      <fieldset className="field choice" aria-describedby={common['aria-describedby']}>
        <legend>{label}</legend>
        <Radios id={id} place={place} options={optionsOf(field)} {...{ draft: String(draft), onChange }} />
        {rest}
      </fieldset>
    );
  }
  const change = (event: { readonly target: { readonly value: string } }): void => onChange(event.target.value);
  const value = String(draft);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {field.kind === 'choice' ? (
        <select {...common} value={value} onChange={change}>
          <option value="">–</option>
          {optionsOf(field).map(([key, said]) => (
            <option key={key} value={key}>
              {said}
            </option>
          ))}
        </select>
      ) : field.kind === 'json' || (field.kind === 'text' && isLong(field)) ? (
        <textarea
          {...{ ...common, value }}
          rows={3}
          className={field.kind === 'json' ? 'mono' : undefined}
          spellCheck={field.kind !== 'json'}
          onChange={change}
        />
      ) : (
        <input
          {...{ ...common, value }}
          {...inputOf(field as TextField | NumberField)}
          autoComplete="off"
          onChange={change}
        />
      )}
      {rest}
    </div>
  );
}

type Options = readonly (readonly [key: string, said: string])[];

const optionsOf = (field: Field): Options =>
  field.kind === 'flag'
    ? [
        ['true', 'Yes'],
        ['false', 'No'],
      ]
    : (field as ChoiceField).options.map((option, at) => [
        String(at),
        plain(typeof option === 'string' ? option : JSON.stringify(option)),
      ]);

function Radios(props: {
  readonly id: string;
  readonly place: string;
  readonly options: Options;
  readonly draft: string;
  readonly onChange: (draft: string) => void;
}) {
  const { id, place, options, draft, onChange } = props;
  return (
    <div className="radios">
      {options.map(([key, said]) => (
        <label key={key}>
          <input type="radio" name={id} data-place={place} checked={draft === key} onChange={() => onChange(key)} />{' '}
          {said}
        </label>
      ))}
    </div>
  );
}

function inputOf(field: TextField | NumberField): React.InputHTMLAttributes<HTMLInputElement> {
  if (field.kind === 'number') return { type: 'text', inputMode: field.isWhole ? 'numeric' : 'decimal' };
  const types: Readonly<Record<string, string>> = {
    ...{ date: 'date', 'date-time': 'datetime-local', time: 'time', email: 'email', uri: 'url' },
  };
  return { type: types[field.format ?? ''] ?? 'text', step: field.format === 'date-time' ? 1 : undefined };
}

/** The schema's description, and the bounds. */
function hintOf(field: Field): string {
  const said = field.hint === undefined ? [] : [plain(field.hint)];
  if (field.kind === 'number') {
    const [low, high] = [Number.isFinite(field.min), Number.isFinite(field.max) && field.max < Number.MAX_SAFE_INTEGER];
    const shown = low && field.min > Number.MIN_SAFE_INTEGER;
    const [over, under] = [field.isMinOut ? 'more than' : 'at least', field.isMaxOut ? 'less than' : 'at most'];
    const bounds = [shown ? `${over} ${field.min}` : '', high ? `${under} ${field.max}` : ''].filter(
      (each) => each !== '',
    );
    if (bounds.length > 0) said.push(`${field.isWhole ? 'A whole number, ' : ''}${bounds.join(', ')}.`);
    else if (field.isWhole) said.push('A whole number.');
  }
  if (field.kind === 'json') said.push('As JSON.');
  return said.join(' ');
}

/** A screen reader reads it as soon as it appears. */
const Wrong = ({ id, problem }: { readonly id: string | undefined; readonly problem: string | undefined }) => (
  <span id={id} className="wrong" role="alert">
    {problem === undefined ? null : <Lines text={problem} />}
  </span>
);
