import { Link } from '@tanstack/react-router'
import { useAnswer } from '../../api/client.ts'
import { type Names, useNames } from '../../api/names.ts'
import { When } from '../../ui/facts.tsx'
import { Badge, Panel } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type AuditRecord, didAlone, didWords, listDifferences, weigh } from './words.ts'

const NEWEST = 5

export function AuditTrail({ subject }: { subject: string }) {
  const query = { subject, limit: NEWEST }
  const records = useAnswer('/v1/audit-log', { query }, { select: (found) => found.records })
  return (
    <Panel
      title="Changes"
      actions={<Link to={`/audit?subject=${subject}` as string}>All changes</Link>}
    >
      <Loaded of={records} empty={<p className="muted">None yet.</p>}>
        {(found) => <AuditRecords records={found} isOfOne />}
      </Loaded>
    </Panel>
  )
}

/** Records as sentences; `isOfOne` leaves out the object, which all rows share. */
export function AuditRecords(props: { records: readonly AuditRecord[]; isOfOne?: boolean }) {
  const { records, isOfOne = false } = props
  const names = useNames()
  return (
    <section aria-label="Audit records">
      <ol className="records">
        {records.map((record) => (
          <li key={record.id}>
            <When at={record.created_at} isExact />
            <div>
              <p>
                <Sentence record={record} names={names} isOfOne={isOfOne} />
              </p>
              <Differences record={record} names={names} />
              {record.reason && (
                <p>
                  <span className="muted">Reason:</span> “<bdi>{record.reason}</bdi>”
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Sentence(props: { record: AuditRecord; names: Names; isOfOne: boolean }) {
  const { record, names, isOfOne } = props
  const { actor, action, subject } = record
  const weight = weigh(record)
  const isOwn = actor === subject
  // The id of a session says nothing to people.
  const isHidden = isOfOne || isOwn || subject.startsWith('fam_')
  return (
    <>
      {weight === 'emergency' && <Badge kind="act">emergency</Badge>}
      {weight === 'approval' && <Badge kind="waiting">approval</Badge>}{' '}
      <Link to={`/audit?actor=${encodeURIComponent(actor)}` as string}>
        <Named id={actor} names={names} />
      </Link>{' '}
      {isHidden && !isOwn && !action.startsWith('session.') ? didAlone(action) : didWords(action)}{' '}
      {!isHidden && (
        <Link to={`/audit?subject=${encodeURIComponent(subject)}` as string}>
          <Named id={subject} names={names} />
        </Link>
      )}
      {!isOfOne && isOwn && !action.startsWith('session.sign_in') && 'their own'}
    </>
  )
}

function Named({ id, names }: { id: string; names: Names }) {
  const name = names.get(id)
  if (name !== undefined) return <bdi title={id}>{name}</bdi>
  return id.startsWith('team_') ? <>the team</> : <code>{id}</code>
}

function Differences({ record, names }: { record: AuditRecord; names: Names }) {
  const differences = listDifferences(record, names)
  if (differences.length === 0) return null
  return (
    <ul className="small">
      {differences.map(({ name, before, after }) => (
        <li key={name}>
          <span className="muted">{name}:</span>{' '}
          {before !== null && (
            <>
              <del>
                <bdi>{before}</bdi>
              </del>
              {' → '}
            </>
          )}
          {after === null ? 'gone' : <bdi>{after}</bdi>}
        </li>
      ))}
    </ul>
  )
}
