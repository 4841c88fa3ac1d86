import { Button } from '@mantine/core'
import { useMembers } from '../../api/names.ts'
import { ROLE_MEANINGS, ROLE_NAMES, rolesUpTo } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { type OpenDialog, useDialog } from '../../ui/dialog.tsx'
import { Badge, Page, Refused } from '../../ui/page.tsx'
import { actions, type Columns, ListTable } from '../../ui/table.tsx'
import { AddDialog, RemoveDialog, RoleDialog } from './dialogs.tsx'

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
