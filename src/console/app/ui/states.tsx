import { Alert, Button, Loader } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { asApiError } from '../api/errors.ts'

/**
 * Shows an answer, that it loads, or why it failed. What was there stays while it is asked again;
 * the bar of the page says when the service does not answer.
 */
export function Loaded<T>(props: {
  of: { data: T | undefined; error: Error | null; refetch: () => unknown }
  /** Stands for a list of nothing. */
  empty?: ReactNode
  children: (data: T) => ReactNode
}) {
  const { of: query, empty, children } = props
  const { data, error } = query
  const isEmpty = empty !== undefined && Array.isArray(data) && data.length === 0
  return (
    <>
      {error && <Failure error={error} retry={() => void query.refetch()} />}
      {data === undefined ? error === null && <Loading /> : isEmpty ? empty : children(data)}
    </>
  )
}

export function Loading({ text = 'Loading …' }: { text?: string }) {
  return (
    <p className="loading" role="status">
      <Loader size="xs" aria-hidden="true" />
      {text}
    </p>
  )
}

/** An error with what to change; `retry` only where a repetition may help. */
export function Failure({ error: thrown, retry }: { error: unknown; retry?: () => void }) {
  const error = asApiError(thrown)
  return (
    <Alert color="red" role="alert" className="failure">
      <p>{error.message}</p>
      {error.details.length > 0 && (
        <ul>
          {error.details.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {error.requestId && (
        <p className="small">
          Code <code>{error.code}</code>, request <code>{error.requestId}</code>
        </p>
      )}
      {retry && (
        <Button size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}

const PATIENCE_MS = 5_000

/** Says that a change still has no answer: a frozen service must not look like a busy button. */
export function Waiting({ isPending }: { isPending: boolean }) {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    setLate(false)
    if (!isPending) return
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [isPending])
  if (!isPending || !isLate) return null
  return (
    <Notice kind="watch">
      No answer yet. What you typed is kept. If you do not want to wait, look later whether the
      change was made before you try it again.
    </Notice>
  )
}

/** An empty state; its hint says what to do. */
export function Empty(props: { title: string; hint?: ReactNode; children?: ReactNode }) {
  const { title, hint, children } = props
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {hint && <p>{hint}</p>}
      {children}
    </div>
  )
}

/** Something that went well, or that the reader should know. */
export function Notice(props: { kind?: 'info' | 'good' | 'watch'; children: ReactNode }) {
  const { kind = 'info', children } = props
  return (
    <div className={`notice ${kind}`} role="status">
      {children}
    </div>
  )
}
