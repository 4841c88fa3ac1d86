import { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { isUnreachable } from './errors.ts'
import { failingSince, onReach } from './exchange.ts'
import { audits, deploys, manages, models } from './roles.ts'
import {
  currentSession,
  isSessionOver,
  isSignOutUnfinished,
  onSession,
  type Session,
} from './session.ts'

/** Interval at which a page asks again while the service does not answer. */
export const RETRY_MS = 5_000
const FRESH_MS = 10_000

/** Keeps the answers of the service; `queryKey` begins with the path, so that changes end them. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: false,
      networkMode: 'always',
      refetchInterval: (query) => (isUnreachable(query.state.error) ? RETRY_MS : false),
    },
    mutations: { networkMode: 'always' },
  },
})

/** Ends answers whose keys begin with these paths of the API, so that pages ask again. */
export async function renewAnswers(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map((path) => queries.invalidateQueries({ queryKey: [path] })))
}

// After an outage what is shown is old, or was not read at all.
onReach(() => {
  if (failingSince() === null) void queries.invalidateQueries({}, { cancelRefetch: false })
})

let readerId: string | null = null
let wasOver = false
// What one person has read is not for the next one. Nothing is shown before this runs.
onSession(() => {
  const userId = currentSession()?.userId ?? null
  if (userId !== readerId) queries.clear()
  // What was refused meanwhile is asked again.
  else if (wasOver && !isSessionOver()) void queries.invalidateQueries()
  readerId = userId
  wasOver = isSessionOver()
})

export function useSession(): Session | null {
  return useSyncExternalStore(onSession, currentSession)
}

/** Tells whether the signed-in user must sign in again before anything is sent. */
export function useSessionOver(): boolean {
  return useSyncExternalStore(onSession, isSessionOver)
}

/** Tells whether a sign-out of any tab had no response yet. */
export function useUnfinishedSignOut(): boolean {
  return useSyncExternalStore(onSession, isSignOutUnfinished)
}

/** The signed-in user, and what their role may do; only for what is shown to one. */
export function useUser() {
  const session = useSession()
  if (session === null) throw new TypeError('nobody is signed in')
  const { userId, role } = session
  return {
    userId,
    role,
    mayAudit: audits(role),
    mayManage: manages(role),
    mayDeploy: deploys(role),
    mayModel: models(role),
  }
}

/** Since when the service does not answer; null while it does. */
export function useFailingSince(): number | null {
  return useSyncExternalStore(onReach, failingSince)
}
