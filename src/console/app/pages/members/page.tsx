import { Button } from '@mantine/core'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { useMembers } from '../../api/members.ts'
import { ROLE_MEANINGS, ROLE_NAMES, rolesUpTo } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { Badge, Page, Refused } from '../../ui/page.tsx'
import { actions, type Column, ListTable } from '../../ui/table.tsx'
import { AddDialog, MEMBER_CHANGES, RoleDialog } from './dialogs.tsx'

type Member = Schemas['Member']
type Request = 'add' | { readonly kind: 'role' | 'remove'; readonly member: Member }

export default function MembersPage() {
  const { mayAudit, mayManage } = useUser()
  const [request, setRequest] = useState<Request | null>(null)
  const members = useMembers()
  const close = () => setRequest(null)
  const columns = useColumns(mayManage ? setRequest : null)
  if (!mayAudit) return <Refused page="Members" title="Your role can’t see members" />
  return (
    <Page
      title="Members"
      actions={mayManage && <Button onClick={() => setRequest('add')}>Add a member</Button>}
    >
      <ListTable
        caption="Members"
        of={members}
        columns={columns}
        search="Search"
      />
      {request === 'add' && <AddDialog onClose={close} />}
      {request !== null && request !== 'add' && request.kind === 'role' && (
        <RoleDialog member={request.member} onClose={close} />
      )}
      {request !== null && request !== 'add' && request.kind === 'remove' && (
        <FormDialog
          title={`Remove ${request.member.email}`}
          send={() =>
            api.DELETE('/v1/members/{id}', { params: { path: { id: request.member.id } } })
          }
          submit="Remove"
          busy="Removing …"
          isDanger
          changes={MEMBER_CHANGES}
          onClose={close}
        >
          <p>
            <bdi>{request.member.email}</bdi> can no longer sign in. Their sessions end within a
            minute. Keys that they created stay active.
          </p>
        </FormDialog>
      )}
    </Page>
  )
}

function useColumns(ask: ((request: Request) => void) | null): readonly Column<Member>[] {
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
    ...actions<Member>(
      'Change',
      ask &&
        ((member) => {
          const { email, role } = member
          if (!mayChange.includes(role)) return 'needs an owner'
          return [
            ['Change role', `Change role of ${email}`, () => ask({ kind: 'role', member })],
            ['Remove', `Remove ${email}`, () => ask({ kind: 'remove', member }), 'danger'],
          ]
        }),
    ),
  ]
}
