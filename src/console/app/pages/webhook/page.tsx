import { Button, NativeSelect } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { api, readData, useAnswer } from '../../api/client.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { whenExactly } from '../../ui/dates.ts'
import { FormDialog, useDialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Act, listChoices } from '../../ui/fields.tsx'
import { whole } from '../../ui/figures.ts'
import { Page, Panel, Refused } from '../../ui/page.tsx'
import { RotateDialog } from '../../ui/secret.tsx'
import { Loaded } from '../../ui/states.tsx'
import { EventChoice, eventsText, WebhookState } from '../webhooks/events.tsx'
import { Deliveries } from './deliveries.tsx'

type Webhook = Schemas['Webhook']

interface DialogProps {
  readonly webhook: Webhook
  readonly onClose: () => void
}

const PATH = '/v1/webhooks/{id}'
const CHANGES = ['/v1/webhooks', PATH, `${PATH}/deliveries`]
const REFRESH_MS = 10_000

export default function WebhookPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const { mayAudit, mayManage } = useUser()
  const options = { refetchInterval: REFRESH_MS, enabled: mayAudit }
  const webhook = useAnswer(PATH, { path: { id } }, options)
  if (!mayAudit) return <Refused page="Webhook" title="Your role can’t see webhooks" />
  return (
    <Page title="Webhook" subject={webhook.data?.url}>
      <Loaded of={webhook}>
        {(found) => (
          <>
            <About webhook={found} mayManage={mayManage} />
            <DeliveryPanel id={id} mayReplay={mayManage && found.is_active} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function About({ webhook, mayManage }: { webhook: Webhook; mayManage: boolean }) {
  const [dialog, open] = useDialog()
  const { is_active: isActive, previous_valid_until: until } = webhook
  const params = { path: { id: webhook.id } }
  const secret = {
    what: 'secret',
    of: { id: webhook.id, name: 'the secret' },
    changes: CHANGES,
  } as const
  const rotate = () => open((close) => <RotateDialog {...secret} onClose={close} />)
  const turn = () => api.PATCH(PATH, { params, body: { is_active: !isActive } })
  return (
    <Panel>
      <Facts
        facts={[
          ['State', <WebhookState key="state" webhook={webhook} />],
          ['Sends', eventsText(webhook.types)],
          !!webhook.description && ['Description', <bdi key="text">{webhook.description}</bdi>],
          webhook.missed_events > 0 && ['Missed events', whole(webhook.missed_events)],
          until !== null && ['Old secret signs until', whenExactly(until)],
        ]}
      />
      {mayManage && (
        <div className="page-actions">
          {isActive && (
            <>
              <Act
                variant="filled"
                act={() => api.POST(`${PATH}/test`, { params })}
                changes={CHANGES}
              >
                Send a test event
              </Act>
              <Act act={() => api.POST(`${PATH}/replay`, { params })} changes={CHANGES}>
                Send all dead events again
              </Act>
            </>
          )}
          <Act act={turn} changes={CHANGES}>
            {isActive ? 'Switch off' : 'Switch on'}
          </Act>
          <Button
            variant="default"
            onClick={() => open((close) => <EventsDialog webhook={webhook} onClose={close} />)}
          >
            Change the events
          </Button>
          <Button variant="default" onClick={rotate}>
            Rotate the secret
          </Button>
          <Button
            color="red"
            variant="light"
            onClick={() => open((close) => <DeleteDialog webhook={webhook} onClose={close} />)}
          >
            Delete
          </Button>
        </div>
      )}
      {dialog}
    </Panel>
  )
}

function DeleteDialog({ webhook, onClose }: DialogProps) {
  const navigate = useNavigate()
  return (
    <FormDialog
      title="Delete the webhook"
      send={() => api.DELETE(PATH, { params: { path: { id: webhook.id } } })}
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

function EventsDialog({ webhook, onClose }: DialogProps) {
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
