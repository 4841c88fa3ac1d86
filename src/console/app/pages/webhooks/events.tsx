import type { Schemas } from '../../api/types.ts'
import { When } from '../../ui/facts.tsx'
import { Boxes } from '../../ui/fields.tsx'
import { Badge } from '../../ui/page.tsx'
import { EVENTS } from './event-words.ts'

/** The chosen types in words: a whole group by its name. */
export function eventsText(types: readonly Schemas['EventType'][] | null): string {
  if (types === null) return 'all events'
  const parts = EVENTS.flatMap(({ group, events }) => {
    const chosen = events.filter(([type]) => types.includes(type))
    if (chosen.length === events.length) return [group]
    return chosen.map(([, words]) => words)
  })
  return parts.join('; ')
}

export function EventChoice(props: { chosen: string[]; onChange: (chosen: string[]) => void }) {
  const { chosen, onChange } = props
  return (
    <>
      <p className="small muted">Without a choice, it gets all events.</p>
      {EVENTS.map(({ group, events }) => (
        <Boxes
          key={group}
          legend={group}
          choices={events.map(([value, label]) => ({ value, label }))}
          chosen={chosen}
          onChange={onChange}
        />
      ))}
    </>
  )
}

export function WebhookState({ webhook }: { webhook: Schemas['Webhook'] }) {
  const { is_active: isActive, failing_since: since, is_full: isFull } = webhook
  if (!isActive) return <Badge>inactive</Badge>
  if (since === null && !isFull) return <Badge kind="good">active</Badge>
  return (
    <>
      {since && (
        <>
          <Badge kind="act">fails</Badge>{' '}
          <span className="small muted">
            since <When at={since} />
          </span>
        </>
      )}{' '}
      {isFull && <Badge kind="act">full</Badge>}
    </>
  )
}
