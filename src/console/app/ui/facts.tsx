import { Button } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { when, whenExactly } from './dates.ts'

type Fact = readonly [name: string, value: ReactNode, note?: ReactNode]

/** Figures by their names, each with a note; one that is not known may be false. */
export function Facts(props: { facts: readonly (Fact | false)[]; isLarge?: boolean }) {
  const { isLarge = false } = props
  const facts = props.facts.filter((fact) => fact !== false)
  return (
    <dl className="facts">
      {facts.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className={isLarge ? 'large' : undefined}>
            {value}
            {note && <span className="small muted"> {note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A moment; the pointer shows it with seconds and time zone. */
export function When({ at, isExact = false }: { at: string | null; isExact?: boolean }) {
  if (at === null) return <span className="muted">never</span>
  return (
    <time dateTime={at} title={whenExactly(at)}>
      {isExact ? whenExactly(at) : when(at)}
    </time>
  )
}

const COPIED_MS = 3_000

export function Copy({ text, label }: { text: string; label: string }) {
  const { copy, copied, error } = useClipboard({ timeout: COPIED_MS })
  return (
    <span>
      <Button size="compact-sm" variant="default" onClick={() => copy(text)}>
        {label}
      </Button>{' '}
      <span role="status" className="small">
        {/* Only secure origins and localhost may write to the clipboard. */}
        {copied ? 'Copied' : error && 'Select it and copy it by hand'}
      </span>
    </span>
  )
}

/** A button in a row of a table; `name` says whom it is about. */
export function RowButton(props: {
  name: string
  isDanger?: boolean
  onClick: () => void
  children: ReactNode
}) {
  const { name, isDanger = false, onClick, children } = props
  return (
    <Button
      size="compact-sm"
      variant={isDanger ? 'light' : 'default'}
      {...(isDanger && { color: 'red' })}
      aria-label={name}
      onClick={onClick}
    >
      {children}
    </Button>
  )
}

/** A button in a row of a table: its text, its name for a screen reader, and the action. */
export type RowAction = readonly [
  verb: string,
  name: string,
  act: () => void,
  danger?: 'danger' | false,
]

export function RowActions({ actions }: { actions: readonly RowAction[] }) {
  return (
    <div className="row-actions">
      {actions.map(([verb, name, act, danger]) => (
        <RowButton key={verb} name={name} isDanger={danger === 'danger'} onClick={act}>
          {verb}
        </RowButton>
      ))}
    </div>
  )
}
