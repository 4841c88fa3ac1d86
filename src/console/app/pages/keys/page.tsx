import { Button } from '@mantine/core'
import { useState } from 'react'
import { api, readData, useAnswer } from '../../api/client.ts'
import { useNames } from '../../api/names.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { whole } from '../../ui/figures.ts'
import { EnvironmentBadge, Page } from '../../ui/page.tsx'
import { CredentialName, listTimes, RevokeDialog, RotateDialog } from '../../ui/secret.tsx'
import { Empty } from '../../ui/states.tsx'
import { actions, type Column, ListTable } from '../../ui/table.tsx'
import { ChangeDialog, CreateDialog } from './dialogs.tsx'

type Key = Schemas['ListedKey']
type Request = 'create' | { readonly kind: 'rotate' | 'revoke' | 'change'; readonly key: Key }

const PATH = '/v1/keys'
const CHANGES = [PATH, '/v1']

export default function KeysPage() {
  const { mayManage } = useUser()
  const names = useNames()
  const [request, setRequest] = useState<Request | null>(null)
  const keys = useAnswer(PATH, {}, { select: (found) => found.keys })
  const maker = (id: string) => names.get(id) ?? id
  const none = (
    <Empty
      title="There are no keys yet"
      hint={
        mayManage ? 'Create one for each server that scores.' : 'An owner or admin can create one.'
      }
    />
  )
  return (
    <Page
      title="API keys"
      actions={mayManage && <Button onClick={() => setRequest('create')}>Create a key</Button>}
    >
      <p className="lead">
        Servers score with a key. To replace its secret, rotate it: both secrets are accepted while
        the servers change over.
      </p>
      <ListTable
        caption="API keys"
        of={keys}
        none={none}
        columns={makeColumns(maker, mayManage ? setRequest : null)}
        search="Search"
      />
      {request !== null && <Requested request={request} onClose={() => setRequest(null)} />}
    </Page>
  )
}

function Requested({ request, onClose }: { request: Request; onClose: () => void }) {
  if (request === 'create') return <CreateDialog changes={CHANGES} onClose={onClose} />
  const { kind, key } = request
  const params = { path: { id: key.id } }
  if (kind === 'change') return <ChangeDialog listed={key} changes={CHANGES} onClose={onClose} />
  if (kind === 'rotate') {
    return (
      <RotateDialog
        name={key.name}
        what="key"
        changes={CHANGES}
        rotate={async (body) => {
          const made = await readData(api.POST('/v1/keys/{id}/rotate', { params, body }))
          return { name: made.name, secret: made.key, previousUntil: made.previous_valid_until }
        }}
        onClose={onClose}
      />
    )
  }
  return (
    <RevokeDialog
      credential={key}
      send={() => api.DELETE('/v1/keys/{id}', { params })}
      changes={CHANGES}
      onClose={onClose}
    />
  )
}

function makeColumns(
  maker: (id: string) => string,
  ask: ((request: Request) => void) | null,
): readonly Column<Key>[] {
  return [
    {
      head: 'Name',
      cell: (key) => <CredentialName {...key} />,
      value: ({ name }) => name.toLowerCase(),
      text: (key) => `${key.name} ${key.prefix} ${maker(key.created_by)}`,
    },
    {
      head: 'Environment',
      cell: ({ environment }) => <EnvironmentBadge name={environment} />,
      value: ({ environment }) => environment,
    },
    {
      head: 'May',
      cell: ({ scopes }) =>
        scopes.map((scope) => (scope === 'read' ? 'read statistics' : scope)).join(', '),
    },
    {
      head: 'Quota per minute',
      figure: ({ rate_limit_per_minute: quota }) =>
        quota === undefined ? <span className="muted">default</span> : whole(quota),
      value: ({ rate_limit_per_minute: quota }) => quota ?? null,
    },
    {
      head: 'Accepted from',
      cell: ({ allowed_addresses: from }) =>
        from?.join(', ') ?? <span className="muted">anywhere</span>,
    },
    ...listTimes<Key>(maker),
    ...actions<Key>(
      'Change',
      ask &&
        ((key) => [
          ['Rotate', `Rotate ${key.name}`, () => ask({ kind: 'rotate', key })],
          ['Change', `Change ${key.name}`, () => ask({ kind: 'change', key })],
          ['Revoke', `Revoke ${key.name}`, () => ask({ kind: 'revoke', key }), 'danger'],
        ]),
    ),
  ]
}
