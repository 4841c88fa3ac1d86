import { hash, verify } from '@node-rs/argon2'
import pLimit from 'p-limit'
import { AppError } from '../../errors.ts'
import type { EndOfCheck } from './login-throttle.ts'

/** OWASP's minimum for argon2id. About 9 ms of one core and 19 MiB for each hash. */
const ARGON2ID = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Hashing shares libuv's four threads with the file system. */
const CONCURRENT_HASHES_MAX = 2
/** In the place of the hash of a user who has no password. */
export const NO_PASSWORD = '-'
/** About 2 s of waiting. */
const WAITING_HASHES_MAX = 400

/** Hashes and checks passwords; a bounded number at a time, beyond the bound `unavailable`. */
export class Passwords {
  private readonly limit = pLimit(CONCURRENT_HASHES_MAX)
  /** The hash of no password: checking against it takes the time of a real check. */
  private readonly decoy: Promise<string>

  constructor() {
    this.decoy = hash(crypto.randomUUID(), ARGON2ID)
    // Its failure is that of the first check against it.
    this.decoy.catch(() => undefined)
  }

  /** @returns the hash in PHC form */
  hash(password: string): Promise<string> {
    return this.run(() => hash(password, ARGON2ID))
  }

  /**
   * Tells whether the password is the one hashed. Without a hash: false, after the same time.
   *
   * @param begin called when it is this check's turn. If it throws, the check ends before it costs
   *   anything; the function that it returns is called with the outcome
   */
  verify(
    passwordHash: string | null,
    password: string,
    begin: () => Promise<EndOfCheck>,
  ): Promise<boolean> {
    return this.run(async () => {
      const end = await begin()
      let isRight = false
      try {
        const presented = passwordHash === NO_PASSWORD ? null : passwordHash
        const matches = await verify(presented ?? (await this.decoy), password)
        isRight = matches && presented !== null
      } finally {
        await end(isRight)
      }
      return isRight
    })
  }

  private run<T>(work: () => Promise<T>): Promise<T> {
    if (this.limit.pendingCount >= WAITING_HASHES_MAX) {
      throw new AppError('unavailable', 'too many sign-ins at once, try again in a few seconds')
    }
    return this.limit(work)
  }
}
