import { Alert, Button, PasswordInput, TextInput } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { type SignInMethods, signIn, signInMethods, startSignOn } from '../../api/session.ts'
import { useSessionOver } from '../../api/state.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Act, typed } from '../../ui/fields.tsx'
import { Failure, Loaded } from '../../ui/states.tsx'
import { signOnFaultText } from './faults.ts'

export function SignIn() {
  const [fault] = useState(takeFault)
  const methods = useMethods()
  const heading = useRef<HTMLHeadingElement>(null)
  useDocumentTitle('Sign in · Scoreline')
  useEffect(() => heading.current?.focus(), [])
  return (
    <main className="sign-in">
      <div className="panel">
        <p className="brand">Scoreline</p>
        <h1 tabIndex={-1} ref={heading}>
          Sign in
        </h1>
        <p className="muted">{location.host}</p>
        {fault !== null && (
          <Alert color="red" role="alert">
            {signOnFaultText(fault)}
          </Alert>
        )}
        <Ways of={methods} />
      </div>
    </main>
  )
}

/** Covers the page whose user has to sign in again, so that what is typed there is not lost. */
export function SignInAgain() {
  const methods = useMethods()
  // With another key the first field gets the focus once it is there.
  return (
    <Dialog key={methods.status} title="Your session has ended" mustAnswer isCover>
      <p>Sign in to go on. What you have typed is kept.</p>
      <Ways of={methods} />
    </Dialog>
  )
}

function useMethods() {
  return useQuery({ queryKey: ['console/methods'], queryFn: signInMethods })
}

function Ways({ of }: { of: UseQueryResult<SignInMethods> }) {
  return (
    <Loaded of={of}>
      {({ sign_on, password }) =>
        sign_on ? (
          <>
            <SignOn />
            <Passwords isForAll={password} />
          </>
        ) : (
          <PasswordForm />
        )
      }
    </Loaded>
  )
}

/** The reason in the address, which loses it: a reload must not show it again. */
function takeFault(): string | null {
  const params = new URLSearchParams(location.search)
  const reason = params.get('refused')
  if (reason === null || !location.pathname.endsWith('/sign-in')) return null
  history.replaceState(null, '', location.pathname.replace(/\/sign-in$/, ''))
  return reason
}

function SignOn() {
  const isOver = useSessionOver()
  return (
    <>
      <Act fullWidth variant="filled" act={startSignOn}>
        Sign in with your organisation
      </Act>
      {isOver && (
        <p className="small muted">It opens in another tab. Come back to this one then.</p>
      )}
    </>
  )
}

/** @param isForAll else the service accepts the password of one owner only */
function Passwords({ isForAll }: { isForAll: boolean }) {
  return (
    <details>
      <summary>{isForAll ? 'Sign in with a password' : 'The identity provider is away?'}</summary>
      {!isForAll && (
        <p className="small muted">Only the emergency owner can sign in with a password.</p>
      )}
      <PasswordForm />
    </details>
  )
}

function PasswordForm() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const sending = useMutation({ mutationFn: () => signIn(email, password) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!sending.isPending) sending.mutate()
  }
  return (
    <form onSubmit={submit} className="form">
      <TextInput
        label="Email"
        type="email"
        autoComplete="username"
        required
        withAsterisk={false}
        {...typed(email, setEmail)}
      />
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        required
        withAsterisk={false}
        visibilityToggleButtonProps={{ 'aria-label': 'Show what is typed', tabIndex: 0 }}
        {...typed(password, setPassword)}
      />
      {sending.error && <Failure error={sending.error} />}
      <Button type="submit" fullWidth aria-disabled={sending.isPending}>
        {sending.isPending ? 'Signing in …' : 'Sign in'}
      </Button>
      <p className="small muted">
        Forgot your password? The operator of the service can set a new one.
      </p>
    </form>
  )
}
