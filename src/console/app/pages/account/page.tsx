import { PasswordInput } from '@mantine/core'
import { useState } from 'react'
import { api, useAnswer } from '../../api/client.ts'
import { ROLE_MEANINGS, ROLE_NAMES } from '../../api/roles.ts'
import { signOut } from '../../api/session.ts'
import { renewAnswers, useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { whenExactly } from '../../ui/dates.ts'
import { Form, FormDialog } from '../../ui/dialog.tsx'
import { Facts, RowButton, When } from '../../ui/facts.tsx'
import { useFields } from '../../ui/fields.tsx'
import { counted, NONE } from '../../ui/figures.ts'
import { Badge, Page, Panel } from '../../ui/page.tsx'
import { Notice } from '../../ui/states.tsx'
import { actions, type Columns, ListTable } from '../../ui/table.tsx'

type OwnSession = Schemas['Session']

const PATH = '/api/auth/sessions'
const EVERYWHERE = 'Sign out everywhere'
const SIGN_INS_MAX = 100
/** Columns that the record of a sign-in fills. */
const SIGN_IN = [
  ['Device', 'device'],
  ['Signed in from', 'address'],
] as const

export default function AccountPage() {
  const { userId, role } = useUser()
  const [ending, setEnding] = useState<OwnSession | 'all' | null>(null)
  const sessions = useAnswer(PATH, {}, { select: (found) => found.sessions })
  const signIns = useSignIns()
  const end = (id: string) => api.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } })
  const others = sessions.data?.filter(({ is_current: isCurrent }) => !isCurrent) ?? []
  const endAll = async () => {
    for (const { id } of others) await end(id)
    await signOut()
  }
  return (
    <Page title="Your account">
      <Panel>
        <Facts
          facts={[
            ['Role', ROLE_NAMES[role], ROLE_MEANINGS[role]],
            ['Your id', <code key="id">{userId}</code>, 'as in files of the audit log'],
          ]}
        />
      </Panel>
      <Panel
        title="Open sessions"
        actions={
          <RowButton name={EVERYWHERE} isDanger onClick={() => setEnding('all')}>
            {EVERYWHERE}
          </RowButton>
        }
      >
        <p className="muted">End a session that you don’t know, and change your password.</p>
        <ListTable
          caption="Open sessions"
          of={sessions}
          columns={makeColumns(setEnding, signIns)}
        />
      </Panel>
      <Password />
      {ending !== null && (
        <FormDialog
          {...(ending === 'all'
            ? { title: EVERYWHERE, send: endAll, submit: EVERYWHERE, busy: 'Signing out …' }
            : {
                title: 'End a session',
                send: () => end(ending.id),
                submit: 'End it',
                busy: 'Ending …',
              })}
          isDanger
          changes={[PATH]}
          onClose={() => setEnding(null)}
        >
          <p>
            {ending === 'all'
              ? `This session ends${others.length > 0 ? `, and ${counted(others.length, 'other session')}` : ''}, with all access tokens.`
              : `The session of ${whenExactly(ending.started_at)} ends at once, with its access token.`}
          </p>
        </FormDialog>
      )}
    </Page>
  )
}

type SignIns = ReadonlyMap<string, Schemas['AuditRecord']['after']> | null

/** Reads the records of one's sign-ins, by session; only roles that read the audit log get them. */
function useSignIns(): SignIns {
  const { userId, mayAudit } = useUser()
  const query = { actor: userId, action: 'session.sign_in', limit: SIGN_INS_MAX }
  const { data } = useAnswer(
    '/v1/audit-log',
    { query },
    {
      enabled: mayAudit,
      select: ({ records }) => new Map(records.map(({ subject, after }) => [subject, after])),
    },
  )
  return data ?? null
}

function makeColumns(end: (session: OwnSession) => void, signIns: SignIns): Columns<OwnSession> {
  return [
    {
      head: 'Started',
      cell: ({ started_at: at, is_current: isCurrent }) => (
        <>
          <When at={at} isExact /> {isCurrent && <Badge kind="good">this one</Badge>}
        </>
      ),
      value: ({ started_at: at }) => at,
    },
    ...SIGN_IN.map(
      ([head, name]) =>
        signIns && {
          head,
          cell: ({ id }: OwnSession) => String(signIns.get(id)?.[name] ?? NONE),
        },
    ),
    { head: 'Last renewed', when: ({ last_refreshed_at: at }) => at },
    { head: 'Ends unless renewed', when: ({ expires_at: at }) => at },
    actions('End', (session) =>
      session.is_current ? 'sign out' : [['End', 'End this session', () => end(session), 'danger']],
    ),
  ]
}

function Password() {
  const [isDone, setDone] = useState(false)
  const { fields, set, bind } = useFields({ current_password: '', new_password: '' })
  const send = async () => {
    setDone(false)
    await api.POST('/api/auth/password', { body: fields })
    set('current_password', '')
    set('new_password', '')
    setDone(true)
    await renewAnswers([PATH])
  }
  return (
    <Panel title="Password">
      <Form send={send} submit="Change the password" busy="Changing …">
        <PasswordInput
          label="Current password"
          required
          maxLength={1024}
          autoComplete="current-password"
          {...bind('current_password')}
        />
        <PasswordInput
          label="New password"
          description="At least 8 characters, and not easy to guess. Your other sessions end."
          required
          minLength={8}
          maxLength={1024}
          autoComplete="new-password"
          {...bind('new_password')}
        />
        {isDone && (
          <Notice kind="good">Your password is changed. Your other sessions have ended.</Notice>
        )}
      </Form>
    </Panel>
  )
}
