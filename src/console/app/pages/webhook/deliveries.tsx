import { api, read } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { When } from '../../ui/facts.tsx'
import { Act } from '../../ui/fields.tsx'
import { Badge, type BadgeKind, TwoLines } from '../../ui/page.tsx'
import { Pages, usePages } from '../../ui/pages.tsx'
import { Empty } from '../../ui/states.tsx'
import { type Columns, DataTable } from '../../ui/table.tsx'

type Delivery = Schemas['Delivery']

const PATH = '/v1/webhooks/{id}/deliveries'
const KINDS: Readonly<Record<Delivery['state'], BadgeKind>> = {
  waiting: '',
  delivered: 'good',
  dead: 'act',
}

export function Deliveries(props: {
  id: string
  state: Delivery['state'] | ''
  mayReplay: boolean
}) {
  const { id, state, mayReplay } = props
  const list = usePages([PATH, id, state], (page, signal) => {
    return read(PATH, { path: { id }, query: { ...page, state: state || undefined } }, signal)
  })
  const again = (deliveryId: string) =>
    api.POST(`${PATH}/{delivery_id}/replay`, { params: { path: { id, delivery_id: deliveryId } } })
  const none = <Empty title="There are no deliveries" hint="Send a test event to see one here." />
  return (
    <Pages of={list} rows={({ deliveries }) => deliveries} empty={none}>
      {(found) => (
        <DataTable
          caption="Deliveries"
          rows={found}
          columns={makeColumns(mayReplay ? again : null)}
        />
      )}
    </Pages>
  )
}

function makeColumns(again: ((id: string) => Promise<unknown>) | null): Columns<Delivery> {
  return [
    {
      head: 'Event',
      cell: ({ type, event_id: event }) => <TwoLines below={<code>{event}</code>}>{type}</TwoLines>,
      value: ({ type }) => type,
    },
    {
      head: 'State',
      cell: ({ state }) => <Badge kind={KINDS[state]}>{state}</Badge>,
      value: ({ state }) => state,
    },
    { head: 'Attempts', figure: ({ attempts }) => attempts },
    {
      head: 'Last attempt',
      cell: ({ last_attempt_at: at, last_error: error }) => (
        <TwoLines below={error}>
          <When at={at} />
        </TwoLines>
      ),
    },
    {
      head: 'Next attempt',
      cell: ({ next_attempt_at: at }) =>
        at === null ? <span className="muted">none</span> : <When at={at} />,
    },
    { head: 'Created', when: ({ created_at: at }) => at },
    again && {
      head: 'Replay',
      cell: ({ id, type, event_id: event }) => (
        <Act
          size="compact-sm"
          name={`Send again: ${type} ${event}`}
          act={() => again(id)}
          changes={[PATH]}
        >
          Send again
        </Act>
      ),
    },
  ]
}
