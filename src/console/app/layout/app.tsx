import { RouterProvider } from '@tanstack/react-router'
import { useCallback, useEffect, useState } from 'react'
import { unreachable } from '../api/errors.ts'
import { resume } from '../api/session.ts'
import { useSession, useSessionOver, useUnfinishedSignOut } from '../api/state.ts'
import { SignIn, SignInAgain } from '../pages/sign-in/page.tsx'
import { router } from '../router.tsx'
import { Failure, Loading } from '../ui/states.tsx'

export function App() {
  const session = useSession()
  const isOver = useSessionOver()
  const isLeaving = useUnfinishedSignOut()
  const userId = session?.userId ?? null
  const [start, setStart] = useState<'resuming' | 'done' | Error>('resuming')
  const begin = useCallback(() => {
    setStart('resuming')
    resume().then(
      () => setStart('done'),
      (error: Error) => setStart(error),
    )
  }, [])
  useEffect(begin, [begin])
  if (userId !== null) {
    return (
      <>
        <RouterProvider key={userId} router={router} />
        {isOver && <SignInAgain />}
      </>
    )
  }
  // Scripts can't remove the cookie, so nobody signs in before the session of the last has ended.
  const error = start instanceof Error ? start : isLeaving ? unreachable() : null
  if (start === 'done' && error === null) return <SignIn />
  return (
    <main>
      {error && start !== 'resuming' ? (
        <Failure error={error} retry={begin} />
      ) : (
        <Loading text="Signing in …" />
      )}
    </main>
  )
}
