import { AppError } from '../../errors.ts'
import { ForeignRowError } from './asked-rows.ts'
import { classifyCallFailure, rootCause } from './errors.ts'
import type { DatabaseHealth } from './health.ts'

/** Longest time that a request or a command waits for the database. */
export const DATABASE_DEADLINE_MS = 10_000

interface GuardOptions {
  /** Longest time that a call may take. */
  readonly deadlineMs: number
  /**
   * Called when a call takes longer, since its connection may be silently dead; and when a call
   * found a foreign row, with true, see `DatabaseHandle.renew`.
   */
  readonly renew: (isCertain?: boolean) => void
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
      return (...args: unknown[]) => {
        const end = options.health?.begin(member)
        return boundCall(Promise.resolve(member.apply(target, args)), options, end)
      }
    },
  })
}

async function boundCall<T>(
  call: Promise<T>,
  { deadlineMs, renew }: GuardOptions,
  end?: ReturnType<DatabaseHealth['begin']>,
): Promise<T> {
  let isOverdue = false
  const overdue = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    isOverdue = true
    renew()
    overdue.reject(new AppError('unavailable', 'the database does not answer, try again later'))
  }, deadlineMs)
  try {
    const value = await Promise.race([call, overdue.promise])
    end?.('ok')
    return value
  } catch (error) {
    if (rootCause(error) instanceof ForeignRowError) {
      end?.('wrong', error)
      renew(true)
      throw error
    }
    // Such an error says what is away, as an archive: its cause must not count as the database's.
    const failure = error instanceof AppError ? 'statement' : classifyCallFailure(error)
    end?.(isOverdue ? 'overdue' : failure === 'statement' ? 'refused' : failure, error)
    if (failure === 'statement') throw error
    const what = failure === 'busy' ? 'took too long or was in use' : 'is away'
    throw new AppError('unavailable', `the database ${what}, try again later`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
