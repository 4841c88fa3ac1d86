import { Button } from '@mantine/core'
import { useAnswer } from '../../api/client.ts'
import { useNames } from '../../api/names.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { type OpenDialog, useDialog } from '../../ui/dialog.tsx'
import { whole } from '../../ui/figures.ts'
import { EnvironmentBadge, Page } from '../../ui/page.tsx'
import { CredentialName, credentialActions, listTimes } from '../../ui/secret.tsx'
import { Empty } from '../../ui/states.tsx'
import { actions, type Columns, ListTable } from '../../ui/table.tsx'
import { ChangeDialog, CreateDialog } from './dialogs.tsx'

type Key = Schemas['ListedKey']

export default function KeysPage() {
  const { mayManage } = useUser()
  const names = useNames()
  const [dialog, open] = useDialog()
  const keys = useAnswer('/v1/keys', {}, { select: (found) => found.keys })
  const create = () => open((close) => <CreateDialog onClose={close} />)
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
    <Page title="API keys" actions={mayManage && <Button onClick={create}>Create a key</Button>}>
      <p className="lead">
        Servers score with a key. To replace its secret, rotate it: both secrets are accepted while
        the servers change over.
      </p>
      <ListTable
        caption="API keys"
        of={keys}
        none={none}
        columns={makeColumns(maker, mayManage ? open : null)}
        search="Search"
      />
      {dialog}
    </Page>
  )
}

function makeColumns(maker: (id: string) => string, open: OpenDialog | null): Columns<Key> {
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
    actions(
      'Change',
      open &&
        ((key) => {
          const change = () => open((close) => <ChangeDialog listed={key} onClose={close} />)
          const [rotate, revoke] = credentialActions('key', key, open)
          return [rotate, ['Change', `Change ${key.name}`, change], revoke]
        }),
    ),
  ]
}
