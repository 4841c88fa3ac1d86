import { useDocumentTitle } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import type { Environment } from '../api/types.ts'
import { Empty } from './states.tsx'

/** Subject of a page; all of it is in the heading, the title of the tab and on paper. */
interface PageHead {
  readonly title: string
  /** Product or object, such as the name of a deployment. */
  readonly subject?: string | undefined
  readonly environment?: Environment | null | undefined
  readonly facts?: readonly ReactNode[]
  readonly actions?: ReactNode
  readonly children?: ReactNode
}

/** A page. Its heading takes the focus, so that screen readers announce the page. */
export function Page({ title, subject, environment, facts = [], actions, children }: PageHead) {
  const heading = useRef<HTMLHeadingElement>(null)
  const names = [title, subject, environment === 'staging' ? 'staging' : undefined]
  const tab = names.filter((name) => name !== undefined).join(' · ')
  useDocumentTitle(`${tab} · Scoreline`)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
  return (
    <>
      {environment === 'staging' && (
        <p className="staging-strip">Staging: for tests. Nothing here decides about applicants.</p>
      )}
      <header className="page-head">
        <div className="page-names">
          {subject !== undefined && (
            <p className="page-subject muted">
              <bdi>{subject}</bdi>
              {environment && <EnvironmentBadge name={environment} />}
            </p>
          )}
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          {facts.some(Boolean) && (
            <ul className="page-facts small muted">
              {/* biome-ignore lint/suspicious/noArrayIndexKey: facts never change places */}
              {facts.map((fact, at) => fact && <li key={at}>{fact}</li>)}
            </ul>
          )}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

/** A page for somebody whose role does not show it. */
export function Refused(props: {
  page: string
  title: string
  hint?: string
  subject?: string
  children?: ReactNode
}) {
  const { page, title, hint, subject, children } = props
  return (
    <Page title={page} subject={subject}>
      <Empty title={title} hint={hint} />
      {children}
    </Page>
  )
}

export function EnvironmentBadge({ name }: { name: Environment | null }) {
  return <span className={`badge ${name ?? ''}`}>{name ?? 'both environments'}</span>
}

export type BadgeKind = 'production' | 'waiting' | 'good' | 'act' | ''

export function Badge({ kind = '', children }: { kind?: BadgeKind; children: ReactNode }) {
  return <span className={`badge ${kind}`}>{children}</span>
}

/** A link to a thing by its name, which may run from right to left. */
export function NameLink({ to, name }: { to: string; name: string }) {
  return (
    <Link to={to}>
      <bdi>{name}</bdi>
    </Link>
  )
}

/** A cell of a table in two lines: a name, and below it something smaller. */
export function TwoLines({ below, children }: { below?: ReactNode; children: ReactNode }) {
  return (
    <div className="names">
      {children}
      {below && <span className="small muted">{below}</span>}
    </div>
  )
}

export function Panel(props: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, actions, children } = props
  return (
    <section className="panel">
      {(title || actions) && (
        <div className="panel-head">
          {title && <h2>{title}</h2>}
          {actions && <div className="page-actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  )
}
