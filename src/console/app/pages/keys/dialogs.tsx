import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api, readData } from '../../api/client.ts'
import { useUser } from '../../api/state.ts'
import type { Environment, Schemas } from '../../api/types.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { Boxes, listChoices, useFields } from '../../ui/fields.tsx'
import { endAfter, LastDay, SecretDialog } from '../../ui/secret.tsx'

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

export function CreateDialog({ onClose }: { onClose: () => void }) {
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

export function ChangeDialog(props: { listed: Schemas['ListedKey']; onClose: () => void }) {
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
