import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api, readData, useAnswer } from '../../api/client.ts'
import { useNames } from '../../api/names.ts'
import { useUser } from '../../api/state.ts'
import type { Environment, Schemas } from '../../api/types.ts'
import { FormDialog, type OpenDialog, useDialog } from '../../ui/dialog.tsx'
import { Boxes, listChoices, useFields } from '../../ui/fields.tsx'
import { whole } from '../../ui/figures.ts'
import { EnvironmentBadge, Page } from '../../ui/page.tsx'
import {
  CredentialName,
  credentialActions,
  endAfter,
  LastDay,
  listTimes,
  SecretDialog,
} from '../../ui/secret.tsx'
import { Empty } from '../../ui/states.tsx'
import { actions, type Columns, ListTable } from '../../ui/table.tsx'

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

const NAME_MAX = 255
const ENVIRONMENTS = listChoices({ production: 'Production', staging: 'Staging', '': 'Both' })
const SCOPES = listChoices({
  score: 'score applicants',
  read: 'read the statistics of deployments',
})
const QUOTA = {
  label: 'Quota, requests in any minute',
  type: 'number',
  min: 1,
  max: 1_000_000,
  step: 1,
} as const

const CHANGES = ['/v1/keys', '/v1']

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { role } = useUser()
  const [scopes, setScopes] = useState<string[]>(['score'])
  const { fields, bind } = useFields({
    name: '',
    environment: 'production',
    quota: '',
    day: '',
    addresses: '',
  })
  const create = async () => {
    const addresses = fields.addresses.split(/[\s,]+/).filter(Boolean)
    const body = {
      name: fields.name,
      scopes: scopes as Schemas['KeyScope'][],
      ...(fields.environment !== '' && { environment: fields.environment as Environment }),
      ...(fields.quota !== '' && { rate_limit_per_minute: Number(fields.quota) }),
      ...(addresses.length > 0 && { allowed_addresses: addresses }),
      ...endAfter(fields.day),
    }
    const { name, key } = await readData(api.POST('/v1/keys', { body }))
    return { name, secret: key }
  }
  return (
    <SecretDialog
      title="Create a key"
      what="key"
      make={create}
      submit="Create"
      busy="Creating …"
      missing={scopes.length === 0 ? 'Choose what it may do.' : null}
      changes={CHANGES}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="For example the server that uses it"
        required
        maxLength={NAME_MAX}
        {...bind('name')}
      />
      <Boxes legend="May" choices={SCOPES} chosen={scopes} onChange={setScopes} />
      <NativeSelect
        label="Environment"
        description="A key for one environment sees only deployments of that environment"
        data={ENVIRONMENTS}
        {...bind('environment')}
      />
      {role === 'owner' && (
        <TextInput
          {...QUOTA}
          description="Leave empty for the default of the service"
          {...bind('quota')}
        />
      )}
      <LastDay description="Leave empty for a key that does not end" {...bind('day')} />
      <TextInput
        label="Accepted from"
        description="Addresses and CIDRs, with commas; empty: from anywhere"
        {...bind('addresses')}
      />
    </SecretDialog>
  )
}

function ChangeDialog(props: { listed: Schemas['ListedKey']; onClose: () => void }) {
  const { listed, onClose } = props
  const { role } = useUser()
  const before = String(listed.rate_limit_per_minute ?? '')
  const { fields, bind } = useFields({ name: listed.name, quota: before })
  const send = () => {
    const body = {
      ...(fields.name !== listed.name && { name: fields.name }),
      ...(fields.quota !== before && {
        rate_limit_per_minute: fields.quota === '' ? null : Number(fields.quota),
      }),
    }
    return readData(api.PATCH('/v1/keys/{id}', { params: { path: { id: listed.id } }, body }))
  }
  const isSame = fields.name === listed.name && fields.quota === before
  return (
    <FormDialog
      title={`Change ${listed.name}`}
      send={send}
      changes={CHANGES}
      missing={isSame ? 'Nothing is changed yet.' : null}
      onClose={onClose}
    >
      <TextInput label="Name" required maxLength={NAME_MAX} {...bind('name')} />
      {role === 'owner' && (
        <TextInput {...QUOTA} description="Empty: the default of the service" {...bind('quota')} />
      )}
    </FormDialog>
  )
}
