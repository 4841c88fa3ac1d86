import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { api, readData } from '../api/client.ts'
import { whenExactly } from './dates.ts'
import { Dialog, Form, FormDialog, type OpenDialog } from './dialog.tsx'
import { Copy, type RowAction, When } from './facts.tsx'
import { useFields } from './fields.tsx'
import { TwoLines } from './page.tsx'
import { endOfDay } from './period.tsx'
import { Notice } from './states.tsx'
import type { Columns } from './table.tsx'

interface MadeSecret {
  readonly name: string
  readonly secret: string
  /** Until when the secret before it is accepted, if it still is. */
  readonly previousUntil?: string | null | undefined
}

const PATHS = {
  key: '/v1/keys/{id}',
  token: '/v1/service-accounts/{id}',
  secret: '/v1/webhooks/{id}',
} as const

type What = keyof typeof PATHS

/** Asks for something and then shows its secret, which only "I have stored it" closes. */
export function SecretDialog(
  props: Omit<Parameters<typeof Form>[0], 'send'> & {
    title: string
    what: What
    make: () => Promise<MadeSecret>
    onClose: () => void
  },
) {
  const { title, what, make, onClose, ...form } = props
  const [made, setMade] = useState<MadeSecret | null>(null)
  if (made === null) {
    return (
      <Dialog key="ask" title={title} onClose={onClose}>
        <Form send={async () => setMade(await make())} onCancel={onClose} {...form} />
      </Dialog>
    )
  }
  return (
    <Dialog key="made" title={`Copy the ${what} now`} onClose={onClose} mustAnswer>
      <Notice kind="good">
        The {what} of “<bdi>{made.name}</bdi>” is shown only once.
        {made.previousUntil && (
          <> The one before it is accepted until {whenExactly(made.previousUntil)}.</>
        )}
      </Notice>
      <p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is there to be selected */}
        <code className="secret letter" tabIndex={0}>
          {made.secret}
        </code>
      </p>
      <Copy text={made.secret} label={`Copy the ${what}`} />
      <div className="form-end">
        <Button onClick={onClose}>I have stored it</Button>
      </div>
    </Dialog>
  )
}

export function LastDay(
  props: ReturnType<ReturnType<typeof useFields>['bind']> & { description: string },
) {
  const { description, ...field } = props
  const today = new Date().toISOString().slice(0, 10)
  return (
    <TextInput
      type="date"
      label="Last day (UTC)"
      description={description}
      min={today}
      {...field}
    />
  )
}

/** The end of a secret as part of a request; nothing for an empty day. */
export function endAfter(day: string): { expires_at?: string } {
  if (day === '') return {}
  return { expires_at: endOfDay(day) }
}

/** An overlap comes first: ending the old secret at once stops what uses it. */
const OVERLAPS = [
  { value: '3600', label: 'stays valid for an hour' },
  { value: '86400', label: 'stays valid for a day' },
  { value: '604800', label: 'stays valid for a week' },
  { value: '0', label: 'ends at once: what still sends it is refused' },
]

interface RotateProps {
  readonly what: What
  readonly of: { readonly id: string; readonly name: string }
  readonly changes: readonly string[]
  readonly onClose: () => void
}

export function RotateDialog({ of: { id, name }, ...dialog }: RotateProps) {
  const { what } = dialog
  const { fields, bind } = useFields({ overlap: '86400', day: '' })
  const make = async () => {
    const body = { overlap_seconds: Number(fields.overlap), ...endAfter(fields.day) }
    const params = { path: { id } }
    const made = await readData(api.POST(`${PATHS[what]}/rotate`, { params, body }))
    const secret = 'key' in made ? made.key : 'token' in made ? made.token : made.secret
    return {
      name: 'url' in made ? made.url : name,
      secret,
      previousUntil: made.previous_valid_until,
    }
  }
  return (
    <SecretDialog
      title={`Rotate ${name}`}
      make={make}
      submit="Rotate"
      busy="Rotating …"
      {...dialog}
    >
      <p>It gets a new {what}, and keeps everything else.</p>
      <NativeSelect label={`The old ${what}`} data={OVERLAPS} {...bind('overlap')} />
      {what !== 'secret' && (
        <LastDay {...bind('day')} description={`Leave empty to keep the end of the ${what}`} />
      )}
    </SecretDialog>
  )
}

/** A key or the token of a service account, as lists have it. */
export interface Credential {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly last_used_at: string | null
  readonly expires_at: string | null
  readonly created_at: string
  readonly created_by: string
}

export function CredentialName({ name, prefix }: Credential) {
  return (
    <TwoLines below={<code>{prefix}…</code>}>
      <bdi>{name}</bdi>
    </TwoLines>
  )
}

export function listTimes<Row extends Credential>(maker: (id: string) => string): Columns<Row> {
  return [
    { head: 'Ends', when: ({ expires_at: at }) => at },
    { head: 'Last used', when: ({ last_used_at: at }) => at },
    {
      head: 'Created',
      cell: ({ created_at: at, created_by: by }) => (
        <div className="names small">
          <When at={at} />
          <bdi className="muted">{maker(by)}</bdi>
        </div>
      ),
      value: ({ created_at: at }) => at,
    },
  ]
}

function RevokeDialog(props: {
  what: 'key' | 'token'
  of: Credential
  changes: readonly string[]
  onClose: () => void
}) {
  const { what, of: credential, ...form } = props
  const { id, name, prefix, last_used_at: lastUsedAt } = credential
  const send = () => api.DELETE(PATHS[what], { params: { path: { id } } })
  return (
    <FormDialog
      title={`Revoke ${name}`}
      send={send}
      submit="Revoke"
      busy="Revoking …"
      isDanger
      {...form}
    >
      <p>
        Every request with <code>{prefix}…</code> will be rejected. This can’t be undone.
      </p>
      <p>
        It was last used: <When at={lastUsedAt} />.
      </p>
    </FormDialog>
  )
}

export function credentialActions(
  what: 'key' | 'token',
  of: Credential,
  open: OpenDialog,
): readonly [rotate: RowAction, revoke: RowAction] {
  const dialog = { what, of, changes: [PATHS[what].replace('/{id}', ''), '/v1'] }
  const rotate = () => open((close) => <RotateDialog {...dialog} onClose={close} />)
  const revoke = () => open((close) => <RevokeDialog {...dialog} onClose={close} />)
  return [
    ['Rotate', `Rotate ${of.name}`, rotate],
    ['Revoke', `Revoke ${of.name}`, revoke, 'danger'],
  ]
}
