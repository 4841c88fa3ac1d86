import { useMutation } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { renewAnswers } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { RowButton, When } from '../../ui/facts.tsx'
import { Badge, type BadgeKind } from '../../ui/page.tsx'
import { Pages, usePages } from '../../ui/pages.tsx'
import { Empty, Failure } from '../../ui/states.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'

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
  const again = useMutation({
    mutationFn: (delivery: string) =>
      api.POST(`${PATH}/{delivery_id}/replay`, { params: { path: { id, delivery_id: delivery } } }),
    onSuccess: () => renewAnswers([PATH]),
  })
  return (
    <>
      {again.error && <Failure error={again.error} />}
      <Pages of={list} rows={({ deliveries }) => deliveries}>
        {(found) =>
          found.length === 0 ? (
            <Empty title="There are no deliveries" hint="Send a test event to see one here." />
          ) : (
            <DataTable
              caption="Deliveries"
              rows={found}
              columns={makeColumns(mayReplay ? again.mutate : null)}
              rowKey={(one) => one.id}
            />
          )
        }
      </Pages>
    </>
  )
}

function makeColumns(again: ((id: string) => void) | null): readonly Column<Delivery>[] {
  return [
    {
      id: 'event',
      head: 'Event',
      cell: ({ type, event_id: event }) => (
        <div className="names">
          {type}
          <code className="small muted">{event}</code>
        </div>
      ),
      value: ({ type }) => type,
    },
    {
      id: 'state',
      head: 'State',
      cell: ({ state }) => <Badge kind={KINDS[state]}>{state}</Badge>,
      value: ({ state }) => state,
    },
    { head: 'Attempts', figure: ({ attempts }) => attempts },
    {
      head: 'Last attempt',
      cell: ({ last_attempt_at: at, last_error: error }) => (
        <div className="names">
          <When at={at} />
          {error && <span className="small muted">{error}</span>}
        </div>
      ),
    },
    {
      head: 'Next attempt',
      cell: ({ next_attempt_at: at }) =>
        at === null ? <span className="muted">none</span> : <When at={at} />,
    },
    { id: 'created', head: 'Created', when: ({ created_at: at }) => at },
    ...(again === null
      ? []
      : [
          {
            head: 'Replay',
            cell: ({ id, type, event_id: event }: Delivery) => (
              <RowButton name={`Send again: ${type} ${event}`} onClick={() => again(id)}>
                Send again
              </RowButton>
            ),
          },
        ]),
  ]
}
