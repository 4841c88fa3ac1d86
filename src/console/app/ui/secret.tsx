import { Button, NativeSelect, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { whenExactly } from './dates.ts'
import { Dialog, Form } from './dialog.tsx'
import { Copy, When } from './facts.tsx'
import { useFields } from './fields.tsx'
import { Notice } from './states.tsx'

const DAY_MS = 86_400_000

/** A secret that the service has just made. */
export interface MadeSecret {
  readonly name: string
  readonly secret: string
  /** Until when the secret before it is accepted, if it still is. */
  readonly previousUntil?: string | null | undefined
}

/** Asks for something and then shows its secret, which only "I have stored it" closes. */
export function SecretDialog({
  title,
  what,
  onClose,
  children,
}: {
  title: string
  what: 'key' | 'token' | 'secret'
  onClose: () => void
  children: (onMade: (made: MadeSecret) => void) => ReactNode
}) {
  const [made, setMade] = useState<MadeSecret | null>(null)
  if (made === null) {
    return (
      <Dialog key="ask" title={title} onClose={onClose}>
        {children(setMade)}
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
        <code className="secret" tabIndex={0}>
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

/** A field for the last day of a secret. */
export function LastDay({
  description,
  ...field
}: ReturnType<ReturnType<typeof useFields>['bind']> & { description: string }) {
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
  return { expires_at: new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString() }
}

/** An overlap comes first: ending the old secret at once stops what uses it. */
const OVERLAPS = [
  { value: '3600', label: 'stays valid for an hour' },
  { value: '86400', label: 'stays valid for a day' },
  { value: '604800', label: 'stays valid for a week' },
  { value: '0', label: 'ends at once: what still sends it is refused' },
]

interface RotateProps {
  readonly name: string
  readonly what: 'key' | 'token' | 'secret'
  readonly changes: readonly string[]
  /** True if a new end can be set. */
  readonly hasEnd?: boolean
  readonly rotate: (body: { overlap_seconds: number; expires_at?: string }) => Promise<MadeSecret>
  readonly onClose: () => void
}

/** Replaces a secret by a new one, and shows that. */
export function RotateDialog({ name, what, changes, hasEnd, rotate, onClose }: RotateProps) {
  const { fields, bind } = useFields({ overlap: '86400', day: '' })
  return (
    <SecretDialog title={`Rotate ${name}`} what={what} onClose={onClose}>
      {(onMade) => (
        <Form
          send={async () => {
            const body = { overlap_seconds: Number(fields.overlap), ...endAfter(fields.day) }
            onMade(await rotate(body))
          }}
          submit="Rotate"
          busy="Rotating …"
          changes={changes}
          onCancel={onClose}
        >
          <p>It gets a new {what}, and keeps everything else.</p>
          <NativeSelect label={`The old ${what}`} data={OVERLAPS} {...bind('overlap')} />
          {hasEnd !== false && (
            <LastDay {...bind('day')} description={`Leave empty to keep the end of the ${what}`} />
          )}
        </Form>
      )}
    </SecretDialog>
  )
}

/** A key or the token of a service account, as lists have it. */
interface Credential {
  readonly name: string
  readonly prefix: string
  readonly last_used_at: string | null
}

/** The name of a credential above the beginning of its secret. */
export function CredentialName({ name, prefix }: Credential) {
  return (
    <div className="names">
      <bdi>{name}</bdi>
      <code className="small muted">{prefix}…</code>
    </div>
  )
}

/** Revokes a key or a service account. */
export function RevokeDialog({
  credential: { name, prefix, last_used_at: lastUsedAt },
  ...end
}: {
  credential: Credential
  end: () => Promise<unknown>
  changes: readonly string[]
  onClose: () => void
}) {
  return (
    <EndDialog title={`Revoke ${name}`} verb="Revoke" busy="Revoking …" {...end}>
      <p>
        Every request with <code>{prefix}…</code> will be rejected. This can’t be undone.
      </p>
      <p>
        It was last used: <When at={lastUsedAt} />.
      </p>
    </EndDialog>
  )
}

/** Asks once more before something ends for good. */
export function EndDialog({
  title,
  end,
  verb,
  busy,
  changes,
  onClose,
  onDone = onClose,
  children,
}: {
  title: string
  end: () => Promise<unknown>
  verb: string
  busy: string
  changes: readonly string[]
  onClose: () => void
  onDone?: () => void
  children: ReactNode
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        send={end}
        submit={verb}
        busy={busy}
        changes={changes}
        onDone={onDone}
        onCancel={onClose}
        isDanger
      >
        {children}
      </Form>
    </Dialog>
  )
}
