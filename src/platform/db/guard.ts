import { AppError } from '../../errors.ts'
import { isDatabaseUnavailable } from './errors.ts'
import type { DatabaseHealth } from './health.ts'

/** Longest time that a request or a command waits for the database. */
export const DATABASE_DEADLINE_MS = 10_000

interface GuardOptions {
  /** Longest time that a call may take. */
  readonly deadlineMs: number
  /** Called when a call takes longer: its connection may be silently dead. */
  readonly onOverdue: () => void
  /** Counts the calls, their outcomes and durations. */
  readonly health?: DatabaseHealth
}

/**
 * Wraps a store so that each of its calls ends. If the database is unavailable or silent, the call
 * fails with `unavailable`, after `deadlineMs` at the latest. A driver alone would wait forever on
 * a connection whose other end disappeared. Other errors pass unchanged.
 */
export function guardStore<Store extends object>(store: Store, options: GuardOptions): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => endOf(Promise.resolve(member.apply(target, args)), options)
    },
  })
}

async function endOf<T>(
  call: Promise<T>,
  { deadlineMs, onOverdue, health }: GuardOptions,
): Promise<T> {
  const end = health?.begin()
  let isOverdue = false
  const overdue = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    isOverdue = true
    onOverdue()
    overdue.reject(new AppError('unavailable', 'the database does not answer, try again later'))
  }, deadlineMs)
  try {
    const value = await Promise.race([call, overdue.promise])
    end?.('ok')
    return value
  } catch (error) {
    // Such an error says what is away, as an archive: its cause must not count as the database's.
    const isAway = !(error instanceof AppError) && isDatabaseUnavailable(error)
    end?.(isOverdue ? 'overdue' : isAway ? 'away' : 'refused')
    if (!isAway) throw error
    throw new AppError('unavailable', 'the database is away, try again later', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
