import { Button, NativeSelect } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { api, readData, useAnswer } from '../../api/client.ts'
import { audits, manages } from '../../api/roles.ts'
import { renewAnswers, useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { listChoices } from '../../ui/choices.ts'
import { whenExactly } from '../../ui/dates.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/facts.tsx'
import { whole } from '../../ui/figures.ts'
import { Page, Panel, Refused } from '../../ui/page.tsx'
import { RotateDialog } from '../../ui/secret.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'
import { EventChoice, eventsText, WebhookState } from '../webhooks/events.tsx'
import { Deliveries } from './deliveries.tsx'

type Webhook = Schemas['Webhook']
type Asked = 'rotate' | 'delete' | 'events'

const PATH = '/v1/webhooks/{id}'
const CHANGES = ['/v1/webhooks', PATH, `${PATH}/deliveries`]
const REFRESH_MS = 10_000

export default function WebhookPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const { role } = useUser()
  const [asked, setAsked] = useState<Asked | null>(null)
  const options = { refetchInterval: REFRESH_MS, enabled: audits(role) }
  const webhook = useAnswer(PATH, { path: { id } }, options)
  if (!audits(role)) return <Refused page="Webhook" title="Your role can’t see webhooks" />
  return (
    <Page title="Webhook" subject={webhook.data?.url}>
      <Loaded of={webhook}>
        {(found) => (
          <>
            <About webhook={found} ask={manages(role) ? setAsked : null} />
            <DeliveryPanel id={id} mayReplay={manages(role) && found.is_active} />
            {asked !== null && (
              <AskedDialog webhook={found} asked={asked} onClose={() => setAsked(null)} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function useCommands(id: string) {
  const params = { path: { id } }
  return useMutation({
    mutationFn: async (command: 'test' | 'replay' | 'on' | 'off') => {
      if (command === 'test') return api.POST(`${PATH}/test`, { params })
      if (command === 'replay') return api.POST(`${PATH}/replay`, { params })
      return api.PATCH(PATH, { params, body: { is_active: command === 'on' } })
    },
    onSuccess: () => renewAnswers(CHANGES),
  })
}

function About({ webhook, ask }: { webhook: Webhook; ask: ((asked: Asked) => void) | null }) {
  const { is_active: isActive, previous_valid_until: until } = webhook
  const command = useCommands(webhook.id)
  return (
    <Panel>
      <Facts
        facts={[
          ['State', <WebhookState key="state" webhook={webhook} />],
          ['Sends', eventsText(webhook.types)],
          ...(webhook.description
            ? ([['Description', <bdi key="text">{webhook.description}</bdi>]] as const)
            : []),
          ...(webhook.missed_events > 0
            ? ([['Missed events', whole(webhook.missed_events)]] as const)
            : []),
          ...(until === null ? [] : ([['Old secret signs until', whenExactly(until)]] as const)),
        ]}
      />
      {ask && (
        <div className="page-actions">
          {isActive && (
            <>
              <Button onClick={() => command.mutate('test')}>Send a test event</Button>
              <Button variant="default" onClick={() => command.mutate('replay')}>
                Send all dead events again
              </Button>
            </>
          )}
          <Button variant="default" onClick={() => command.mutate(isActive ? 'off' : 'on')}>
            {isActive ? 'Switch off' : 'Switch on'}
          </Button>
          <Button variant="default" onClick={() => ask('events')}>
            Change the events
          </Button>
          <Button variant="default" onClick={() => ask('rotate')}>
            Rotate the secret
          </Button>
          <Button color="red" variant="light" onClick={() => ask('delete')}>
            Delete
          </Button>
        </div>
      )}
      {command.error && <Failure error={command.error} />}
    </Panel>
  )
}

function AskedDialog(props: { webhook: Webhook; asked: Asked; onClose: () => void }) {
  const { webhook, asked, onClose } = props
  const navigate = useNavigate()
  const params = { path: { id: webhook.id } }
  if (asked === 'events') return <EventsDialog webhook={webhook} onClose={onClose} />
  if (asked === 'rotate') {
    return (
      <RotateDialog
        name="the secret"
        what="secret"
        hasEnd={false}
        changes={CHANGES}
        rotate={async (body) => {
          const made = await readData(api.POST(`${PATH}/rotate`, { params, body }))
          return { name: made.url, secret: made.secret, previousUntil: made.previous_valid_until }
        }}
        onClose={onClose}
      />
    )
  }
  return (
    <FormDialog
      title="Delete the webhook"
      send={() => api.DELETE(PATH, { params })}
      submit="Delete"
      busy="Deleting …"
      isDanger
      changes={['/v1/webhooks', '/v1']}
      onClose={onClose}
      onDone={() => void navigate({ to: '/webhooks' as string })}
    >
      <p className="wrap">{webhook.url}</p>
      <p>Its deliveries are removed, too, also those that wait. This can’t be undone.</p>
    </FormDialog>
  )
}

function EventsDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [types, setTypes] = useState<string[]>([...(webhook.types ?? [])])
  const send = () => {
    const body = { types: types.length === 0 ? null : (types as Schemas['EventType'][]) }
    return readData(api.PATCH(PATH, { params: { path: { id: webhook.id } }, body }))
  }
  return (
    <FormDialog title="Change the events" send={send} changes={CHANGES} onClose={onClose}>
      <EventChoice chosen={types} onChange={setTypes} />
    </FormDialog>
  )
}

const STATES = listChoices({ '': 'All', waiting: 'Waiting', delivered: 'Delivered', dead: 'Dead' })

function DeliveryPanel({ id, mayReplay }: { id: string; mayReplay: boolean }) {
  const [{ state = '' }, , bind] = useAddress()
  return (
    <Panel
      title="Deliveries"
      actions={<NativeSelect aria-label="State" data={STATES} {...bind('state')} />}
    >
      <Deliveries id={id} state={state as Schemas['DeliveryState'] | ''} mayReplay={mayReplay} />
    </Panel>
  )
}
