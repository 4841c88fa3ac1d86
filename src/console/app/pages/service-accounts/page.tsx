import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api, readData, useAnswer } from '../../api/client.ts'
import { useNames } from '../../api/names.ts'
import { audits, manages, ROLE_NAMES, rolesBelow } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import type { Role, Schemas } from '../../api/types.ts'
import { Form } from '../../ui/dialog.tsx'
import { RowButton, When } from '../../ui/facts.tsx'
import { useFields } from '../../ui/fields.tsx'
import { Page } from '../../ui/page.tsx'
import {
  CredentialName,
  endAfter,
  LastDay,
  RevokeDialog,
  RotateDialog,
  SecretDialog,
} from '../../ui/secret.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, DataTable } from '../../ui/table.tsx'

type Account = Schemas['ListedServiceAccount']
type Request = 'create' | { readonly kind: 'rotate' | 'revoke'; readonly account: Account }

const PATH = '/v1/service-accounts'
const CHANGES = [PATH, '/v1']

/** Programs that manage with a role. */
export default function ServiceAccountsPage() {
  const { role } = useUser()
  const names = useNames()
  const [request, setRequest] = useState<Request | null>(null)
  const accounts = useAnswer(PATH, {}, { enabled: audits(role) })
  const actions = manages(role) && (
    <Button onClick={() => setRequest('create')}>Create a service account</Button>
  )
  if (!audits(role)) {
    return (
      <Page title="Service accounts">
        <Empty title="Your role can’t see service accounts" />
      </Page>
    )
  }
  return (
    <Page title="Service accounts" actions={actions}>
      <p className="lead">
        A pipeline or notebook manages with a token of its own, and without a person’s password. It
        stays when its maker leaves.
      </p>
      <Loaded of={accounts}>
        {({ service_accounts: found }) =>
          found.length === 0 ? (
            <Empty title="There are no service accounts">
              <p>Create one for each program that deploys or reads.</p>
            </Empty>
          ) : (
            <DataTable
              caption="Service accounts"
              rows={found}
              columns={makeColumns((id) => names.get(id) ?? id, manages(role) ? setRequest : null)}
              rowKey={({ id }) => id}
              search="Search"
            />
          )
        }
      </Loaded>
      {request === 'create' && <CreateDialog onClose={() => setRequest(null)} />}
      {request !== null && request !== 'create' && (
        <Requested {...request} onClose={() => setRequest(null)} />
      )}
    </Page>
  )
}

function Requested({
  kind,
  account,
  onClose,
}: Exclude<Request, 'create'> & { onClose: () => void }) {
  const params = { path: { id: account.id } }
  if (kind === 'rotate') {
    return (
      <RotateDialog
        name={account.name}
        what="token"
        changes={CHANGES}
        rotate={async (body) => {
          const made = await readData(
            api.POST('/v1/service-accounts/{id}/rotate', { params, body }),
          )
          return { name: made.name, secret: made.token, previousUntil: made.previous_valid_until }
        }}
        onClose={onClose}
      />
    )
  }
  return (
    <RevokeDialog
      credential={account}
      end={() => api.DELETE('/v1/service-accounts/{id}', { params })}
      changes={CHANGES}
      onClose={onClose}
    />
  )
}

function makeColumns(
  maker: (id: string) => string,
  ask: ((request: Request) => void) | null,
): readonly Column<Account>[] {
  return [
    {
      id: 'name',
      head: 'Name',
      cell: (account) => <CredentialName {...account} />,
      value: ({ name }) => name.toLowerCase(),
      text: ({ name, prefix, role }) => `${name} ${prefix} ${ROLE_NAMES[role]}`,
    },
    { id: 'role', head: 'Role', value: ({ role }) => ROLE_NAMES[role] },
    { id: 'ends', head: 'Ends', when: ({ expires_at: at }) => at },
    { id: 'used', head: 'Last used', when: ({ last_used_at: at }) => at },
    {
      id: 'made',
      head: 'Created',
      cell: ({ created_at: at, created_by: by }) => (
        <div className="names small">
          <When at={at} />
          <bdi className="muted">{maker(by)}</bdi>
        </div>
      ),
      value: ({ created_at: at }) => at,
    },
    ...(ask === null
      ? []
      : [
          {
            head: 'Change',
            cell: (account: Account) => (
              <div className="row-actions">
                <RowButton
                  name={`Rotate ${account.name}`}
                  onClick={() => ask({ kind: 'rotate', account })}
                >
                  Rotate
                </RowButton>
                <RowButton
                  name={`Revoke ${account.name}`}
                  isDanger
                  onClick={() => ask({ kind: 'revoke', account })}
                >
                  Revoke
                </RowButton>
              </div>
            ),
          },
        ]),
  ]
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const { role } = useUser()
  const { fields, bind } = useFields({ name: '', role: 'viewer', day: '' })
  const create = async () => {
    const body = { name: fields.name, role: fields.role as Role, ...endAfter(fields.day) }
    const { name, token } = await readData(api.POST(PATH, { body }))
    return { name, secret: token }
  }
  return (
    <SecretDialog title="Create a service account" what="token" onClose={onClose}>
      {(onMade) => (
        <Form
          send={async () => onMade(await create())}
          submit="Create"
          busy="Creating …"
          changes={CHANGES}
          onCancel={onClose}
        >
          <TextInput
            label="Name"
            description="For example the pipeline that uses it"
            required
            maxLength={255}
            autoComplete="off"
            {...bind('name')}
          />
          <NativeSelect
            label="Role"
            description="Only roles below your own"
            data={rolesBelow(role).map((one) => ({ value: one, label: ROLE_NAMES[one] }))}
            {...bind('role')}
          />
          <LastDay description="At most 366 days ahead; empty: in 90 days" {...bind('day')} />
        </Form>
      )}
    </SecretDialog>
  )
}
