import { Button, NativeSelect, TextInput } from '@mantine/core'
import { api, readData, useAnswer } from '../../api/client.ts'
import { useNames } from '../../api/names.ts'
import { ROLE_NAMES, rolesBelow } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import type { Role, Schemas } from '../../api/types.ts'
import { type OpenDialog, useDialog } from '../../ui/dialog.tsx'
import { useFields } from '../../ui/fields.tsx'
import { Page, Refused } from '../../ui/page.tsx'
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

type Account = Schemas['ListedServiceAccount']

const PATH = '/v1/service-accounts'
const CHANGES = [PATH, '/v1']

export default function ServiceAccountsPage() {
  const { mayAudit, mayManage } = useUser()
  const names = useNames()
  const [dialog, open] = useDialog()
  const accounts = useAnswer(
    PATH,
    {},
    { enabled: mayAudit, select: (found) => found.service_accounts },
  )
  if (!mayAudit) {
    return <Refused page="Service accounts" title="Your role can’t see service accounts" />
  }
  const create = mayManage && (
    <Button onClick={() => open((close) => <CreateDialog onClose={close} />)}>
      Create a service account
    </Button>
  )
  const none = (
    <Empty
      title="There are no service accounts"
      hint="Create one for each program that deploys or reads."
    />
  )
  return (
    <Page title="Service accounts" actions={create}>
      <p className="lead">
        A pipeline or notebook manages with a token of its own, and without a person’s password. It
        stays when its maker leaves.
      </p>
      <ListTable
        caption="Service accounts"
        of={accounts}
        none={none}
        columns={makeColumns((id) => names.get(id) ?? id, mayManage ? open : null)}
        search="Search"
      />
      {dialog}
    </Page>
  )
}

function makeColumns(maker: (id: string) => string, open: OpenDialog | null): Columns<Account> {
  return [
    {
      head: 'Name',
      cell: (account) => <CredentialName {...account} />,
      value: ({ name }) => name.toLowerCase(),
      text: ({ name, prefix, role }) => `${name} ${prefix} ${ROLE_NAMES[role]}`,
    },
    { head: 'Role', value: ({ role }) => ROLE_NAMES[role] },
    ...listTimes<Account>(maker),
    actions('Change', open && ((account) => credentialActions('token', account, open))),
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
    <SecretDialog
      title="Create a service account"
      what="token"
      make={create}
      submit="Create"
      busy="Creating …"
      changes={CHANGES}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="For example the pipeline that uses it"
        required
        maxLength={255}
        {...bind('name')}
      />
      <NativeSelect
        label="Role"
        description="Only roles below your own"
        data={rolesBelow(role).map((one) => ({ value: one, label: ROLE_NAMES[one] }))}
        {...bind('role')}
      />
      <LastDay description="At most 366 days ahead; empty: in 90 days" {...bind('day')} />
    </SecretDialog>
  )
}
