import { Button, NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import { api, readData } from '../../api/client.ts'
import { useMembers } from '../../api/names.ts'
import { ROLE_MEANINGS, ROLE_NAMES, rolesUpTo } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import type { Role, Schemas } from '../../api/types.ts'
import { FormDialog, type OpenDialog, useDialog } from '../../ui/dialog.tsx'
import { useFields } from '../../ui/fields.tsx'
import { Badge, Page, Refused } from '../../ui/page.tsx'
import { actions, type Columns, ListTable } from '../../ui/table.tsx'

type Member = Schemas['Member']

export default function MembersPage() {
  const { mayAudit, mayManage } = useUser()
  const [dialog, open] = useDialog()
  const members = useMembers()
  const columns = useColumns(mayManage ? open : null)
  if (!mayAudit) return <Refused page="Members" title="Your role can’t see members" />
  return (
    <Page
      title="Members"
      actions={
        mayManage && (
          <Button onClick={() => open((close) => <AddDialog onClose={close} />)}>
            Add a member
          </Button>
        )
      }
    >
      <ListTable caption="Members" of={members} columns={columns} search="Search" />
      {dialog}
    </Page>
  )
}

function useColumns(open: OpenDialog | null): Columns<Member> {
  const { userId, role: ownRole } = useUser()
  const mayChange = rolesUpTo(ownRole)
  return [
    {
      head: 'Email',
      cell: ({ id, email }) => (
        <>
          <bdi className="wrap">{email}</bdi> {id === userId && <Badge>you</Badge>}
        </>
      ),
      value: ({ email }) => email,
      text: ({ email, role }) => `${email} ${ROLE_NAMES[role]}`,
    },
    {
      head: 'Role',
      cell: ({ role }) => (
        <>
          {ROLE_NAMES[role]} <span className="small muted">{ROLE_MEANINGS[role]}</span>
        </>
      ),
      value: ({ role }) => ROLE_NAMES[role],
    },
    { head: 'Since', when: ({ created_at: at }) => at },
    { head: 'Last sign-in', when: ({ last_sign_in_at: at }) => at },
    actions(
      'Change',
      open &&
        ((member) => {
          const { email, role } = member
          if (!mayChange.includes(role)) return 'needs an owner'
          const change = () => open((close) => <RoleDialog member={member} onClose={close} />)
          const remove = () => open((close) => <RemoveDialog member={member} onClose={close} />)
          return [
            ['Change role', `Change role of ${email}`, change],
            ['Remove', `Remove ${email}`, remove, 'danger'],
          ]
        }),
    ),
  ]
}

const MEMBER_CHANGES = ['/v1/members', '/v1', '/v1/audit-log']

const PASSWORD_MIN = 8

function useRoleChoices() {
  const { role } = useUser()
  return rolesUpTo(role).map((one) => ({
    value: one,
    label: `${ROLE_NAMES[one]}: ${ROLE_MEANINGS[one]}`,
  }))
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { fields, bind } = useFields({ email: '', password: '', role: 'viewer' })
  const send = () =>
    readData(api.POST('/v1/members', { body: { ...fields, role: fields.role as Role } }))
  return (
    <FormDialog
      title="Add a member"
      send={send}
      submit="Add"
      busy="Adding …"
      changes={MEMBER_CHANGES}
      onClose={onClose}
    >
      <TextInput label="Email" type="email" required {...bind('email')} />
      <PasswordInput
        label="First password"
        description={`At least ${PASSWORD_MIN} characters. Give it to them yourself: no email is sent. They can change it on their account page.`}
        required
        minLength={PASSWORD_MIN}
        maxLength={1024}
        autoComplete="new-password"
        {...bind('password')}
      />
      <NativeSelect label="Role" data={useRoleChoices()} {...bind('role')} />
    </FormDialog>
  )
}

interface DialogProps {
  readonly member: Schemas['Member']
  readonly onClose: () => void
}

function RemoveDialog({ member: { id, email }, onClose }: DialogProps) {
  return (
    <FormDialog
      title={`Remove ${email}`}
      send={() => api.DELETE('/v1/members/{id}', { params: { path: { id } } })}
      submit="Remove"
      busy="Removing …"
      isDanger
      changes={MEMBER_CHANGES}
      onClose={onClose}
    >
      <p>
        <bdi>{email}</bdi> can no longer sign in. Their sessions end within a minute. Keys that they
        created stay active.
      </p>
    </FormDialog>
  )
}

function RoleDialog({ member, onClose }: DialogProps) {
  const { fields, bind } = useFields({ role: member.role as string })
  const send = () => {
    const params = { path: { id: member.id } }
    return readData(api.PATCH('/v1/members/{id}', { params, body: { role: fields.role as Role } }))
  }
  return (
    <FormDialog
      title={`Role of ${member.email}`}
      send={send}
      changes={MEMBER_CHANGES}
      missing={fields.role === member.role ? 'Choose another role.' : null}
      onClose={onClose}
    >
      <p>Now: {ROLE_NAMES[member.role]}. The new role takes effect within a minute.</p>
      <NativeSelect label="Role" data={useRoleChoices()} {...bind('role')} />
    </FormDialog>
  )
}
