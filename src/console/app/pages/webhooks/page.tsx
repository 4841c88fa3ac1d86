import { Button, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, readData, useAnswer } from '../../api/client.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useFields } from '../../ui/fields.tsx'
import { Page, Refused, TwoLines } from '../../ui/page.tsx'
import { SecretDialog } from '../../ui/secret.tsx'
import { Empty } from '../../ui/states.tsx'
import { type Columns, ListTable } from '../../ui/table.tsx'
import { EventChoice, eventsText, WebhookState } from './events.tsx'

const PATH = '/v1/webhooks'

const COLUMNS: Columns<Schemas['Webhook']> = [
  {
    head: 'Address',
    cell: ({ id, url, description }) => (
      <TwoLines below={description && <bdi>{description}</bdi>}>
        <Link to={`/webhooks/${id}` as string}>{url}</Link>
      </TwoLines>
    ),
    value: ({ url }) => url,
    text: ({ url, description }) => `${url} ${description ?? ''}`,
  },
  { head: 'Sends', cell: ({ types }) => eventsText(types) },
  { head: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  { head: 'Created', when: ({ created_at: at }) => at },
]

export default function WebhooksPage() {
  const { mayAudit, mayManage } = useUser()
  const [isCreating, setCreating] = useState(false)
  const options = { enabled: mayAudit }
  const webhooks = useAnswer(PATH, {}, { ...options, select: (found) => found.webhooks })
  if (!mayAudit) return <Refused page="Webhooks" title="Your role can’t see webhooks" />
  const none = (
    <Empty
      title="There are no webhooks yet"
      hint="Create one to hear of alarms, approvals and expiring keys."
    />
  )
  return (
    <Page
      title="Webhooks"
      actions={mayManage && <Button onClick={() => setCreating(true)}>Create a webhook</Button>}
    >
      <p className="lead">
        The service sends what happens to these addresses, signed, and tries for a day if one does
        not answer.
      </p>
      <ListTable caption="Webhooks" of={webhooks} none={none} columns={COLUMNS} />
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </Page>
  )
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { fields, bind } = useFields({ url: '', description: '' })
  const [types, setTypes] = useState<string[]>([])
  const create = async () => {
    const body = {
      url: fields.url,
      types: types.length === 0 ? null : (types as Schemas['EventType'][]),
      ...(fields.description !== '' && { description: fields.description }),
    }
    const { url, secret } = await readData(api.POST(PATH, { body }))
    return { name: url, secret }
  }
  return (
    <SecretDialog
      title="Create a webhook"
      what="secret"
      make={create}
      submit="Create"
      busy="Creating …"
      changes={[PATH, '/v1']}
      onClose={onClose}
    >
      <TextInput
        label="Address"
        description="https, and reachable for the service"
        type="url"
        required
        maxLength={2048}
        placeholder="https://"
        {...bind('url')}
      />
      <TextInput label="Description (optional)" maxLength={255} {...bind('description')} />
      <EventChoice chosen={types} onChange={setTypes} />
    </SecretDialog>
  )
}
