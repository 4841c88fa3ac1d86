import { sql } from 'drizzle-orm'
import type { Clock } from '../clock.ts'
import { queryRows, type Statements } from './client.ts'

/** A clock that all replicas share: for what is deleted by its age. */
export interface SharedClock {
  /** Milliseconds since 1970. @throws ClockError */
  nowMs(): Promise<number>
}

/** The clock of this machine, or that of the database, is wrong. */
export class ClockError extends Error {}

/** How far the clocks of a machine and of the database may differ. */
const APART_MS_MAX = 3_600_000

/** The clock of the database. It is not trusted where that of this machine says otherwise. */
export class DatabaseClock implements SharedClock {
  private readonly db: Statements
  private readonly own: Pick<Clock, 'epochMs'>

  constructor(db: Statements, own: Pick<Clock, 'epochMs'>) {
    this.db = db
    this.own = own
  }

  async nowMs(): Promise<number> {
    const [row] = await queryRows<{ now_ms: number }>(
      this.db,
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
    )
    const nowMs = row?.now_ms ?? Number.NaN
    const apartMs = Math.abs(nowMs - this.own.epochMs())
    if (apartMs <= APART_MS_MAX) return nowMs
    throw new ClockError(
      `the clocks of this machine and of the database differ by ${Math.round(apartMs / 1000)} seconds: nothing is deleted for its age until they agree`,
    )
  }
}
